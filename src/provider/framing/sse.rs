//! The reader of server-sent events in a buffer, without losing a byte.
//!
//! [`events`] iterates over the blocks of a buffer. The ranges of its events are contiguous and
//! cover the whole buffer, comments, blank lines and a byte-order mark included. Line ends may be
//! LF, CRLF or CR, mixed.

use std::borrow::Cow;
use std::ops::Range;

use super::event::{EventFrame, StreamEvent, one_line};

/// The events of a buffer.
#[derive(Clone, Debug)]
pub struct SseEvents<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Iterates over the events of a buffer, in order.
pub fn events(bytes: &[u8]) -> SseEvents<'_> {
    SseEvents { bytes, at: 0 }
}

impl<'a> SseEvents<'a> {
    /// The next line without its end, and whether it had one.
    fn line(&mut self) -> Option<(&'a [u8], bool)> {
        let start = self.at;
        let rest = self.bytes.get(start..).filter(|rest| !rest.is_empty())?;
        let Some(length) = memchr::memchr2(b'\n', b'\r', rest) else {
            self.at = self.bytes.len();
            return Some((rest, false));
        };
        let pair = rest[length..].starts_with(b"\r\n");
        self.at = start + length + if pair { 2 } else { 1 };
        Some((&rest[..length], true))
    }
}

impl<'a> Iterator for SseEvents<'a> {
    type Item = StreamEvent<'a>;

    fn next(&mut self) -> Option<StreamEvent<'a>> {
        let start = self.at;
        let mut event = StreamEvent {
            range: start..start,
            name: None,
            data: None,
            finished: false,
            failed: false,
        };
        while let Some((mut line, ended)) = self.line() {
            if event.range.end == 0 {
                line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line);
            }
            event.range.end = self.at;
            if line.is_empty() && ended {
                event.finished = true;
                break;
            }
            field(&mut event, line);
        }
        (event.range.end > start).then_some(event)
    }
}

/// Iterates over the lines of a buffer: the range of each, without its end, and the number of its
/// event.
pub fn lines(bytes: &[u8]) -> impl Iterator<Item = (Range<usize>, usize)> + '_ {
    let mut left = events(bytes);
    let mut event = 0;
    std::iter::from_fn(move || {
        let start = left.at;
        let (line, _) = left.line()?;
        let bom = if start == 0 && line.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let this = event;
        event += usize::from(line.len() == bom);
        Some((start + bom..start + line.len(), this))
    })
}

/// Takes one line into its event, according to the WHATWG's parsing rules.
fn field<'a>(event: &mut StreamEvent<'a>, line: &'a [u8]) {
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
pub(super) fn write(frame: &EventFrame) -> Vec<u8> {
    let name = frame.name.map_or_else(String::new, |name| format!("event: {name}\n"));
    let data = frame.data.as_ref().map_or_else(|| "[DONE]".to_owned(), one_line);
    format!("{name}data: {data}\n\n").into_bytes()
}

#[cfg(test)]
mod tests;
