//! JSON lines: one value per line.

use std::borrow::Cow;

use super::event::{EventFrame, StreamEvent, one_line};

/// Iterates over the lines of a buffer.
pub(super) fn events(bytes: &[u8]) -> impl Iterator<Item = StreamEvent<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let (length, finished) =
            memchr::memchr(b'\n', rest).map_or((rest.len(), false), |end| (end + 1, true));
        let line = rest[..length].trim_ascii();
        let range = at..at + length;
        at += length;
        let data = (!line.is_empty()).then_some(Cow::Borrowed(line));
        Some(StreamEvent { range, name: None, data, finished, failed: false })
    })
}

/// The bytes of an event.
pub(super) fn write(frame: &EventFrame) -> Vec<u8> {
    let text = frame.data.as_ref().map_or_else(String::new, |data| format!("{}\n", one_line(data)));
    text.into_bytes()
}
