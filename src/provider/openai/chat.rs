//! The reader of OpenAI's chat completions and of the legacy completions: complete bodies, and
//! streams merged chunk by chunk.
//!
//! The same merge ([`merge_events`]) serves the reading of answers ([`read_stream`]) and the change of
//! delivery, so both always see the same answer. Dialects are read as they are: Groq's
//! `x_groq.usage`, DeepSeek's and OpenRouter's reasoning fields, Mistral's content parts, and xAI's
//! reasoning tokens, which it does not include in the completion tokens.

mod adapter;
mod conversation;
mod fast_reader;
mod merge;
mod outcome;
mod split;
mod usage;
mod write;

pub(super) use usage::{read_usage, stated_cost};

use std::borrow::Cow;

use serde_json::Value;

use super::answer_place::choices;
use super::finish::FINISH;
use super::stream_error::stream_error;
use crate::event_text::holds_text;
use crate::json_view::{JsonView, has_word, items, member_text, text_or_empty, token_count};
use crate::operation::{MergedStream, OperationRow};
use crate::{Answer, ToolCall, json_view, tool_result};
use loomrec_identity::Json;
pub(super) use merge::merge_chunks;
pub(crate) use merge::merge_events;
pub(crate) use outcome::{OUTCOME, take_chunk};
pub(super) use split::usage_in_place;
pub(crate) use split::{complete_body as completed, split_body as split};
pub(super) use write::{input_details, write_usage as written_usage};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Chat Completions",
    word: "chat",
    semantic: Some("chat"),
    delivery: true,
    choices: asked_choices,
    conversation: Some(|body| Some(conversation::read_messages(body))),
    tool_results: Some(tool_result::in_messages),
    adapter: Some(&adapter::ADAPTER),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|_, bytes| read_stream(bytes)),
    event_has_text: |event| {
        holds_text(event, &["/choices/0/delta/content", "/choices/0/delta/content/0/text"])
    },
    merge: Some(|_, bytes| {
        let merged = merge_chunks(bytes, |_| {})?;
        Some(MergedStream { body: split::complete_body(merged.body), ..merged })
    }),
    split: Some(split::split_body),
    write: Some(write::write_body),
    stream_error,
    shape: choices,
    finish: Some(&FINISH),
    outcome: OUTCOME,
    ..OperationRow::UNREAD
};

/// How many choices a request asks for.
pub(super) fn asked_choices(body: &Json<'_>) -> Option<usize> {
    body.get("n")?.as_number()?.parse().ok()
}

/// Reads a complete body; `None` if it has no `choices`.
pub(crate) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let choices = body.member("choices")?.as_list()?;
    let first = choices.iter().min_by_key(|choice| token_count(*choice, "index").unwrap_or(0));
    let mut answer = Answer {
        model: member_text(body, "model").map(Cow::into_owned),
        usage: read_usage(body),
        cost_usd: stated_cost(body),
        ..Answer::default()
    };
    let Some(choice) = first else {
        return Some(answer);
    };
    answer.finish_reason = member_text(choice, "finish_reason").map(Cow::into_owned);
    match (choice.member("message").filter(|message| message.is_map()), member_text(choice, "text"))
    {
        (Some(message), _) => message_into(message, &mut answer),
        (None, Some(legacy)) => answer.content = legacy.into_owned(),
        (None, None) => {}
    }
    Some(answer)
}

/// Reads a stream, or what arrived of it; `None` if it has no chunk.
fn read_stream(bytes: &[u8]) -> Option<Answer> {
    fast_reader::read_stream(bytes).unwrap_or_else(|| merged_stream(bytes))
}

/// Reads a stream by merging its chunks.
fn merged_stream(bytes: &[u8]) -> Option<Answer> {
    read_body(&Value::Object(merge_events(bytes)?.body))
}

fn message_into<D: JsonView>(message: &D, answer: &mut Answer) {
    if let Some(content) = member_text(message, "content") {
        answer.content.push_str(&content);
    }
    for part in items(message, "content") {
        if has_word(part, "type", "text") {
            answer.content.push_str(&text_or_empty(part, "text"));
        }
    }
    for call in items(message, "tool_calls") {
        // A custom tool takes free text as `input` instead of arguments.
        let function = ["function", "custom"].iter().filter_map(|kind| call.member(kind));
        let Some(function) = function.into_iter().find(|named| named.is_map()) else { continue };
        let arguments = function.member("arguments").or_else(|| function.member("input"));
        let (id, name) = (text_or_empty(call, "id"), text_or_empty(function, "name"));
        answer.tool_calls.push(ToolCall::from_doc(&id, &name, arguments));
    }
    if let Some(function) = message.member("function_call").filter(|call| call.is_map()) {
        let name = text_or_empty(function, "name");
        answer.tool_calls.push(ToolCall::from_doc("", &name, function.member("arguments")));
    }
}

#[cfg(test)]
mod repeat_tests;
#[cfg(test)]
mod tests;
