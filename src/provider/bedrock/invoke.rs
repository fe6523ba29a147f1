//! Bedrock's InvokeModel: a model's own JSON, recognised by its structure.
//!
//! Anthropic's models, Nova (which uses Converse), Cohere's Command R and the models with OpenAI's
//! chat format are read by the readers of those formats. [`plain`] reads the older models. A stream
//! carries that JSON in chunks ([`chunk`]).

mod answer_place;
mod chunk;
mod outcome;
mod plain;
mod write;

use serde_json::Value;

use super::converse;
use super::error::stream_error;
use crate::Answer;
use crate::anthropic::messages;
use crate::cohere::chat as cohere;
use crate::framing::{EventFrame, Framing};
use crate::json_view::{self, JsonView, items, member_text, nested_member};
use crate::openai::chat;
use crate::operation::ResponseFormat;
use crate::operation::{MergedStream, ObjectView, OperationRow};
use crate::tool_result;
use chunk::NativeEvents;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "a Bedrock model",
    word: "invoke",
    semantic: Some("invoke"),
    delivery: true,
    framing: |_, _| Framing::EventStream,
    choices: |body| body.get("n")?.as_number()?.parse().ok(),
    tool_results: Some(tool_result::in_messages),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(read_stream),
    event_has_text: chunk::has_text,
    merge: Some(|framing, bytes| merge_events(NativeEvents::from_stream(framing, bytes))),
    split: Some(split_body),
    write: Some(write::write_body),
    first_event: Some("chunk"),
    stream_error,
    shape: answer_place::find_shape,
    outcome: outcome::OUTCOME,
    ..OperationRow::UNREAD
};

/// The format of a model's JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ModelFormat {
    Anthropic,
    Nova,
    Chat,
    CommandR,
}

impl ModelFormat {
    /// The format of a complete answer.
    fn of_body<D: JsonView>(body: &D) -> Option<Self> {
        if body.member("content").is_some_and(|content| content.as_list().is_some()) {
            Some(Self::Anthropic)
        } else if nested_member(body, &["output", "message"]).is_some() {
            Some(Self::Nova)
        } else if member_text(body, "text").is_some()
            && member_text(body, "generation_id").is_some()
        {
            Some(Self::CommandR)
        } else {
            body.member("choices").and_then(JsonView::as_list).map(|_| Self::Chat)
        }
    }

    /// The format of an event in a stream.
    fn of_event(event: &ObjectView) -> Option<Self> {
        let is = |name: &str| event.contains_key(name);
        if is("type") && ["message", "content_block", "delta"].into_iter().any(is) {
            Some(Self::Anthropic)
        } else if ["messageStart", "contentBlockDelta", "messageStop"].into_iter().any(is) {
            Some(Self::Nova)
        } else if is("event_type") {
            Some(Self::CommandR)
        } else {
            is("choices").then_some(Self::Chat)
        }
    }
}

fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let mut answer = match ModelFormat::of_body(body) {
        Some(ModelFormat::Anthropic) => messages::read_body(body),
        Some(ModelFormat::Nova) => converse::read_body(body),
        Some(ModelFormat::Chat) => chat::read_body(body),
        Some(ModelFormat::CommandR) => cohere::read_body(body),
        None => plain::read_body(body),
    }?;
    if answer.finish_reason.is_none() {
        // DeepSeek and Mistral use Anthropic's name for it.
        let reason = items(body, "choices").first().and_then(|one| member_text(one, "stop_reason"));
        answer.finish_reason = reason.map(|reason| reason.into_owned());
    }
    Some(answer)
}

fn read_stream(framing: Framing, bytes: &[u8]) -> Option<Answer> {
    let native = NativeEvents::from_stream(framing, bytes);
    let metrics = native.metrics;
    let mut answer = if native.events.iter().any(|event| ModelFormat::of_event(event).is_some()) {
        read_body(&Value::Object(merge_events(native)?.body))
    } else {
        plain::read_stream(&native.events)
    }?;
    answer.usage = answer.usage.or(metrics);
    Some(answer)
}

fn merge_events(native: NativeEvents) -> Option<MergedStream> {
    let NativeEvents { events, failed, .. } = native;
    let merged = match events.iter().find_map(ModelFormat::of_event) {
        Some(ModelFormat::Anthropic) => {
            messages::ROW.merge?(Framing::Sse, &chunk::sse_bytes(events))
        }
        Some(ModelFormat::Nova) => {
            converse::merge_events(events.into_iter().flatten().map(|(name, data)| match data {
                Value::Object(data) => converse::ConverseEvent::Told(name, data),
                _ => converse::ConverseEvent::Failed,
            }))
        }
        Some(ModelFormat::Chat) => merge_chat(events),
        Some(ModelFormat::CommandR) => cohere::ROW.merge?(Framing::Sse, &chunk::sse_bytes(events)),
        None => plain::merge_events(events),
    };
    let mut merged = merged?;
    merged.failed |= failed;
    Some(merged)
}

fn merge_chat(events: Vec<ObjectView>) -> Option<MergedStream> {
    let named = events.iter().any(|event| event.contains_key("object"));
    let mut merged = chat::ROW.merge?(Framing::Sse, &chunk::sse_bytes(events))?;
    if !named {
        merged.body.shift_remove("object");
    }
    if let Some(Value::Array(choices)) = merged.body.get_mut("choices") {
        choices.iter_mut().filter_map(Value::as_object_mut).for_each(end_once);
    }
    let choices = merged.body.get("choices").and_then(Value::as_array);
    merged.ended |= choices.is_some_and(|choices| {
        let stopped = |one: &Value| one.get("stop_reason").is_some_and(|why| !why.is_null());
        !choices.is_empty() && choices.iter().all(stopped)
    });
    Some(merged)
}

/// Removes an empty `finish_reason` from a choice that has a `stop_reason`.
fn end_once(choice: &mut ObjectView) {
    if choice.contains_key("stop_reason") && choice.get("finish_reason") == Some(&Value::Null) {
        choice.shift_remove("finish_reason");
    }
}

fn split_body(format: &ResponseFormat<'_>, body: ObjectView) -> Option<Vec<EventFrame>> {
    let whole = Value::Object(body);
    let usage = read_body(&whole)?.usage.unwrap_or_default();
    let shape = ModelFormat::of_body(&whole);
    let Value::Object(body) = whole else { return None };
    let events: Vec<Value> = match shape {
        Some(ModelFormat::Anthropic) => frame_data(messages::ROW.split?(format, body)?),
        Some(ModelFormat::Nova) => {
            let named = |frame: EventFrame| Some(serde_json::json!({ frame.name?: frame.data? }));
            converse::split_body(body)?.into_iter().filter_map(named).collect()
        }
        Some(ModelFormat::Chat) => {
            let messages = |choice: &Value| choice.get("message").is_some();
            match body.get("choices")?.as_array()?.as_slice() {
                choices if choices.iter().all(messages) => {
                    frame_data(chat::ROW.split?(format, body)?)
                }
                [only] => plain::split_choice(only)?,
                _ => return None,
            }
        }
        Some(ModelFormat::CommandR) => frame_data(cohere::ROW.split?(format, body)?),
        None => plain::split_body(body)?,
    };
    Some(chunk::wrap_events(events, usage))
}

/// The data of the events; OpenAI's end marker is not sent here.
fn frame_data(frames: Vec<EventFrame>) -> Vec<Value> {
    frames.into_iter().filter_map(|frame| frame.data).collect()
}

#[cfg(test)]
mod tests;
