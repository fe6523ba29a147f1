//! Changes how an answer is delivered: a stream into the complete answer, the complete
//! answer into a stream, and a stream into another framing; and makes an answer of
//! words alone.
//!
//! Changing the mode works on the provider's own JSON, not on [`Answer`], so that
//! fields nobody here knows come through.

use serde_json::Value;

use super::answer_draft::AnswerDraft;
use super::answer_form::{ModeError, TranscriptFormat};
use super::framing::{EventFrame, Framing, events};
use super::openai::audio;
use super::operation::ObjectView;
use super::operation::ResponseFormat;
use super::table::finish_meaning;
use super::{Answer, Operation};

/// The complete answer that a recorded stream in `framing` stands for.
///
/// # Errors
/// Where the operation cannot be changed, or the stream is cut, holds an error, or
/// is no answer.
pub fn to_complete(
    asked: &ResponseFormat<'_>,
    framing: Framing,
    stream: &[u8],
) -> Result<Vec<u8>, ModeError> {
    let operation = asked.operation.name();
    let not_yet = ModeError::NotYet { operation, recorded: "streamed", wanted: "complete" };
    let merge = asked.operation.row().merge.ok_or(not_yet)?;
    let merged = merge(framing, stream).ok_or(ModeError::Unreadable { operation })?;
    if merged.failed || !merged.ended || lacks_choices(asked, framing, stream, &merged.body) {
        return Err(ModeError::Unended);
    }
    whole(asked, Value::Object(merged.body))
}

/// Whether the end that streams of an operation have of themselves stands in this one;
/// `None` where that is not known.
pub fn has_ended(operation: Operation, framing: Framing, stream: &[u8]) -> Option<bool> {
    Some(operation.row().merge?(framing, stream)?.ended)
}

/// Whether a stream was cut where one choice had ended and the next had not begun:
/// nothing else tells, unless it has an end marker of its own.
fn lacks_choices(
    asked: &ResponseFormat<'_>,
    framing: Framing,
    stream: &[u8],
    body: &ObjectView,
) -> bool {
    let list = ["choices", "candidates"].iter().find_map(|name| body.get(*name)?.as_array());
    list.is_some_and(|list| list.len() < asked.choices)
        && !events(framing, stream).any(|event| event.is_done())
}

/// The bytes of a complete answer in the form that is asked for.
fn whole(asked: &ResponseFormat<'_>, body: Value) -> Result<Vec<u8>, ModeError> {
    match (asked.transcript, &body["text"]) {
        (TranscriptFormat::Json, _) => Ok(body.to_string().into_bytes()),
        (TranscriptFormat::Text, Value::String(text)) => Ok(format!("{text}\n").into_bytes()),
        _ => Err(ModeError::NoPlace {
            operation: "Transcriptions as subtitles",
            what: "words without times",
        }),
    }
}

/// The stream that a recorded complete answer stands for: one item per event.
///
/// # Errors
/// Where the operation cannot be changed, or the body is no answer.
pub fn to_stream(asked: &ResponseFormat<'_>, body: &[u8]) -> Result<Vec<Vec<u8>>, ModeError> {
    let operation = asked.operation.name();
    let not_yet = ModeError::NotYet { operation, recorded: "complete", wanted: "streamed" };
    let split = asked.operation.row().split.ok_or(not_yet)?;
    let body = match asked.transcript {
        TranscriptFormat::Text => audio::text(body).map(|text| serde_json::json!({ "text": text })),
        _ => serde_json::from_slice(body).ok(),
    };
    let frames = match body {
        Some(Value::Object(body)) => split(asked, body),
        _ => None,
    };
    let frames = frames.ok_or(ModeError::Unreadable { operation })?;
    Ok(asked.framing.write(&frames))
}

/// The events of a recorded stream in another framing, each with where it ends in
/// `stream`.
///
/// `whole` says that the stream was not cut. A stream that was ends behind its last
/// event that came whole, and lacks its end in the other framing too.
///
/// # Errors
/// Where an event is not JSON, and so has no place in the other framing.
pub fn reframe(
    operation: Operation,
    (from, to): (Framing, Framing),
    stream: &[u8],
    whole: bool,
) -> Result<Vec<(usize, Vec<u8>)>, ModeError> {
    let mut open = !whole;
    let (mut ends, mut frames) = (vec![], vec![]);
    for event in events(from, stream) {
        // A comment, or an end marker: the other framing ends without.
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
    let mut chunks = to.write(&frames);
    if to == Framing::Array {
        match chunks.last_mut() {
            Some(last) if open => drop(last.pop()),
            None if !open => return Ok(vec![(stream.len(), b"[]".to_vec())]),
            _ => {}
        }
    }
    Ok(ends.into_iter().zip(chunks).collect())
}

/// The JSON body of a complete answer that says what `answer` says.
///
/// Every id that is not in `answer` is made from `seed`: the same on every run,
/// another for another seed. A finish reason in another provider's words is put
/// into this one's; a word that nobody knows stays.
///
/// # Errors
/// Where the operation's answers are not built here, or have no place for what
/// `answer` says or need what it does not say.
pub fn write(
    asked: &ResponseFormat<'_>,
    answer: &Answer,
    seed: &str,
) -> Result<Vec<u8>, ModeError> {
    let said = AnswerDraft::of(answer, asked.model, seed, finish_meaning(answer));
    let not_built = ModeError::NotFromWords { operation: asked.operation.name() };
    let write = asked.operation.row().write.ok_or(not_built)?;
    whole(asked, write(asked, &said)?)
}

#[cfg(test)]
mod tests;
