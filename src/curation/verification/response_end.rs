//! Checks whether an answer is complete, and whether the times of its chunks are in order.

use super::answer::DecodedBody;
use super::{Problem, ProblemKind, Severity};
use loomrec_provider::{AnswerOutcome, RecognisedCall};
use loomrec_recording::body::{LONGEST_MS, is_plausible_time};
use loomrec_recording::{Entry, ResponseEnd};

/// Shown for a time that a replay does not wait for.
const TOO_LONG: &str = "the time is below 0 or above an hour: a replay does not wait for it";
const TOO_LONG_HELP: &str = "correct the time, or record the call again";

/// Adds the problems of an answer's end and of its times.
pub(super) fn add_problems(
    entry: &Entry,
    call: Option<&RecognisedCall>,
    body: Option<&DecodedBody<'_>>,
    found: &mut Vec<Problem>,
) {
    if entry.latency_ms.is_some_and(|ms| !is_plausible_time(ms)) {
        let problem = Problem::of_file(ProblemKind::Time, Severity::Warning, TOO_LONG);
        found.push(problem.with_place("/latency_ms", None).with_remedy(TOO_LONG_HELP));
    }
    let (Some(end), Some(chunks)) = (entry.answer_end(), entry.answer_chunks()) else { return };
    found.extend(status_problem(entry));
    if let Some(at) = &entry.edited_at {
        let text = format!("the answer was edited by hand at {at}");
        let problem = Problem::of_file(ProblemKind::Edited, Severity::Note, text);
        found.push(problem.with_place("/edited_at", None));
    }
    if let Some(at) = chunks.windows(2).position(|pair| pair[1].at_ms < pair[0].at_ms) {
        let text = format!("chunk {} has an earlier time than the previous one", at + 2);
        let problem = Problem::of_file(ProblemKind::Time, Severity::Error, text);
        let remedy = "put the times in order, or record the call again";
        found.push(
            problem.with_place(format!("/response/chunks/{}/0", at + 1), None).with_remedy(remedy),
        );
    }
    if let Some(at) = chunks.iter().position(|chunk| chunk.at_ms > LONGEST_MS) {
        let problem = Problem::of_file(ProblemKind::Time, Severity::Warning, TOO_LONG);
        found.push(
            problem.with_place(format!("/response/chunks/{at}/0"), None).with_remedy(TOO_LONG_HELP),
        );
    }
    if chunks.iter().any(|chunk| chunk.at_ms < 0.0) {
        let problem = Problem::of_file(
            ProblemKind::Time,
            Severity::Error,
            "a chunk comes before the request",
        );
        let remedy = "put the times in order, or record the call again";
        found.push(problem.with_place("/response/chunks", None).with_remedy(remedy));
    }
    let told = match end {
        ResponseEnd::ClientAbort if entry.client_left.is_some() => return,
        ResponseEnd::ClientAbort => "the client left before the answer's end: it is never replayed",
        ResponseEnd::Truncated => {
            "the answer was larger than the copy's limit: it is never replayed"
        }
        ResponseEnd::UpstreamAbort(_) => {
            let cut = || failed_call_note("the call failed: its answer was cut".to_owned());
            return found.extend(entry.fault.is_none().then(cut));
        }
        ResponseEnd::Complete => {
            let judged = entry.fault.is_none().then(|| failure_problem(entry, call, body));
            return found.extend(judged.flatten());
        }
    };
    let problem = Problem::of_file(ProblemKind::End, Severity::Warning, told);
    let remedy = "record the call again, or remove the entry";
    found.push(problem.with_place("/response/end", None).with_remedy(remedy));
}

/// Returns the problem of a status under which a replay does not send the recorded answer.
fn status_problem(entry: &Entry) -> Option<Problem> {
    let text = match entry.answer_status()? {
        101 if entry.messages.is_empty() => {
            "the status is that of a WebSocket, and there are no messages: it is never replayed"
        }
        204 | 304 if entry.answer_length()? > 0 => {
            "the status permits no body: a replay leaves the body out"
        }
        _ => return None,
    };
    let problem = Problem::of_file(ProblemKind::End, Severity::Warning, text);
    let remedy = "correct the status, or record the call again";
    Some(problem.with_place("/response/status", None).with_remedy(remedy))
}

/// Returns the problem of an answer that arrived completely and is no success.
fn failure_problem(
    entry: &Entry,
    call: Option<&RecognisedCall>,
    body: Option<&DecodedBody<'_>>,
) -> Option<Problem> {
    let status = entry.answer_status()?;
    if status >= 400 {
        let text = format!("the call failed: it was answered {status}");
        return Some(failed_call_note(text));
    }
    if let Some(judged) = entry.judge_messages() {
        return Some(failed_call_note(format!("the call failed: {}", judged.description())));
    }
    let judged = entry.judge_response(call?.operation, body?.plain.received_body())?;
    let reason = judged.description();
    match judged.outcome {
        AnswerOutcome::Complete => None,
        AnswerOutcome::Unfinished => {
            let text = format!("it is marked complete, but {reason}");
            let remedy = "record the call again; if the cut is intended, set `end` to \
                          \"upstream_abort\"";
            let problem = Problem::of_file(ProblemKind::End, Severity::Warning, text);
            Some(problem.with_place("/response/end", None).with_remedy(remedy))
        }
        AnswerOutcome::FailedByProvider | AnswerOutcome::NotAnAnswer => {
            Some(failed_call_note(format!("the call failed: {reason}")))
        }
    }
}

/// Returns the note of a call that failed. A failure may be meant, and replay serves it.
fn failed_call_note(text: String) -> Problem {
    let remedy = "record the call again, unless the failure is intended";
    Problem::of_file(ProblemKind::Failed, Severity::Note, text)
        .with_place("/response", None)
        .with_remedy(remedy)
}
