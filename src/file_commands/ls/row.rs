//! One take as a row: the few facts that distinguish it from the others.

use std::borrow::Cow;

use serde_json::{Value, json};

use loomrec_cli::amount::{format_dollars, format_milliseconds};
use loomrec_cli::pricing::UNKNOWN;
use loomrec_cli::terminal;
use loomrec_curation::inspection::{LONGEST_QUESTION, last_question};
use loomrec_provider::{AnswerOutcome, JudgedAnswer, Operation, RecognisedCall, RpcMethod};
use loomrec_recording::{Entry, EntryName, RecordedCut, ResponseEnd};
use loomrec_store::StoredEntry;

/// Shown for a value that is not recorded.
const NOTHING: &str = "-";

/// One take of a recording.
#[derive(Debug)]
pub(crate) struct TakeRow {
    /// The name of its entry.
    pub(crate) name: EntryName,
    /// The number of the take under that name, from 1.
    pub(crate) take: usize,
    /// The number of takes under that name.
    pub(crate) takes: usize,
    /// The entry.
    pub(crate) entry: Entry,
    /// What its request asks for, if the request is recorded.
    pub(crate) call: Option<RecognisedCall>,
    /// The outcome of its answer.
    pub(crate) judged: JudgedAnswer,
}

impl TakeRow {
    /// Creates the row of a take, which is one of `takes`.
    pub(crate) fn from_stored_entry(stored: StoredEntry, takes: usize) -> Self {
        let StoredEntry { name, take, entry, .. } = stored;
        let call = entry.recognise_call();
        let judged = entry.judge_answer();
        Self { name, take, takes, entry, call, judged }
    }

    /// Returns the full key, as `show` takes it.
    pub(crate) fn take_key(&self) -> String {
        self.name.take_key(self.take)
    }

    /// Returns the key for people: a hash is cut to its first digits.
    pub(crate) fn short_key(&self) -> String {
        loomrec_cli::short_key::short_key(&self.name, self.take)
    }

    /// Whether the answer was a stream. `None` if that is not recorded.
    pub(crate) fn is_streamed(&self) -> Option<bool> {
        let media = self.entry.answer_media()?;
        let asked = self.call.as_ref().is_some_and(|call| call.streamed);
        Some(asked || media.eq_ignore_ascii_case("text/event-stream"))
    }

    /// Returns the type of the fault that the entry declares instead of a response.
    pub(crate) fn fault_type(&self) -> Option<&str> {
        let fault = self.entry.fault.as_ref()?;
        Some(fault.get("type").and_then(Value::as_str).unwrap_or("unknown"))
    }

    /// Whether the take deserves attention: it has no complete, successful answer.
    pub(crate) fn is_trouble(&self) -> bool {
        self.entry.fault.is_some() || self.judged.is_failure()
    }

    /// Returns where the call went and what it asked for.
    pub(crate) fn call_words(&self) -> String {
        let upstream = self.entry.upstream.as_deref().or(self.entry.provider.as_deref());
        let mut words = upstream.unwrap_or(NOTHING).to_owned();
        let asked = match &self.call {
            Some(call) if call.operation == Operation::OTHER => {
                self.entry.request_line().map(Cow::from)
            }
            call => call.as_ref().map(RecognisedCall::operation_words),
        };
        if let Some(asked) = asked {
            words.push_str(&format!(" {asked}"));
        }
        terminal::printable_line(&words).into_owned()
    }

    /// Returns the beginning of what the call asks, in at most this many columns. `None` if that is
    /// not recorded.
    pub(crate) fn question_start(&self, columns: usize) -> Option<String> {
        question_of(&self.entry, columns)
    }

    /// Whether neither a cost nor token usage is recorded.
    fn tells_no_cost(&self) -> bool {
        self.entry.cost_usd.is_none() && self.entry.usage.is_none()
    }

    /// Returns the cells of the row. `cost` is `None` if it is unknown.
    pub(super) fn table_cells(&self, cost: Option<f64>) -> Vec<String> {
        let entry = &self.entry;
        let text =
            |text: Option<&str>| terminal::printable_line(text.unwrap_or(NOTHING)).into_owned();
        let or_nothing = |text: Option<String>| text.unwrap_or_else(|| NOTHING.to_owned());
        let usage = entry.usage;
        let mode = self.is_streamed().map(|streamed| match (streamed, entry.answer_chunks()) {
            (true, Some(chunks)) => format!("stream {}", chunks.len()),
            _ => "whole".to_owned(),
        });
        let end = match self.fault_type() {
            Some(fault) => Some(terminal::printable_line(&format!("fault {fault}")).into_owned()),
            None if entry.is_undelivered() => Some("given up".to_owned()),
            None if entry.client_left.is_some() => Some("client left".to_owned()),
            None => self.end_words(),
        };
        vec![
            self.short_key(),
            self.call_words(),
            text(self.model_name()),
            or_nothing(usage.map(|usage| usage.prompt_tokens.to_string())),
            or_nothing(usage.map(|usage| usage.completion_tokens.to_string())),
            match cost {
                None => UNKNOWN.to_owned(),
                Some(0.0) if self.tells_no_cost() => NOTHING.to_owned(),
                Some(cost) => format_dollars(cost),
            },
            or_nothing(mode),
            or_nothing(entry.latency_ms.map(format_milliseconds)),
            or_nothing(entry.answer_status().map(|status| status.to_string())),
            or_nothing(end),
            text(entry.session.as_deref()),
        ]
    }

    /// Formats how the response ended; `None` without a response. A failure that neither the status
    /// nor the transport shows is named.
    pub(crate) fn end_words(&self) -> Option<String> {
        let (status, end) = self.entry.answer_status().zip(self.entry.answer_end())?;
        let is_hidden = status < 400 && end == ResponseEnd::Complete;
        Some(match self.judged.outcome {
            AnswerOutcome::FailedByProvider if is_hidden => "failed".to_owned(),
            AnswerOutcome::Unfinished if is_hidden => "unfinished".to_owned(),
            AnswerOutcome::NotAnAnswer if is_hidden => "no answer".to_owned(),
            _ => end_words(end),
        })
    }

    /// Returns the model that answered, or else the requested one.
    pub(crate) fn model_name(&self) -> Option<&str> {
        let asked = || self.call.as_ref().and_then(|call| call.model.as_deref());
        self.entry.model.as_deref().or_else(asked)
    }

    /// Returns the row for programs. All members are always present. `cost` is `None` if it is
    /// unknown.
    pub(super) fn to_json(&self, cost: Option<f64>) -> Value {
        let entry = &self.entry;
        let answer = entry.has_response().then(|| self.judged.outcome.as_str());
        let hash = match &self.name {
            EntryName::Hash(hash) => Some(hash),
            EntryName::Step(_) => entry.request_hash.as_ref(),
        };
        let (end, cut) = match entry.answer_end() {
            Some(end) => (Some(end_name(end)), cut_name(end)),
            None => (None, None),
        };
        json!({
            "key": self.take_key(),
            "step_id": self.name.step_id(),
            "request_hash": hash.map(|hash| hash.as_str()),
            "take": self.take,
            "takes": self.takes,
            "provider": entry.provider,
            "upstream": entry.upstream,
            "operation": self.call.as_ref().map(|call| call.operation.as_str()),
            "rpc": self.call.as_ref().and_then(|call| call.rpc.as_ref().map(RpcMethod::to_string)),
            "method": entry.request_method(),
            "path": entry.request_path(),
            "model": self.model_name(),
            "input_tokens": entry.usage.map(|usage| usage.prompt_tokens),
            "output_tokens": entry.usage.map(|usage| usage.completion_tokens),
            "cost_usd": cost.filter(|cost| *cost != 0.0 || !self.tells_no_cost()),
            "streamed": self.is_streamed(),
            "chunks": entry.answer_chunks().map(<[_]>::len),
            "bytes": entry.answer_length(),
            "status": entry.answer_status(),
            "latency_ms": entry.latency_ms,
            "finish_reason": entry.finish_reason,
            "end": end,
            "cut": cut,
            "answer": answer,
            "answer_reason": Some(self.judged.description()).filter(|reason| !reason.is_empty()),
            "client_left": entry.client_left.map(|left| json!({
                "ms": left.at_ms,
                "bytes": left.bytes,
            })),
            "fault": self.fault_type(),
            "session": entry.session,
            "asks": last_question(entry, LONGEST_QUESTION),
            "recorded_at": entry.recorded_at,
            "personal_values": entry.run_values.personal_names().collect::<Vec<_>>(),
        })
    }
}

/// Returns the beginning of what a recorded call asks, in at most this many columns of a terminal.
/// `None` if that is not recorded.
pub(crate) fn question_of(entry: &Entry, columns: usize) -> Option<String> {
    // Some characters take no column.
    let text = last_question(entry, columns.saturating_mul(2))?;
    Some(terminal::cut(&terminal::printable_line(&text), columns).into_owned())
}

/// Returns the word for an end, as recordings use it.
fn end_name(end: ResponseEnd) -> &'static str {
    match end {
        ResponseEnd::Complete => "complete",
        ResponseEnd::UpstreamAbort(_) => "upstream_abort",
        ResponseEnd::ClientAbort => "client_abort",
        ResponseEnd::Truncated => "truncated",
    }
}

/// Returns the word for a cut, as recordings use it.
fn cut_name(end: ResponseEnd) -> Option<&'static str> {
    match end {
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => Some("close"),
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => Some("reset"),
        _ => None,
    }
}

/// Formats how a response ended, in the words of recordings.
fn end_words(end: ResponseEnd) -> String {
    match cut_name(end) {
        Some(cut) => format!("{} {cut}", end_name(end)),
        None => end_name(end).to_owned(),
    }
}
