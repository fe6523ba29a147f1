//! The marks that stand for the parts of an answer while it is written and split.
//!
//! A part's mark is its number between two private characters. The mark of a text is followed by a
//! blank, so that it becomes a separate piece. The mark of a call stands for its name, and, as the
//! only key of an object, for its arguments.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::{AnswerPart, whole_arguments};
use crate::framing::EventFrame;
use crate::{Answer, ToolCall};

const OPEN: char = '\u{f8f0}';
const CLOSE: char = '\u{f8f1}';
/// The text around a mark if arguments are sent as text.
const AROUND: (&str, &str) = ("{\"", "\":0}");

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MarkPlace {
    /// A part's text, or a call's name.
    Words(usize),
    /// All of a call's arguments.
    Arguments(usize),
}

impl MarkPlace {
    /// Whether it was seen before, and marks it as seen. An unknown mark counts as seen.
    pub(super) fn is_in(self, seen: &mut [[bool; 2]]) -> bool {
        let (index, kind) = match self {
            Self::Words(index) => (index, 0),
            Self::Arguments(index) => (index, 1),
        };
        seen.get_mut(index).is_none_or(|seen| std::mem::replace(&mut seen[kind], true))
    }
}

fn mark_text(index: usize) -> String {
    format!("{OPEN}{index}{CLOSE}")
}

/// The answer with a mark in the place of each part.
pub(super) fn marked_answer(parts: &[AnswerPart<'_>], rest: &Answer) -> Answer {
    let mut answer = rest.clone();
    for (index, part) in parts.iter().enumerate() {
        match part {
            AnswerPart::Text(_) => answer.content.push_str(&format!("{} ", mark_text(index))),
            AnswerPart::Call { id, .. } => {
                let arguments = Map::from_iter([(mark_text(index), 0.into())]).into();
                let (id, name) = ((*id).to_owned(), mark_text(index));
                answer.tool_calls.push(ToolCall { id, name, arguments });
            }
            AnswerPart::Arguments { .. } => {}
        }
    }
    answer
}

/// The values that replace the marks.
pub(super) struct MarkValues<'a> {
    parts: &'a [AnswerPart<'a>],
    /// For each part, all arguments of its call.
    arguments: Vec<String>,
}

impl<'a> MarkValues<'a> {
    pub(super) fn new(parts: &'a [AnswerPart<'a>]) -> Self {
        let text = |(index, part): (usize, &AnswerPart<'_>)| match part {
            AnswerPart::Call { .. } => whole_arguments(parts, index),
            _ => String::new(),
        };
        Self { parts, arguments: parts.iter().enumerate().map(text).collect() }
    }

    /// Replaces the marks in `frame`. If a call's arguments come in pieces, `piece` is the call and
    /// its text in this frame.
    pub(super) fn replace_marks(
        &self,
        frame: &EventFrame,
        piece: Option<(usize, &str)>,
    ) -> EventFrame {
        let mut frame = frame.clone();
        if let Some(data) = &mut frame.data {
            match decode_wrapped(data) {
                Some(mut inner) => {
                    self.put_values(&mut inner, piece);
                    data["bytes"] = STANDARD.encode(inner.to_string()).into();
                }
                None => self.put_values(data, piece),
            }
        }
        frame
    }

    fn put_values(&self, value: &mut Value, piece: Option<(usize, &str)>) {
        match value {
            Value::String(text) if text.contains(OPEN) => *text = self.replaced_text(text, piece),
            Value::Array(items) => items.iter_mut().for_each(|item| self.put_values(item, piece)),
            Value::Object(map) => match of_object(map).filter(|at| *at < self.parts.len()) {
                Some(call) => *value = ToolCall::from_text("", "", &self.arguments[call]).arguments,
                None => map.values_mut().for_each(|value| self.put_values(value, piece)),
            },
            _ => {}
        }
    }

    fn replaced_text(&self, text: &str, piece: Option<(usize, &str)>) -> String {
        let (mut out, mut from) = (String::new(), 0);
        for (range, place) in find_marks(text) {
            let words = match place {
                MarkPlace::Words(index) => match self.parts.get(index) {
                    Some(AnswerPart::Text(text)) => Some(*text),
                    Some(AnswerPart::Call { name, .. }) => Some(*name),
                    _ => None,
                },
                MarkPlace::Arguments(call) => match piece {
                    Some((of, text)) if of == call => Some(text),
                    // Arguments without text become an empty object, in text too.
                    _ => self.arguments.get(call).map(|text| match text.trim() {
                        "" => "{}",
                        _ => text.as_str(),
                    }),
                },
            };
            let Some(words) = words else { continue };
            out.push_str(&text[from..range.start]);
            out.push_str(words);
            let is_text = matches!(place, MarkPlace::Words(at) if matches!(self.parts[at], AnswerPart::Text(_)));
            let blank = is_text && text[range.end..].starts_with(' ');
            from = range.end + usize::from(blank);
        }
        out.push_str(&text[from..]);
        out
    }
}

/// The marks in a text, in order, each with its range of bytes.
fn find_marks(text: &str) -> Vec<(Range<usize>, MarkPlace)> {
    let one = |(at, _): (usize, &str)| {
        let inside = at + OPEN.len_utf8();
        let digits = text[inside..].bytes().take_while(u8::is_ascii_digit).count();
        let (index, rest) = text[inside..].split_at(digits);
        let index = index.parse().ok().filter(|_| rest.starts_with(CLOSE))?;
        let end = inside + digits + CLOSE.len_utf8();
        let quoted = text[..at].ends_with(AROUND.0) && text[end..].starts_with(AROUND.1);
        Some(match quoted {
            true => (at - AROUND.0.len()..end + AROUND.1.len(), MarkPlace::Arguments(index)),
            false => (at..end, MarkPlace::Words(index)),
        })
    };
    text.match_indices(OPEN).filter_map(one).collect()
}

/// The call whose arguments an object stands for.
fn of_object(map: &Map<String, Value>) -> Option<usize> {
    let (key, _) = map.iter().next().filter(|_| map.len() == 1)?;
    key.strip_prefix(OPEN)?.strip_suffix(CLOSE)?.parse().ok()
}

/// The JSON that one of Bedrock's frames carries in base64.
fn decode_wrapped(data: &Value) -> Option<Value> {
    let text = data.get("bytes")?.as_str()?;
    serde_json::from_slice(&STANDARD.decode(text).ok()?).ok()
}

/// The marks in a frame.
pub(super) fn frame_places(frame: &EventFrame) -> Vec<MarkPlace> {
    let mut places = Vec::new();
    if let Some(data) = &frame.data {
        collect_places(decode_wrapped(data).as_ref().unwrap_or(data), &mut places);
    }
    places
}

fn collect_places(value: &Value, places: &mut Vec<MarkPlace>) {
    match value {
        Value::String(text) => places.extend(find_marks(text).into_iter().map(|(_, place)| place)),
        Value::Array(items) => items.iter().for_each(|item| collect_places(item, places)),
        Value::Object(map) => match of_object(map) {
            Some(call) => places.push(MarkPlace::Arguments(call)),
            None => map.values().for_each(|value| collect_places(value, places)),
        },
        _ => {}
    }
}

/// Whether a frame has a call's arguments as text.
pub(super) fn has_text_of(frame: &EventFrame, call: usize) -> bool {
    let spelled = format!("{}{}{}", AROUND.0, mark_text(call), AROUND.1);
    fn has_text(value: &Value, spelled: &str) -> bool {
        match value {
            Value::String(text) => text == spelled,
            Value::Array(items) => items.iter().any(|item| has_text(item, spelled)),
            Value::Object(map) => map.values().any(|value| has_text(value, spelled)),
            _ => false,
        }
    }
    let Some(data) = &frame.data else { return false };
    has_text(decode_wrapped(data).as_ref().unwrap_or(data), &spelled)
}
