//! The conversion of a complete interaction into a stream.

use serde_json::{Value, json};

use crate::answer_draft::text_pieces;
use crate::framing::EventFrame;
use crate::operation::{ObjectView, ResponseFormat};

/// The events of an interaction; `None` if it has no steps.
pub(super) fn split_body(_: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let Some(Value::Array(steps)) = body.shift_remove("steps") else { return None };
    let mut created = body.clone();
    created.shift_remove("usage");
    created.insert("status".to_owned(), "in_progress".into());
    let mut events = vec![typed_event("interaction.created", json!({ "interaction": created }))];
    for (index, step) in steps.into_iter().enumerate() {
        let Value::Object(step) = step else { return None };
        split_step(index, step, &mut events);
    }
    events.push(typed_event("interaction.completed", json!({ "interaction": body })));
    events.push(EventFrame { name: Some("done"), ..EventFrame::done_marker() });
    Some(events)
}

fn typed_event(name: &'static str, mut data: Value) -> EventFrame {
    data["event_type"] = name.into();
    EventFrame::named(name, data)
}

/// Opens a step, adds its texts and arguments piece by piece, and closes it.
fn split_step(index: usize, mut step: ObjectView, events: &mut Vec<EventFrame>) {
    let is_listed = |value: Option<&Value>| {
        let parts = value.and_then(Value::as_array).filter(|parts| !parts.is_empty());
        parts.is_some_and(|parts| parts.iter().all(Value::is_object) && !has_neighbours(parts))
    };
    let kind = step.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
    let mut deltas = vec![];
    if kind == "model_output" && is_listed(step.get("content")) {
        let content = step.shift_remove("content");
        for part in content.as_ref().and_then(Value::as_array).into_iter().flatten() {
            deltas.extend(in_pieces(part));
        }
    } else if kind == "thought" && is_listed(step.get("summary")) {
        let summary = step.shift_remove("summary");
        for part in summary.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let piece = |part| json!({ "type": "thought_summary", "content": part });
            deltas.extend(in_pieces(part).into_iter().map(piece));
        }
    } else if kind == "function_call" && step.get("arguments").is_some_and(Value::is_object) {
        let arguments = step.insert("arguments".to_owned(), json!({})).unwrap_or_default();
        deltas.push(json!({ "type": "arguments_delta", "arguments": arguments.to_string() }));
    }
    events.push(typed_event("step.start", json!({ "index": index, "step": step })));
    for delta in deltas {
        events.push(typed_event("step.delta", json!({ "index": index, "delta": delta })));
    }
    events.push(typed_event("step.stop", json!({ "index": index })));
}

/// Whether two neighbours have the same type, which a stream would join.
fn has_neighbours(parts: &[Value]) -> bool {
    parts.windows(2).any(|pair| matches!(pair, [a, b] if a.get("type") == b.get("type")))
}

/// The pieces of a part: words of a text, or the part itself.
fn in_pieces(part: &Value) -> Vec<Value> {
    let Some(text) = part.get("text").and_then(Value::as_str).filter(|text| !text.is_empty())
    else {
        return vec![part.clone()];
    };
    let mut texts: Vec<Value> =
        text_pieces(text).map(|piece| json!({ "type": part["type"], "text": piece })).collect();
    // The last piece has what else the part has.
    if let (Some(last), Some(members)) = (texts.last_mut(), part.as_object()) {
        for (name, value) in members.iter().filter(|(name, _)| *name != "text") {
            last[name.as_str()] = value.clone();
        }
    }
    texts
}
