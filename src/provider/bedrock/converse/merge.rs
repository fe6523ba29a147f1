//! The merging of a Converse stream's events into the complete answer.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::framing::{self, Framing};
use crate::operation::{MergedStream, ObjectView};

/// One event of a stream.
pub(in crate::bedrock) enum ConverseEvent {
    /// Its name and its data.
    Told(String, ObjectView),
    /// An exception, or bytes that are no event.
    Failed,
}

/// The events in the bytes of a stream.
pub(super) fn read_events(framing: Framing, bytes: &[u8]) -> impl Iterator<Item = ConverseEvent> {
    framing::events(framing, bytes).filter_map(|event| {
        if event.failed {
            return Some(ConverseEvent::Failed);
        }
        match (event.name, event.json_data()) {
            (Some(name), Some(Value::Object(data))) => {
                Some(ConverseEvent::Told(name.to_owned(), data))
            }
            (_, None) if event.data.is_none() && event.finished => None,
            _ => Some(ConverseEvent::Failed),
        }
    })
}

/// Merges events; `None` if none of them belongs to an answer.
pub(in crate::bedrock) fn merge_events(
    events: impl Iterator<Item = ConverseEvent>,
) -> Option<MergedStream> {
    let mut merged = MergedStream { body: ObjectView::new(), ended: false, failed: false };
    let mut message = ObjectView::new();
    let mut blocks: BTreeMap<u64, ConverseBlock> = BTreeMap::new();
    let mut seen = false;
    for event in events {
        let ConverseEvent::Told(name, mut data) = event else {
            merged.failed = true;
            continue;
        };
        // Padding against traffic analysis, which only belongs to the delivery.
        data.shift_remove("p");
        let index = data.get("contentBlockIndex").and_then(Value::as_u64).unwrap_or(0);
        let known = match name.as_str() {
            "messageStart" => {
                message.extend(data);
                true
            }
            "contentBlockStart" => {
                if let Some(Value::Object(start)) = data.shift_remove("start") {
                    blocks.insert(index, ConverseBlock { start, ..ConverseBlock::default() });
                }
                true
            }
            "contentBlockDelta" => {
                if let Some(Value::Object(delta)) = data.shift_remove("delta") {
                    blocks.entry(index).or_default().take_delta(delta);
                }
                true
            }
            "messageStop" => {
                merged.ended = true;
                merged.body.extend(data);
                true
            }
            "metadata" => {
                merged.body.extend(data);
                true
            }
            _ => false,
        };
        seen |= known;
    }
    if !seen {
        return None;
    }
    message.entry("role").or_insert_with(|| "assistant".into());
    let content = blocks.into_values().map(|block| block.into_value(&mut merged.failed)).collect();
    message.insert("content".to_owned(), content);
    let mut output = match merged.body.shift_remove("output") {
        Some(Value::Object(output)) => output,
        _ => ObjectView::new(),
    };
    output.insert("message".to_owned(), Value::Object(message));
    merged.body.insert("output".to_owned(), Value::Object(output));
    Some(merged)
}

/// One content block while its deltas arrive.
#[derive(Default)]
struct ConverseBlock {
    start: ObjectView,
    text: Option<String>,
    citations: Vec<Value>,
    /// Its reasoning, with signature or redacted content.
    reasoning: ObjectView,
    /// The pieces of a tool's input, which is JSON only once it is complete.
    input: String,
}

impl ConverseBlock {
    fn take_delta(&mut self, delta: ObjectView) {
        for (name, value) in delta {
            match (name.as_str(), value) {
                ("text", Value::String(piece)) => {
                    self.text.get_or_insert_default().push_str(&piece);
                }
                ("citation", citation) => self.citations.push(citation),
                ("reasoningContent", Value::Object(more)) => {
                    for (name, value) in more {
                        match (self.reasoning.get_mut(&name), value) {
                            (Some(Value::String(text)), Value::String(more)) if name == "text" => {
                                text.push_str(&more);
                            }
                            (_, value) => {
                                self.reasoning.insert(name, value);
                            }
                        }
                    }
                }
                ("toolUse", Value::Object(mut call)) => {
                    if let Some(Value::String(piece)) = call.shift_remove("input") {
                        self.input.push_str(&piece);
                    }
                    self.merge_members(name, call);
                }
                ("toolResult", more @ Value::Array(_)) => {
                    let mut content = ObjectView::new();
                    content.insert("content".to_owned(), more);
                    self.merge_members(name, content);
                }
                (_, Value::Object(more)) => self.merge_members(name, more),
                (_, value) => {
                    self.start.insert(name, value);
                }
            }
        }
    }

    /// Merges members into an object of the block: lists grow, anything else is replaced.
    fn merge_members(&mut self, name: String, more: ObjectView) {
        let Some(Value::Object(slot)) = self.start.get_mut(&name) else {
            self.start.insert(name, Value::Object(more));
            return;
        };
        for (name, value) in more {
            match (slot.get_mut(&name), value) {
                (Some(Value::Array(list)), Value::Array(more)) => list.extend(more),
                (_, value) => {
                    slot.insert(name, value);
                }
            }
        }
    }

    /// Builds the block. Input that is not JSON stays text, and marks the stream as failed.
    fn into_value(mut self, failed: &mut bool) -> Value {
        if let Some(Value::Object(call)) = self.start.get_mut("toolUse")
            && !call.contains_key("input")
        {
            let input = match self.input.is_empty() {
                true => json!({}),
                false => serde_json::from_str(&self.input).unwrap_or_else(|_| {
                    *failed = true;
                    Value::String(self.input)
                }),
            };
            call.insert("input".to_owned(), input);
        }
        if !self.reasoning.is_empty() {
            let mut reasoning = ObjectView::new();
            if let Some(redacted) = self.reasoning.shift_remove("redactedContent") {
                reasoning.insert("redactedContent".to_owned(), redacted);
            }
            if !self.reasoning.is_empty() {
                reasoning.insert("reasoningText".to_owned(), Value::Object(self.reasoning));
            }
            self.start.insert("reasoningContent".to_owned(), Value::Object(reasoning));
        }
        if !self.citations.is_empty() {
            let content: Vec<_> =
                self.text.take().map(|text| json!({ "text": text })).into_iter().collect();
            let cited = json!({ "content": content, "citations": self.citations });
            self.start.insert("citationsContent".to_owned(), cited);
        } else if let Some(text) = self.text {
            self.start.insert("text".to_owned(), text.into());
        }
        Value::Object(self.start)
    }
}
