//! Bodies for people at a terminal: laid out, long rows and texts cut with a note, what
//! is no text described.

use serde_json::Value;

use super::super::terminal;
use crate::inspection::pretty::BodyLayout;

/// A text above this many characters is cut (an image in base64 is far above it), a row
/// above this many numbers too (an embedding has hundreds).
const LAYOUT: BodyLayout =
    BodyLayout { body: usize::MAX, text: 4000, row: 8, clean: terminal::json };

/// A body as indented lines, and what it is where that is not plain to see.
pub(super) fn body(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "(no body)".to_owned();
    }
    if let Some(laid_out) = LAYOUT.body(bytes) {
        return laid_out;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => terminal::block(&cut(text)).into_owned(),
        Err(_) => format!("({} bytes that are no text)", bytes.len()),
    }
}

/// A JSON value as indented lines.
pub(super) fn json(value: &Value) -> String {
    LAYOUT.json(value)
}

/// The text, its end left out where it is very long.
pub(super) fn cut(text: &str) -> String {
    LAYOUT.cut(text)
}
