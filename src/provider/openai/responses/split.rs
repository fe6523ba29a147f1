//! The conversion of responses into streams.

use serde_json::{Value, json};

use crate::answer_draft::text_pieces;
use crate::framing::EventFrame;
use crate::operation::ObjectView;
use crate::operation::ResponseFormat;

/// The events of a complete response; `None` if it is not a response, or has not ended.
pub(super) fn split_body(_: &ResponseFormat<'_>, body: ObjectView) -> Option<Vec<EventFrame>> {
    let output = body.get("output")?.as_array()?.clone();
    let ending = match body.get("status").and_then(Value::as_str) {
        Some("queued" | "in_progress" | "cancelled") => return None,
        Some("incomplete") => "response.incomplete",
        Some("failed") => "response.failed",
        _ => "response.completed",
    };
    let opened = opened_response(&body);
    let mut writer = EventWriter { frames: vec![] };
    writer.write_event("response.created", json!({ "response": opened }));
    writer.write_event("response.in_progress", json!({ "response": opened }));
    for (place, item) in output.into_iter().enumerate() {
        writer.write_item(place, item);
    }
    writer.write_event(ending, json!({ "response": body }));
    Some(writer.frames)
}

/// The response before it has any output.
fn opened_response(body: &ObjectView) -> ObjectView {
    let mut opened = body.clone();
    for (name, value) in &mut opened {
        match name.as_str() {
            "status" => *value = "in_progress".into(),
            "output" => *value = json!([]),
            "output_text" => *value = "".into(),
            "usage" | "error" | "incomplete_details" | "completed_at" => *value = Value::Null,
            _ => {}
        }
    }
    opened
}

/// A text that comes in pieces.
struct SplitText {
    /// The member that holds it.
    slot: &'static str,
    /// The types of the events for its pieces and for its end.
    delta: &'static str,
    done: &'static str,
    /// Whether these events have logprobs.
    logprobs: bool,
}

const OUTPUT_TEXT: SplitText = SplitText {
    slot: "text",
    delta: "response.output_text.delta",
    done: "response.output_text.done",
    logprobs: true,
};
const REFUSAL: SplitText = SplitText {
    slot: "refusal",
    delta: "response.refusal.delta",
    done: "response.refusal.done",
    logprobs: false,
};
const REASONING: SplitText = SplitText {
    slot: "text",
    delta: "response.reasoning_text.delta",
    done: "response.reasoning_text.done",
    logprobs: false,
};
const SUMMARY: SplitText = SplitText {
    slot: "text",
    delta: "response.reasoning_summary_text.delta",
    done: "response.reasoning_summary_text.done",
    logprobs: false,
};
const ARGUMENTS: SplitText = SplitText {
    slot: "arguments",
    delta: "response.function_call_arguments.delta",
    done: "response.function_call_arguments.done",
    logprobs: false,
};
const INPUT: SplitText = SplitText {
    slot: "input",
    delta: "response.custom_tool_call_input.delta",
    done: "response.custom_tool_call_input.done",
    logprobs: false,
};

struct EventWriter {
    frames: Vec<EventFrame>,
}

impl EventWriter {
    fn write_event(&mut self, kind: &'static str, rest: Value) {
        let mut data = json!({ "type": kind, "sequence_number": self.frames.len() });
        add_members(&mut data, rest);
        self.frames.push(EventFrame::named(kind, data));
    }

    /// Writes an item: opened, its parts in pieces if they are known, and then whole.
    fn write_item(&mut self, place: usize, item: Value) {
        let mut opening = item.clone();
        let kind = item.get("type").and_then(Value::as_str).unwrap_or_default();
        let emptied: &[(&str, Value)] = match kind {
            "message" => &[("content", json!([]))],
            "reasoning" => &[("summary", json!([])), ("content", json!([]))],
            "function_call" => &[("arguments", json!(""))],
            "custom_tool_call" => &[("input", json!(""))],
            _ => &[],
        };
        for (name, nothing) in emptied {
            if let Some(value) = opening.get_mut(name).filter(|value| !value.is_null()) {
                *value = nothing.clone();
            }
        }
        if let Some(status) = opening.get_mut("status").filter(|_| !emptied.is_empty()) {
            *status = "in_progress".into();
        }
        let added = json!({ "output_index": place, "item": opening });
        self.write_event("response.output_item.added", added);
        let id = item.get("id").cloned().unwrap_or_else(|| "".into());
        let at = json!({ "item_id": id, "output_index": place });
        match kind {
            "message" => self.write_parts(&at, &item, "content", "content_index"),
            "reasoning" => {
                self.write_parts(&at, &item, "summary", "summary_index");
                self.write_parts(&at, &item, "content", "content_index");
            }
            "function_call" => self.write_text(&at, &item, &ARGUMENTS),
            "custom_tool_call" => self.write_text(&at, &item, &INPUT),
            _ => {}
        }
        self.write_event(
            "response.output_item.done",
            json!({ "output_index": place, "item": item }),
        );
    }

    fn write_parts(&mut self, at: &Value, item: &Value, list: &str, index: &str) {
        let parts = item.get(list).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let (added, done) = match list {
            "summary" => {
                ("response.reasoning_summary_part.added", "response.reasoning_summary_part.done")
            }
            _ => ("response.content_part.added", "response.content_part.done"),
        };
        for (place, part) in parts.iter().enumerate() {
            let mut at = at.clone();
            at[index] = place.into();
            let text = match part.get("type").and_then(Value::as_str) {
                Some("output_text") => Some(OUTPUT_TEXT),
                Some("refusal") => Some(REFUSAL),
                Some("reasoning_text") => Some(REASONING),
                Some("summary_text") => Some(SUMMARY),
                _ => None,
            };
            self.write_event(
                added,
                with_members(&at, json!({ "part": emptied_part(part, text.as_ref()) })),
            );
            if let Some(text) = text {
                self.write_text(&at, part, &text);
            }
            self.write_event(done, with_members(&at, json!({ "part": part })));
        }
    }

    /// Writes the pieces of a text, its annotations, and the whole text.
    fn write_text(&mut self, at: &Value, holder: &Value, text: &SplitText) {
        let Some(said) = holder.get(text.slot).and_then(Value::as_str) else { return };
        for piece in text_pieces(said) {
            let mut rest = json!({ "delta": piece });
            if text.logprobs {
                rest["logprobs"] = json!([]);
            }
            self.write_event(text.delta, with_members(at, rest));
        }
        let annotations = holder.get("annotations").and_then(Value::as_array);
        for (place, annotation) in annotations.into_iter().flatten().enumerate() {
            let rest = json!({ "annotation_index": place, "annotation": annotation });
            self.write_event("response.output_text.annotation.added", with_members(at, rest));
        }
        let mut rest = json!({ text.slot: said });
        if text.logprobs {
            rest["logprobs"] = holder.get("logprobs").cloned().unwrap_or_else(|| json!([]));
        }
        if let Some(name) = holder.get("name") {
            rest["name"] = name.clone();
        }
        self.write_event(text.done, with_members(at, rest));
    }
}

/// A part before its text has come.
fn emptied_part(part: &Value, text: Option<&SplitText>) -> Value {
    let mut part = part.clone();
    let Some(text) = text else { return part };
    let nothing = [(text.slot, json!("")), ("annotations", json!([])), ("logprobs", json!([]))];
    for (name, nothing) in nothing {
        if let Some(value) = part.get_mut(name) {
            *value = nothing;
        }
    }
    part
}

/// Merges the members of two objects.
fn with_members(at: &Value, rest: Value) -> Value {
    let mut at = at.clone();
    add_members(&mut at, rest);
    at
}

fn add_members(object: &mut Value, rest: Value) {
    if let (Value::Object(object), Value::Object(mut rest)) = (object, rest) {
        object.append(&mut rest);
    }
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
