//! A tolerant reader of JSON as a sequence of tokens.
//!
//! It reads one JSON value, or several consecutive ones (lines of JSON, a concatenation), in one
//! pass and without recursion. If the text is not JSON, the reader reports this and continues at
//! the next object, array or string. Every byte is read once.

use std::borrow::Cow;
use std::ops::Range;

use super::decoded_text::DecodedText;

/// A JSON string in its source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JsonText {
    /// The range of the bytes between the quotes.
    pub(super) range: Range<usize>,
    /// Whether it contains escapes.
    pub(super) escaped: bool,
}

impl JsonText {
    /// Returns the decoded string.
    pub(super) fn decoded_bytes<'a>(&self, json: &'a [u8]) -> Cow<'a, [u8]> {
        if !self.escaped {
            return Cow::Borrowed(&json[self.range.clone()]);
        }
        let mut decoded = DecodedText::default();
        decoded.push_json(json, self.range.clone(), true);
        Cow::Owned(decoded.as_bytes().to_vec())
    }
}

/// A part of a JSON text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum JsonToken {
    /// The beginning of an object or an array.
    Open,
    /// The end of an object or an array.
    Close,
    /// The name of a member.
    Name(JsonText),
    /// A string that is a value.
    Value(JsonText),
    /// A number, `true`, `false` or `null`.
    Scalar(Range<usize>),
}

/// Whether a text is a complete object or array, or several of them.
pub fn is_json(text: &[u8]) -> bool {
    let start = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text).trim_ascii_start();
    if !matches!(start.first(), Some(b'{' | b'[')) {
        return false;
    }
    let mut tokens = JsonTokens::new(text);
    tokens.by_ref().for_each(drop);
    tokens.is_complete()
}

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expected {
    Value,
    ValueOrClose,
    Name,
    NameOrClose,
    Colon,
    CommaOrClose,
}

/// The tokens of a text, in order.
pub(super) struct JsonTokens<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether each open container is an object.
    open: Vec<bool>,
    expected: Expected,
    broken: bool,
    documents: usize,
}

impl<'a> JsonTokens<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let at = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
        let expected = Expected::Value;
        Self { bytes, at, open: Vec::new(), expected, broken: false, documents: 0 }
    }

    /// Whether everything read so far is JSON. Meaningful only after the last token.
    pub(super) fn is_complete(&self) -> bool {
        !self.broken && self.open.is_empty() && self.documents > 0
    }

    /// Returns the lowest offset at which the next token can begin.
    pub(super) fn position(&self) -> usize {
        self.at
    }

    /// Returns the nesting depth of the next token.
    pub(super) fn depth(&self) -> usize {
        self.open.len()
    }

    fn skip_space(&mut self) {
        // 0x1e begins each text of a JSON sequence (RFC 7464).
        while let Some(b' ' | b'\n' | b'\r' | b'\t' | 0x1e) = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    /// Handles the end of a value.
    fn value_ended(&mut self) {
        self.expected = match self.open.last() {
            Some(_) => Expected::CommaOrClose,
            None => {
                self.documents += 1;
                Expected::Value
            }
        };
    }

    /// Handles text that is not JSON: continues at the next container or string.
    fn skip_broken_text(&mut self) {
        self.broken = true;
        self.open.clear();
        self.expected = Expected::Value;
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += memchr::memchr3(b'{', b'[', b'"', rest).unwrap_or(rest.len());
    }

    /// Reads the string whose opening quote is here.
    fn read_string(&mut self) -> JsonText {
        let start = self.at + 1;
        let mut at = start;
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let Some(length) = memchr::memchr2(b'"', b'\\', rest) else {
                // The string is cut. Its existing part is searched all the same.
                self.broken = true;
                self.at = self.bytes.len();
                return JsonText { range: start..self.at.max(start), escaped };
            };
            at += length;
            if self.bytes[at] == b'"' {
                self.at = at + 1;
                return JsonText { range: start..at, escaped };
            }
            escaped = true;
            at += 2;
        }
    }

    fn read_scalar(&mut self) -> Option<JsonToken> {
        let rest = &self.bytes[self.at..];
        let is_part = |byte: &&u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
        let length = rest.iter().take_while(is_part).count();
        let word = &rest[..length];
        let is_scalar = match word {
            b"true" | b"false" | b"null" | b"NaN" | b"Infinity" | b"-Infinity" => true,
            _ => {
                let number = word.strip_prefix(b"-").unwrap_or(word);
                number.first().is_some_and(u8::is_ascii_digit)
                    && number.iter().all(|b| b.is_ascii_digit() || b"+-.eE".contains(b))
            }
        };
        // A bare word is a text, not a JSON document.
        if !is_scalar || self.open.is_empty() {
            return None;
        }
        let range = self.at..self.at + length;
        self.at = range.end;
        self.value_ended();
        Some(JsonToken::Scalar(range))
    }

    fn read_value(&mut self, byte: u8) -> Option<JsonToken> {
        match byte {
            b'"' => {
                let text = self.read_string();
                self.value_ended();
                Some(JsonToken::Value(text))
            }
            b'{' | b'[' => {
                self.at += 1;
                self.open.push(byte == b'{');
                self.expected =
                    if byte == b'{' { Expected::NameOrClose } else { Expected::ValueOrClose };
                Some(JsonToken::Open)
            }
            _ => self.read_scalar(),
        }
    }

    fn close_container(&mut self, byte: u8) -> Option<JsonToken> {
        let fits = self.open.last().is_some_and(|object| (byte == b'}') == *object);
        if !fits {
            return None;
        }
        self.at += 1;
        self.open.pop();
        self.value_ended();
        Some(JsonToken::Close)
    }

    /// Returns the next token, `None` if only punctuation was read, and an error if the byte is not
    /// allowed here.
    fn read_token(&mut self, byte: u8) -> Result<Option<JsonToken>, ()> {
        let is_close = matches!(byte, b'}' | b']');
        let token = match self.expected {
            Expected::ValueOrClose | Expected::NameOrClose | Expected::CommaOrClose if is_close => {
                self.close_container(byte)
            }
            Expected::Value | Expected::ValueOrClose => self.read_value(byte),
            Expected::Name | Expected::NameOrClose if byte == b'"' => {
                let text = self.read_string();
                self.expected = Expected::Colon;
                Some(JsonToken::Name(text))
            }
            Expected::Colon if byte == b':' => {
                self.at += 1;
                self.expected = Expected::Value;
                return Ok(None);
            }
            Expected::CommaOrClose if byte == b',' => {
                self.at += 1;
                let object = self.open.last().copied().unwrap_or_default();
                self.expected = if object { Expected::Name } else { Expected::Value };
                return Ok(None);
            }
            _ => None,
        };
        token.map(Some).ok_or(())
    }
}

impl Iterator for JsonTokens<'_> {
    type Item = JsonToken;

    fn next(&mut self) -> Option<JsonToken> {
        loop {
            self.skip_space();
            let byte = *self.bytes.get(self.at)?;
            match self.read_token(byte) {
                Ok(Some(token)) => return Some(token),
                Ok(None) => {}
                Err(()) => {
                    // A bracket that is not allowed here may begin a new value.
                    let begins = matches!(byte, b'{' | b'[') && !self.open.is_empty();
                    self.at += usize::from(!begins);
                    self.skip_broken_text();
                }
            }
        }
    }
}

#[cfg(test)]
#[path = "json_tokens_tests.rs"]
mod tests;
