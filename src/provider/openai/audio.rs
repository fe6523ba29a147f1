//! Transcriptions and translations of speech: JSON with a text, a stream of its pieces, or the text
//! itself. The content of subtitles is the whole text, with its times.

use serde_json::{Value, json};

use super::stream_error::stream_error;
use crate::answer_draft::{AnswerDraft, text_pieces};
use crate::answer_form::{ModeError, TranscriptFormat};
use crate::answer_outcome::{ExpectedBody, OutcomeRules, typed_events};
use crate::event_text::holds_text_of;
use crate::framing::{EventFrame, Framing, events};
use crate::json_view::{self, JsonView, nested_member, text_or_empty, token_count};
use crate::operation::ResponseFormat;
use crate::operation::{MergedStream, ObjectView, OperationRow};
use crate::{Answer, TokenUsage};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Transcriptions",
    word: "transcription",
    semantic: Some("transcription"),
    transcript: asked_form,
    read_text: Some(read_text),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|_, bytes| read_stream(bytes)),
    event_has_text: |event| holds_text_of(event, "type", "transcript.text.delta", &["/delta"]),
    merge: Some(|_, bytes| merge_events(bytes)),
    split: Some(split_body),
    write: Some(write_body),
    stream_error,
    outcome: OutcomeRules {
        body: ExpectedBody::TextOrJson,
        event: Some(|progress, event| typed_events(progress, event, &[DONE])),
        end_mark: "`transcript.text.done`",
        ..OutcomeRules::JSON
    },
    ..OperationRow::UNREAD
};

const DELTA: &str = "transcript.text.delta";
const SEGMENT: &str = "transcript.text.segment";
const DONE: &str = "transcript.text.done";

/// The format that a transcription's multipart body asks for.
pub(crate) fn asked_form(body: &[u8]) -> TranscriptFormat {
    let asks_for = |format: &[u8]| {
        let name = b"name=\"response_format\"";
        let Some(at) = memchr::memmem::find(body, name) else { return false };
        let rest = &body[at + name.len()..];
        let value = memchr::memmem::find(rest, b"\r\n\r\n").map(|at| &rest[at + 4..]);
        value
            .and_then(|value| value.strip_prefix(format))
            .is_some_and(|end| end.starts_with(b"\r\n"))
    };
    match () {
        () if asks_for(b"text") => TranscriptFormat::Text,
        () if asks_for(b"srt") || asks_for(b"vtt") => TranscriptFormat::Subtitles,
        () => TranscriptFormat::Json,
    }
}

/// Reads a complete body, or the event that ends a stream; `None` if it has no text.
fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    Some(Answer {
        content: json_view::member_text(body, "text")?.into_owned(),
        usage: body.member("usage").and_then(read_usage),
        ..Answer::default()
    })
}

/// Reads a body that is text and not JSON; `None` for any other media type.
pub(crate) fn read_text(media: &str, body: &[u8]) -> Option<Answer> {
    let media = media.to_ascii_lowercase();
    let known = ["text/plain", "text/vtt", "text/srt", "application/x-subrip"];
    let content = known.contains(&media.as_str()).then(|| body_text(body))??.to_owned();
    Some(Answer { content, ..Answer::default() })
}

/// The text of such a body, without the line feed at its end.
pub(crate) fn body_text(body: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(body).ok()?;
    Some(text.strip_suffix('\n').unwrap_or(text))
}

/// The tokens; `None` for a transcription that is billed by seconds.
fn read_usage<D: JsonView>(usage: &D) -> Option<TokenUsage> {
    let prompt = token_count(usage, "input_tokens")?;
    let completion = token_count(usage, "output_tokens").unwrap_or(0);
    let cached = nested_member(usage, &["input_token_details", "cached_tokens"])
        .and_then(JsonView::as_whole_number);
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: token_count(usage, "total_tokens")
            .unwrap_or(prompt.saturating_add(completion)),
        cached_tokens: cached.unwrap_or(0),
        ..TokenUsage::default()
    })
}

/// Reads a stream, or what arrived of it; `None` if it has none of its events.
fn read_stream(bytes: &[u8]) -> Option<Answer> {
    let mut arrived: Option<Answer> = None;
    for event in events(Framing::Sse, bytes).filter_map(|event| event.json_data()) {
        match text_or_empty(&event, "type").as_ref() {
            DONE => return read_body(&event),
            DELTA => {
                let delta = text_or_empty(&event, "delta");
                arrived.get_or_insert_default().content.push_str(&delta);
            }
            SEGMENT => {
                arrived.get_or_insert_default();
            }
            _ => {}
        }
    }
    arrived
}

/// Merges a stream. Its last event is the same as the complete answer, except for streams with
/// speakers: the complete answer has more about their segments.
fn merge_events(bytes: &[u8]) -> Option<MergedStream> {
    let mut merged = MergedStream { body: ObjectView::new(), ended: false, failed: false };
    let mut seen = false;
    for event in events(Framing::Sse, bytes) {
        if event.is_done() || event.data.is_none() {
            continue;
        }
        let Some(Value::Object(mut data)) = event.json_data() else {
            merged.failed = true;
            continue;
        };
        let kind = data.shift_remove("type").unwrap_or(Value::Null);
        if kind == SEGMENT {
            return None;
        }
        seen |= kind == DELTA || kind == DONE;
        merged.failed |= kind == "error" || data.get("error").is_some_and(|told| !told.is_null());
        if kind == DONE && !merged.ended {
            merged.ended = data.get("text").is_some_and(Value::is_string);
            merged.body = data;
        }
    }
    seen.then_some(merged)
}

fn split_body(_: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    // Answers with times or speakers cannot be streamed in this way.
    let plain = ["segments", "words"].iter().all(|name| !body.contains_key(*name));
    let text = body.get("text").and_then(Value::as_str).filter(|_| plain)?;
    let delta = |piece| EventFrame::unnamed(json!({ "type": DELTA, "delta": piece }));
    let mut frames: Vec<EventFrame> = text_pieces(text).map(delta).collect();
    let mut done = ObjectView::new();
    done.insert("type".to_owned(), DONE.into());
    body.shift_remove("type");
    done.append(&mut body);
    frames.push(EventFrame::unnamed(Value::Object(done)));
    Some(frames)
}

fn write_body(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    if !draft.calls.is_empty() {
        return Err(ModeError::NoPlace { operation: format.operation.name(), what: "tool calls" });
    }
    let mut body = json!({ "text": draft.answer.content });
    if let Some(usage) = draft.answer.usage {
        body["usage"] = json!({
            "type": "tokens",
            "input_tokens": usage.prompt_tokens,
            "input_token_details": { "cached_tokens": usage.cached_tokens },
            "output_tokens": usage.completion_tokens,
            "total_tokens": usage.total_tokens
        });
    }
    Ok(body)
}

#[cfg(test)]
mod tests;
