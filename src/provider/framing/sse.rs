//! The framing of server-sent events.
//!
//! An event ends with a blank line. Lines end with LF, CRLF or CR, mixed. A byte order mark may
//! precede the first line. The format is that of the WHATWG's HTML standard, section 9.2.

mod splitter;

use std::borrow::Cow;
use std::ops::Range;

use super::event::{EventFrame, StreamEvent, one_line};
pub(super) use splitter::SseSplitter;

/// The byte order mark that may precede the first line.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads one event, comments and blank lines included.
pub(super) fn read_event(bytes: &[u8], is_first: bool) -> StreamEvent<'_> {
    let mut event = StreamEvent::empty();
    for line in line_ranges(bytes, is_first) {
        take_field(&mut event, &bytes[line]);
    }
    event
}

/// Iterates over the places of an event's lines, without their ends.
pub fn line_ranges(bytes: &[u8], is_first: bool) -> impl Iterator<Item = Range<usize>> + '_ {
    let mut at = if is_first && bytes.starts_with(MARK) { MARK.len() } else { 0 };
    std::iter::from_fn(move || {
        let (start, rest) = (at, bytes.get(at..).filter(|rest| !rest.is_empty())?);
        let Some(length) = memchr::memchr2(b'\n', b'\r', rest) else {
            at = bytes.len();
            return Some(start..at);
        };
        at = start + length + if rest[length..].starts_with(b"\r\n") { 2 } else { 1 };
        Some(start..start + length)
    })
}

/// Takes one line into its event, according to the WHATWG's parsing rules.
fn take_field<'a>(event: &mut StreamEvent<'a>, line: &'a [u8]) {
    let colon = memchr::memchr(b':', line);
    let (name, value) = match colon {
        Some(at) => (&line[..at], &line[at + 1..]),
        None => (line, &line[line.len()..]),
    };
    let value = value.strip_prefix(b" ").unwrap_or(value);
    match name {
        b"event" => event.name = std::str::from_utf8(value).ok(),
        b"data" => match &mut event.data {
            None => event.data = Some(Cow::Borrowed(value)),
            Some(data) => {
                let data = data.to_mut();
                data.push(b'\n');
                data.extend_from_slice(value);
            }
        },
        _ => {}
    }
}

/// The bytes of an event.
pub(super) fn write_event(frame: &EventFrame) -> Vec<u8> {
    let name = frame.name.map_or_else(String::new, |name| format!("event: {name}\n"));
    let data = frame.data.as_ref().map_or_else(|| "[DONE]".to_owned(), one_line);
    format!("{name}data: {data}\n\n").into_bytes()
}

#[cfg(test)]
mod tests;
