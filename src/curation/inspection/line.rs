//! A recorded take in the fields of a journal line.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::answer::media_type;
use super::question::last_question;
use super::stream::round_millis;
use loomrec_provider::{Framing, Operation, RecognisedCall, RpcMethod};
use loomrec_recording::{Entry, EntryName, PriceSource, RecordedResponse, ResponseEnd};

/// How many characters of the question a line holds at most.
pub const QUESTION: usize = 200;

/// The prices of takes without a recorded cost.
static PRICES: LazyLock<PriceSource> = LazyLock::new(PriceSource::built_in);

/// Returns the line of a take. Beside the fields of a journal line, it has `asks`: the beginning of
/// what the call asks, which a journal does not hold. Fields that a recording does not hold are null.
pub fn from_take(seq: Option<u64>, name: &EntryName, take: usize, entry: &Entry) -> Value {
    let request = entry.request.as_ref();
    let call = request.map(|request| request.recognise_call());
    let response = entry.response.as_ref();
    let hash = match name {
        EntryName::Hash(hash) => Some(hash),
        EntryName::Step(_) => entry.request_hash.as_ref(),
    };
    let chunks = response.map(|response| response.payload.chunks());
    let at =
        |chunk: Option<&loomrec_recording::Chunk>| chunk.map(|chunk| round_millis(chunk.at_ms));
    let judged = response.map(|_| entry.judge_answer());
    let asked = call.as_ref().and_then(|call| call.model.as_deref());
    json!({
        "v": 1,
        "seq": seq,
        "at": entry.recorded_at,
        "outcome": "recorded",
        "status": response.map(|response| response.status),
        "mode": null,
        "source": "recording",
        "method": request.map(|request| request.method.as_str()),
        "path": request.map(|request| request.path.as_str()),
        "upstream": entry.upstream,
        "provider": entry.provider,
        "operation": call.as_ref().and_then(|call| call.operation.known_name()),
        "rpc": call.as_ref().and_then(|call| call.rpc.as_ref().map(RpcMethod::to_string)),
        "model": asked.or(entry.model.as_deref()),
        "streamed": response.map(|response| is_streamed(call.as_ref(), response)),
        "session": entry.session,
        "step_id": name.step_id(),
        "key": hash.map(|hash| hash.as_str()),
        "matched_by": null,
        "bound": null,
        "entry": name.to_string(),
        "take": take,
        "head_ms": null,
        "first_byte_ms": at(chunks.and_then(<[_]>::first)),
        "total_ms": entry.latency_ms.map(round_millis).or_else(|| at(chunks?.last())),
        "waited_ms": null,
        "bytes": response.map(|response| response.payload.len()),
        "chunks": chunks.map(<[_]>::len),
        "end": response.map(|response| match entry.client_left {
            Some(_) => "client_left",
            None => end_word(response.end),
        }),
        "input_tokens": entry.usage.map(|usage| usage.prompt_tokens),
        "output_tokens": entry.usage.map(|usage| usage.completion_tokens),
        "cost_usd": PRICES.call_cost(entry, entry.model.as_deref().or(asked)),
        "answered_by": entry.model,
        "kept": true,
        "answer": judged.as_ref().map(|judged| judged.outcome.as_str()),
        "answer_reason": judged.map(|judged| judged.reason).filter(|reason| !reason.is_empty()),
        "attempt": null,
        "fault": entry.fault,
        "mismatch": null,
        "asks": request.and_then(|request| last_question(request, QUESTION)),
        "more": null,
    })
}

fn is_streamed(call: Option<&RecognisedCall>, response: &RecordedResponse) -> bool {
    let operation = call.map_or(Operation::OTHER, |call| call.operation);
    let is_asked = call.is_some_and(|call| call.streamed);
    let framing =
        || Framing::from_answer(operation, &media_type(response), &response.payload.joined_bytes());
    is_asked || framing() == Some(Framing::Sse)
}

/// Returns the journal's word for an end.
fn end_word(end: ResponseEnd) -> &'static str {
    match end {
        ResponseEnd::Complete => "complete",
        ResponseEnd::UpstreamAbort(_) => "aborted",
        ResponseEnd::ClientAbort => "client_left",
        ResponseEnd::Truncated => "truncated",
    }
}
