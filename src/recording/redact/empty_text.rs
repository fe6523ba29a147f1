//! Texts of which redaction left only marks and placeholders.

use super::MARK;

/// Whether `body` contains a mark or a placeholder.
pub fn holds_mark(body: &[u8]) -> bool {
    memchr::memmem::find(body, MARK.as_bytes()).is_some()
        || memchr::memchr_iter(b'<', body).any(|at| placeholder_len(&body[at..]).is_some())
}

/// Whether `text` holds marks or placeholders and, apart from them, neither letters nor digits.
pub fn is_only_marks(text: &str) -> bool {
    let mut rest = text;
    let mut marks = 0_usize;
    while let Some(first) = rest.chars().next() {
        let mark = rest.starts_with(MARK).then_some(MARK.len());
        match mark.or_else(|| placeholder_len(rest.as_bytes())) {
            Some(length) => {
                marks += 1;
                rest = &rest[length..];
            }
            None if first.is_alphanumeric() => return false,
            None => rest = &rest[first.len_utf8()..],
        }
    }
    marks > 0
}

/// Returns the length of the placeholder that `text` begins with: `<NAME:1>`.
fn placeholder_len(text: &[u8]) -> Option<usize> {
    let inner = text.strip_prefix(b"<")?;
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    let name = inner.iter().take_while(|byte| is_name(byte)).count();
    let digits = inner.get(name..)?.strip_prefix(b":")?;
    let number = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let is_whole = name > 0 && number > 0 && digits.get(number) == Some(&b'>');
    is_whole.then_some(name + number + 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_only_marks_when_nothing_readable_stands_beside_them() {
        for text in ["[REDACTED]", "[REDACTED]\n[REDACTED].", " <EMAIL:12>", "<A_b:1>[REDACTED]"] {
            assert!(is_only_marks(text) && holds_mark(text.as_bytes()), "{text}");
        }
        for text in ["", "?", "my [REDACTED]", "[REDACTED] 7", "<EMAIL:>", "<:1>", "<a b:1>", "é"]
        {
            assert!(!is_only_marks(text), "{text}");
        }
        assert!(!holds_mark(b"a < b : 1 > c"));
    }
}
