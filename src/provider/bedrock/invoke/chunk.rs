//! The chunks of an InvokeModel stream: a model's own events in base64, the last of
//! them with Bedrock's counts.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::TokenUsage;
use crate::framing::{self, EventFrame, Framing};
use crate::operation::ObjectView;

/// Bedrock's own counts, in the last event.
const METRICS: &str = "amazon-bedrock-invocationMetrics";

/// A model's own events.
pub(super) struct NativeEvents {
    pub(super) events: Vec<ObjectView>,
    /// What Bedrock counted.
    pub(super) metrics: Option<TokenUsage>,
    /// An exception, or a chunk that does not decode, was among them.
    pub(super) failed: bool,
}

impl NativeEvents {
    /// Takes the events out of their chunks.
    pub(super) fn of(framing: Framing, bytes: &[u8]) -> Self {
        let mut native = Self { events: vec![], metrics: None, failed: false };
        for event in framing::events(framing, bytes) {
            if event.data.is_none() && event.finished && !event.failed {
                continue;
            }
            let inner = event.json().as_ref().and_then(inner);
            let Some(mut inner) = inner.filter(|_| !event.failed) else {
                native.failed = true;
                continue;
            };
            if let Some(metrics) = inner.shift_remove(METRICS) {
                native.metrics = Some(usage(&metrics));
            }
            if !inner.is_empty() {
                native.events.push(inner);
            }
        }
        native
    }
}

/// The event in a chunk's bytes.
fn inner(chunk: &Value) -> Option<ObjectView> {
    let bytes = STANDARD.decode(chunk.get("bytes")?.as_str()?).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// Bedrock counts input as Anthropic does: what was cached stands beside it.
fn usage(metrics: &Value) -> TokenUsage {
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

/// The events as a stream of server-sent events, for those who read these.
pub(super) fn sse(events: Vec<ObjectView>) -> Vec<u8> {
    let frames: Vec<EventFrame> =
        events.into_iter().map(|event| EventFrame::unnamed(Value::Object(event))).collect();
    Framing::Sse.write(&frames).concat()
}

/// Puts events into chunks, and Bedrock's counts into the last.
pub(super) fn wrap(mut events: Vec<Value>, usage: TokenUsage) -> Vec<EventFrame> {
    if let Some(Value::Object(last)) = events.last_mut() {
        last.insert(METRICS.to_owned(), metrics(usage));
    }
    let chunk = |event: Value| {
        let bytes = STANDARD.encode(event.to_string());
        EventFrame::named("chunk", json!({ "bytes": bytes }))
    };
    events.into_iter().map(chunk).collect()
}

fn metrics(usage: TokenUsage) -> Value {
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
