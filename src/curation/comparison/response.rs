//! Differences between two responses apart from the answer: status, meaningful headers, streaming,
//! end; and the body, if no summary of it was compared.

use serde_json::Value;

use super::{CallDifference, CallHalf, ComparedSide, body, value};
use loomrec_recording::{Chunk, Entry, RecordedCut, ResponseEnd};

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
    let sides = [a, b];
    if !sides.iter().all(|side| side.entry.has_response()) {
        let [old, new] =
            sides.map(|side| side.entry.has_response().then(|| Value::from("recorded")));
        // An entry with a summary only can be served in any form.
        add_if_different(found, false, "response", old, new);
        return add_if_different(found, false, "answer/latency_ms", latency(a), latency(b));
    }
    let [old, new] = sides.map(|side| side.entry.answer_status().map(Value::from));
    add_if_different(found, true, "response/status", old, new);
    let [old, new] = sides.map(|side| side.entry.answer_reason().map(Value::from));
    add_if_different(found, true, "response/reason", old, new);
    for name in HEADERS {
        let [old, new] = sides.map(|side| side.answer_header(name).map(Value::from));
        add_if_different(found, true, &format!("response/headers/{name}"), old, new);
    }
    let streamed = (a.is_streamed(), b.is_streamed());
    add_if_different(
        found,
        true,
        "response/streamed",
        Value::from(streamed.0),
        Value::from(streamed.1),
    );
    let [old, new] = sides.map(|side| side.entry.answer_end().map(end_word));
    add_if_different(found, true, "response/end", old, new);
    let [was, is] = sides.map(|side| leave_word(side.entry).map(Value::from));
    add_if_different(found, true, "response/client_left", was, is);
    let [old, new] = sides.map(|side| side.entry.answer_chunks().unwrap_or_default());
    let same = old.iter().map(|chunk| &chunk.data).eq(new.iter().map(|chunk| &chunk.data));
    if !same && (!a.has_summary() || !b.has_summary() || (said && streamed.0 == streamed.1)) {
        body::add_differences(a, b, found);
    }
    if streamed.0 && streamed.1 {
        let counts = (Value::from(old.len()), Value::from(new.len()));
        add_if_different(found, false, "response/chunks", counts.0, counts.1);
        let first = |chunks: &[Chunk]| chunks.first().map(|chunk| Value::from(chunk.at_ms));
        add_if_different(found, false, "response/first_chunk_ms", first(old), first(new));
    }
    let [old, new] = sides.map(|side| side.entry.answer_length().map(Value::from));
    add_if_different(found, false, "response/bytes", old, new);
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
fn end_word(end: ResponseEnd) -> Value {
    Value::from(match end {
        ResponseEnd::Complete => "complete",
        ResponseEnd::UpstreamAbort(RecordedCut::Close) => "upstream_abort close",
        ResponseEnd::UpstreamAbort(RecordedCut::Reset) => "upstream_abort reset",
        ResponseEnd::ClientAbort => "client_abort",
        ResponseEnd::Truncated => "truncated",
    })
}
