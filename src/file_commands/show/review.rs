//! A recording as text for line-by-line comparison, as `git diff` compares the output of a
//! `textconv` command: one line for each leaf of a request, texts split into lines, and nothing
//! that differs each time the same call is recorded.
//!
//! Of a call that continues an earlier one, only what is new is shown, so that a change in a message
//! changes the text of one call. Neither its heading nor its places count calls or messages: if one
//! is inserted, nothing else changes.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::super::ls::TakeRow;
use super::earlier_take::ContinuedTake;
use loomrec_cli::amount::format_dollars;
use loomrec_cli::terminal;
use loomrec_curation::history::CarriedParts;
use loomrec_identity::pointer_token;
use loomrec_provider::{RecognisedCall, ToolCall};
use loomrec_recording::Entry;
use loomrec_recording::redact::{CallCredentials, Redactor};

/// The most characters that are shown of a text without blanks. A longer one is shown as its hash.
const SHOWN: usize = 200;

/// Formats one take.
pub(crate) fn format_take(row: &TakeRow, redactor: &Redactor) -> String {
    format_with_heading(row, redactor, &row.take_key(), None, None)
}

/// Formats one take of a list of all, without what an earlier take has already.
pub(super) fn text_in_list(
    row: &TakeRow,
    redactor: &Redactor,
    earlier: Option<&ContinuedTake>,
) -> String {
    let continues = earlier.map(|earlier| match earlier.distance {
        1 => "continues the call above".to_owned(),
        above @ 2.. => format!("continues the call {above} above"),
        below => format!("continues the call {} below", below.unsigned_abs()),
    });
    match (row.name.step_id(), continues) {
        // Its hash follows from all messages before, so it changes with each of them.
        (None, Some(continues)) => format_with_heading(row, redactor, &continues, None, earlier),
        (_, continues) => {
            format_with_heading(row, redactor, &row.take_key(), continues.as_deref(), earlier)
        }
    }
}

fn format_with_heading(
    row: &TakeRow,
    redactor: &Redactor,
    heading: &str,
    continues: Option<&str>,
    earlier: Option<&ContinuedTake>,
) -> String {
    let mut page = ReviewPage { out: String::new(), redactor };
    let entry = &row.entry;
    page.add_line("", &format!("== {heading}"));
    let operation = row.call.as_ref().map(RecognisedCall::operation_words);
    let upstream = entry.upstream.as_deref().or(entry.provider.as_deref());
    let words = [upstream, operation.as_deref(), row.model_name()];
    page.add_line("  ", &words.into_iter().flatten().collect::<Vec<_>>().join(" "));
    if let Some(session) = &entry.session {
        page.add_line("  ", &format!("session {session}"));
    }
    if let Some(continues) = continues {
        page.add_line("  ", continues);
    }
    add_request(&mut page, entry, earlier);
    let has_answer = add_answer(&mut page, entry);
    if let Some(fault) = &entry.fault {
        page.add_line("  ", "fault");
        page.add_leaves("fault", fault);
    }
    add_response(&mut page, row, has_answer);
    page.out.push('\n');
    page.out
}

/// The text so far.
struct ReviewPage<'r> {
    out: String,
    redactor: &'r Redactor,
}

impl ReviewPage<'_> {
    /// Adds a line.
    fn add_line(&mut self, indent: &str, text: &str) {
        let clean = self.redactor.redact_bytes(text.as_bytes(), &CallCredentials::default());
        let clean = String::from_utf8_lossy(&clean);
        self.out.push_str(&format!("{indent}{}\n", terminal::printable_line(&clean)));
    }

    /// Adds a text line by line. A long line without blanks is shown as its hash.
    fn add_text(&mut self, indent: &str, text: &str) {
        for line in text.split('\n') {
            self.add_line(indent, &bound_text(line));
        }
    }

    /// Adds a line for each leaf of a value, with its place.
    fn add_leaves(&mut self, place: &str, value: &Value) {
        match value {
            Value::Object(members) if !members.is_empty() => {
                for (name, member) in members {
                    self.add_leaves(&format!("{place}{}", pointer_token(name)), member);
                }
            }
            Value::Array(items) if items.iter().any(|item| !item.is_number()) => {
                for (at, item) in items.iter().enumerate() {
                    self.add_leaves(&format!("{place}/{at}"), item);
                }
            }
            Value::String(text) if text.contains('\n') => {
                self.add_line("    ", &format!("{place}: |"));
                self.add_text("      ", text);
            }
            Value::String(text) => {
                self.add_line("    ", &format!("{place}: {}", Value::from(bound_text(text))));
            }
            other => self.add_line("    ", &format!("{place}: {}", bound_text(&other.to_string()))),
        }
    }

    /// Adds the members that an earlier request does not have. `-` stands for the index of an
    /// element at the end of a list, as it does for places to append to.
    fn new_leaves(&mut self, members: &Map<String, Value>, carried: &CarriedParts) {
        for (name, value) in members.iter().filter(|(name, _)| !carried.has_member(name)) {
            let place = pointer_token(name);
            let last = |elements: &[bool]| elements.iter().rposition(|carried| *carried);
            let known = carried
                .carried_elements(name)
                .and_then(|elements| Some((elements, last(elements)?)));
            let (Some((elements, last)), Value::Array(items)) = (known, value) else {
                self.add_leaves(&place, value);
                continue;
            };
            for (at, item) in items.iter().enumerate() {
                match elements.get(at) {
                    Some(true) => {}
                    _ if at > last => self.add_leaves(&format!("{place}/-"), item),
                    _ => self.add_leaves(&format!("{place}/{at}"), item),
                }
            }
        }
        for name in carried.missing_members() {
            self.add_line("    ", &format!("{}: (left out)", pointer_token(name)));
        }
        if carried.left_out() > 0 {
            self.add_line("    ", &format!("({} messages before: left out)", carried.left_out()));
        }
    }

    /// Adds a body according to its type.
    fn add_body(&mut self, bytes: &[u8]) {
        // Only JSON that all parsers understand in the same way is split into leaves.
        let value =
            loomrec_identity::parse(bytes).ok().and_then(|_| serde_json::from_slice(bytes).ok());
        match (value, std::str::from_utf8(bytes)) {
            _ if bytes.is_empty() => {}
            (Some(value), _) => self.add_leaves("", &value),
            (None, Ok(text)) => self.add_text("    ", text),
            (None, Err(_)) => {
                self.add_line(
                    "    ",
                    &format!("({} bytes, sha256 {})", bytes.len(), short_digest(bytes)),
                );
            }
        }
    }
}

/// Adds the request, if it is recorded.
fn add_request(page: &mut ReviewPage<'_>, entry: &Entry, earlier: Option<&ContinuedTake>) {
    let Some((line, body)) = entry.full_request_line().zip(entry.request_body()) else { return };
    page.add_line("  ", &format!("request {line}"));
    let known = earlier.map(|earlier| earlier.headers.as_slice()).unwrap_or_default();
    for (name, value) in entry.request_headers().iter().filter(|header| !known.contains(header)) {
        page.add_line("    ", &format!("{name}: {value}"));
    }
    let carried = earlier.map(|earlier| &earlier.carried);
    match carried.zip(serde_json::from_slice(body).ok()) {
        Some((carried, Value::Object(members))) => page.new_leaves(&members, carried),
        _ => page.add_body(body),
    }
}

/// Adds what the answer says. Returns `false` if the entry does not say it.
fn add_answer(page: &mut ReviewPage<'_>, entry: &Entry) -> bool {
    let content = entry.content.as_deref().filter(|content| !content.is_empty());
    let has_answer = content.is_some() || !entry.tool_calls.is_empty() || entry.usage.is_some();
    if !has_answer {
        return false;
    }
    page.add_line("  ", "answer");
    if let Some(content) = content {
        page.add_text("    ", content);
    }
    for ToolCall { name, arguments, .. } in &entry.tool_calls {
        page.add_line("    ", &format!("calls {name}"));
        page.add_leaves(name, arguments);
    }
    if let Some(finish) = &entry.finish_reason {
        page.add_line("    ", &format!("finish {finish}"));
    }
    if let Some(usage) = entry.usage {
        let (input, output) = (usage.prompt_tokens, usage.completion_tokens);
        let cost =
            entry.cost_usd.map_or_else(String::new, |cost| format!(", {}", format_dollars(cost)));
        page.add_line("    ", &format!("tokens {input} in, {output} out{cost}"));
    }
    true
}

/// Adds the response, if it is recorded.
fn add_response(page: &mut ReviewPage<'_>, row: &TakeRow, has_answer: bool) {
    let Some((status, end)) = row.entry.answer_status().zip(row.end_words()) else { return };
    let mode = if row.is_streamed() == Some(true) { "stream" } else { "whole" };
    page.add_line("  ", &format!("response {status} {mode} {end}"));
    if let Some(body) = row.entry.answer_bytes().filter(|_| !has_answer) {
        page.add_body(&body);
    }
}

/// Returns a text unchanged, or the beginning and the hash of a long one without blanks.
fn bound_text(text: &str) -> String {
    if text.len() <= SHOWN || text.contains(' ') {
        return text.to_owned();
    }
    let start: String = text.chars().take(SHOWN / 4).collect();
    format!("{start}… ({} bytes, sha256 {})", text.len(), short_digest(text.as_bytes()))
}

/// Returns the first digits of the SHA-256.
fn short_digest(bytes: &[u8]) -> String {
    let hash = Sha256::digest(bytes);
    hash.iter().take(6).map(|byte| format!("{byte:02x}")).collect()
}
