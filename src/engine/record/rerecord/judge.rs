//! The check of new answers: whether to store them, and how they differ from the recorded ones.

use std::time::Duration;

use time::OffsetDateTime;

use super::backoff;
use super::request::RerecordRequest;
use loomrec_curation::comparison::{ComparedSide, DiffScope, call_differences};
use loomrec_provider::error_text;
use loomrec_recording::EntryName;
use loomrec_recording::entry::{Entry, ResponseEnd};

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
pub(super) fn judge_answer(
    order: &RerecordRequest,
    entry: &mut Entry,
) -> Result<AnswerChange, RejectReason> {
    let (Some(status), Some(end)) = (entry.answer_status(), entry.answer_end()) else {
        return Err(RejectReason::Failed { why: "there was no answer".to_owned() });
    };
    let before = order.before.as_ref().map(|(name, entry)| (name, entry));
    let recorded = before.map(|(_, entry)| entry).filter(|recorded| recorded.has_response());
    check_end(entry, end)?;
    let has_status = |recorded: &Entry| recorded.answer_status() == Some(status);
    if !entry.has_good_status() && !recorded.is_some_and(has_status) {
        return Err(bad_status(entry, status));
    }
    let judged = order.observed.judge_answer(entry);
    let is_expected =
        |recorded: &Entry| order.observed.judge_answer(recorded).outcome == judged.outcome;
    if judged.is_failure() && !recorded.is_some_and(is_expected) {
        let why = judged.description().into_owned();
        return Err(busy_reason(why, entry));
    }
    let change = answer_change(before, &order.name, entry);
    order.pending.add_to(entry);
    Ok(change)
}

/// Checks that an answer was not cut.
fn check_end(entry: &Entry, end: ResponseEnd) -> Result<(), RejectReason> {
    match end {
        ResponseEnd::Complete => Ok(()),
        ResponseEnd::ClientAbort => Err(RejectReason::Stopped),
        ResponseEnd::Truncated => {
            let why = "the answer is larger than the limit of --max-body; raise it".to_owned();
            Err(RejectReason::Failed { why })
        }
        ResponseEnd::UpstreamAbort(cut) => {
            let why = format!("the answer was cut: {cut}");
            Err(busy_reason(why, entry))
        }
    }
}

/// Returns the reason to send a request again, after the wait that the answer asks for.
fn busy_reason(why: String, entry: &Entry) -> RejectReason {
    let after = backoff::requested_wait(entry.answer_headers(), OffsetDateTime::now_utc());
    RejectReason::Busy { why, after }
}

/// Returns the reason that an answer with this status is rejected.
fn bad_status(entry: &Entry, status: u16) -> RejectReason {
    let why = match error_text(&entry.answer_bytes().unwrap_or_default()) {
        Some(text) => format!("the upstream answered with status {status}: {text}"),
        None => format!("the upstream answered with status {status}"),
    };
    match status {
        408 | 409 | 425 | 429 | 500 | 502 | 503 | 504 | 529 => busy_reason(why, entry),
        401 => RejectReason::Refused { why },
        _ => RejectReason::Failed { why },
    }
}

/// Returns how an answer differs from the take before it.
fn answer_change(
    before: Option<(&EntryName, &Entry)>,
    name: &EntryName,
    entry: &Entry,
) -> AnswerChange {
    let Some((old_name, old)) = before else { return AnswerChange::New };
    let says = |entry: &Entry| {
        let calls: Vec<_> = entry
            .tool_calls
            .iter()
            .map(|call| (call.name.clone(), call.arguments.clone()))
            .collect();
        (entry.content.clone().unwrap_or_default(), entry.finish_reason.clone(), calls)
    };
    if old.answer_status() != entry.answer_status() || says(old) != says(entry) {
        return AnswerChange::Answer;
    }
    let mut scope = DiffScope::default();
    scope.requests = false;
    let found = call_differences(
        &ComparedSide::from_entry(old_name, old),
        &ComparedSide::from_entry(name, entry),
        &scope,
    );
    match found.iter().any(|difference| difference.counts) {
        true => AnswerChange::Aside,
        false => AnswerChange::Same,
    }
}

#[cfg(test)]
#[path = "judge_tests.rs"]
mod tests;
