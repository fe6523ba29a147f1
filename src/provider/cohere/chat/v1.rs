//! The first version of Cohere's chat: one text, calls besides it, and a stream of texts whose last
//! event holds the complete answer.

use std::borrow::Cow;

use serde_json::{Value, json};

use crate::answer_draft::text_pieces;
use crate::cohere::usage::read_usage;
use crate::framing::EventFrame;
use crate::json_view::{JsonView, items, member_text, text_or_empty};
use crate::operation::ObjectView;
use crate::{Answer, ToolCall};

/// Reads a complete body; `None` if it has neither a text nor generations.
pub(super) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let generation = items(body, "generations").first();
    let said = generation.unwrap_or(body);
    let mut answer = Answer {
        content: member_text(said, "text")?.into_owned(),
        usage: body.member("meta").and_then(read_usage),
        finish_reason: member_text(said, "finish_reason").map(Cow::into_owned),
        ..Answer::default()
    };
    for call in items(body, "tool_calls") {
        let name = text_or_empty(call, "name");
        answer.tool_calls.push(ToolCall::from_doc("", &name, call.member("parameters")));
    }
    Some(answer)
}

/// An answer while its events arrive.
#[derive(Default)]
pub(super) struct ChatStream {
    body: ObjectView,
    text: Option<String>,
    /// The complete answer, once the last event has come.
    whole: Option<ObjectView>,
}

impl ChatStream {
    /// Takes an event; the last one sets `ended`. Returns whether it reports an error.
    pub(super) fn take_event(&mut self, data: ObjectView, ended: &mut bool) -> bool {
        let kind = data.get("event_type").and_then(Value::as_str).unwrap_or("").to_owned();
        let failed = data.get("finish_reason").is_some_and(|reason| reason == super::FAILED);
        // An answer has begun, even if no text has come yet.
        let text = self.text.get_or_insert_default();
        for (name, value) in data {
            match (kind.as_str(), name.as_str(), value) {
                ("stream-end", "response", Value::Object(whole)) => self.whole = Some(whole),
                ("text-generation", "text", Value::String(piece)) => text.push_str(&piece),
                (_, "event_type" | "is_finished" | "text" | "tool_call_delta", _) => {}
                (_, "citations", Value::Array(more)) => {
                    match self.body.entry(name).or_insert(json!([])) {
                        Value::Array(list) => list.extend(more),
                        other => *other = Value::Array(more),
                    }
                }
                (_, _, value) => {
                    self.body.insert(name, value);
                }
            }
        }
        *ended |= kind == "stream-end";
        failed
    }

    /// The body; `None` if no event has come.
    pub(super) fn into_body(self) -> Option<ObjectView> {
        let Self { mut body, text, whole } = self;
        let text = text?;
        if whole.is_some() {
            return whole;
        }
        body.insert("text".to_owned(), text.into());
        Some(body)
    }
}

/// The events of a complete answer; `None` if it has no text.
pub(super) fn split_body(body: ObjectView) -> Option<Vec<EventFrame>> {
    let text = body.get("text")?.as_str()?;
    let mut frames = vec![];
    let mut event = |kind: &str, name: &str, value: Value| {
        frames.push(EventFrame::unnamed(json!({
            "is_finished": false, "event_type": kind, name: value
        })));
    };
    let id = body.get("generation_id").cloned().unwrap_or(Value::Null);
    event("stream-start", "generation_id", id);
    for piece in text_pieces(text) {
        event("text-generation", "text", piece.into());
    }
    for (kind, name) in
        [("citation-generation", "citations"), ("tool-calls-generation", "tool_calls")]
    {
        if let Some(list @ Value::Array(_)) = body.get(name) {
            event(kind, name, list.clone());
        }
    }
    let finish = body.get("finish_reason").cloned().unwrap_or(Value::Null);
    frames.push(EventFrame::unnamed(json!({
        "is_finished": true, "event_type": "stream-end", "finish_reason": finish, "response": body
    })));
    Some(frames)
}
