//! Splits a buffer of server-sent events without losing a byte.
//!
//! [`events`] walks over the blocks of a buffer. The ranges of its events follow
//! each other without a gap and cover the whole buffer, comments, blank lines
//! and a byte-order mark included. Line ends may be LF, CRLF or CR, mixed.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

/// One block of the stream: everything up to and with the blank line that ends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its exact bytes, in the buffer.
    pub range: Range<usize>,
    /// The value of its last `event:` line.
    pub name: Option<&'a str>,
    /// Its `data:` lines joined by a line feed; `None` where it has none (a
    /// comment, a stray blank line).
    pub data: Option<Cow<'a, [u8]>>,
    /// Whether its blank line was there; only a buffer's last event can lack it.
    pub finished: bool,
}

impl Event<'_> {
    /// The data as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(self.data.as_deref()?).ok()
    }

    /// Whether the data is OpenAI's end marker, `[DONE]`.
    pub fn is_done(&self) -> bool {
        self.data.as_deref().is_some_and(|data| data.trim_ascii() == b"[DONE]")
    }
}

/// The events of a buffer.
#[derive(Clone, Debug)]
pub struct Events<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Walks over the events of a buffer, in order.
pub fn events(bytes: &[u8]) -> Events<'_> {
    Events { bytes, at: 0 }
}

impl<'a> Events<'a> {
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

impl<'a> Iterator for Events<'a> {
    type Item = Event<'a>;

    fn next(&mut self) -> Option<Event<'a>> {
        let start = self.at;
        let mut event = Event { range: start..start, name: None, data: None, finished: false };
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

/// Takes one line into its event, as the WHATWG's parsing rules have it.
fn field<'a>(event: &mut Event<'a>, line: &'a [u8]) {
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

#[cfg(test)]
mod tests;
