//! The outcome of a stream, by the events that end it or report a failure.
//!
//! Most streams are neither read nor split again: none of the words of a failure occurs in them, and
//! their last bytes hold the end mark.

use super::judged::{AnswerOutcome, JudgedAnswer};
use super::progress::StreamProgress;
use super::rules::OutcomeRules;
use crate::framing::{Framing, StreamEvent, events};

/// An end mark of a stream that is not read as a whole is within this many bytes of its end.
const TAIL: usize = 2048;

/// Returns the outcome of a stream that arrived completely.
pub(super) fn judge_events(rules: &OutcomeRules, framing: Framing, bytes: &[u8]) -> JudgedAnswer {
    let progress = scan_events(rules, framing, bytes);
    if let Some(text) = &progress.failure {
        return JudgedAnswer::failed(text);
    }
    // An array without its closing bracket was cut, whatever its last element is.
    let is_open = framing == Framing::Array && !bytes.trim_ascii_end().ends_with(b"]");
    if is_open {
        return AnswerOutcome::Unfinished.with_reason("the array of its stream is not closed");
    }
    if progress.has_ended() {
        return JudgedAnswer::COMPLETE;
    }
    if !progress.has_data {
        return AnswerOutcome::Unfinished.with_reason("its stream has no event");
    }
    match progress.is_known {
        true => AnswerOutcome::Unfinished
            .with_reason(format!("its stream ends without {}", rules.end_mark)),
        // Another protocol, which only HTTP judges.
        false => JudgedAnswer::COMPLETE,
    }
}

/// Whether a client that was sent these bytes of a stream has its whole answer: an event that is
/// complete is the end mark, or reports a failure. A finish reason is not enough, because some servers
/// send it with every event.
pub(super) fn is_finished(rules: &OutcomeRules, framing: Framing, bytes: &[u8]) -> bool {
    let whole = events(framing, bytes).filter(|event| event.finished).last();
    let progress = scan_events(rules, framing, &bytes[..whole.map_or(0, |event| event.range.end)]);
    progress.failure.is_some() || progress.is_ended
}

fn scan_events(rules: &OutcomeRules, framing: Framing, bytes: &[u8]) -> StreamProgress {
    let mut progress = StreamProgress::default();
    let is_text = matches!(framing, Framing::Sse | Framing::Lines);
    if is_text {
        for event in events(framing, last_lines(bytes)) {
            progress.take_event(rules.event, &event);
        }
    }
    let is_ended = progress.is_ended;
    if is_ended && progress.failure.is_none() && !rules.may_report_failure(bytes) {
        return progress;
    }
    // The end need not be looked for again.
    let matters = |event: &StreamEvent<'_>| {
        !is_ended || rules.may_report_failure(&bytes[event.range.clone()])
    };
    for event in events(framing, bytes).filter(matters) {
        progress.take_event(rules.event, &event);
    }
    progress
}

/// The last lines of a stream.
fn last_lines(bytes: &[u8]) -> &[u8] {
    match bytes.len().checked_sub(TAIL) {
        None => bytes,
        Some(from) => {
            let line =
                memchr::memchr(b'\n', &bytes[from..]).map_or(bytes.len(), |at| from + at + 1);
            &bytes[line..]
        }
    }
}
