//! The mode of delivery: a stream converted into the complete answer, a complete answer into a
//! stream, a stream into another framing, and answers made from their content alone.
//!
//! Changing the mode works on the provider's own JSON, not on [`Answer`], so that unknown fields
//! are kept.

use serde_json::Value;

use super::answer_draft::AnswerDraft;
use super::answer_form::{ModeError, TranscriptFormat};
use super::framing::{EventFrame, Framing, events};
use super::lone_half::{HalfMarks, has_lone_half};
use super::openai::audio;
use super::operation::ObjectView;
use super::operation::ResponseFormat;
use super::table::finish_meaning;
use super::{Answer, Operation};

/// Returns the complete answer that is equivalent to a recorded stream in `framing`.
///
/// # Errors
/// If the operation's streams cannot be converted, or the stream was cut, holds an error, or is not
/// an answer.
pub fn to_complete(
    format: &ResponseFormat<'_>,
    framing: Framing,
    stream: &[u8],
) -> Result<Vec<u8>, ModeError> {
    let half = ModeError::HalfCharacter { operation: format.operation.name() };
    let Some((marks, marked)) = HalfMarks::mark_halves(stream) else {
        return merge_plain(format, framing, stream).map_err(|error| match error {
            ModeError::Unended if has_lone_half(stream) => half,
            error => error,
        });
    };
    let body = merge_plain(format, framing, &marked)?;
    let body = String::from_utf8_lossy(&body);
    Ok(match format.transcript {
        TranscriptFormat::Json => marks.write_json(&body).into_bytes(),
        _ => marks.written_text(&body).ok_or(half)?.into_bytes(),
    })
}

/// Merges a stream in which no half of a character is alone.
fn merge_plain(
    format: &ResponseFormat<'_>,
    framing: Framing,
    stream: &[u8],
) -> Result<Vec<u8>, ModeError> {
    let operation = format.operation.name();
    let not_yet = ModeError::NotYet { operation, recorded: "streamed", wanted: "complete" };
    let merge = format.operation.row().merge.ok_or(not_yet)?;
    let merged = merge(framing, stream).ok_or(ModeError::Unreadable { operation })?;
    if merged.failed || !merged.ended || lacks_choices(format, framing, stream, &merged.body) {
        return Err(ModeError::Unended);
    }
    complete_bytes(format, Value::Object(merged.body))
}

/// Whether a stream was cut after the end of one choice and before the start of the next. The
/// number of choices is the only sign of that, unless the stream has an end marker.
fn lacks_choices(
    format: &ResponseFormat<'_>,
    framing: Framing,
    stream: &[u8],
    body: &ObjectView,
) -> bool {
    let list = ["choices", "candidates"].iter().find_map(|name| body.get(*name)?.as_array());
    list.is_some_and(|list| list.len() < format.choices)
        && !events(framing, stream).any(|event| event.is_done())
}

/// The bytes of a complete answer in the requested format.
fn complete_bytes(format: &ResponseFormat<'_>, body: Value) -> Result<Vec<u8>, ModeError> {
    match (format.transcript, &body["text"]) {
        (TranscriptFormat::Json, _) => Ok(body.to_string().into_bytes()),
        (TranscriptFormat::Text, Value::String(text)) => Ok(format!("{text}\n").into_bytes()),
        _ => Err(ModeError::NoPlace {
            operation: "Transcriptions as subtitles",
            what: "words without times",
        }),
    }
}

/// Returns the stream that is equivalent to a recorded complete answer: one item per event.
///
/// # Errors
/// If the operation's answers cannot be converted, or the body is not an answer.
pub fn to_stream(format: &ResponseFormat<'_>, body: &[u8]) -> Result<Vec<Vec<u8>>, ModeError> {
    // In plain text, nothing is an escape.
    let marked =
        (format.transcript == TranscriptFormat::Json).then(|| HalfMarks::mark_halves(body));
    let Some((marks, marked)) = marked.flatten() else { return split_plain(format, body) };
    let events = split_plain(format, &marked)?;
    if format.framing == Framing::EventStream {
        return Err(ModeError::HalfCharacter { operation: format.operation.name() });
    }
    Ok(events.iter().map(|event| event_with_halves(marks, event)).collect())
}

/// Writes an event with the halves of its characters.
fn event_with_halves(marks: HalfMarks, event: &[u8]) -> Vec<u8> {
    marks.write_json(&String::from_utf8_lossy(event)).into_bytes()
}

/// Splits a body in which no half of a character is alone.
fn split_plain(format: &ResponseFormat<'_>, body: &[u8]) -> Result<Vec<Vec<u8>>, ModeError> {
    let operation = format.operation.name();
    let not_yet = ModeError::NotYet { operation, recorded: "complete", wanted: "streamed" };
    let split = format.operation.row().split.ok_or(not_yet)?;
    let body = match format.transcript {
        TranscriptFormat::Text => {
            audio::body_text(body).map(|text| serde_json::json!({ "text": text }))
        }
        _ => serde_json::from_slice(body).ok(),
    };
    let frames = match body {
        Some(Value::Object(body)) => split(format, body),
        _ => None,
    };
    let frames = frames.ok_or(ModeError::Unreadable { operation })?;
    Ok(format.framing.write_events(&frames))
}

/// Returns the events of a recorded stream in another framing, each with the place of its end in
/// `stream`.
///
/// `whole` says that the stream was not cut. If it was, the result ends with its last complete
/// event, and lacks an end in the other framing too.
///
/// # Errors
/// If an event is not JSON, and so cannot be written in the other framing.
pub fn reframe(
    operation: Operation,
    (from, to): (Framing, Framing),
    stream: &[u8],
    whole: bool,
) -> Result<Vec<(usize, Vec<u8>)>, ModeError> {
    let marked = HalfMarks::mark_halves(stream);
    let stream = marked.as_ref().map_or(stream, |(_, marked)| marked);
    let mut open = !whole;
    let (mut ends, mut frames) = (vec![], vec![]);
    for event in events(from, stream) {
        // A comment, or an end marker, which the other framing does not have.
        let Some(data) = event.data.as_deref().filter(|_| !event.is_done()) else { continue };
        match serde_json::from_slice(data) {
            Ok(data) => {
                ends.push(event.range.end);
                frames.push(EventFrame::unnamed(data));
            }
            Err(error) if error.is_eof() && !event.finished => open = true,
            Err(_) => return Err(ModeError::Unreadable { operation: operation.name() }),
        }
    }
    let mut chunks = to.write_events(&frames);
    if to == Framing::Array {
        match chunks.last_mut() {
            Some(last) if open => drop(last.pop()),
            None if !open => return Ok(vec![(stream.len(), b"[]".to_vec())]),
            _ => {}
        }
    }
    if let Some((marks, _)) = marked {
        chunks.iter_mut().for_each(|chunk| *chunk = event_with_halves(marks, chunk));
    }
    Ok(ends.into_iter().zip(chunks).collect())
}

/// Returns the JSON body of a complete answer with the content of `answer`.
///
/// Every id that `answer` lacks is made from `seed`: the same in every run, and different for
/// another seed. A finish reason in another provider's words is translated; an unknown word stays.
///
/// # Errors
/// If the operation's answers cannot be built, have no place for some content of `answer`, or need
/// something that it lacks.
pub fn write_answer(
    format: &ResponseFormat<'_>,
    answer: &Answer,
    seed: &str,
) -> Result<Vec<u8>, ModeError> {
    let draft = AnswerDraft::from_answer(answer, format.model, seed, finish_meaning(answer));
    let not_built = ModeError::NotFromWords { operation: format.operation.name() };
    let write = format.operation.row().write.ok_or(not_built)?;
    complete_bytes(format, write(format, &draft)?)
}

#[cfg(test)]
mod tests;
