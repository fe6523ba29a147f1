//! The reader of Anthropic's Messages: complete bodies, and streams merged event by event.
//!
//! Anthropic counts input in three parts: `input_tokens` does not include the tokens read from a
//! cache or written to one. [`TokenUsage::prompt_tokens`] is the sum of all three, so that it means
//! the same for every provider. The parts are available besides it.

mod adapter;
mod answer_place;
mod conversation;
mod fast_reader;
mod finish;
mod split;
mod usage;
mod write;

use finish::FINISH;
use usage::read_usage;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::error::own_body as error_body;
use super::usage_names::USAGE;
use crate::answer_outcome::{OutcomeRules, typed_events};
use crate::event_text::holds_text;
use crate::framing::{EventFrame, Framing, events};
use crate::json_view::{JsonView, has_word, items, member_text, text_or_empty};
use crate::operation::StreamError;
use crate::operation::{MergedStream, OperationRow};
use crate::{Answer, ToolCall, json_view, tool_result};
pub(crate) use answer_place::{find_shape as shape, replace_text as replace_text_blocks};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Messages",
    word: "messages",
    semantic: Some("chat"),
    delivery: true,
    conversation: Some(|body| Some(conversation::read_messages(body))),
    tool_results: Some(tool_result::in_messages),
    adapter: Some(&adapter::ADAPTER),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|_, bytes| read_stream(bytes)),
    event_has_text: |event| {
        holds_text(event, &["/delta/text", "/content_block/text", "/completion"])
    },
    merge: Some(|_, bytes| merge_events(bytes)),
    split: Some(split::split_body),
    write: Some(write::write_body),
    first_event: Some("message_start"),
    stream_error: error_event,
    shape: answer_place::find_shape,
    finish: Some(&FINISH),
    usage_names: USAGE,
    outcome: OutcomeRules {
        event: Some(|progress, event| typed_events(progress, event, &["message_stop"])),
        end_mark: "`message_stop`",
        ..OutcomeRules::JSON
    },
    ..OperationRow::UNREAD
};

/// The event for an error in a stream.
fn error_event(error: &StreamError<'_>) -> EventFrame {
    let mut data = error_body(error.status, error.message);
    if let Some(kind) = error.kind {
        data["error"]["type"] = kind.into();
    }
    EventFrame::named("error", data)
}

/// Reads a complete body; `None` if it is no message.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    body.member("content")?.as_list()?;
    let mut answer = Answer {
        model: member_text(body, "model").map(Cow::into_owned),
        usage: body.member("usage").and_then(read_usage),
        finish_reason: member_text(body, "stop_reason").map(Cow::into_owned),
        ..Answer::default()
    };
    for block in items(body, "content") {
        // Tools that Anthropic runs itself (`server_tool_use`) are not for the program.
        if has_word(block, "type", "text") {
            answer.content.push_str(&text_or_empty(block, "text"));
        } else if has_word(block, "type", "tool_use") {
            let (id, name) = (text_or_empty(block, "id"), text_or_empty(block, "name"));
            answer.tool_calls.push(ToolCall::from_doc(&id, &name, block.member("input")));
        }
    }
    Some(answer)
}

/// Reads a stream, or what arrived of it; `None` if it has no `message_start`.
fn read_stream(bytes: &[u8]) -> Option<Answer> {
    fast_reader::read_stream(bytes).unwrap_or_else(|| merged_stream(bytes))
}

/// Reads a stream by merging its events.
fn merged_stream(bytes: &[u8]) -> Option<Answer> {
    read_body(&Value::Object(merge_events(bytes)?.body))
}

/// One content block while its deltas arrive.
struct ContentBlock {
    fields: Map<String, Value>,
    /// The pieces of a tool's input, which is JSON only once it is complete.
    input: String,
}

/// Merges the events of a stream; `None` if there is no `message_start`.
fn merge_events(bytes: &[u8]) -> Option<MergedStream> {
    let mut message: Option<Map<String, Value>> = None;
    let mut blocks = BTreeMap::new();
    let (mut ended, mut failed) = (false, false);
    for event in events(Framing::Sse, bytes) {
        if event.data.is_none() || event.is_done() {
            continue;
        }
        let Some(Value::Object(data)) = event.json_data() else {
            failed = true;
            continue;
        };
        let kind = data.get("type").and_then(Value::as_str).or(event.name).unwrap_or("");
        match kind {
            "message_start" => {
                if let Some(Value::Object(start)) = data.get("message") {
                    message = Some(start.clone());
                    blocks.clear();
                }
            }
            "message_delta" => {
                if let Some(message) = &mut message {
                    take_message_delta(data, message);
                }
            }
            "message_stop" => ended = true,
            "error" => failed = true,
            _ => take_block_event(data, &mut blocks),
        }
    }
    let mut body = message?;
    let mut content = Vec::with_capacity(blocks.len());
    for block in blocks.into_values() {
        content.push(block.into_value(&mut failed));
    }
    body.insert("content".to_owned(), Value::Array(content));
    Some(MergedStream { body, ended, failed })
}

/// Takes a `message_delta`. Its usage is cumulative, so each count replaces the previous one.
fn take_message_delta(data: Map<String, Value>, message: &mut Map<String, Value>) {
    for (name, value) in data {
        match (name.as_str(), value) {
            ("type", _) => {}
            // A null does not replace a value that the message has.
            ("delta", Value::Object(delta)) => {
                for (name, value) in delta {
                    if !value.is_null() || !message.contains_key(&name) {
                        message.insert(name, value);
                    }
                }
            }
            ("usage", Value::Object(counts)) => {
                let usage = message.entry("usage").or_insert(Value::Null);
                match usage {
                    Value::Object(usage) => {
                        usage.extend(counts.into_iter().filter(|(_, value)| !value.is_null()));
                    }
                    usage => *usage = Value::Object(counts),
                }
            }
            (_, Value::Null) => {}
            (_, value) => {
                message.insert(name, value);
            }
        }
    }
}

fn take_block_event(mut data: Map<String, Value>, blocks: &mut BTreeMap<u64, ContentBlock>) {
    let index = data.get("index").and_then(Value::as_u64).unwrap_or(0);
    if let Some(Value::Object(fields)) = data.remove("content_block") {
        let input = String::new();
        blocks.insert(index, ContentBlock { fields, input });
    } else if let (Some(Value::Object(delta)), Some(block)) =
        (data.remove("delta"), blocks.get_mut(&index))
    {
        block.take_delta(delta);
    }
}

impl ContentBlock {
    fn take_delta(&mut self, delta: Map<String, Value>) {
        for (name, value) in delta {
            match (name.as_str(), value) {
                ("type", _) => {}
                ("partial_json", Value::String(piece)) => self.input.push_str(&piece),
                ("citation", citation) => {
                    let list = self.fields.entry("citations").or_insert(Value::Null);
                    match list {
                        Value::Array(list) => list.push(citation),
                        list => *list = Value::Array(vec![citation]),
                    }
                }
                // A signature comes whole; text, thinking and future kinds grow in pieces.
                ("signature", signature) => {
                    self.fields.insert(name, signature);
                }
                (_, Value::String(piece)) => match self.fields.get_mut(&name) {
                    Some(Value::String(text)) => text.push_str(&piece),
                    _ => {
                        self.fields.insert(name, Value::String(piece));
                    }
                },
                (_, value) => {
                    self.fields.insert(name, value);
                }
            }
        }
    }

    /// Builds the block. Input that is not JSON stays text, and marks the stream as failed.
    fn into_value(mut self, failed: &mut bool) -> Value {
        if !self.input.is_empty() {
            let input = serde_json::from_str(&self.input).unwrap_or_else(|_| {
                *failed = true;
                Value::String(self.input)
            });
            self.fields.insert("input".to_owned(), input);
        }
        Value::Object(self.fields)
    }
}

#[cfg(test)]
mod tests;
