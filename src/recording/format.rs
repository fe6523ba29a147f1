//! The file as text, read and written whole.
//!
//! UTF-8 JSON, two-space pretty, nothing escaped that need not be, a chunk a
//! line, a line feed at the end. Writing what was read from such a file gives
//! the same text.

use bytes::Bytes;

use super::cassette::Cassette;
use super::document::Document;
use super::error::FormatError;

/// Reads a whole recording.
///
/// # Errors
/// Everything that makes it unusable; see [`FormatError`].
pub fn parse(text: &[u8]) -> Result<Cassette, FormatError> {
    Document::parse(Bytes::copy_from_slice(text))?.cassette()
}

/// Writes a whole recording.
pub fn write(cassette: &Cassette) -> Vec<u8> {
    Document::of(cassette).to_bytes()
}

#[cfg(test)]
#[path = "format_tests.rs"]
mod tests;
