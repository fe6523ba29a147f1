//! The legacy completions: chat completions whose choices are plain text.

use serde_json::{Value, json};

use super::chat;
use super::chunk::ChunkStream;
use crate::provider::answer_draft::{AnswerDraft, Dialect, pieces};
use crate::provider::framing::EventFrame;
use crate::provider::response_format::{ModeError, ResponseFormat};
use crate::provider::wire::{MergedStream, ObjectView, OperationWire};

pub(in crate::provider) const WIRE: OperationWire = OperationWire {
    read: chat::WIRE.read,
    read_stream: chat::WIRE.read_stream,
    merge: Some(|_, bytes| {
        let merged = chat::merge(bytes)?;
        Some(MergedStream { body: complete(merged.body), ..merged })
    }),
    split: Some(split),
    write: Some(write),
};

/// Makes a merged stream's body that of a complete answer. Mistral's fill-in-the-middle
/// has such a path, too, and answers as chat does.
fn complete(mut body: ObjectView) -> ObjectView {
    if body.get("object").is_some_and(|object| object == "chat.completion.chunk") {
        return chat::completed(body);
    }
    chat::usage_in_place(&mut body);
    body
}

fn split(asked: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let choices = body.get("choices")?.as_array()?;
    if choices.iter().any(|choice| choice.get("message").is_some()) {
        return chat::split(asked, body);
    }
    let choices = choices.clone();
    body.shift_remove("choices");
    let mut chunks = ChunkStream::of(asked, body, "text_completion");
    // All are opened before one of them ends: else that would be the end of all.
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
    Some(chunks.end())
}

/// The text in pieces, then why it ended and all that comes whole.
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
    let tokens = logprobs.as_ref().and_then(|told| tokens(&text, told));
    if let Some(tokens) = tokens {
        logprobs = Some(Value::Null);
        for (token, told) in tokens {
            chunks.push(piece(&token, Some(&told), Value::Null));
        }
    } else {
        let nothing = logprobs.as_ref().map(|_| Value::Null);
        for text in pieces(&text) {
            chunks.push(piece(text, nothing.as_ref(), Value::Null));
        }
    }
    let mut last = piece("", logprobs.as_ref(), finish);
    last.append(&mut choice);
    chunks.push(last);
    Some(())
}

/// The tokens, each with its part of the logprobs, where they spell the text out and
/// every list has an element for each.
fn tokens(text: &str, logprobs: &Value) -> Option<Vec<(String, Value)>> {
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

fn write(asked: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    if !said.calls.is_empty() {
        return Err(ModeError::NoPlace { operation: asked.operation.name(), what: "tool calls" });
    }
    Ok(json!({
        "id": said.id("cmpl-"),
        "object": "text_completion",
        "created": 0,
        "model": said.model,
        "choices": [{
            "index": 0,
            "text": said.answer.content,
            "logprobs": null,
            "finish_reason": said.finish(Dialect::OpenAi)
        }],
        "usage": chat::written_usage(said)
    }))
}

#[cfg(test)]
mod tests;
