//! The chunks of an InvokeModel stream: the model's own events in base64, the last one with
//! Bedrock's counts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::TokenUsage;
use crate::event_text::{holds_text, holds_text_of};
use crate::framing::{self, EventFrame, Framing};
use crate::operation::ObjectView;

/// The member with Bedrock's own counts, in the last event.
pub(super) const METRICS: &str = "amazon-bedrock-invocationMetrics";

/// The model's own events.
pub(super) struct NativeEvents {
    pub(super) events: Vec<ObjectView>,
    /// Bedrock's counts.
    pub(super) metrics: Option<TokenUsage>,
    /// Whether there was an exception, or a chunk that does not decode.
    pub(super) failed: bool,
}

impl NativeEvents {
    /// Extracts the events from their chunks.
    pub(super) fn from_stream(framing: Framing, bytes: &[u8]) -> Self {
        let mut native = Self { events: vec![], metrics: None, failed: false };
        for event in framing::events(framing, bytes) {
            if event.data.is_none() && event.finished && !event.failed {
                continue;
            }
            let inner = event.json_data().as_ref().and_then(decode_chunk);
            let Some(mut inner) = inner.filter(|_| !event.failed) else {
                native.failed = true;
                continue;
            };
            if let Some(metrics) = inner.shift_remove(METRICS) {
                native.metrics = Some(read_usage(&metrics));
            }
            if !inner.is_empty() {
                native.events.push(inner);
            }
        }
        native
    }
}

/// The event in the bytes of a chunk.
pub(super) fn decode_chunk(chunk: &Value) -> Option<ObjectView> {
    let bytes = STANDARD.decode(chunk.get("bytes")?.as_str()?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Whether a chunk carries text, in one of the models' own events.
pub(super) fn has_text(chunk: &Value) -> bool {
    let Some(event) = decode_chunk(chunk).map(Value::Object) else { return false };
    let places = [
        "/delta/text",
        "/content_block/text",
        "/contentBlockDelta/delta/text",
        "/choices/0/delta/content",
    ];
    holds_text(&event, &places)
        || holds_text_of(&event, "event_type", "text-generation", &["/text"])
}

/// Bedrock counts input as Anthropic does: cached tokens are separate.
fn read_usage(metrics: &Value) -> TokenUsage {
    let count = |name: &str| metrics.get(name).and_then(Value::as_u64).unwrap_or(0);
    let cached = count("cacheReadInputTokenCount");
    let written = count("cacheWriteInputTokenCount");
    let prompt = count("inputTokenCount").saturating_add(cached).saturating_add(written);
    let completion = count("outputTokenCount");
    TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt.saturating_add(completion),
        reasoning_tokens: 0,
        cached_tokens: cached,
        cache_write_tokens: written,
    }
}

/// The events as a stream of server-sent events, for the readers of those.
pub(super) fn sse_bytes(events: Vec<ObjectView>) -> Vec<u8> {
    let frames: Vec<EventFrame> =
        events.into_iter().map(|event| EventFrame::unnamed(Value::Object(event))).collect();
    Framing::Sse.write_events(&frames).concat()
}

/// Wraps events in chunks, and adds Bedrock's counts to the last.
pub(super) fn wrap_events(mut events: Vec<Value>, usage: TokenUsage) -> Vec<EventFrame> {
    if let Some(Value::Object(last)) = events.last_mut() {
        last.insert(METRICS.to_owned(), write_metrics(usage));
    }
    let chunk = |event: Value| {
        let bytes = STANDARD.encode(event.to_string());
        EventFrame::named("chunk", json!({ "bytes": bytes }))
    };
    events.into_iter().map(chunk).collect()
}

fn write_metrics(usage: TokenUsage) -> Value {
    let (plain, cached, written) = usage.input_parts();
    let mut metrics = json!({
        "inputTokenCount": plain,
        "outputTokenCount": usage.completion_tokens,
        "invocationLatency": 0,
        "firstByteLatency": 0
    });
    if cached > 0 || written > 0 {
        metrics["cacheReadInputTokenCount"] = cached.into();
        metrics["cacheWriteInputTokenCount"] = written.into();
    }
    metrics
}
