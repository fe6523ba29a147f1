//! Bodies for people at a terminal: indented JSON, with long arrays and texts cut and noted. A body
//! that is not text is described.

use serde_json::Value;

use loomrec_cli::terminal;
use loomrec_curation::history::CarriedParts;
use loomrec_curation::inspection::CarriedWords;
use loomrec_curation::inspection::pretty::BodyLayout;

/// A text of more than this many characters is cut (an image in base64 is far longer), and so is an
/// array of more than this many numbers (an embedding has hundreds).
const LAYOUT: BodyLayout =
    BodyLayout { body: usize::MAX, text: 4000, row: 8, clean: terminal::printable_json };

/// Formats a body as indented lines, or describes it if it is not text.
pub(super) fn format_body(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "(no body)".to_owned();
    }
    if let Some(laid_out) = LAYOUT.lay_out_body(bytes) {
        return laid_out;
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => terminal::printable_text(&cut_text(text)).into_owned(),
        Err(_) => format!("({} bytes that are not text)", bytes.len()),
    }
}

/// Formats a body as indented lines, with notes in place of the carried parts.
pub(super) fn new_parts(bytes: &[u8], carried: &CarriedParts, words: CarriedWords<'_>) -> String {
    LAYOUT.new_parts(bytes, carried, words).unwrap_or_else(|| format_body(bytes))
}

/// Formats a JSON value as indented lines.
pub(super) fn format_json(value: &Value) -> String {
    LAYOUT.lay_out_json(value)
}

/// Cuts the end off a very long text.
pub(super) fn cut_text(text: &str) -> String {
    LAYOUT.cut_text(text)
}
