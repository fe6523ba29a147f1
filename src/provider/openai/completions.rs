//! The legacy completions: chat completions whose choices are plain text.

use serde_json::{Value, json};

use super::answer_place::choices;
use super::chat;
use super::chunk::ChunkStream;
use super::finish::FINISH;
use super::stream_error::stream_error;
use crate::answer_draft::{AnswerDraft, text_pieces};
use crate::answer_form::ModeError;
use crate::event_text::holds_text;
use crate::framing::EventFrame;
use crate::operation::ResponseFormat;
use crate::operation::{MergedStream, ObjectView, OperationRow};
use loomrec_identity::Json;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Completions",
    word: "completions",
    semantic: Some("text_completion"),
    delivery: true,
    choices: |body| Some(asked_choices(body)),
    read: chat::ROW.read,
    read_stream: Some(|_, bytes| chat::read_body(&Value::Object(merge_events(bytes)?.body))),
    event_has_text: |event| holds_text(event, &["/choices/0/text"]),
    merge: Some(|_, bytes| {
        let merged = merge_events(bytes)?;
        Some(MergedStream { body: complete_body(merged.body), ..merged })
    }),
    split: Some(split_body),
    write: Some(write_body),
    stream_error,
    shape: choices,
    finish: Some(&FINISH),
    outcome: chat::OUTCOME,
    ..OperationRow::UNREAD
};

/// How many choices a request asks for. Several texts or several lists of tokens are several
/// prompts; a list of numbers is one prompt.
fn asked_choices(body: &Json<'_>) -> usize {
    let prompts = body.get("prompt").and_then(Json::as_array).unwrap_or_default();
    let several = prompts.iter().filter(|prompt| prompt.as_number().is_none()).count();
    chat::asked_choices(body).unwrap_or(1).saturating_mul(several.max(1))
}

/// Merges chunks by their texts, which Together repeats as deltas.
fn merge_events(bytes: &[u8]) -> Option<MergedStream> {
    chat::merge_chunks(bytes, |chunk| {
        let choices = chunk.get_mut("choices").and_then(Value::as_array_mut);
        let choices = choices.into_iter().flatten().filter_map(Value::as_object_mut);
        for choice in choices.filter(|choice| choice.get("text").is_some_and(Value::is_string)) {
            choice.retain(|name, _| !matches!(name.as_str(), "delta" | "message"));
        }
    })
}

/// Turns the body of a merged stream into that of a complete answer. Mistral's fill-in-the-middle
/// has the same path, and answers like chat.
fn complete_body(mut body: ObjectView) -> ObjectView {
    if body.get("object").is_some_and(|object| object == "chat.completion.chunk") {
        return chat::completed(body);
    }
    chat::usage_in_place(&mut body);
    body
}

fn split_body(format: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let choices = body.get("choices")?.as_array()?;
    if choices.iter().any(|choice| choice.get("message").is_some()) {
        return chat::split(format, body);
    }
    let choices = choices.clone();
    body.shift_remove("choices");
    let mut chunks = ChunkStream::from_body(format, body, "text_completion");
    // All choices are opened before one of them ends, because otherwise all would seem to have
    // ended.
    let many = choices.len() > 1;
    for (place, choice) in choices.iter().enumerate().filter(|_| many) {
        let index = choice.get("index").cloned().unwrap_or_else(|| place.into());
        let mut opening = ObjectView::new();
        opening.insert("text".to_owned(), "".into());
        opening.insert("index".to_owned(), index);
        opening.insert("finish_reason".to_owned(), Value::Null);
        chunks.push(opening);
    }
    for (place, choice) in choices.into_iter().enumerate() {
        let Value::Object(choice) = choice else { return None };
        split_choice(&mut chunks, place, choice)?;
    }
    Some(chunks.into_events())
}

/// Writes the text in pieces, then the finish reason and all members that come whole.
fn split_choice(chunks: &mut ChunkStream, place: usize, mut choice: ObjectView) -> Option<()> {
    let index = choice.shift_remove("index").unwrap_or_else(|| place.into());
    let finish = choice.shift_remove("finish_reason").unwrap_or(Value::Null);
    let mut logprobs = choice.shift_remove("logprobs");
    let Some(Value::String(text)) = choice.shift_remove("text") else { return None };
    let piece = |text: &str, told: Option<&Value>, finish: Value| {
        let mut chunk = ObjectView::new();
        chunk.insert("text".to_owned(), text.into());
        chunk.insert("index".to_owned(), index.clone());
        if let Some(told) = told {
            chunk.insert("logprobs".to_owned(), told.clone());
        }
        chunk.insert("finish_reason".to_owned(), finish);
        chunk
    };
    let tokens = logprobs.as_ref().and_then(|told| text_tokens(&text, told));
    if let Some(tokens) = tokens {
        logprobs = Some(Value::Null);
        for (token, told) in tokens {
            chunks.push(piece(&token, Some(&told), Value::Null));
        }
    } else {
        let nothing = logprobs.as_ref().map(|_| Value::Null);
        for text in text_pieces(&text) {
            chunks.push(piece(text, nothing.as_ref(), Value::Null));
        }
    }
    let mut last = piece("", logprobs.as_ref(), finish);
    last.append(&mut choice);
    chunks.push(last);
    Some(())
}

/// The tokens, each with its part of the logprobs. `None` unless they spell the text and every list
/// has one element per token.
fn text_tokens(text: &str, logprobs: &Value) -> Option<Vec<(String, Value)>> {
    let tokens = logprobs.get("tokens")?.as_array()?;
    let mut left = text;
    let mut told = vec![];
    for (place, token) in tokens.iter().enumerate() {
        let token = token.as_str()?;
        left = left.strip_prefix(token)?;
        let mut part = ObjectView::new();
        for (name, list) in logprobs.as_object()? {
            let list = list.as_array().filter(|list| list.len() == tokens.len())?;
            part.insert(name.clone(), json!([list.get(place)?]));
        }
        told.push((token.to_owned(), Value::Object(part)));
    }
    (left.is_empty() && !told.is_empty()).then_some(told)
}

fn write_body(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    if !draft.calls.is_empty() {
        return Err(ModeError::NoPlace { operation: format.operation.name(), what: "tool calls" });
    }
    Ok(json!({
        "id": draft.answer_id("cmpl-"),
        "object": "text_completion",
        "created": 0,
        "model": draft.model,
        "choices": [{
            "index": 0,
            "text": draft.answer.content,
            "logprobs": null,
            "finish_reason": draft.finish_reason(&FINISH)
        }],
        "usage": chat::written_usage(draft)
    }))
}

#[cfg(test)]
mod tests;
