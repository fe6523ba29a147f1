//! The synthesis of streams from the parts of an answer: the events, each with its part.
//!
//! The answer is written and split like any other, with a mark in the place of each part; then the
//! parts replace the marks. So every operation that can be written and split can be synthesized. If
//! a split cuts text into pieces, each part becomes a separate event.

use serde_json::{Value, json};

use super::answer_draft::AnswerDraft;
use super::answer_form::ModeError;
use super::framing::EventFrame;
use super::operation::ResponseFormat;
use super::{Answer, ToolCall, table};
use mark::{MarkPlace, MarkValues};

mod mark;
mod part;

pub use part::AnswerPart;
use part::{argument_pieces, whole_arguments};

/// The events of an answer that is sent in parts.
#[derive(Clone, Debug, PartialEq)]
pub struct SynthesizedEvents {
    /// The events up to the last one that contains a part. Each has the index of the part that it
    /// contains or follows; `None` before all parts.
    pub content: Vec<(Option<usize>, EventFrame)>,
    /// The events that end the stream.
    pub ending: Vec<EventFrame>,
}

/// Returns the answer with the content of `parts`: the text in one piece, then the calls. All else
/// is as in `rest`.
pub fn whole_answer(parts: &[AnswerPart<'_>], rest: &Answer) -> Answer {
    let mut answer = rest.clone();
    for (index, part) in parts.iter().enumerate() {
        match part {
            AnswerPart::Text(text) => answer.content.push_str(text),
            AnswerPart::Call { id, name, .. } => {
                answer.tool_calls.push(ToolCall::from_text(
                    id,
                    name,
                    &whole_arguments(parts, index),
                ));
            }
            AnswerPart::Arguments { .. } => {}
        }
    }
    answer
}

/// Returns the events of a stream with the content of `parts`, and all else from `rest`; its ids
/// are made from `seed`. If the provider streams content in another order (calls follow the text),
/// the events have the provider's order.
///
/// # Errors
/// If the operation's answers cannot be written or split, or have no place for a part.
pub fn synthesize(
    format: &ResponseFormat<'_>,
    parts: &[AnswerPart<'_>],
    rest: &Answer,
    seed: &str,
) -> Result<SynthesizedEvents, ModeError> {
    let operation = format.operation.name();
    let row = format.operation.row();
    let write = row.write.ok_or(ModeError::NotFromWords { operation })?;
    let not_yet = ModeError::NotYet { operation, recorded: "complete", wanted: "streamed" };
    let split = row.split.ok_or(not_yet)?;
    let answer = mark::marked_answer(parts, rest);
    let draft =
        AnswerDraft::from_answer(&answer, format.model, seed, table::finish_meaning(&answer));
    let frames = match write(format, &draft)? {
        Value::Object(body) => split(format, body),
        _ => None,
    };
    let frames = frames.ok_or(ModeError::Unreadable { operation })?;
    let mut spoken = replace_marks(parts, frames);
    let frames = spoken.content.iter_mut().map(|(_, frame)| frame);
    number_events(frames.chain(&mut spoken.ending));
    Ok(spoken)
}

/// Removes the end of the answer from a frame with a part: Gemini's last text frame has it, and
/// Mistral's calls.
pub fn without_end(mut frame: EventFrame) -> EventFrame {
    let Some(Value::Object(data)) = &mut frame.data else { return frame };
    if let Some(Value::Array(candidates)) = data.get_mut("candidates") {
        for candidate in candidates.iter_mut().filter_map(Value::as_object_mut) {
            candidate.shift_remove("finishReason");
        }
        data.shift_remove("usageMetadata");
    }
    if let Some(Value::Array(choices)) = data.get_mut("choices") {
        for reason in choices.iter_mut().filter_map(|choice| choice.get_mut("finish_reason")) {
            *reason = Value::Null;
        }
        data.shift_remove("usage");
    }
    frame
}

/// Splits a frame that has both the last part and the end of the answer, so that something can be
/// sent between them: returns the frame without the end, and a frame with the end alone. The latter
/// is `None` if the end has frames of its own.
pub fn split_end(frame: EventFrame) -> (EventFrame, Option<EventFrame>) {
    let has = |list: &str, reason: &str| {
        let list = frame.data.as_ref().and_then(|data| data.get(list)?.as_array());
        list.is_some_and(|list| {
            list.iter().any(|item| item.get(reason).is_some_and(Value::is_string))
        })
    };
    if !has("candidates", "finishReason") && !has("choices", "finish_reason") {
        return (frame, None);
    }
    let content = without_end(frame.clone());
    let mut end = frame;
    if let Some(Value::Object(data)) = &mut end.data {
        let members = |list: Option<&mut Value>, member: &str, empty: &Value| {
            let list = list.and_then(Value::as_array_mut).into_iter().flatten();
            let slots = list.filter_map(|item| item.get_mut(member));
            slots.for_each(|slot| *slot = empty.clone());
        };
        let silent = json!({ "parts": [{ "text": "" }], "role": "model" });
        members(data.get_mut("candidates"), "content", &silent);
        members(data.get_mut("choices"), "delta", &json!({ "content": "" }));
    }
    (content, Some(end))
}

/// Replaces the marks in the frames, and finds the part of each frame.
fn replace_marks(parts: &[AnswerPart<'_>], frames: Vec<EventFrame>) -> SynthesizedEvents {
    let marks = MarkValues::new(parts);
    let mut seen = vec![[false; 2]; parts.len()];
    let (mut content, mut part, mut last) = (Vec::new(), None, 0);
    for frame in frames {
        let places = mark::frame_places(&frame);
        let new: Vec<&MarkPlace> = places.iter().filter(|place| !place.is_in(&mut seen)).collect();
        if let Some(call) = spelled_out(&new, &frame) {
            let pieces: Vec<_> = argument_pieces(parts, call).collect();
            for (index, text) in pieces.iter().filter(|(_, text)| !text.is_empty()) {
                part = Some(*index);
                content.push((part, marks.replace_marks(&frame, Some((call, text)))));
            }
            if pieces.iter().all(|(_, text)| text.is_empty()) {
                part = Some(call);
                content.push((part, marks.replace_marks(&frame, None)));
            }
            last = content.len();
            continue;
        }
        // A call that comes whole includes its later argument parts.
        let of = |place: &&MarkPlace| match **place {
            MarkPlace::Words(index) => Some(index),
            MarkPlace::Arguments(call) => {
                argument_pieces(parts, call).map(|(index, _)| index).last()
            }
        };
        part = new.iter().filter_map(of).max().or(part);
        content.push((part, marks.replace_marks(&frame, None)));
        if !new.is_empty() {
            last = content.len();
        }
    }
    let ending = content.split_off(last).into_iter().map(|(_, frame)| frame).collect();
    SynthesizedEvents { content, ending }
}

/// The call whose arguments, as text, are the only new content in a frame, so that they can be sent
/// in pieces.
fn spelled_out(new: &[&MarkPlace], frame: &EventFrame) -> Option<usize> {
    match new {
        [MarkPlace::Arguments(call)] if mark::has_text_of(frame, *call) => Some(*call),
        _ => None,
    }
}

/// Renumbers the events of a stream from the first number on, if they have numbers: one event may
/// have become several, or stand between others.
pub fn number_events<'a>(frames: impl Iterator<Item = &'a mut EventFrame>) {
    let slots = frames.filter_map(|frame| frame.data.as_mut()?.get_mut("sequence_number"));
    let mut next = None;
    for slot in slots {
        let number = next.or(slot.as_u64()).unwrap_or(0);
        *slot = number.into();
        next = Some(number.saturating_add(1));
    }
}

#[cfg(test)]
mod tests;
