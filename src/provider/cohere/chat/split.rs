//! The conversion of complete Cohere chat answers into streams.

use serde_json::{Value, json};

use super::{is_empty, v1};
use crate::answer_draft::text_pieces;
use crate::framing::EventFrame;
use crate::operation::ObjectView;
use crate::operation::ResponseFormat;

/// The events of a complete answer; `None` if it is neither version's.
pub(super) fn split_body(_: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let mut message = match body.shift_remove("message") {
        Some(Value::Object(message)) => message,
        None => return v1::split_body(body),
        Some(_) => return None,
    };
    let blocks = take_list(&mut message, "content");
    let plan = match message.get("tool_plan") {
        Some(Value::String(plan)) if !plan.is_empty() => plan.clone(),
        _ => String::new(),
    };
    if !plan.is_empty() {
        message.shift_remove("tool_plan");
    }
    let calls = take_list(&mut message, "tool_calls");
    let citations = take_list(&mut message, "citations");
    let (announced, said): (ObjectView, ObjectView) =
        message.into_iter().partition(|(_, value)| is_empty(value));

    let mut frames = vec![start_event(&mut body, said)];
    for (index, block) in blocks.into_iter().enumerate() {
        block_events(index, block, &mut frames);
    }
    for piece in text_pieces(&plan) {
        frames.push(delta_event("tool-plan-delta", None, "tool_plan", piece.into()));
    }
    for (index, call) in calls.into_iter().enumerate() {
        call_events(index, call, &mut frames);
    }
    for (index, citation) in citations.into_iter().enumerate() {
        frames.push(delta_event("citation-start", Some(index), "citations", citation));
        frames.push(end_event("citation-end", index));
    }
    let mut delta = body;
    if !announced.is_empty() {
        // Members that exist and are empty have no event of their own; the last event carries them.
        delta.insert("message".to_owned(), Value::Object(announced));
    }
    let last = json!({ "type": "message-end", "delta": delta });
    frames.push(EventFrame::named("message-end", last));
    Some(frames)
}

/// Takes out a list, if it is not empty and holds only objects.
fn take_list(message: &mut ObjectView, name: &str) -> Vec<Value> {
    match message.get(name) {
        Some(Value::Array(list)) if !list.is_empty() && list.iter().all(Value::is_object) => {}
        _ => return vec![],
    }
    match message.shift_remove(name) {
        Some(Value::Array(list)) => list,
        _ => vec![],
    }
}

/// The first event: the id, and all members of the message that do not come in pieces.
fn start_event(body: &mut ObjectView, said: ObjectView) -> EventFrame {
    let mut message = said;
    // Cohere announces all members that may come.
    for name in ["content", "tool_calls", "citations"] {
        message.entry(name).or_insert(json!([]));
    }
    message.entry("tool_plan").or_insert(json!(""));
    let mut data = ObjectView::new();
    if let Some(id) = body.shift_remove("id") {
        data.insert("id".to_owned(), id);
    }
    data.insert("type".to_owned(), "message-start".into());
    data.insert("delta".to_owned(), json!({ "message": message }));
    EventFrame::named("message-start", Value::Object(data))
}

fn delta_event(kind: &'static str, index: Option<usize>, name: &str, value: Value) -> EventFrame {
    let mut data = json!({ "type": kind });
    if let Some(index) = index {
        data["index"] = index.into();
    }
    data["delta"] = json!({ "message": { name: value } });
    EventFrame::named(kind, data)
}

fn end_event(kind: &'static str, index: usize) -> EventFrame {
    EventFrame::named(kind, json!({ "type": kind, "index": index }))
}

/// Adds the events of a block: text and thoughts in pieces, other kinds whole.
fn block_events(index: usize, mut block: Value, frames: &mut Vec<EventFrame>) {
    let name = match block.get("type").and_then(Value::as_str) {
        Some("text") => "text",
        Some("thinking") => "thinking",
        _ => "",
    };
    let text = take_text(&mut block, name);
    frames.push(delta_event("content-start", Some(index), "content", block));
    for piece in text_pieces(&text) {
        frames.push(delta_event("content-delta", Some(index), "content", json!({ name: piece })));
    }
    frames.push(end_event("content-end", index));
}

/// Adds the events of a call: its id and name, then its arguments.
fn call_events(index: usize, mut call: Value, frames: &mut Vec<EventFrame>) {
    let arguments = match call.get_mut("function") {
        Some(function) => take_text(function, "arguments"),
        None => String::new(),
    };
    frames.push(delta_event("tool-call-start", Some(index), "tool_calls", call));
    if !arguments.is_empty() {
        let more = json!({ "function": { "arguments": arguments } });
        frames.push(delta_event("tool-call-delta", Some(index), "tool_calls", more));
    }
    frames.push(end_event("tool-call-end", index));
}

/// Takes the text of a member, and leaves an empty string.
fn take_text(object: &mut Value, name: &str) -> String {
    match object.get_mut(name) {
        Some(Value::String(text)) => std::mem::take(text),
        _ => String::new(),
    }
}
