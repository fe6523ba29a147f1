//! The parts of one event's bytes, and events with other data.

use std::borrow::Cow;

use crate::broken_json::cut_text as cut_short;
use crate::broken_message;
use loomrec_provider::Framing;
use loomrec_provider::framing::events;

/// Length of the checksum at the end of a message.
const CHECKSUM: usize = 4;

/// An event's bytes: what precedes it, the event itself, and what ends it.
#[derive(Clone, Copy, Debug)]
pub(super) struct EventParts<'a> {
    pub(super) before: &'a [u8],
    pub(super) itself: &'a [u8],
    pub(super) end: &'a [u8],
}

impl<'a> EventParts<'a> {
    /// The parts of an event; `first` says whether it is the stream's first.
    pub(super) fn from_event(framing: Framing, event: &'a [u8], first: bool) -> Self {
        let (before, rest) = match framing {
            Framing::Array => event.split_at(before_element(event, first)),
            _ => event.split_at(0),
        };
        let end = match framing {
            Framing::Sse => blank_line(rest),
            Framing::Lines if rest.ends_with(b"\n") => line_end(rest),
            Framing::Lines | Framing::Array => 0,
            Framing::EventStream => CHECKSUM.min(rest.len()),
        };
        let (itself, end) = rest.split_at(rest.len() - end);
        Self { before, itself, end }
    }
}

/// What ends an event, for one that lacks its end.
pub(super) fn terminator(framing: Framing) -> &'static [u8] {
    match framing {
        Framing::Sse => b"\n\n",
        Framing::Lines => b"\n",
        Framing::Array | Framing::EventStream => b"",
    }
}

/// Length of the bytes before an element: blanks, the comma, and the bracket before the first.
fn before_element(event: &[u8], first: bool) -> usize {
    let blank = |bytes: &[u8]| {
        let is = |byte: &&u8| byte.is_ascii_whitespace() || **byte == b',';
        bytes.iter().take_while(is).count()
    };
    let start = blank(event);
    match event.get(start) {
        Some(b'[') if first => start + 1 + blank(&event[start + 1..]),
        _ => start,
    }
}

/// Length of the line end at the end.
fn line_end(bytes: &[u8]) -> usize {
    match bytes {
        [.., b'\r', b'\n'] => 2,
        [.., b'\r' | b'\n'] => 1,
        _ => 0,
    }
}

/// Length of the blank line at the end, or 0.
fn blank_line(event: &[u8]) -> usize {
    let last = line_end(event);
    if line_end(&event[..event.len() - last]) > 0 { last } else { 0 }
}

/// Returns the event with other data and correct checksums; the rest of it stays. `first` says
/// whether it is the stream's first.
pub(super) fn with_data(framing: Framing, event: &[u8], data: &str, first: bool) -> Vec<u8> {
    let data = data.as_bytes();
    let parts = EventParts::from_event(framing, event, first);
    match framing {
        Framing::Sse => [&with_lines(parts.itself, data), parts.end].concat(),
        Framing::Lines | Framing::Array => [parts.before, data, parts.end].concat(),
        Framing::EventStream => {
            broken_message::with_payload(event, data).unwrap_or_else(|| event.to_vec())
        }
    }
}

/// The lines of a server-sent event, with other data.
fn with_lines(event: &[u8], data: &[u8]) -> Vec<u8> {
    let (mut out, mut rest, mut told) = (Vec::new(), event, false);
    while !rest.is_empty() {
        let length = memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        let end = match &rest[length..] {
            [b'\r', b'\n', ..] => 2,
            [] => 0,
            _ => 1,
        };
        let (line, later) = rest.split_at(length + end);
        rest = later;
        let text = line[..length].strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line[..length]);
        if text != b"data" && !text.starts_with(b"data:") {
            out.extend_from_slice(line);
        } else if !told {
            told = true;
            let end: &[u8] = if end == 0 { b"\n" } else { &line[length..] };
            for piece in data.split(|byte| matches!(byte, b'\n' | b'\r')) {
                out.extend_from_slice(b"data: ");
                out.extend_from_slice(piece);
                out.extend_from_slice(end);
            }
        }
    }
    out
}

/// Returns the event with at most half of its data, so that the data does not parse.
pub(super) fn with_broken_data(framing: Framing, event: &[u8], first: bool) -> Vec<u8> {
    let data = match framing {
        Framing::Array => Some(EventParts::from_event(framing, event, first).itself.to_vec()),
        _ => events(framing, event).find_map(|event| event.data.map(Cow::into_owned)),
    };
    let data = data.unwrap_or_default();
    with_data(framing, event, &cut_short(&String::from_utf8_lossy(&data)), first)
}
