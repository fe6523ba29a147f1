//! Differences between the bodies of two responses, apart from those in their answers.

use serde_json::Value;

use super::{CallDifference, CallHalf, ComparedSide, value};
use loomrec_provider::framing::{self, StreamEvent};
use loomrec_provider::{Framing, Operation};

/// Members that a provider generates anew for each answer, at any place.
const MADE_UP: [&str; 29] = [
    "id",
    "call_id",
    "item_id",
    "tool_use_id",
    "toolUseId",
    "request_id",
    "requestId",
    "responseId",
    "generation_id",
    "response_id",
    "created",
    "created_at",
    "completed_at",
    "createTime",
    "system_fingerprint",
    "fingerprint",
    "signature",
    "thoughtSignature",
    "encrypted_content",
    "obfuscation",
    "total_duration",
    "load_duration",
    "prompt_eval_duration",
    "eval_duration",
    "latencyMs",
    "timings",
    "avgLogprobs",
    "x_groq",
    "amazon-bedrock-invocationMetrics",
];

/// Top-level members that are compared as parts of the answer.
const TOLD: [&str; 7] =
    ["usage", "usageMetadata", "model", "modelVersion", "meta", "prompt_eval_count", "eval_count"];

/// The content of a body.
enum ComparedBody {
    /// Nothing.
    Empty,
    /// One JSON value, also if it was merged from a stream.
    Json(Value),
    /// Any other text.
    Text(String),
    /// Bytes that are not a text.
    Bytes(Vec<u8>),
}

/// Adds the differences between two bodies.
pub(super) fn add_differences(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    found: &mut Vec<CallDifference>,
) {
    let place = "response/body";
    // If only one side has a summary, its answer is compared already. The other side's body is then
    // shown as a difference.
    let (old, new) = match (a.has_summary(), b.has_summary()) {
        (true, false) => (ComparedBody::Empty, body_content(b)),
        (false, true) => (body_content(a), ComparedBody::Empty),
        _ => (body_content(a), body_content(b)),
    };
    match (old, new) {
        (ComparedBody::Json(old), ComparedBody::Json(new)) => {
            value::add_differences(CallHalf::Answer, place, Some(&old), Some(&new), found);
        }
        (ComparedBody::Bytes(old), ComparedBody::Bytes(new)) => {
            let at = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
            if old != new {
                let told = |bytes: &[u8]| {
                    Some(Value::from(format!("{} bytes, different from byte {at} on", bytes.len())))
                };
                found.push(value::whole_difference(
                    CallHalf::Answer,
                    place,
                    told(&old),
                    told(&new),
                ));
            }
        }
        (old, new) => {
            let (old, new) = (shown_body(old), shown_body(new));
            if old != new {
                found.push(value::whole_difference(CallHalf::Answer, place, old, new));
            }
        }
    }
}

/// Returns a body as the value of a difference.
fn shown_body(body: ComparedBody) -> Option<Value> {
    match body {
        ComparedBody::Empty => None,
        ComparedBody::Json(value) => Some(value),
        ComparedBody::Text(text) => Some(Value::from(text)),
        ComparedBody::Bytes(bytes) => {
            Some(Value::from(format!("{} bytes that are not text", bytes.len())))
        }
    }
}

/// Returns the content of a response's body, without members that are generated anew each time.
fn body_content(side: &ComparedSide<'_>) -> ComparedBody {
    let Some(body) = side.answer_body() else { return ComparedBody::Empty };
    let Some(bytes) = body.plain_bytes() else {
        return ComparedBody::Bytes(body.bytes.to_vec());
    };
    let tidied = |mut value: Value| {
        if side.operation() != Operation::OTHER {
            remove_uncompared(&mut value, side.has_summary());
        }
        ComparedBody::Json(value)
    };
    if let Some(framing) = body.stream_framing(side.operation()) {
        let whole = merge_stream(side, framing, bytes);
        return match whole.and_then(|whole| serde_json::from_slice(&whole).ok()) {
            Some(value) => tidied(value),
            // If the answer is compared already, the split into events does not matter.
            None if side.has_summary() => ComparedBody::Empty,
            None => {
                tidied(framing::events(framing, bytes).map(|event| event_content(&event)).collect())
            }
        };
    }
    if let Ok(value) = serde_json::from_slice::<Value>(bytes) {
        return tidied(value);
    }
    match std::str::from_utf8(bytes) {
        Ok("") => ComparedBody::Empty,
        Ok(text) => ComparedBody::Text(text.to_owned()),
        Err(_) => ComparedBody::Bytes(bytes.to_vec()),
    }
}

/// Returns the content of an event: its JSON, or its text.
fn event_content(event: &StreamEvent<'_>) -> Value {
    let text = || String::from_utf8_lossy(event.data.as_deref().unwrap_or_default());
    event.json_data().unwrap_or_else(|| Value::from(text()))
}

/// Merges a stream to a complete answer, if that is possible.
fn merge_stream(side: &ComparedSide<'_>, framing: Framing, stream: &[u8]) -> Option<Vec<u8>> {
    let asked = side.entry.asked_format(side.call.as_ref()?)?;
    loomrec_provider::to_complete(&asked, framing, stream).ok()
}

/// Removes generated members and, at the top level, members that are compared elsewhere.
fn remove_uncompared(value: &mut Value, told: bool) {
    if let (Value::Object(members), true) = (&mut *value, told) {
        members.retain(|name, _| !TOLD.contains(&name.as_str()));
    }
    remove_generated(value);
}

fn remove_generated(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|name, _| !MADE_UP.contains(&name.as_str()));
            members.values_mut().for_each(remove_generated);
        }
        Value::Array(items) => items.iter_mut().for_each(remove_generated),
        _ => {}
    }
}
