//! Whether an answer succeeded: the one definition, which recording, comparing, counting and showing
//! share.
//!
//! [`judge_answer`] decides from what arrived: the status, the media type, the bytes and the end. The
//! row of each operation says how its streams end and how its errors look ([`OutcomeRules`]). Bytes
//! take precedence over the media type, because gateways send good answers under other types. Where
//! nothing certain is known, the answer counts as complete: a protocol without rules is judged by
//! HTTP alone.

mod document;
pub(crate) mod form;
mod judged;
mod progress;
mod received;
mod rules;
mod stream;

use super::error_text::stated_error;
use super::grpc::GrpcStatus;
use super::lone_half::readable_json;
use super::operation::Operation;
pub use judged::{AnswerOutcome, JudgedAnswer};
pub(super) use progress::{AnswerEvent, StreamProgress, typed_events};
pub use received::{ReceivedAnswer, ReceivedBody, TransportEnd};
pub(super) use rules::{ExpectedBody, OutcomeRules};

/// Returns the outcome of an answer. It depends on nothing but its argument.
pub fn judge_answer(answer: &ReceivedAnswer<'_>) -> JudgedAnswer {
    let ReceivedAnswer { status, end, .. } = *answer;
    if status >= 400 {
        return of_status(answer);
    }
    if let Some(problem) = end.unfinished_reason() {
        return AnswerOutcome::Unfinished.with_reason(problem);
    }
    if answer.operation == Operation::GRPC {
        return GrpcStatus::judge(answer.grpc_status);
    }
    let has_no_body = answer.method == "HEAD" || matches!(status, 100..=199 | 204 | 205 | 304);
    if has_no_body {
        return JudgedAnswer::COMPLETE;
    }
    let bytes = match answer.body {
        ReceivedBody::Plain(bytes) => readable_json(bytes),
        ReceivedBody::CutCoding => {
            return AnswerOutcome::Unfinished.with_reason("its compressed bytes end early");
        }
        ReceivedBody::DamagedCoding => {
            return AnswerOutcome::NotAnAnswer.with_reason("its compressed bytes do not decode");
        }
        ReceivedBody::Unread => return JudgedAnswer::COMPLETE,
    };
    let rules = &answer.operation.row().outcome;
    if rules.body == ExpectedBody::Anything {
        return JudgedAnswer::COMPLETE;
    }
    if status >= 300 {
        return AnswerOutcome::NotAnAnswer.with_reason(format!("status {status} is a redirect"));
    }
    match form::stream_framing(answer.operation, answer.media, &bytes) {
        Some(framing) => stream::judge_events(rules, framing, &bytes),
        None => document::judge_body(answer, &bytes),
    }
}

/// Whether a client that was sent these bytes of a stream has its whole answer by the protocol of the
/// operation: the end mark was sent, or a failure. What may follow is the end of the framing. `media`
/// is the media type without parameters. `sent` is the beginning of the stream or, of streams in
/// lines, its last lines.
pub fn is_stream_finished(operation: Operation, media: &str, sent: &[u8]) -> bool {
    let sent = readable_json(sent);
    let framing = form::stream_framing(operation, media, &sent);
    framing.is_some_and(|framing| stream::is_finished(&operation.row().outcome, framing, &sent))
}

/// Returns the failure that an error status is.
fn of_status(answer: &ReceivedAnswer<'_>) -> JudgedAnswer {
    let text = match answer.body {
        ReceivedBody::Plain(bytes) => stated_error(bytes),
        _ => None,
    };
    let judged = AnswerOutcome::FailedByProvider.with_reason(format!("status {}", answer.status));
    judged.with_quote(&text.unwrap_or_default())
}

#[cfg(test)]
mod tests;
