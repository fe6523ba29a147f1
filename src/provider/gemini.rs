//! Reads Gemini's (and Vertex's) generated content: a complete body, a stream of
//! server-sent events, and a stream as one JSON array, cut or whole.
//!
//! Thoughts are no part of the content; their tokens count as reasoning and as
//! completion.

use serde_json::{Map, Value};

use super::{Answer, ToolCall, Usage, count, items, sse, text};

/// Reads a body that is not server-sent events: one object, or an array of chunks.
pub(super) fn whole(bytes: &[u8]) -> Option<Answer> {
    fold(chunks_of_body(bytes).iter())
}

/// Reads a stream of server-sent events, or what arrived of it.
pub(super) fn stream(bytes: &[u8]) -> Option<Answer> {
    let chunks: Vec<Value> = sse::events(bytes).filter_map(|event| event.json()).collect();
    fold(chunks.iter())
}

/// Whether the stream, in either form, says why it ended.
pub(super) fn ended(bytes: &[u8]) -> bool {
    let start = bytes.trim_ascii_start().first();
    let answer = if matches!(start, Some(b'[' | b'{')) { whole(bytes) } else { stream(bytes) };
    answer.is_some_and(|answer| answer.finish_reason.is_some())
}

/// The chunks of a JSON array, as far as they came whole; one for an object.
fn chunks_of_body(bytes: &[u8]) -> Vec<Value> {
    let bytes = bytes.trim_ascii_start();
    let Some(mut rest) = bytes.strip_prefix(b"[") else {
        return super::value(bytes).into_iter().collect();
    };
    let mut chunks = vec![];
    loop {
        let skip =
            rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b',').count();
        rest = &rest[skip..];
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Value>();
        let Some(Ok(chunk)) = values.next() else {
            return chunks;
        };
        rest = rest.get(values.byte_offset()..).unwrap_or_default();
        chunks.push(chunk);
    }
}

/// Puts the chunks together; `None` where none of them is an answer's.
fn fold<'a>(chunks: impl Iterator<Item = &'a Value>) -> Option<Answer> {
    let mut answer = Answer::default();
    let mut counts = Map::new();
    let mut seen = false;
    for chunk in chunks {
        let blocked = chunk.pointer("/promptFeedback/blockReason");
        let candidates = items(chunk, "candidates");
        seen |= chunk.get("candidates").is_some() || blocked.is_some();
        if let Some(model) = text(chunk, "modelVersion") {
            answer.model = Some(model.to_owned());
        }
        let first = candidates.iter().find(|candidate| count(candidate, "index").unwrap_or(0) == 0);
        let reason = first.and_then(|candidate| text(candidate, "finishReason"));
        if let Some(reason) = reason.or(blocked.and_then(Value::as_str)) {
            answer.finish_reason = Some(reason.to_owned());
        }
        if let Some(content) = first.and_then(|candidate| candidate.get("content")) {
            parts_into(items(content, "parts"), &mut answer);
        }
        // Counts are cumulative; a chunk may carry only some of them.
        if let Some(Value::Object(metadata)) = chunk.get("usageMetadata") {
            counts.extend(metadata.clone());
        }
    }
    answer.usage = (!counts.is_empty()).then(|| usage(&Value::Object(counts)));
    (seen || answer.usage.is_some()).then_some(answer)
}

fn parts_into(parts: &[Value], answer: &mut Answer) {
    for part in parts {
        let thought = part.get("thought") == Some(&Value::Bool(true));
        if let Some(piece) = text(part, "text").filter(|_| !thought) {
            answer.content.push_str(piece);
        }
        if let Some(call @ Value::Object(_)) = part.get("functionCall") {
            answer.tool_calls.push(ToolCall::from_value(
                text(call, "id").unwrap_or(""),
                text(call, "name").unwrap_or(""),
                call.get("args"),
            ));
        }
    }
}

fn usage(counts: &Value) -> Usage {
    let of = |name| count(counts, name).unwrap_or(0);
    let thoughts = of("thoughtsTokenCount");
    // What a tool of Google's brought into the prompt is counted apart from it.
    let prompt = of("promptTokenCount").saturating_add(of("toolUsePromptTokenCount"));
    let completion = of("candidatesTokenCount").saturating_add(thoughts);
    Usage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: count(counts, "totalTokenCount").unwrap_or(prompt.saturating_add(completion)),
        reasoning_tokens: thoughts,
        cached_tokens: of("cachedContentTokenCount"),
        cache_write_tokens: 0,
    }
}

#[cfg(test)]
mod tests;
