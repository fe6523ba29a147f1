//! The conversion of complete Converse answers into streams.

use serde_json::{Value, json};

use crate::answer_draft::text_pieces;
use crate::framing::EventFrame;
use crate::operation::ObjectView;

/// The events of a complete answer; `None` if it holds no message.
pub(in crate::bedrock) fn split_body(mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let Some(Value::Object(mut output)) = body.shift_remove("output") else { return None };
    let Some(Value::Object(mut message)) = output.shift_remove("message") else { return None };
    let content = match message.shift_remove("content") {
        Some(Value::Array(content)) => content,
        None => vec![],
        Some(_) => return None,
    };
    message.entry("role").or_insert_with(|| "assistant".into());
    let mut events = vec![EventFrame::named("messageStart", Value::Object(message))];
    for (index, block) in content.into_iter().enumerate() {
        let Value::Object(block) = block else { return None };
        block_events(index, block, &mut events);
    }
    let mut stop = ObjectView::new();
    for name in ["stopReason", "additionalModelResponseFields"] {
        if let Some(value) = body.shift_remove(name) {
            stop.insert(name.to_owned(), value);
        }
    }
    if !output.is_empty() {
        body.insert("output".to_owned(), Value::Object(output));
    }
    events.push(EventFrame::named("messageStop", Value::Object(stop)));
    events.push(EventFrame::named("metadata", Value::Object(body)));
    Some(events)
}

/// Adds the events of a block. Content that comes in pieces is sent as deltas; only the rest of a
/// block, if any, needs a start event.
fn block_events(index: usize, mut block: ObjectView, events: &mut Vec<EventFrame>) {
    let deltas = take_deltas(&mut block);
    let mut event = |name, member: Option<(&str, Value)>| {
        let mut data = json!({ "contentBlockIndex": index });
        if let Some((name, value)) = member {
            data[name] = value;
        }
        events.push(EventFrame::named(name, data));
    };
    if !block.is_empty() {
        event("contentBlockStart", Some(("start", Value::Object(block))));
    }
    for delta in deltas {
        event("contentBlockDelta", Some(("delta", delta)));
    }
    event("contentBlockStop", None);
}

/// Takes the content that deltas carry out of a block.
fn take_deltas(block: &mut ObjectView) -> Vec<Value> {
    let mut deltas = vec![];
    match block.shift_remove("text") {
        Some(Value::String(text)) => {
            push_text_deltas(&text, |piece| json!({ "text": piece }), &mut deltas)
        }
        Some(other) => deltas.push(json!({ "text": other })),
        None => {}
    }
    if let Some(Value::Object(reasoning)) = take_object(block, "reasoningContent") {
        reasoning_deltas(reasoning, &mut deltas);
    }
    if let Some(Value::Object(mut cited)) = take_object(block, "citationsContent") {
        if let Some(Value::Array(content)) = cited.shift_remove("content") {
            for text in content.iter().filter_map(|part| part.get("text")?.as_str()) {
                push_text_deltas(text, |piece| json!({ "text": piece }), &mut deltas);
            }
        }
        if let Some(Value::Array(citations)) = cited.shift_remove("citations") {
            deltas.extend(citations.into_iter().map(|one| json!({ "citation": one })));
        }
    }
    for (kind, name) in [("toolUse", "input"), ("toolResult", "content"), ("image", "source")] {
        let Some(Value::Object(whole)) = block.get_mut(kind) else { continue };
        match (kind, whole.shift_remove(name)) {
            (_, None) => {}
            ("toolUse", Some(input)) => {
                let piece = |piece: &str| json!({ "toolUse": { "input": piece } });
                push_text_deltas(&input.to_string(), piece, &mut deltas);
            }
            ("toolResult", Some(content)) => deltas.push(json!({ "toolResult": content })),
            (_, Some(source)) => deltas.push(json!({ "image": { "source": source } })),
        }
    }
    deltas
}

/// The reasoning text, then its signature; or redacted content.
fn reasoning_deltas(mut reasoning: ObjectView, deltas: &mut Vec<Value>) {
    if let Some(Value::Object(mut text)) = reasoning.shift_remove("reasoningText") {
        if let Some(Value::String(text)) = text.shift_remove("text") {
            let piece = |piece: &str| json!({ "reasoningContent": { "text": piece } });
            push_text_deltas(&text, piece, deltas);
        }
        reasoning.append(&mut text);
    }
    for (name, value) in reasoning {
        deltas.push(json!({ "reasoningContent": { name: value } }));
    }
}

/// Adds a delta for each piece of a text; one delta if the text is empty.
fn push_text_deltas(text: &str, delta: impl Fn(&str) -> Value, deltas: &mut Vec<Value>) {
    if text.is_empty() {
        deltas.push(delta(""));
    }
    deltas.extend(text_pieces(text).map(delta));
}

/// Takes a member out if it is an object.
fn take_object(block: &mut ObjectView, name: &str) -> Option<Value> {
    block.get(name).filter(|value| value.is_object())?;
    block.shift_remove(name)
}
