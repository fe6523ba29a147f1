//! The conversion of complete Anthropic messages into streams.

use serde_json::{Value, json};

use crate::answer_draft::text_pieces;
use crate::framing::EventFrame;
use crate::operation::ObjectView;
use crate::operation::ResponseFormat;

/// The events of a complete answer; `None` if it is no message.
pub(super) fn split_body(
    _: &ResponseFormat<'_>,
    mut message: ObjectView,
) -> Option<Vec<EventFrame>> {
    let Some(Value::Array(content)) = message.get_mut("content").map(Value::take) else {
        return None;
    };
    message.insert("content".to_owned(), json!([]));
    let mut delta = ObjectView::new();
    for name in ["stop_reason", "stop_sequence"] {
        let value = message.insert(name.to_owned(), Value::Null);
        delta.insert(name.to_owned(), value.unwrap_or(Value::Null));
    }
    if let Some(details) = message.shift_remove("stop_details") {
        delta.insert("stop_details".to_owned(), details);
    }
    let usage = last_usage(&mut message);

    let mut events = vec![typed_event("message_start", json!({ "message": message }))];
    for (index, block) in content.into_iter().enumerate() {
        let Value::Object(block) = block else {
            return None;
        };
        block_events(index, block, &mut events);
    }
    let last = json!({ "delta": delta, "usage": usage });
    events.push(typed_event("message_delta", last));
    events.push(typed_event("message_stop", json!({})));
    Some(events)
}

/// Takes the output token counts out of the message, because a stream sends them at its end.
fn last_usage(message: &mut ObjectView) -> Value {
    let mut last = json!({ "output_tokens": 0 });
    if let Some(Value::Object(usage)) = message.get_mut("usage") {
        for name in ["output_tokens", "output_tokens_details"] {
            if let Some(told) = usage.shift_remove(name) {
                last[name] = told;
            }
        }
        usage.insert("output_tokens".to_owned(), json!(0));
    }
    last
}

fn typed_event(kind: &'static str, rest: Value) -> EventFrame {
    let mut data = json!({ "type": kind });
    if let (Value::Object(data), Value::Object(mut rest)) = (&mut data, rest) {
        data.append(&mut rest);
    }
    EventFrame::named(kind, data)
}

fn block_events(index: usize, mut block: ObjectView, events: &mut Vec<EventFrame>) {
    let deltas = take_deltas(&mut block);
    let start = json!({ "index": index, "content_block": block });
    events.push(typed_event("content_block_start", start));
    for delta in deltas {
        let delta = json!({ "index": index, "delta": delta });
        events.push(typed_event("content_block_delta", delta));
    }
    events.push(typed_event("content_block_stop", json!({ "index": index })));
}

/// Takes the content that deltas carry out of a block; other kinds of block come whole.
fn take_deltas(block: &mut ObjectView) -> Vec<Value> {
    let mut deltas = vec![];
    let kind = block.get("type").and_then(Value::as_str).unwrap_or("");
    match kind.to_owned().as_str() {
        "text" => {
            if let Some(Value::Array(citations)) = block.get_mut("citations") {
                let citations = std::mem::take(citations).into_iter();
                deltas.extend(
                    citations.map(|one| json!({ "type": "citations_delta", "citation": one })),
                );
            }
            for piece in text_pieces(&take_text(block, "text")) {
                deltas.push(json!({ "type": "text_delta", "text": piece }));
            }
        }
        "thinking" => {
            for piece in text_pieces(&take_text(block, "thinking")) {
                deltas.push(json!({ "type": "thinking_delta", "thinking": piece }));
            }
            let signature = take_text(block, "signature");
            if !signature.is_empty() {
                deltas.push(json!({ "type": "signature_delta", "signature": signature }));
            }
        }
        "tool_use" | "server_tool_use" | "mcp_tool_use" => {
            if let Some(input) = block.get_mut("input") {
                let text = input.to_string();
                if text != "{}" {
                    deltas.push(json!({ "type": "input_json_delta", "partial_json": text }));
                }
                *input = json!({});
            }
        }
        _ => {}
    }
    deltas
}

/// Takes the text of a member, and leaves an empty string.
fn take_text(block: &mut ObjectView, name: &str) -> String {
    match block.get_mut(name) {
        Some(Value::String(text)) => std::mem::take(text),
        _ => String::new(),
    }
}
