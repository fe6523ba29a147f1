//! The check of new answers: whether to store them, and how they differ from the recorded ones.

use std::time::Duration;

use serde_json::Value;
use time::OffsetDateTime;

use super::backoff;
use super::request::RerecordRequest;
use loomrec_curation::comparison::{ComparedSide, DiffScope, differences};
use loomrec_recording::entry::{Entry, ResponseEnd};
use loomrec_recording::{EntryName, RecordedResponse};

/// How many characters of an upstream's error message are shown.
const SHOWN: usize = 200;

/// How an answer differs from the take that it replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerChange {
    /// It replaces no take.
    New,
    /// No difference that counts.
    Same,
    /// It says the same, but something else differs, such as tokens or a header.
    Aside,
    /// The text, the tool calls, the finish reason or the status differs.
    Answer,
}

/// Why an answer is not stored.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum RejectReason {
    /// Another attempt may succeed.
    Busy {
        /// The reason.
        why: String,
        /// The wait that the upstream asks for.
        after: Option<Duration>,
    },
    /// No call to this upstream will succeed.
    Refused {
        /// The reason.
        why: String,
    },
    /// This call will not succeed.
    Failed {
        /// The reason.
        why: String,
    },
    /// The run ended first.
    Stopped,
}

/// Checks a new answer and returns how it differs. A good answer is marked as waiting for review.
pub(super) fn judge(
    order: &RerecordRequest,
    entry: &mut Entry,
) -> Result<AnswerChange, RejectReason> {
    let Some(response) = &entry.response else {
        return Err(RejectReason::Failed { why: "there was no answer".to_owned() });
    };
    match response.end {
        ResponseEnd::Complete => {}
        ResponseEnd::ClientAbort => return Err(RejectReason::Stopped),
        ResponseEnd::Truncated => {
            let why = "the answer is larger than the limit of --max-copy; raise it".to_owned();
            return Err(RejectReason::Failed { why });
        }
        ResponseEnd::UpstreamAbort(cut) => {
            return Err(RejectReason::Busy {
                why: format!("the answer was cut: {cut}"),
                after: None,
            });
        }
    }
    let before = order.before.as_ref().map(|(name, entry)| (name, entry));
    if !(200..300).contains(&response.status) && !was_so(before, response.status) {
        return Err(bad_status(response));
    }
    if ended_in_error(response) && !before.is_some_and(|(_, entry)| has_error(entry)) {
        let why = "the stream ended with an error in place of the answer".to_owned();
        return Err(RejectReason::Busy { why, after: None });
    }
    let change = change(before, &order.name, entry);
    order.pending.mark(entry);
    Ok(change)
}

/// Whether the recorded answer had this status. Then the status is expected.
fn was_so(before: Option<(&EntryName, &Entry)>, status: u16) -> bool {
    let before = before.and_then(|(_, entry)| entry.response.as_ref());
    before.is_some_and(|response| response.status == status)
}

fn has_error(entry: &Entry) -> bool {
    entry.response.as_ref().is_some_and(ended_in_error)
}

/// Whether an event of the stream is an error. Providers send one when they break off.
fn ended_in_error(response: &RecordedResponse) -> bool {
    let content_type = response.headers.iter().find(|(name, _)| name == "content-type");
    if !content_type.is_some_and(|(_, value)| value.starts_with("text/event-stream")) {
        return false;
    }
    let bytes = response.payload.bytes();
    let mut lines = bytes.split(|byte| matches!(byte, b'\n' | b'\r'));
    lines.any(|line| {
        let field = |name: &[u8]| line.strip_prefix(name).map(<[u8]>::trim_ascii_start);
        let named = field(b"event:")
            .is_some_and(|event| matches!(event.trim_ascii_end(), b"error" | b"response.failed"));
        let said = field(b"data:").and_then(|data| data.strip_prefix(b"{"));
        named || said.is_some_and(|data| data.trim_ascii_start().starts_with(b"\"error\":"))
    })
}

fn bad_status(response: &RecordedResponse) -> RejectReason {
    let status = response.status;
    let why = match words(&response.payload.bytes()) {
        Some(words) => format!("the upstream answered with status {status}: {words}"),
        None => format!("the upstream answered with status {status}"),
    };
    match status {
        408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 529 => {
            let after = backoff::requested_wait(&response.headers, OffsetDateTime::now_utc());
            RejectReason::Busy { why, after }
        }
        401 => RejectReason::Refused { why },
        _ => RejectReason::Failed { why },
    }
}

/// Returns the message of an error, on one line.
fn words(body: &[u8]) -> Option<String> {
    let parsed: Option<Value> = serde_json::from_slice(body).ok();
    let said = parsed.as_ref().and_then(|body| {
        // Google's error may be in a list.
        let body = body.get(0).unwrap_or(body);
        let places = ["/error/message", "/message", "/error", "/detail"];
        places.iter().find_map(|place| body.pointer(place)?.as_str())
    });
    let text = match said {
        Some(said) => said.to_owned(),
        None => String::from_utf8_lossy(body).into_owned(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = text.chars().take(SHOWN).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    (!short.is_empty()).then(|| format!("{short}{more}"))
}

/// Returns how an answer differs from the take before it.
fn change(before: Option<(&EntryName, &Entry)>, name: &EntryName, entry: &Entry) -> AnswerChange {
    let Some((old_name, old)) = before else { return AnswerChange::New };
    let status = |entry: &Entry| entry.response.as_ref().map(|response| response.status);
    let says = |entry: &Entry| {
        let calls: Vec<_> = entry
            .tool_calls
            .iter()
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect();
        (entry.content.clone().unwrap_or_default(), entry.finish_reason.clone(), calls)
    };
    if status(old) != status(entry) || says(old) != says(entry) {
        return AnswerChange::Answer;
    }
    let mut scope = DiffScope::default();
    scope.requests = false;
    let found =
        differences(&ComparedSide::of(old_name, old), &ComparedSide::of(name, entry), &scope);
    match found.iter().any(|difference| difference.counts) {
        true => AnswerChange::Aside,
        false => AnswerChange::Same,
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
