//! The merging of an interaction's stream.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::outcome::is_end;
use crate::framing::{Framing, events};
use crate::operation::{MergedStream, ObjectView};

/// One step while its pieces arrive.
#[derive(Default)]
struct OpenStep {
    step: ObjectView,
    /// The text of its arguments, if they come in pieces.
    arguments: String,
}

/// Merges a stream; `None` if it has no event of an interaction.
pub(super) fn merge_events(bytes: &[u8]) -> Option<MergedStream> {
    let mut merged = MergedStream { body: ObjectView::new(), ended: false, failed: false };
    let mut steps: BTreeMap<u64, OpenStep> = BTreeMap::new();
    let mut is_known = false;
    for event in events(Framing::Sse, bytes) {
        if event.data.is_none() || event.is_done() {
            continue;
        }
        let Some(Value::Object(mut data)) = event.json_data() else {
            merged.failed = true;
            continue;
        };
        let kind = data.get("event_type").and_then(Value::as_str).unwrap_or_default().to_owned();
        let index = data.get("index").and_then(Value::as_u64).unwrap_or(0);
        merged.failed |= data.get("error").is_some_and(|error| !error.is_null());
        is_known |= !kind.is_empty();
        merged.ended |= is_end(&kind);
        match kind.split_once('.') {
            Some(("interaction", "status_update")) => {
                for name in ["status", "usage"] {
                    if let Some(value) = data.shift_remove(name) {
                        merged.body.insert(name.to_owned(), value);
                    }
                }
            }
            Some(("interaction", _)) => {
                if let Some(Value::Object(interaction)) = data.shift_remove("interaction") {
                    merged.body.extend(interaction);
                }
            }
            Some(("step", "start")) => {
                if let Some(Value::Object(step)) = data.shift_remove("step") {
                    steps.insert(index, OpenStep { step, arguments: String::new() });
                }
            }
            Some(("step" | "content", "delta")) => {
                if let Some(Value::Object(delta)) = data.shift_remove("delta") {
                    steps.entry(index).or_default().take_delta(delta);
                }
            }
            _ => merged.failed |= kind == "error",
        }
    }
    let has_steps =
        merged.body.get("steps").and_then(Value::as_array).is_some_and(|s| !s.is_empty());
    if !has_steps {
        let steps = steps.into_values().map(OpenStep::into_value).collect();
        merged.body.insert("steps".to_owned(), steps);
    }
    let status = merged.body.get("status").and_then(Value::as_str);
    merged.failed |= matches!(status, Some("failed" | "cancelled"));
    is_known.then_some(merged)
}

impl OpenStep {
    fn take_delta(&mut self, mut delta: ObjectView) {
        let kind = delta.get("type").and_then(Value::as_str).unwrap_or_default().to_owned();
        match kind.as_str() {
            "arguments_delta" => {
                if let Some(Value::String(piece)) = delta.get("arguments") {
                    self.arguments.push_str(piece);
                }
            }
            "thought_signature" => self.step.extend(delta.shift_remove_entry("signature")),
            "thought_summary" => {
                if let Some(Value::Object(part)) = delta.shift_remove("content") {
                    append_part(&mut self.step, "summary", part);
                }
            }
            "text_annotation" | "text_annotation_delta" => self.add_annotations(delta),
            // A part of the output: text, or a picture or a sound.
            "text" | "image" | "audio" | "video" | "document" => {
                append_part(&mut self.step, "content", delta);
            }
            // The pieces of Google's own tools have the members of their steps.
            _ => self.step.extend(delta.into_iter().filter(|(name, _)| name != "type")),
        }
    }

    /// Adds annotations to the last part.
    fn add_annotations(&mut self, mut delta: ObjectView) {
        let Some(Value::Array(more)) = delta.shift_remove("annotations") else { return };
        let parts = self.step.get_mut("content").and_then(Value::as_array_mut);
        let last = parts.and_then(|parts| parts.last_mut()).and_then(Value::as_object_mut);
        if let Some(last) = last
            && let Value::Array(list) = last.entry("annotations").or_insert(json!([]))
        {
            list.extend(more);
        }
    }

    fn into_value(mut self) -> Value {
        if !self.arguments.is_empty() {
            let arguments = serde_json::from_str(&self.arguments);
            let arguments = arguments.unwrap_or(Value::String(self.arguments));
            self.step.insert("arguments".to_owned(), arguments);
        }
        // A stream of an older revision does not open its steps.
        self.step.entry("type").or_insert_with(|| "model_output".into());
        Value::Object(self.step)
    }
}

/// Adds a part to a list. Text continues the text before it, and data the data.
fn append_part(step: &mut ObjectView, name: &str, mut part: ObjectView) {
    let list = step.entry(name).or_insert(json!([]));
    let Value::Array(list) = list else { return };
    let last = list.last_mut().and_then(Value::as_object_mut);
    let Some(last) = last.filter(|last| last.get("type") == part.get("type")) else {
        list.push(Value::Object(part));
        return;
    };
    let mut continued = false;
    for member in ["text", "data"] {
        if let (Some(Value::String(text)), Some(Value::String(more))) =
            (last.get_mut(member), part.get(member))
        {
            text.push_str(more);
            part.shift_remove(member);
            continued = true;
        }
    }
    match continued {
        true => last.extend(part),
        false => list.push(Value::Object(part)),
    }
}
