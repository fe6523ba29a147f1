//! Consecutive JSON documents in bytes whose framing is not known.

use std::ops::Range;

use super::json_tokens::{JsonToken, JsonTokens};

/// Returns the ranges of consecutive JSON documents. Usually returns none if there is only one.
pub(super) fn document_ranges(bytes: &[u8]) -> Vec<Range<usize>> {
    let Some(first) = bytes.iter().find(|byte| !is_space(byte)) else { return Vec::new() };
    if first.is_ascii_alphanumeric() {
        return tagged_lines(bytes);
    }
    if !is_begin(Some(first)) || !may_be_several(*first, bytes) {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut tokens = JsonTokens::new(bytes);
    let mut start = None;
    while let Some(token) = tokens.next() {
        match (token, tokens.depth()) {
            (JsonToken::Open, 1) => start = Some(tokens.position() - 1),
            (JsonToken::Close, 0) => {
                found.extend(start.take().map(|start| start..tokens.position()))
            }
            (JsonToken::Value(text), 0) => found.push(text.range.start - 1..tokens.position()),
            _ => {}
        }
    }
    found
}

/// Whether a document may begin directly after another.
fn may_be_several(first: u8, bytes: &[u8]) -> bool {
    // Within a document, nothing begins directly after an end, except in a string.
    let is_followed = |at: usize| {
        let rest = &bytes[at + 1..];
        is_begin(rest.iter().find(|byte| !is_space(byte)))
    };
    match first {
        b'"' => memchr::memchr_iter(b'"', bytes).skip(1).any(is_followed),
        _ => memchr::memchr2_iter(b'}', b']', bytes).any(is_followed),
    }
}

/// 0x1e begins each text of a JSON sequence (RFC 7464).
fn is_space(byte: &&u8) -> bool {
    byte.is_ascii_whitespace() || **byte == 0x1e
}

fn is_begin(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'{' | b'[' | b'"'))
}

/// Returns the ranges of JSON in lines that begin with a short tag (`0:"Hello"`), as in Vercel's
/// data streams. Returns none if any line has another form.
fn tagged_lines(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let range = start..start + line.len();
        start = range.end;
        let text = line.trim_ascii_end();
        if text.is_empty() {
            continue;
        }
        let tag = text.iter().take(3).take_while(|byte| byte.is_ascii_alphanumeric()).count();
        let is_tagged = matches!(tag, 1 | 2) && text.get(tag) == Some(&b':');
        if !is_tagged || !is_begin(text.get(tag + 1)) {
            return Vec::new();
        }
        found.push(range.start + tag + 1..range.start + text.len());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Vec<&str> {
        document_ranges(text.as_bytes()).into_iter().map(|range| &text[range]).collect()
    }

    #[test]
    fn documents_behind_each_other_are_found() {
        assert_eq!(read("{\"a\":1}\n[2] {}"), ["{\"a\":1}", "[2]", "{}"]);
        assert_eq!(read("\"a\"\n\"b\\\"\" \"\""), ["\"a\"", "\"b\\\"\"", "\"\""]);
        assert!(read("{\"a\":\"b\",\"c\":\"\"}").is_empty());
        assert!(read("plain text").is_empty());
        assert!(read("").is_empty());
    }

    #[test]
    fn json_in_lines_with_a_tag_is_found() {
        assert_eq!(read("0:\"a\"\r\n\n9:{\"b\":1}\n"), ["\"a\"", "{\"b\":1}"]);
        assert!(read("0:\"a\"\nnote: \"b\"\n").is_empty());
        assert!(read("12:30\n").is_empty());
    }
}
