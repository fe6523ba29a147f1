//! A fast reader of streams that does not merge events, for streams in which all events are of the
//! usual kind.
//!
//! It leaves all other streams to [`super::merge`], which reads everything. Both return the same
//! answer for a stream that both can read.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::framing::{Framing, events};
use crate::json_view::{JsonView, member_text};
use crate::needs_merge::NeedsMerge;
use crate::{Answer, ToolCall};
use loomrec_identity::Json;

/// One content block so far.
struct BlockDraft<'a> {
    start: Json<'a>,
    text: String,
    /// The pieces of a tool's input.
    input: String,
}

/// Returns the answer of a stream. The outer `None` means that the events must be merged, the inner
/// one that the stream has no `message_start`.
pub(super) fn read_stream(bytes: &[u8]) -> Option<Option<Answer>> {
    let mut builder = MessageBuilder::default();
    for event in events(Framing::Sse, bytes) {
        if event.data.is_none() || event.is_done() {
            continue;
        }
        // The data of an event in several lines is not borrowed from `bytes`.
        let Some(Cow::Borrowed(data)) = event.data else { return None };
        let Ok(data @ Json::Object(_)) = loomrec_identity::parse(data) else { return None };
        builder.take_event(event.name, data).ok()?;
    }
    Some(builder.message.is_some().then(|| builder.into_answer()))
}

#[derive(Default)]
struct MessageBuilder<'a> {
    message: Option<Json<'a>>,
    finish_reason: Option<Cow<'a, str>>,
    /// The usage in each `message_delta`.
    counts: Vec<Json<'a>>,
    blocks: BTreeMap<u64, BlockDraft<'a>>,
}

impl<'a> MessageBuilder<'a> {
    fn take_event(&mut self, name: Option<&str>, data: Json<'a>) -> Result<(), NeedsMerge> {
        let kind =
            member_text(&data, "type").or_else(|| name.map(Cow::Borrowed)).unwrap_or_default();
        match kind.as_ref() {
            "message_start" => {
                let message =
                    take_member(data, "message").filter(Json::is_object).ok_or(NeedsMerge)?;
                let usual = |name: &str| message.get(name).is_none_or(|it| it.as_str().is_some());
                let usage = message.get("usage").is_none_or(Json::is_object);
                let reason = message.get("stop_reason").is_none_or(JsonView::is_nothing);
                let late = self.message.is_some() || !self.blocks.is_empty();
                if late || !usual("model") || !usage || !reason {
                    return Err(NeedsMerge);
                }
                self.message = Some(message);
                Ok(())
            }
            "message_delta" => self.take_delta(data),
            "message_stop" | "error" => Ok(()),
            _ => self.take_block(data),
        }
    }

    fn take_delta(&mut self, data: Json<'a>) -> Result<(), NeedsMerge> {
        let Json::Object(members) = data else { return Err(NeedsMerge) };
        if self.message.is_none() {
            return Err(NeedsMerge);
        }
        for (name, value) in members {
            match (name.as_str().as_ref(), value) {
                ("delta", Json::Object(delta)) => {
                    for (name, value) in delta {
                        match (name.as_str().as_ref(), value) {
                            (_, Json::Null) => {}
                            ("stop_reason", Json::String(reason)) => {
                                self.finish_reason = Some(reason.as_str());
                            }
                            ("stop_reason" | "model" | "usage" | "content", _) => {
                                return Err(NeedsMerge);
                            }
                            _ => {}
                        }
                    }
                }
                (_, Json::Null) => {}
                ("usage", counts @ Json::Object(_)) => self.counts.push(counts),
                ("delta" | "usage" | "stop_reason" | "model" | "content", _) => {
                    return Err(NeedsMerge);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn take_block(&mut self, data: Json<'a>) -> Result<(), NeedsMerge> {
        let index = data.get("index").and_then(JsonView::as_whole_number).unwrap_or(0);
        if data.get("content_block").is_some() {
            let start =
                take_member(data, "content_block").filter(Json::is_object).ok_or(NeedsMerge)?;
            let usual = |name: &str| start.get(name).is_none_or(|it| it.as_str().is_some());
            if !usual("text") || !usual("type") {
                return Err(NeedsMerge);
            }
            let said = member_text(&start, "text").map(Cow::into_owned).unwrap_or_default();
            self.blocks.insert(index, BlockDraft { start, text: said, input: String::new() });
            return Ok(());
        }
        let Some(Json::Object(delta)) = data.get("delta") else { return Ok(()) };
        let Some(block) = self.blocks.get_mut(&index) else { return Ok(()) };
        for (name, value) in delta {
            match (name.as_str().as_ref(), value) {
                ("partial_json", Json::String(piece)) => block.input.push_str(&piece.as_str()),
                ("text", Json::String(piece)) => block.text.push_str(&piece.as_str()),
                ("partial_json" | "text" | "id" | "name" | "input", _) => return Err(NeedsMerge),
                _ => {}
            }
        }
        Ok(())
    }

    fn into_answer(self) -> Answer {
        let mut answer =
            Answer { finish_reason: self.finish_reason.map(Cow::into_owned), ..Answer::default() };
        for block in self.blocks.into_values() {
            match member_text(&block.start, "type").as_deref() {
                Some("text") => answer.content.push_str(&block.text),
                Some("tool_use") => answer.tool_calls.push(block.into_tool_call()),
                _ => {}
            }
        }
        let Some(message) = self.message else { return answer };
        answer.model = member_text(&message, "model").map(Cow::into_owned);
        let mut counts = self.counts;
        if let Some(first) = take_member(message, "usage") {
            counts.insert(0, first);
        }
        if !counts.is_empty() {
            answer.usage = super::read_usage(&last_told(counts));
        }
        answer
    }
}

impl BlockDraft<'_> {
    fn into_tool_call(self) -> ToolCall {
        let said = |name| member_text(&self.start, name).unwrap_or_default();
        if self.input.is_empty() {
            return ToolCall::from_doc(&said("id"), &said("name"), self.start.get("input"));
        }
        let input = serde_json::from_str(&self.input).unwrap_or(Value::String(self.input));
        ToolCall::from_doc(&said("id"), &said("name"), Some(&input))
    }
}

/// Combines objects: later members replace earlier ones, unless they are null.
fn last_told(objects: Vec<Json<'_>>) -> Json<'_> {
    let mut all = BTreeMap::new();
    for object in objects {
        let Json::Object(members) = object else { continue };
        all.extend(members.into_iter().filter(|(_, value)| !value.is_nothing()));
    }
    Json::Object(all.into_iter().collect())
}

/// Takes a member out of an object.
fn take_member<'a>(object: Json<'a>, name: &str) -> Option<Json<'a>> {
    let Json::Object(members) = object else { return None };
    members.into_iter().find(|(known, _)| known.as_str() == name).map(|(_, value)| value)
}

#[cfg(test)]
#[path = "fast_reader_tests.rs"]
mod tests;
