//! AWS's event stream: binary messages with headers and two checksums.
//!
//! A message is its length, the length of its headers and the CRC-32 of these two
//! (four bytes each, big-endian), the headers, the payload, and the CRC-32 of all
//! before it. A header is the length of its name (one byte), the name, the type of
//! its value (one byte; 7 is text) and the value; text is preceded by its length in
//! two bytes.

use super::{Event, Frame};

/// Walks over the messages of a buffer.
pub(super) fn events(_bytes: &[u8]) -> impl Iterator<Item = Event<'_>> {
    std::iter::empty()
}

/// The bytes of a message.
pub(super) fn write(_frame: &Frame) -> Vec<u8> {
    Vec::new()
}
