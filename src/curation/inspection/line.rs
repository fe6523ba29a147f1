//! A recorded take in the fields of a journal line.

use std::sync::LazyLock;

use serde_json::{Value, json};

use super::question::last_question;
use super::stream::round_millis;
use loomrec_provider::{Framing, RecognisedCall, RpcMethod};
use loomrec_recording::{Entry, EntryName, PriceSource, ResponseEnd};

/// How many characters of the question a line holds at most.
pub const QUESTION: usize = 200;

/// The prices of takes without a recorded cost.
static PRICES: LazyLock<PriceSource> = LazyLock::new(PriceSource::built_in);

/// Returns the line of a take. Beside the fields of a journal line, it has `asks`: the beginning of
/// what the call asks, which a journal does not hold. Fields that a recording does not hold are null.
pub fn from_take(seq: Option<u64>, name: &EntryName, take: usize, entry: &Entry) -> Value {
    let call = entry.recognise_call();
    let hash = match name {
        EntryName::Hash(hash) => Some(hash),
        EntryName::Step(_) => entry.request_hash.as_ref(),
    };
    let chunks = entry.answer_chunks();
    let at =
        |chunk: Option<&loomrec_recording::Chunk>| chunk.map(|chunk| round_millis(chunk.at_ms));
    let judged = entry.has_response().then(|| entry.judge_answer());
    let asked = call.as_ref().and_then(|call| call.model.as_deref());
    json!({
        "v": 1,
        "seq": seq,
        "at": entry.recorded_at,
        "outcome": "recorded",
        "status": entry.answer_status(),
        "mode": null,
        "source": "recording",
        "method": entry.request_method(),
        "path": entry.request_path(),
        "upstream": entry.upstream,
        "provider": entry.provider,
        "operation": call.as_ref().and_then(|call| call.operation.known_name()),
        "rpc": call.as_ref().and_then(|call| call.rpc.as_ref().map(RpcMethod::to_string)),
        "model": asked.or(entry.model.as_deref()),
        "streamed": entry.has_response().then(|| is_streamed(call.as_ref(), entry)),
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
        "bytes": entry.answer_length(),
        "chunks": chunks.map(<[_]>::len),
        "end": entry.answer_end().map(|end| match entry.client_left {
            Some(_) => "client_left",
            None => end_word(end),
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
        "asks": last_question(entry, QUESTION),
        "more": null,
    })
}

fn is_streamed(call: Option<&RecognisedCall>, entry: &Entry) -> bool {
    let is_asked = call.is_some_and(|call| call.streamed);
    is_asked || entry.received_framing(call) == Some(Framing::Sse)
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
