//! Checks whether an answer is complete, and whether the times of its chunks are in order.

use serde_json::Value;

use super::answer::DecodedBody;
use super::{Problem, ProblemKind, Severity};
use loomrec_provider::{Framing, RecognisedCall, framing};
use loomrec_recording::body::{LONGEST_MS, is_plausible_time};
use loomrec_recording::{Entry, ResponseEnd};

/// An end marker is within this many bytes of a stream's end.
const TAIL: usize = 2048;

/// Shown for a time that a replay does not wait for.
const TOO_LONG: &str = "the time is below 0 or above an hour: a replay does not wait for it";
const TOO_LONG_HELP: &str = "correct the time, or record the call again";

/// Markers of the last event of a stream, for all framings and operations. A stream without any of
/// them is parsed completely.
const MARKERS: [&[u8]; 9] = [
    b"[DONE]",
    b"message_stop",
    b"response.completed",
    b"response.incomplete",
    b"response.failed",
    b"\"finishReason\"",
    b"\"done\":true",
    b"message-end",
    b"messageStop",
];

/// Adds the problems of an answer's end and of its times.
pub(super) fn check(
    entry: &Entry,
    call: Option<&RecognisedCall>,
    body: Option<&DecodedBody<'_>>,
    found: &mut Vec<Problem>,
) {
    if entry.latency_ms.is_some_and(|ms| !is_plausible_time(ms)) {
        let problem = Problem::of_file(ProblemKind::Time, Severity::Warning, TOO_LONG);
        found.push(problem.at("/latency_ms", None).helped(TOO_LONG_HELP));
    }
    let Some(response) = &entry.response else { return };
    let chunks = response.payload.chunks();
    if let Some(at) = chunks.windows(2).position(|pair| pair[1].at_ms < pair[0].at_ms) {
        let text = format!("chunk {} has an earlier time than the previous one", at + 2);
        let problem = Problem::of_file(ProblemKind::Time, Severity::Error, text);
        let remedy = "put the times in order, or record the call again";
        found.push(problem.at(format!("/response/chunks/{}/0", at + 1), None).helped(remedy));
    }
    if let Some(at) = chunks.iter().position(|chunk| chunk.at_ms > LONGEST_MS) {
        let problem = Problem::of_file(ProblemKind::Time, Severity::Warning, TOO_LONG);
        found.push(problem.at(format!("/response/chunks/{at}/0"), None).helped(TOO_LONG_HELP));
    }
    if chunks.iter().any(|chunk| chunk.at_ms < 0.0) {
        let problem = Problem::of_file(
            ProblemKind::Time,
            Severity::Error,
            "a chunk comes before the request",
        );
        let remedy = "put the times in order, or record the call again";
        found.push(problem.at("/response/chunks", None).helped(remedy));
    }
    let told = match response.end {
        ResponseEnd::ClientAbort => "the client left before the answer's end: it is never replayed",
        ResponseEnd::Truncated => {
            "the answer was larger than the copy's limit: it is never replayed"
        }
        ResponseEnd::UpstreamAbort(_) => return,
        ResponseEnd::Complete if (200..300).contains(&response.status) && lacks_end(call, body) => {
            let text = "it is marked complete, but the stream has no end";
            let remedy = "record the call again; if the cut is intended, set `end` to \
                          \"upstream_abort\"";
            let problem = Problem::of_file(ProblemKind::End, Severity::Warning, text);
            return found.push(problem.at("/response/end", None).helped(remedy));
        }
        ResponseEnd::Complete => return,
    };
    let problem = Problem::of_file(ProblemKind::End, Severity::Warning, told);
    let remedy = "record the call again, or remove the entry";
    found.push(problem.at("/response/end", None).helped(remedy));
}

fn lacks_end(call: Option<&RecognisedCall>, body: Option<&DecodedBody<'_>>) -> bool {
    let (Some(call), Some(body)) = (call, body) else { return false };
    let Some(framing) = body.framing else { return false };
    let tail = &body.bytes[body.bytes.len().saturating_sub(TAIL)..];
    if MARKERS.iter().any(|marker| memchr::memmem::find(tail, marker).is_some()) {
        return false;
    }
    loomrec_provider::has_ended(call.operation, framing, &body.bytes) == Some(false)
        && !ends_in_error(framing, &body.bytes)
}

/// Whether a stream's last event is an error, which also ends the stream.
fn ends_in_error(framing: Framing, bytes: &[u8]) -> bool {
    let events = framing::events(framing, bytes).filter(|event| event.data.is_some());
    events.last().is_some_and(|event| {
        let is_error = |value: &Value| value["type"] == "error" || value.get("error").is_some();
        event.finished && (event.failed || event.json().as_ref().is_some_and(is_error))
    })
}
