//! One compared call, without secrets: a summary of each side, and the differences.

use std::borrow::Cow;

use serde_json::Value;

use loomrec_curation::comparison::{
    CallDifference, CallDigest, CallHalf, ComparedSide, FoundDifferences, PairedBy,
};
use loomrec_provider::{Operation, RecognisedCall};
use loomrec_recording::EntryName;
use loomrec_recording::redact::{CallCredentials, Redactor};

/// The result of comparing a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CallState {
    /// Nothing that counts differs.
    Same,
    /// Something that counts differs.
    Changed,
    /// Only the first recording has it.
    OnlyOld,
    /// Only the second has it.
    OnlyNew,
}

impl CallState {
    /// Returns the state of two calls with these differences.
    fn from_differences(found: &FoundDifferences) -> Self {
        if found.is_same() { Self::Same } else { Self::Changed }
    }
}

/// A summary of one recording's call.
#[derive(Clone, Debug)]
pub(super) struct CallSummary {
    /// The key that `show` takes.
    pub(super) key: String,
    /// The key for people: a hash is cut to its first digits.
    pub(super) short: String,
    /// Its upstream, operation and model.
    pub(super) words: String,
    /// What the answer says, or how it failed, on one line.
    pub(super) answer: String,
    /// The total number of its tokens.
    pub(super) tokens: u64,
    /// Its cost; `None` if it is unknown.
    pub(super) cost: Option<f64>,
}

impl CallSummary {
    pub(super) fn from_digest(known: &CallDigest, side: &ComparedSide<'_>) -> Self {
        let entry = side.entry;
        let key = known.name.take_key(known.take);
        let short = match &known.name {
            EntryName::Hash(hash) if known.take > 1 => {
                format!("{}#{}", hash.short_form(), known.take)
            }
            EntryName::Hash(hash) => hash.short_form().to_owned(),
            EntryName::Step(_) => key.clone(),
        };
        let mut words = vec![entry.upstream.as_deref().or(entry.provider.as_deref())];
        let operation = side.call.as_ref().map(RecognisedCall::operation_words);
        let is_other = side.call.as_ref().is_some_and(|call| call.operation == Operation::OTHER);
        let line = if is_other { entry.request_line().map(Cow::from) } else { operation };
        words.push(line.as_deref());
        let asked = || side.call.as_ref().and_then(|call| call.model.as_deref());
        words.push(entry.model.as_deref().or_else(asked));
        let words: Vec<&str> = words.into_iter().flatten().collect();
        Self {
            key,
            short,
            words: words.join(" "),
            answer: answer_line(side),
            tokens: entry.usage.map_or(0, |usage| usage.total_tokens),
            cost: entry.known_cost(),
        }
    }

    fn with_clean_texts(self, clean: &impl Fn(&str) -> String) -> Self {
        Self {
            key: clean(&self.key),
            short: clean(&self.short),
            words: clean(&self.words),
            answer: clean(&self.answer),
            ..self
        }
    }
}

/// Formats what an answer says in one line.
fn answer_line(side: &ComparedSide<'_>) -> String {
    let entry = side.entry;
    if let Some(content) = entry.content.as_deref().filter(|content| !content.trim().is_empty()) {
        return content.trim().to_owned();
    }
    if let Some(call) = entry.tool_calls.first() {
        return format!("calls {} {}", call.name, call.arguments);
    }
    match entry.answer_status().zip(entry.answer_length()) {
        Some((status, length)) => format!("status {status}, {length} bytes"),
        None => "(no text)".to_owned(),
    }
}

/// A compared call.
#[derive(Clone, Debug)]
pub(super) struct ComparedCall {
    pub(super) state: CallState,
    pub(super) old: Option<CallSummary>,
    pub(super) new: Option<CallSummary>,
    /// How the two calls were paired.
    pub(super) by: Option<PairedBy>,
    pub(super) differences: Vec<CallDifference>,
    /// The number of further differences of the request, which an earlier call shows.
    pub(super) repeated: usize,
}

impl ComparedCall {
    /// Creates a call that one recording has.
    pub(super) fn from_one_side(
        state: CallState,
        old: Option<CallSummary>,
        new: Option<CallSummary>,
    ) -> Self {
        Self { state, old, new, by: None, differences: Vec::new(), repeated: 0 }
    }

    /// Creates a call that both recordings have.
    pub(super) fn of_pair(
        (old, new): (CallSummary, CallSummary),
        by: Option<PairedBy>,
        found: FoundDifferences,
    ) -> Self {
        let state = CallState::from_differences(&found);
        let FoundDifferences { differences, repeated } = found;
        Self { state, old: Some(old), new: Some(new), by, differences, repeated }
    }

    /// Whether earlier calls show all that counts in it.
    pub(super) fn only_repeats(&self) -> bool {
        self.repeated > 0 && !self.differences.iter().any(|difference| difference.counts)
    }

    /// Replaces everything that looks like a secret. loomrec's recordings contain none, but a file
    /// may come from elsewhere.
    pub(super) fn without_secrets(self, redactor: &Redactor) -> Self {
        let secrets = CallCredentials::default();
        let text = |text: &str| {
            String::from_utf8_lossy(&redactor.redact_bytes(text.as_bytes(), &secrets)).into_owned()
        };
        let differences = self.differences.into_iter().map(|difference| CallDifference {
            place: text(&difference.place),
            old: difference.old.map(|value| clean_value(value, &text)),
            new: difference.new.map(|value| clean_value(value, &text)),
            ..difference
        });
        Self {
            old: self.old.map(|summary| summary.with_clean_texts(&text)),
            new: self.new.map(|summary| summary.with_clean_texts(&text)),
            differences: differences.collect(),
            ..self
        }
    }

    /// Returns the differences of one half.
    pub(super) fn differences_in(&self, part: CallHalf) -> impl Iterator<Item = &CallDifference> {
        self.differences.iter().filter(move |difference| difference.part == part)
    }

    /// Returns how many differences of one half count.
    pub(super) fn count_differences(&self, part: CallHalf) -> usize {
        self.differences_in(part).filter(|difference| difference.counts).count()
    }

    /// Returns the summary of the new side, or of the old side if there is no new one.
    pub(super) fn shown_summary(&self) -> Option<&CallSummary> {
        self.new.as_ref().or(self.old.as_ref())
    }

    /// Returns the key, or both keys if they differ.
    pub(super) fn key_text(&self) -> String {
        match (&self.old, &self.new) {
            (Some(old), Some(new)) if old.key != new.key => {
                format!("{} → {}", old.short, new.short)
            }
            _ => self.shown_summary().map_or_else(String::new, |summary| summary.short.clone()),
        }
    }

    /// Describes the call.
    pub(super) fn call_description(&self) -> &str {
        self.shown_summary().map_or("", |summary| &summary.words)
    }
}

fn clean_value(value: Value, text: &impl Fn(&str) -> String) -> Value {
    match value {
        Value::String(string) => Value::String(text(&string)),
        Value::Array(items) => items.into_iter().map(|item| clean_value(item, text)).collect(),
        Value::Object(members) => members
            .into_iter()
            .map(|(name, member)| (text(&name), clean_value(member, text)))
            .collect(),
        other => other,
    }
}

/// Returns the beginning of a text on one line, with each run of blanks reduced to one.
pub(super) fn shorten_line(text: &str, limit: usize) -> String {
    let words: Vec<&str> = text.split_whitespace().take(limit).collect();
    let line = words.join(" ");
    match loomrec_cli::terminal::cut(&line, limit) {
        Cow::Borrowed(_) => line,
        Cow::Owned(cut) => cut,
    }
}
