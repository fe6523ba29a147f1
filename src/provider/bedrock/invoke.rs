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
use crate::json_view::{self, JsonView, items, nested, text};
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
    read: Some(|bytes| json_view::whole(bytes, |json| read(json), read)),
    read_stream: Some(stream),
    event_has_text: chunk::has_text,
    merge: Some(|framing, bytes| merge(NativeEvents::of(framing, bytes))),
    split: Some(split),
    write: Some(write::write),
    first_event: Some("chunk"),
    stream_error,
    shape: answer_place::of,
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
        if body.member("content").is_some_and(|content| content.list().is_some()) {
            Some(Self::Anthropic)
        } else if nested(body, &["output", "message"]).is_some() {
            Some(Self::Nova)
        } else if text(body, "text").is_some() && text(body, "generation_id").is_some() {
            Some(Self::CommandR)
        } else {
            body.member("choices").and_then(JsonView::list).map(|_| Self::Chat)
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

fn read<D: JsonView>(body: &D) -> Option<Answer> {
    let mut answer = match ModelFormat::of_body(body) {
        Some(ModelFormat::Anthropic) => messages::complete(body),
        Some(ModelFormat::Nova) => converse::read(body),
        Some(ModelFormat::Chat) => chat::complete(body),
        Some(ModelFormat::CommandR) => cohere::complete(body),
        None => plain::read(body),
    }?;
    if answer.finish_reason.is_none() {
        // DeepSeek and Mistral use Anthropic's name for it.
        let reason = items(body, "choices").first().and_then(|one| text(one, "stop_reason"));
        answer.finish_reason = reason.map(|reason| reason.into_owned());
    }
    Some(answer)
}

fn stream(framing: Framing, bytes: &[u8]) -> Option<Answer> {
    let native = NativeEvents::of(framing, bytes);
    let metrics = native.metrics;
    let mut answer = if native.events.iter().any(|event| ModelFormat::of_event(event).is_some()) {
        read(&Value::Object(merge(native)?.body))
    } else {
        plain::read_stream(&native.events)
    }?;
    answer.usage = answer.usage.or(metrics);
    Some(answer)
}

fn merge(native: NativeEvents) -> Option<MergedStream> {
    let NativeEvents { events, failed, .. } = native;
    let merged = match events.iter().find_map(ModelFormat::of_event) {
        Some(ModelFormat::Anthropic) => messages::ROW.merge?(Framing::Sse, &chunk::sse(events)),
        Some(ModelFormat::Nova) => {
            converse::events(events.into_iter().flatten().map(|(name, data)| match data {
                Value::Object(data) => converse::ConverseEvent::Told(name, data),
                _ => converse::ConverseEvent::Failed,
            }))
        }
        Some(ModelFormat::Chat) => merge_chat(events),
        Some(ModelFormat::CommandR) => cohere::ROW.merge?(Framing::Sse, &chunk::sse(events)),
        None => plain::merge(events),
    };
    let mut merged = merged?;
    merged.failed |= failed;
    Some(merged)
}

fn merge_chat(events: Vec<ObjectView>) -> Option<MergedStream> {
    let named = events.iter().any(|event| event.contains_key("object"));
    let mut merged = chat::ROW.merge?(Framing::Sse, &chunk::sse(events))?;
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

fn split(format: &ResponseFormat<'_>, body: ObjectView) -> Option<Vec<EventFrame>> {
    let whole = Value::Object(body);
    let usage = read(&whole)?.usage.unwrap_or_default();
    let shape = ModelFormat::of_body(&whole);
    let Value::Object(body) = whole else { return None };
    let events: Vec<Value> = match shape {
        Some(ModelFormat::Anthropic) => data(messages::ROW.split?(format, body)?),
        Some(ModelFormat::Nova) => {
            let named = |frame: EventFrame| Some(serde_json::json!({ frame.name?: frame.data? }));
            converse::split(body)?.into_iter().filter_map(named).collect()
        }
        Some(ModelFormat::Chat) => {
            let messages = |choice: &Value| choice.get("message").is_some();
            match body.get("choices")?.as_array()?.as_slice() {
                choices if choices.iter().all(messages) => data(chat::ROW.split?(format, body)?),
                [only] => plain::split_choice(only)?,
                _ => return None,
            }
        }
        Some(ModelFormat::CommandR) => data(cohere::ROW.split?(format, body)?),
        None => plain::split(body)?,
    };
    Some(chunk::wrap(events, usage))
}

/// The data of the events; OpenAI's end marker is not sent here.
fn data(frames: Vec<EventFrame>) -> Vec<Value> {
    frames.into_iter().filter_map(|frame| frame.data).collect()
}

#[cfg(test)]
mod tests;
