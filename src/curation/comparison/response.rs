//! Differences between two responses apart from the answer: status, meaningful headers, streaming,
//! end; and the body, if no summary of it was compared.

use serde_json::Value;

use super::side::first_header;
use super::{CallDifference, CallHalf, ComparedSide, body, value};
use loomrec_recording::{Entry, RecordedCut, RecordedResponse, ResponseEnd};

/// Headers that are part of an answer. All others change with each response.
const HEADERS: [&str; 5] =
    ["content-type", "content-encoding", "location", "retry-after", "x-should-retry"];

/// Adds the differences between two responses.
pub(super) fn add_differences(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    found: &mut Vec<CallDifference>,
) {
    let said = found.iter().all(|difference| difference.part != CallHalf::Answer);
    let latency = |side: &ComparedSide<'_>| side.entry.latency_ms.map(Value::from);
    let (old, new) = match (&a.entry.response, &b.entry.response) {
        (Some(old), Some(new)) => (old, new),
        (old, new) => {
            let told = |told: bool| told.then(|| Value::from("recorded"));
            let (old, new) = (told(old.is_some()), told(new.is_some()));
            // An entry with a summary only can be served in any form.
            add_if_different(found, false, "response", old, new);
            return add_if_different(found, false, "answer/latency_ms", latency(a), latency(b));
        }
    };
    add_if_different(
        found,
        true,
        "response/status",
        Value::from(old.status),
        Value::from(new.status),
    );
    let reason = |response: &RecordedResponse| response.reason.clone().map(Value::from);
    add_if_different(found, true, "response/reason", reason(old), reason(new));
    for name in HEADERS {
        let value = |response| Some(first_header(response, name)).filter(|value| !value.is_empty());
        let (old, new) = (value(old).map(Value::from), value(new).map(Value::from));
        add_if_different(found, true, &format!("response/headers/{name}"), old, new);
    }
    let streamed = (a.is_streamed(old), b.is_streamed(new));
    add_if_different(
        found,
        true,
        "response/streamed",
        Value::from(streamed.0),
        Value::from(streamed.1),
    );
    add_if_different(found, true, "response/end", end_word(old), end_word(new));
    let [was, is] = [a, b].map(|side| leave_word(side.entry).map(Value::from));
    add_if_different(found, true, "response/client_left", was, is);
    let same = old.payload.chunks().iter().map(|chunk| &chunk.data);
    let same = same.eq(new.payload.chunks().iter().map(|chunk| &chunk.data));
    if !same && (!a.has_summary() || !b.has_summary() || (said && streamed.0 == streamed.1)) {
        body::add_differences((a, old), (b, new), found);
    }
    if streamed.0 && streamed.1 {
        let chunks = |response: &RecordedResponse| Value::from(response.payload.chunks().len());
        add_if_different(found, false, "response/chunks", chunks(old), chunks(new));
        let first = |response: &RecordedResponse| {
            response.payload.chunks().first().map(|chunk| Value::from(chunk.at_ms))
        };
        add_if_different(found, false, "response/first_chunk_ms", first(old), first(new));
    }
    let bytes = |response: &RecordedResponse| Value::from(response.payload.len());
    add_if_different(found, false, "response/bytes", bytes(old), bytes(new));
    add_if_different(found, false, "answer/latency_ms", latency(a), latency(b));
}

/// Adds a difference if the values differ.
fn add_if_different(
    found: &mut Vec<CallDifference>,
    counts: bool,
    place: &str,
    old: impl Into<Option<Value>>,
    new: impl Into<Option<Value>>,
) {
    let (old, new) = (old.into(), new.into());
    if old != new {
        found.push(CallDifference {
            counts,
            ..value::whole_difference(CallHalf::Answer, place, old, new)
        });
    }
}

/// Returns how much of an answer its client got, if it left before the end. The number of bytes
/// differs in each recording, so it does not count.
fn leave_word(entry: &Entry) -> Option<&'static str> {
    entry.client_left?;
    Some(if entry.is_undelivered() { "before the answer" } else { "within the answer" })
}

/// Returns the word for an end.
fn end_word(response: &RecordedResponse) -> Value {
    Value::from(match response.end {
        ResponseEnd::Complete => "complete",
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => "upstream_abort close",
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => "upstream_abort reset",
        ResponseEnd::ClientAbort => "client_abort",
        ResponseEnd::Truncated => "truncated",
    })
}
