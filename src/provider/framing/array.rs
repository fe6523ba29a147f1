//! The framing with the elements of one JSON array.

use std::borrow::Cow;

use super::event::{EventFrame, StreamEvent};
use super::split_state::{EventEnd, OpenEvent};

/// Finds the ends of elements. The end of the array is the end of an event without data.
#[derive(Debug, Default)]
pub(super) struct ArraySplitter {
    state: ArrayState,
    /// The array's own bracket has passed.
    opened: bool,
    /// Bytes have passed since the last element ended.
    begun: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum ArrayState {
    /// Before an element, or before the bracket that closes the array.
    #[default]
    Before,
    /// In an array or an object, at this depth.
    Nested(usize),
    /// In a string at this depth, and whether the last byte was a backslash.
    Text(usize, bool),
    /// In a number or a word.
    Plain,
    /// After the array.
    Closed,
    /// In bytes after the array that do not belong to it.
    Trailing,
}

impl ArraySplitter {
    pub(super) fn next_end(&mut self, bytes: &[u8]) -> Option<EventEnd> {
        for (at, byte) in bytes.iter().copied().enumerate() {
            let ends = is_blank(byte) || byte == b']';
            if matches!(self.state, ArrayState::Plain) && ends {
                // The byte itself belongs to what follows.
                return Some(self.end_element(at));
            }
            self.begun = true;
            self.state = match (self.state, byte) {
                (ArrayState::Before, _) => self.begin_element(byte),
                (ArrayState::Closed, _) if !byte.is_ascii_whitespace() => ArrayState::Trailing,
                (ArrayState::Nested(depth), b'"') => ArrayState::Text(depth, false),
                (ArrayState::Nested(depth), b'{' | b'[') => ArrayState::Nested(depth + 1),
                (ArrayState::Nested(1), b'}' | b']') | (ArrayState::Text(0, false), b'"') => {
                    return Some(self.end_element(at + 1));
                }
                (ArrayState::Nested(depth), b'}' | b']') => ArrayState::Nested(depth - 1),
                (ArrayState::Text(depth, true), _) => ArrayState::Text(depth, false),
                (ArrayState::Text(depth, false), b'\\') => ArrayState::Text(depth, true),
                (ArrayState::Text(depth, false), b'"') => ArrayState::Nested(depth),
                (state, _) => state,
            };
        }
        None
    }

    fn begin_element(&mut self, byte: u8) -> ArrayState {
        if is_blank(byte) {
            return ArrayState::Before;
        }
        let first = !std::mem::replace(&mut self.opened, true);
        match byte {
            b'[' if first => ArrayState::Before,
            b']' => ArrayState::Closed,
            b'{' | b'[' => ArrayState::Nested(1),
            b'"' => ArrayState::Text(0, false),
            _ => ArrayState::Plain,
        }
    }

    fn end_element(&mut self, at: usize) -> EventEnd {
        (self.begun, self.state) = (false, ArrayState::Before);
        EventEnd { at, carries: true }
    }

    pub(super) fn open_event(&self) -> Option<OpenEvent> {
        let carries = !matches!(self.state, ArrayState::Before | ArrayState::Closed);
        let finished = matches!(self.state, ArrayState::Plain | ArrayState::Closed);
        self.begun.then_some(OpenEvent { carries, finished, lost: false })
    }
}

/// Whether a byte may stand between two elements.
fn is_blank(byte: u8) -> bool {
    byte.is_ascii_whitespace() || byte == b','
}

/// Reads one element, with the bytes before it since the last one.
pub(super) fn read_event(bytes: &[u8], is_first: bool, carries: bool) -> StreamEvent<'_> {
    let without_blanks = |bytes: &[u8]| bytes.iter().take_while(|byte| is_blank(**byte)).count();
    let mut element = &bytes[without_blanks(bytes)..];
    if is_first && let Some(rest) = element.strip_prefix(b"[") {
        element = &rest[without_blanks(rest)..];
    }
    StreamEvent { data: carries.then_some(Cow::Borrowed(element)), ..StreamEvent::empty() }
}

/// The bytes of a whole array, one chunk per element; the last chunk ends the array.
pub(super) fn write_events(frames: &[EventFrame]) -> Vec<Vec<u8>> {
    let data: Vec<_> = frames.iter().filter_map(|frame| frame.data.as_ref()).collect();
    let last = data.len().saturating_sub(1);
    let element = |(place, data): (usize, &&serde_json::Value)| {
        let before = if place == 0 { "[" } else { ",\r\n" };
        let after = if place == last { "]" } else { "" };
        format!("{before}{data}{after}").into_bytes()
    };
    data.iter().enumerate().map(element).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::framing::{Framing, events as framed};

    fn events(bytes: &[u8]) -> impl Iterator<Item = StreamEvent<'_>> {
        framed(Framing::Array, bytes)
    }

    fn seen(bytes: &[u8]) -> Vec<(Option<String>, bool)> {
        let text = |data: Cow<'_, [u8]>| String::from_utf8(data.into_owned()).unwrap();
        events(bytes).map(|event| (event.data.map(text), event.finished)).collect()
    }

    #[test]
    fn elements_are_found_when_they_stand_in_many_lines() {
        let found = seen(b" [{\"a\":\n [1]},\r\n[2] ,3\n]\n");
        let data: Vec<_> = found.iter().map(|(data, _)| data.as_deref()).collect();
        assert_eq!(data, [Some("{\"a\":\n [1]}"), Some("[2]"), Some("3"), None]);
        assert!(found.iter().all(|(_, finished)| *finished));
    }

    #[test]
    fn a_cut_element_is_the_last_and_unfinished() {
        let found = seen(b"[{\"a\":1},{\"b\":[1]");
        assert_eq!(found.last().unwrap(), &(Some("{\"b\":[1]".to_owned()), false));
        assert_eq!(seen(b"[{}"), [(Some("{}".to_owned()), true)]);
        assert_eq!(seen(b"["), [(None, false)]);
        assert_eq!(seen(b"[]"), [(None, true)]);
        assert_eq!(seen(b""), []);
    }

    #[test]
    fn bytes_after_the_array_are_a_cut_element() {
        let found = seen(b"[1]\n x");
        assert_eq!(found, [(Some("1".to_owned()), true), (Some("]\n x".to_owned()), false)]);
    }

    proptest! {
        #[test]
        fn events_cover_any_buffer_without_a_gap(text in "[\\[\\]{},\"a1 \n]{0,40}") {
            let mut at = 0;
            for event in events(text.as_bytes()) {
                prop_assert_eq!(event.range.start, at);
                prop_assert!(event.range.end > at);
                at = event.range.end;
            }
            prop_assert_eq!(at, text.len());
        }

        #[test]
        fn what_is_written_is_found_again(numbers in prop::collection::vec(any::<u32>(), 1..5)) {
            let frames: Vec<EventFrame> =
                numbers.iter().map(|number| EventFrame::unnamed(json!({"n": number}))).collect();
            let bytes = write_events(&frames).concat();
            let found: Vec<Option<Value>> = events(&bytes).map(|event| event.json_data()).collect();
            let mut expected: Vec<_> = frames.into_iter().map(|frame| frame.data).collect();
            expected.push(None);
            prop_assert_eq!(found, expected);
        }
    }
}
