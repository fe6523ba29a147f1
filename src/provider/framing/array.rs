//! The elements of one JSON array.

use std::borrow::Cow;

use serde_json::value::RawValue;

use super::{Event, Frame};

/// Walks over the elements of an array, as far as they came whole.
pub(super) fn events(bytes: &[u8]) -> impl Iterator<Item = Event<'_>> {
    let blank = |rest: &[u8]| {
        rest.iter().take_while(|byte| byte.is_ascii_whitespace() || **byte == b',').count()
    };
    let start = blank(bytes);
    let mut at = start + usize::from(bytes.get(start) == Some(&b'['));
    let mut begin = 0;
    std::iter::from_fn(move || {
        at += blank(bytes.get(at..)?);
        let rest = bytes.get(at..)?;
        let mut values = serde_json::Deserializer::from_slice(rest).into_iter::<Box<RawValue>>();
        let Some(Ok(_)) = values.next() else { return None };
        let end = at + values.byte_offset();
        let data = Some(Cow::Borrowed(&bytes[at..end]));
        let range = begin..end;
        (at, begin) = (end, end);
        Some(Event { range, name: None, data, finished: true, failed: false })
    })
}

/// The bytes of a whole array, a chunk an element; the last ends the array.
pub(super) fn write(frames: &[Frame]) -> Vec<Vec<u8>> {
    let data: Vec<_> = frames.iter().filter_map(|frame| frame.data.as_ref()).collect();
    let last = data.len().saturating_sub(1);
    let element = |(place, data): (usize, &&serde_json::Value)| {
        let before = if place == 0 { "[" } else { ",\r\n" };
        let after = if place == last { "]" } else { "" };
        format!("{before}{data}{after}").into_bytes()
    };
    data.iter().enumerate().map(element).collect()
}
