//! A recorded answer as text that a person edits, and the answer that the edited text makes.
//!
//! JSON is laid out for reading, and gets its own style back. A stream is edited as it is; the
//! chunks before and after what was changed keep their bytes and times.

use bytes::Bytes;
use serde_json::Value;
use thiserror::Error;

use super::body::{Chunk, ChunkLayout, ResponsePayload};
use super::encoding;
use super::entry::{Entry, RecordedResponse};
use super::entry_maker::UpstreamReply;
use super::json_style::{JsonSpacing, JsonStyle};

/// The answer of an entry, for an editor.
#[derive(Debug)]
pub struct EditableAnswer<'e> {
    response: &'e RecordedResponse,
    /// Its text.
    pub text: String,
    /// The extension of a file with such a text.
    pub extension: &'static str,
    form: AnswerForm,
}

/// The form of an answer's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AnswerForm {
    /// One JSON document, stored in this style.
    Document(JsonStyle),
    /// Server-sent events.
    Events,
    /// A JSON document on each line.
    Lines,
    /// Any other text.
    Text,
}

/// The reason why an answer cannot be edited as a text.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum NotEditable {
    /// The entry has no response.
    #[error("it holds no response: edit its `content` in the file itself")]
    NoResponse,
    /// The entry is a conversation of messages.
    #[error("it holds the messages of a WebSocket, which are edited in the file itself")]
    Messages,
    /// The body is not a text.
    #[error("its answer is not a text")]
    Binary,
    /// The body is compressed in a way that loomrec cannot decode.
    #[error("its answer is compressed, and does not decode")]
    Coding,
}

/// The reason why an edited text is no answer.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("line {line}: not JSON: {reason}")]
pub struct BrokenEdit {
    /// The line of the text, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl<'e> EditableAnswer<'e> {
    /// Reads the answer of an entry.
    ///
    /// # Errors
    /// An answer that is not a text.
    pub fn of_entry(entry: &'e Entry) -> Result<Self, NotEditable> {
        let response = entry.response.as_ref().ok_or(NotEditable::NoResponse)?;
        if !entry.messages.is_empty() {
            return Err(NotEditable::Messages);
        }
        let body = entry.coded_body(encoding::LARGEST).ok_or(NotEditable::NoResponse)?;
        let plain = body.plain_bytes().ok_or(NotEditable::Coding)?;
        let text = String::from_utf8(plain.to_vec()).map_err(|_| NotEditable::Binary)?;
        let media = body.media;
        if media == "text/event-stream" {
            return Ok(Self { response, text, extension: "txt", form: AnswerForm::Events });
        }
        if media.ends_with("ndjson") || media.ends_with("jsonl") {
            return Ok(Self { response, text, extension: "jsonl", form: AnswerForm::Lines });
        }
        let shown = JsonStyle { spacing: JsonSpacing::Pretty, ascii: false, newline: true };
        let Some((value, style)) = style_of(text.as_bytes()) else {
            return Ok(Self { response, text, extension: "txt", form: AnswerForm::Text });
        };
        let text = String::from_utf8(shown.value_text(&value)).map_err(|_| NotEditable::Binary)?;
        Ok(Self { response, text, extension: "json", form: AnswerForm::Document(style) })
    }

    /// Returns the answer that an edited text makes in place of an entry's own: the same status
    /// and headers, but for the length and the coding of the body.
    ///
    /// # Errors
    /// A text that is not JSON where the answer was.
    pub fn reply_with_text(&self, text: &str) -> Result<UpstreamReply, BrokenEdit> {
        let response = self.response;
        let body = match self.form {
            AnswerForm::Document(style) => style.value_text(&parse_document(text)?),
            AnswerForm::Events | AnswerForm::Lines => {
                check_lines(text, self.form)?;
                text.as_bytes().to_vec()
            }
            AnswerForm::Text => text.as_bytes().to_vec(),
        };
        let mut headers = response.headers.clone();
        let is_coded = encoding::coding_in(&headers).is_some();
        headers.retain(|(name, _)| name != "content-encoding");
        for (name, value) in &mut headers {
            if name == "content-length" {
                *value = body.len().to_string();
            }
        }
        let chunks = match response.payload.layout() {
            ChunkLayout::Whole => single_chunk(&response.payload, body),
            _ if is_coded => cut_into_chunks(&response.payload, &body, self.form, (0, 0)),
            _ => {
                let kept = kept_chunks(response.payload.chunks(), &body);
                cut_into_chunks(&response.payload, &body, self.form, kept)
            }
        };
        let (status, reason, end) = (response.status, response.reason.clone(), response.end);
        let trailers = response.trailers.clone();
        Ok(UpstreamReply { status, reason, headers, trailers, chunks, over: false, end })
    }
}

/// Returns a JSON document and its style; the plain style if no style makes these very bytes.
fn style_of(bytes: &[u8]) -> Option<(Value, JsonStyle)> {
    JsonStyle::detect(bytes).or_else(|| {
        let value: Value = serde_json::from_slice(bytes).ok()?;
        (value.is_object() || value.is_array()).then_some((value, JsonStyle::PLAIN))
    })
}

fn parse_document(text: &str) -> Result<Value, BrokenEdit> {
    serde_json::from_str(text).map_err(|error| broken_edit(error.line(), &error))
}

fn broken_edit(line: usize, error: &serde_json::Error) -> BrokenEdit {
    BrokenEdit { line, reason: error.to_string() }
}

/// Checks each line that is a JSON object: an event may span lines, and an end mark is no JSON.
fn check_lines(text: &str, form: AnswerForm) -> Result<(), BrokenEdit> {
    for (at, line) in text.lines().enumerate() {
        let json = match form {
            AnswerForm::Events => line.strip_prefix("data:").map(str::trim_start),
            _ => Some(line),
        };
        if let Some(json) = json.filter(|json| json.starts_with('{') && json.ends_with('}')) {
            let read: Result<Value, _> = serde_json::from_str(json);
            read.map_err(|error| broken_edit(at + 1, &error))?;
        }
    }
    Ok(())
}

/// Returns a body in one piece, with the time of the recorded one.
fn single_chunk(payload: &ResponsePayload, body: Vec<u8>) -> Vec<Chunk> {
    let at_ms = payload.chunks().last().map_or(0.0, |chunk| chunk.at_ms);
    match body.is_empty() {
        true => Vec::new(),
        false => vec![Chunk { at_ms, data: Bytes::from(body) }],
    }
}

/// Returns how many chunks are as they were, from the beginning and from the end.
fn kept_chunks(chunks: &[Chunk], body: &[u8]) -> (usize, usize) {
    let (mut first, mut from) = (0, 0);
    while let Some(chunk) = chunks.get(first) {
        if !body[from..].starts_with(&chunk.data) {
            break;
        }
        from += chunk.data.len();
        first += 1;
    }
    let (mut last, mut until) = (0, body.len());
    while let Some(chunk) = chunks[first..].iter().rev().nth(last) {
        if !body[from..until].ends_with(&chunk.data) {
            break;
        }
        until -= chunk.data.len();
        last += 1;
    }
    (first, last)
}

/// Returns the chunks of a body of which this many are kept at both ends. What is between them is
/// cut at the ends of events, at the times of the chunks that it replaces.
fn cut_into_chunks(
    payload: &ResponsePayload,
    body: &[u8],
    form: AnswerForm,
    (first, last): (usize, usize),
) -> Vec<Chunk> {
    let chunks = payload.chunks();
    let (head, rest) = chunks.split_at(first);
    let (replaced, tail) = rest.split_at(rest.len() - last);
    let length = |chunks: &[Chunk]| chunks.iter().map(|chunk| chunk.data.len()).sum::<usize>();
    let middle = &body[length(head)..body.len() - length(tail)];
    let before = head.last().map_or(0.0, |chunk| chunk.at_ms);
    let time = |at: usize| replaced.get(at).or(replaced.last()).map_or(before, |chunk| chunk.at_ms);
    let new = split_events(middle, form).into_iter().enumerate();
    let new = new.map(|(at, data)| Chunk { at_ms: time(at), data: Bytes::copy_from_slice(data) });
    head.iter().cloned().chain(new).chain(tail.iter().cloned()).collect()
}

/// Cuts bytes after each event.
fn split_events(bytes: &[u8], form: AnswerForm) -> Vec<&[u8]> {
    let (mut found, mut from) = (Vec::new(), 0);
    for (at, _) in bytes.iter().enumerate().filter(|(_, byte)| **byte == b'\n') {
        let is_end = match form {
            AnswerForm::Lines => true,
            AnswerForm::Events => {
                let before = bytes[from..at].strip_suffix(b"\r").unwrap_or(&bytes[from..at]);
                before.ends_with(b"\n")
            }
            _ => false,
        };
        if is_end {
            found.push(&bytes[from..=at]);
            from = at + 1;
        }
    }
    if from < bytes.len() {
        found.push(&bytes[from..]);
    }
    found
}

#[cfg(test)]
#[path = "answer_edit_tests.rs"]
mod tests;
