//! Texts of bounded length: of a body, of one of its parts, of a chunk.

use std::borrow::Cow;

use super::pretty::BodyLayout;

/// The most bytes of a body's text.
pub(super) const MOST: usize = 1 << 20;
/// The approximate number of bytes that a message or a part needs in addition to its text.
pub(super) const AROUND: usize = 64;

/// Bodies are laid out completely. A text that is too long is cut afterwards.
const LAYOUT: BodyLayout = BodyLayout {
    body: 4 << 20,
    text: usize::MAX,
    row: usize::MAX,
    clean: |text| Cow::Borrowed(text),
};

/// The text of a body.
pub(super) struct BodyText {
    pub(super) text: String,
    /// Whether the text was cut.
    pub(super) cut: bool,
}

impl BodyText {
    /// Returns a body, laid out if it is JSON.
    pub(super) fn from_bytes(bytes: &[u8]) -> Self {
        if let Some(text) = LAYOUT.lay_out_body(bytes) {
            return Self::from_text(text);
        }
        match std::str::from_utf8(bytes) {
            Ok(text) => Self { text: start(text, MOST).to_owned(), cut: text.len() > MOST },
            Err(_) => {
                let text = format!("({} bytes that are not text)", bytes.len());
                Self { text, cut: false }
            }
        }
    }

    fn from_text(mut text: String) -> Self {
        let kept = start(&text, MOST).len();
        let cut = kept < text.len();
        text.truncate(kept);
        Self { text, cut }
    }
}

/// Returns the beginning of a text: at most `most` bytes, and only whole characters.
pub(super) fn start(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Returns a text of at most about `most` bytes. A cut text says so.
pub(super) fn cut_to_length(text: &str, most: usize) -> String {
    match start(text, most) {
        all if all.len() == text.len() => text.to_owned(),
        part => format!("{part}… ({} more bytes)", text.len() - part.len()),
    }
}

/// Returns a JSON value, laid out.
pub(super) fn lay_out_json(value: &serde_json::Value) -> String {
    LAYOUT.lay_out_json(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_cut_at_a_character_when_it_is_too_long() {
        let long = "é".repeat(MOST);
        let text = BodyText::from_bytes(format!("x{long}").as_bytes());
        assert!(text.cut && text.text.len() == MOST - 1, "{}", text.text.len());
        let json = BodyText::from_bytes(format!("{{\"a\":\"{long}\"}}").as_bytes());
        assert!(json.cut && json.text.len() <= MOST && json.text.starts_with("{\n  \"a\": \"é"));
    }

    #[test]
    fn a_body_is_laid_out_when_it_means_the_same_to_everyone() {
        let text = |bytes: &[u8]| BodyText::from_bytes(bytes).text;
        assert_eq!(
            text(br#"{"a":[1.50,18446744073709551616]}"#),
            "{\n  \"a\": [1.50, 18446744073709551616]\n}"
        );
        assert_eq!(text(br#"{"a":1,"a":2}"#), r#"{"a":1,"a":2}"#);
        assert_eq!(text(b"\xff"), "(1 bytes that are not text)");
        assert_eq!(text("<script>\u{1b}\u{202e}".as_bytes()), "<script>\u{1b}\u{202e}");
    }

    #[test]
    fn a_bounded_text_says_how_much_is_left_out() {
        assert_eq!(cut_to_length("abc", 3), "abc");
        assert_eq!(cut_to_length("aéb", 2), "a… (3 more bytes)");
    }
}
