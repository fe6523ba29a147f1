//! The reader of Perplexity's chat, and the change of its delivery.
//!
//! An answer has the format of OpenAI's chat, with additional `citations` and `search_results`, and
//! a `usage` that counts searches and their cost. A chunk has its new text in `delta` and all text
//! so far in `message`. With `stream_mode: concise`, only the last chunk has `message` and the
//! search results. Reasoning is not included in the completion tokens.

use serde_json::{Map, Value, json};

use crate::framing::EventFrame;
use crate::json_view::{self, JsonView, nested_member, token_count};
use crate::openai::{FINISH, chat, choices_shape};
use crate::operation::{MergedStream, ObjectView, OperationRow, ResponseFormat};
use crate::{Answer, Framing};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Perplexity chat",
    word: "perplexity_chat",
    semantic: Some("chat"),
    delivery: true,
    framing: |_, _| Framing::Sse,
    choices: chat::ROW.choices,
    conversation: chat::ROW.conversation,
    tool_results: chat::ROW.tool_results,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|_, bytes| read_body(&Value::Object(merge_events(bytes)?.body))),
    event_has_text: chat::ROW.event_has_text,
    merge: Some(|_, bytes| merge_events(bytes)),
    split: Some(split_body),
    write: chat::ROW.write,
    shape: choices_shape,
    finish: Some(&FINISH),
    outcome: chat::OUTCOME,
    ..OperationRow::UNREAD
};

/// The members with search results, which belong to the answer.
const SEARCHED: [&str; 4] = ["citations", "search_results", "images", "related_questions"];

fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let mut answer = chat::read_body(body)?;
    let reasoning = body.member("usage").and_then(|usage| token_count(usage, "reasoning_tokens"));
    if let (Some(usage), Some(reasoning)) = (&mut answer.usage, reasoning) {
        let told =
            nested_member(body, &["usage", "total_tokens"]).and_then(JsonView::as_whole_number);
        usage.reasoning_tokens = reasoning;
        usage.completion_tokens = usage.completion_tokens.saturating_add(reasoning);
        let sum = usage.prompt_tokens.saturating_add(usage.completion_tokens);
        usage.total_tokens = told.unwrap_or(0).max(sum);
    }
    Some(answer)
}

fn merge_events(bytes: &[u8]) -> Option<MergedStream> {
    let mut merged = chat::merge_events(bytes)?;
    merged.body = chat::completed(merged.body);
    // These only describe the state of the stream.
    for name in ["status", "type"] {
        merged.body.shift_remove(name);
    }
    for choice in choice_objects(&mut merged.body) {
        choice.insert("delta".to_owned(), json!({ "role": "assistant", "content": "" }));
    }
    Some(merged)
}

/// The chunks in the format of OpenAI's chat. The first and the last have the search results; the
/// last also has the usage and the whole text.
fn split_body(format: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let usage = body.shift_remove("usage");
    let searched: Vec<(String, Value)> = SEARCHED
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), body.get(*name)?.clone())))
        .collect();
    let mut messages = Vec::new();
    for choice in choice_objects(&mut body) {
        choice.shift_remove("delta");
        messages.push((choice.get("index").cloned(), choice.get("message").cloned()));
    }
    let mut frames = chat::split(format, body)?;
    let is_last = |frame: &EventFrame| frame.data.is_some();
    let last = frames.iter().rposition(is_last).and_then(|at| frames.get_mut(at))?;
    let Some(Value::Object(chunk)) = &mut last.data else { return None };
    for choice in choice_objects(chunk) {
        let told = messages.iter().find(|(index, _)| index.as_ref() == choice.get("index"));
        if let Some((_, Some(message))) = told {
            choice.insert("message".to_owned(), message.clone());
        }
    }
    chunk.extend(searched);
    chunk.extend(usage.map(|usage| ("usage".to_owned(), usage)));
    Some(frames)
}

/// The choices of a body or of a chunk.
fn choice_objects(body: &mut Map<String, Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    let list = body.get_mut("choices").and_then(Value::as_array_mut);
    list.into_iter().flatten().filter_map(Value::as_object_mut)
}

#[cfg(test)]
mod tests;
