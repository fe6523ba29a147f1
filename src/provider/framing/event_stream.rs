//! AWS's event stream: binary messages with headers and two checksums.
//!
//! A message is its length, the length of its headers and the CRC-32 of these two
//! (four bytes each, big-endian), the headers, the payload, and the CRC-32 of all
//! before it. A header is the length of its name (one byte), the name, the type of
//! its value (one byte; 7 is text) and the value; text is preceded by its length in
//! two bytes.
//!
//! The ranges of the events are contiguous and cover the whole buffer. A length is only used if its
//! checksum is right. After a wrong one, message boundaries are unknown, and the rest is one failed
//! event.

use std::borrow::Cow;

use super::event::{EventFrame, StreamEvent};

mod prelude;
mod rewrite;
mod splitter;

use prelude::{PRELUDE, Prelude, TRAILER, number_at};
pub use rewrite::{BufferMessage, unchanged_ends};
pub(super) use splitter::MessageSplitter;

/// Whether bytes begin with a message: its lengths have the right checksum.
pub(crate) fn is_message_start(bytes: &[u8]) -> bool {
    bytes.first_chunk().and_then(Prelude::from_bytes).is_some()
}

/// The type of a text value in a header.
const TEXT: u8 = 7;

/// Reads one message, whose lengths are right.
pub(super) fn read_event(bytes: &[u8]) -> StreamEvent<'_> {
    let failed = StreamEvent { failed: true, ..StreamEvent::empty() };
    let Some((headers, payload)) = message_parts(bytes) else { return failed };
    let Some(kind) = MessageKind::from_headers(headers) else { return failed };
    let data = (!payload.is_empty()).then_some(Cow::Borrowed(payload));
    StreamEvent { name: kind.name, data, failed: kind.failed, ..StreamEvent::empty() }
}

/// The headers and the payload of a message; `None` if a length or a checksum is wrong.
fn message_parts(message: &[u8]) -> Option<(&[u8], &[u8])> {
    let prelude = Prelude::from_bytes(message.first_chunk()?)?;
    let (signed, sum) = message.split_at_checked(prelude.total.checked_sub(TRAILER)?)?;
    let is_whole = message.len() == prelude.total && number_at(sum, 0)? == crc32fast::hash(signed);
    is_whole.then(|| signed[PRELUDE..].split_at(prelude.headers))
}

/// The kind of a message, according to its headers.
struct MessageKind<'a> {
    name: Option<&'a str>,
    failed: bool,
}

impl<'a> MessageKind<'a> {
    /// Returns `None` if the headers do not parse.
    fn from_headers(mut headers: &'a [u8]) -> Option<Self> {
        let (mut event, mut exception, mut code, mut message) = (None, None, None, None);
        while !headers.is_empty() {
            let (name, value, rest) = first_header(headers)?;
            headers = rest;
            match name {
                ":event-type" => event = value,
                ":exception-type" => exception = value,
                ":error-code" => code = value,
                ":message-type" => message = value,
                _ => {}
            }
        }
        Some(match message {
            Some("exception") => Self { name: exception, failed: true },
            Some("error") => Self { name: code, failed: true },
            _ => Self { name: event, failed: false },
        })
    }
}

/// The first header: its name, its value if it is text, and the headers after it.
fn first_header(headers: &[u8]) -> Option<(&str, Option<&str>, &[u8])> {
    let (&length, rest) = headers.split_first()?;
    let (name, rest) = rest.split_at_checked(length.into())?;
    let (&kind, rest) = rest.split_first()?;
    let (length, rest) = match kind {
        // True and false.
        0 | 1 => (0, rest),
        2 => (1, rest),
        3 => (2, rest),
        4 => (4, rest),
        // A long, and a time.
        5 | 8 => (8, rest),
        // A UUID.
        9 => (16, rest),
        // Bytes, and text.
        6 | TEXT => {
            let (length, rest) = rest.split_at_checked(2)?;
            (usize::from(u16::from_be_bytes(length.try_into().ok()?)), rest)
        }
        _ => return None,
    };
    let (value, rest) = rest.split_at_checked(length)?;
    let text = if kind == TEXT { Some(std::str::from_utf8(value).ok()?) } else { None };
    Some((std::str::from_utf8(name).ok()?, text, rest))
}

/// The bytes of a message, with its headers in the order in which AWS sends them. There is no
/// message for `[DONE]`: a stream ends with its last event.
pub(super) fn write_event(frame: &EventFrame) -> Vec<u8> {
    let Some(data) = &frame.data else { return Vec::new() };
    let (slot, kind) =
        if frame.exception { (":exception-type", "exception") } else { (":event-type", "event") };
    let mut headers = vec![];
    if let Some(name) = frame.name {
        text_header(&mut headers, slot, name);
    }
    text_header(&mut headers, ":content-type", "application/json");
    text_header(&mut headers, ":message-type", kind);
    build_message(&headers, data.to_string().as_bytes())
}

/// A message with these headers and this payload; empty if they are too long for one.
fn build_message(headers: &[u8], payload: &[u8]) -> Vec<u8> {
    let total = PRELUDE + headers.len() + payload.len() + TRAILER;
    let (Ok(length), Ok(within)) = (u32::try_from(total), u32::try_from(headers.len())) else {
        return Vec::new();
    };
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&length.to_be_bytes());
    out.extend_from_slice(&within.to_be_bytes());
    out.extend_from_slice(&crc32fast::hash(&out).to_be_bytes());
    out.extend_from_slice(headers);
    out.extend_from_slice(payload);
    out.extend_from_slice(&crc32fast::hash(&out).to_be_bytes());
    out
}

/// Adds a text header; leaves it out if it is too long.
fn text_header(headers: &mut Vec<u8>, name: &str, value: &str) {
    let (Ok(short), Ok(length)) = (u8::try_from(name.len()), u16::try_from(value.len())) else {
        return;
    };
    headers.push(short);
    headers.extend_from_slice(name.as_bytes());
    headers.push(TEXT);
    headers.extend_from_slice(&length.to_be_bytes());
    headers.extend_from_slice(value.as_bytes());
}

#[cfg(test)]
mod tests;
