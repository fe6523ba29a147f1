//! The reader and writer of Cohere's chat: the messages and events of its second version, and the
//! texts of its first, which differ in structure.
//!
//! Thoughts and the tool plan are not part of the content. Usage is in tokens, not in billed units,
//! if an answer has both.

mod answer_place;
mod finish;
mod outcome;
mod shape;
mod split;
mod v1;
mod write;

use finish::FINISH;
use shape::{FAILED, is_empty};

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{is_first, usage::read_usage};
use crate::conversation;
use crate::event_text::{holds_text, holds_text_of};
use crate::framing::{EventFrame, Framing, events};
use crate::json_view::{JsonView, has_word, items, member_text, text_or_empty};
use crate::operation::StreamError;
use crate::operation::{MergedStream, ObjectView, OperationRow};
use crate::{Answer, ToolCall, json_view, tool_result};
pub(crate) use answer_place::of_text as text_shape;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Cohere chat",
    word: "cohere_chat",
    semantic: Some("chat"),
    delivery: true,
    framing: |_, target| asked_framing(target),
    conversation: Some(conversation::read_native),
    tool_results: Some(tool_result::in_messages),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|framing, bytes| {
        read_body(&Value::Object(merge_events(framing, bytes)?.body))
    }),
    event_has_text: |event| {
        holds_text(event, &["/delta/message/content/text"])
            || holds_text_of(event, "event_type", "text-generation", &["/text"])
    },
    merge: Some(merge_events),
    split: Some(split::split_body),
    write: Some(write::write_body),
    first_event: Some("message-start"),
    stream_error: error_event,
    shape: answer_place::find_shape,
    finish: Some(&FINISH),
    outcome: outcome::OUTCOME,
    ..OperationRow::UNREAD
};

/// The first version streams JSON lines, the second server-sent events.
fn asked_framing(target: Option<&str>) -> Framing {
    let is_first = target.is_some_and(|path| path.ends_with("/v1/chat"));
    if is_first { Framing::Lines } else { Framing::Sse }
}

/// The event for an error in a stream.
fn error_event(error: &StreamError<'_>) -> EventFrame {
    if is_first(error.format) {
        let answer = json!({ "text": "", "finish_reason": FAILED });
        return EventFrame::unnamed(json!({
            "is_finished": true, "event_type": "stream-end", "finish_reason": FAILED,
            "error": error.message, "response": answer
        }));
    }
    let delta = json!({ "finish_reason": FAILED, "error": error.message });
    EventFrame::named("message-end", json!({ "type": "message-end", "delta": delta }))
}

/// Reads a complete body; `None` if it is neither version's answer.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let Some(message) = body.member("message").filter(|message| message.is_map()) else {
        return v1::read_body(body);
    };
    let mut answer = Answer {
        usage: body.member("usage").and_then(read_usage),
        finish_reason: member_text(body, "finish_reason").map(Cow::into_owned),
        content: text_or_empty(message, "content").into_owned(),
        ..Answer::default()
    };
    for block in items(message, "content") {
        if has_word(block, "type", "text") {
            answer.content.push_str(&text_or_empty(block, "text"));
        }
    }
    for call in items(message, "tool_calls") {
        let Some(function) = call.member("function") else { continue };
        let (id, name) = (text_or_empty(call, "id"), text_or_empty(function, "name"));
        answer.tool_calls.push(ToolCall::from_doc(&id, &name, function.member("arguments")));
    }
    Some(answer)
}

/// Merges the events of a stream; `None` if it is neither version's.
fn merge_events(framing: Framing, bytes: &[u8]) -> Option<MergedStream> {
    let mut stream = Stream::default();
    let mut texts = v1::ChatStream::default();
    let (mut ended, mut failed) = (false, false);
    for event in events(framing, bytes) {
        if event.data.is_none() || event.is_done() {
            continue;
        }
        let Some(Value::Object(data)) = event.json_data() else {
            failed = true;
            continue;
        };
        if data.contains_key("event_type") {
            failed |= texts.take_event(data, &mut ended);
            continue;
        }
        let kind = data.get("type").and_then(Value::as_str).or(event.name).unwrap_or("");
        match kind.to_owned().as_str() {
            "message-end" => {
                ended = true;
                failed |= stream.take_end(data);
            }
            // An error replaces an event and has no type of its own.
            "" | "error" => failed = true,
            kind => stream.take_event(kind, data),
        }
    }
    let body = stream.into_body().or_else(|| texts.into_body())?;
    Some(MergedStream { body, ended, failed })
}

/// A message of the second version while its events arrive.
#[derive(Default)]
struct Stream {
    body: ObjectView,
    /// The message, once it has begun.
    message: Option<ObjectView>,
    blocks: BTreeMap<u64, ObjectView>,
    plan: String,
    calls: BTreeMap<u64, ObjectView>,
    citations: Vec<Value>,
    logprobs: Vec<Value>,
}

impl Stream {
    fn take_event(&mut self, kind: &str, mut data: ObjectView) {
        let index = data.get("index").and_then(Value::as_u64).unwrap_or(0);
        let delta = match data.shift_remove("delta") {
            Some(Value::Object(mut delta)) => delta.shift_remove("message"),
            _ => None,
        };
        if kind == "message-start" {
            return self.start_message(data, delta);
        }
        let Some(Value::Object(mut delta)) = delta else { return };
        let mut of = |name: &str| match delta.shift_remove(name) {
            // Some servers send a list with one element.
            Some(Value::Array(list)) => list.into_iter().next(),
            other => other,
        };
        match (kind, of("content"), of("tool_calls"), of("citations"), of("tool_plan")) {
            ("content-start", Some(Value::Object(block)), ..) => {
                self.blocks.insert(index, block);
            }
            ("content-delta", Some(Value::Object(more)), ..) => {
                let kind = if more.contains_key("thinking") { "thinking" } else { "text" };
                let begun = || ObjectView::from_iter([("type".to_owned(), kind.into())]);
                merge_members(self.blocks.entry(index).or_insert_with(begun), more);
                self.logprobs.extend(data.shift_remove("logprobs").filter(|told| !told.is_null()));
            }
            ("tool-call-start", _, Some(Value::Object(call)), ..) => {
                self.calls.insert(index, call);
            }
            ("tool-call-delta", _, Some(Value::Object(more)), ..) => {
                merge_members(self.calls.entry(index).or_default(), more);
            }
            ("citation-start", _, _, Some(citation), _) => self.citations.push(citation),
            ("tool-plan-delta", .., Some(Value::String(piece))) => self.plan.push_str(&piece),
            _ => {}
        }
    }

    fn start_message(&mut self, data: ObjectView, message: Option<Value>) {
        for (name, value) in data {
            if name != "type" && name != "index" {
                self.body.insert(name, value);
            }
        }
        let message = match message {
            Some(Value::Object(message)) => message,
            _ => ObjectView::new(),
        };
        // Empty members are only announced; they are added when their content arrives.
        let said = message.into_iter().filter(|(_, value)| !is_empty(value));
        self.message = Some(said.collect());
    }

    /// Takes the last event. Returns whether it reports an error.
    fn take_end(&mut self, mut data: ObjectView) -> bool {
        let Some(Value::Object(mut delta)) = data.shift_remove("delta") else { return false };
        let failed = delta.get("error").is_some_and(|error| !error.is_null())
            || delta.get("finish_reason").is_some_and(|reason| reason == FAILED);
        if let Some(Value::Object(more)) = delta.shift_remove("message") {
            self.message.get_or_insert_default().extend(more);
        }
        self.body.append(&mut delta);
        failed
    }

    fn into_body(self) -> Option<ObjectView> {
        let Self { mut body, message, blocks, plan, calls, citations, logprobs } = self;
        let mut message = message?;
        let mut put = |name: &str, list: Vec<Value>| {
            if !list.is_empty() {
                message.insert(name.to_owned(), Value::Array(list));
            }
        };
        put("content", blocks.into_values().map(Value::Object).collect());
        put("tool_calls", calls.into_values().map(Value::Object).collect());
        put("citations", citations);
        if !plan.is_empty() {
            message.insert("tool_plan".to_owned(), plan.into());
        }
        let mut whole = ObjectView::new();
        if let Some(id) = body.shift_remove("id") {
            whole.insert("id".to_owned(), id);
        }
        whole.insert("message".to_owned(), Value::Object(message));
        whole.append(&mut body);
        if !logprobs.is_empty() {
            whole.insert("logprobs".to_owned(), Value::Array(logprobs));
        }
        Some(whole)
    }
}

/// Merges members into an object: texts grow, except those that come whole.
fn merge_members(object: &mut ObjectView, more: ObjectView) {
    for (name, value) in more {
        match (object.get_mut(&name), value) {
            (Some(_), Value::Null) => {}
            (Some(Value::Object(known)), Value::Object(more)) => merge_members(known, more),
            (Some(Value::String(text)), Value::String(piece))
                if !matches!(name.as_str(), "id" | "type" | "name") =>
            {
                text.push_str(&piece);
            }
            (_, value) => {
                object.insert(name, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
