//! Reads OpenAI's Responses: complete bodies, and streams by their terminal
//! event, or by their deltas where the stream was cut before it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Answer, ToolCall, Usage, count, items, sse, text};

/// Reads a complete body; `None` where it has no `output`.
pub(super) fn complete(body: &Value) -> Option<Answer> {
    body.get("output")?.as_array()?;
    let mut answer = Answer {
        model: text(body, "model").map(str::to_owned),
        usage: body.get("usage").and_then(usage),
        finish_reason: finish_reason(body),
        ..Answer::default()
    };
    for item in items(body, "output") {
        item_into(item, &mut answer);
    }
    Some(answer)
}

/// Why an answer is incomplete says more than that it is.
fn finish_reason(body: &Value) -> Option<String> {
    let reason = body.pointer("/incomplete_details/reason");
    reason.and_then(Value::as_str).or_else(|| text(body, "status")).map(str::to_owned)
}

fn item_into(item: &Value, answer: &mut Answer) {
    let (id, name) = (text(item, "call_id"), text(item, "name"));
    let arguments = match text(item, "type") {
        Some("message") => {
            for part in items(item, "content") {
                if text(part, "type") == Some("output_text") {
                    answer.content.push_str(text(part, "text").unwrap_or(""));
                }
            }
            return;
        }
        Some("function_call") => item.get("arguments"),
        Some("custom_tool_call") => item.get("input"),
        _ => return,
    };
    answer.tool_calls.push(ToolCall::from_value(id.unwrap_or(""), name.unwrap_or(""), arguments));
}

fn usage(usage: &Value) -> Option<Usage> {
    usage.as_object()?;
    let nested = |pointer| usage.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
    let prompt = count(usage, "input_tokens").unwrap_or(0);
    let completion = count(usage, "output_tokens").unwrap_or(0);
    Some(Usage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: count(usage, "total_tokens").unwrap_or(prompt.saturating_add(completion)),
        reasoning_tokens: nested("/output_tokens_details/reasoning_tokens"),
        cached_tokens: nested("/input_tokens_details/cached_tokens"),
        cache_write_tokens: nested("/input_tokens_details/cache_write_tokens"),
    })
}

/// One output item while its deltas come in.
#[derive(Default)]
struct Item {
    /// The item as its last `added` or `done` event has it.
    value: Value,
    /// Its text, or its call's arguments.
    pieces: String,
}

/// Reads a stream, or what arrived of it; `None` where it has no Responses event.
pub(super) fn stream(bytes: &[u8]) -> Option<Answer> {
    let mut opened: Option<Value> = None;
    let mut output: BTreeMap<u64, Item> = BTreeMap::new();
    for event in sse::events(bytes) {
        let Some(mut data) = event.json() else {
            continue;
        };
        let kind = text(&data, "type").unwrap_or("").to_owned();
        if is_terminal(&kind) {
            return complete(data.get("response")?);
        }
        let index = count(&data, "output_index").unwrap_or(0);
        match kind.as_str() {
            "response.created" | "response.in_progress" | "response.queued" => {
                opened = data.get_mut("response").map(Value::take);
            }
            "response.output_item.added" => {
                if let Some(item) = data.get_mut("item") {
                    output.entry(index).or_default().value = item.take();
                }
            }
            "response.output_item.done" => {
                let value = data.get_mut("item").map(Value::take).unwrap_or_default();
                let pieces = String::new();
                output.insert(index, Item { value, pieces });
            }
            "response.output_text.delta"
            | "response.function_call_arguments.delta"
            | "response.custom_tool_call_input.delta" => {
                let piece = text(&data, "delta").unwrap_or("");
                output.entry(index).or_default().pieces.push_str(piece);
            }
            _ => {}
        }
    }
    (opened.is_some() || !output.is_empty()).then(|| cut(opened.as_ref(), output))
}

/// The answer of a stream that has no terminal event: no usage, no finish reason.
fn cut(opened: Option<&Value>, output: BTreeMap<u64, Item>) -> Answer {
    let mut answer = Answer {
        model: opened.and_then(|response| text(response, "model")).map(str::to_owned),
        ..Answer::default()
    };
    for mut item in output.into_values() {
        if item.pieces.is_empty() {
            item_into(&item.value, &mut answer);
            continue;
        }
        let slot = match text(&item.value, "type") {
            Some("function_call") => "arguments",
            Some("custom_tool_call") => "input",
            _ => {
                answer.content.push_str(&item.pieces);
                continue;
            }
        };
        if let Value::Object(fields) = &mut item.value {
            fields.insert(slot.to_owned(), Value::String(item.pieces));
        }
        item_into(&item.value, &mut answer);
    }
    answer
}

/// Whether the stream carries one of its three terminal events.
pub(super) fn ended(bytes: &[u8]) -> bool {
    sse::events(bytes)
        .filter_map(|event| event.json())
        .any(|data| text(&data, "type").is_some_and(is_terminal))
}

fn is_terminal(kind: &str) -> bool {
    matches!(kind, "response.completed" | "response.incomplete" | "response.failed")
}

#[cfg(test)]
mod tests;
