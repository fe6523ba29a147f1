//! A reader of JSON text that reads token by token, straight into the wanted types.
//!
//! It reads what loomrec itself writes, and gives up on anything else: a duplicate key, a spelling
//! that loomrec does not use, deep nesting. The caller then falls back to a tree of values, which
//! can report the error.

use std::borrow::Cow;

use serde_json::Value;

use super::json_style::{JsonSpacing, JsonStyle};
use loomrec_identity::json_text::{RunEnd, read_escape, run_length};

/// Deeper values are left to the fallback.
const DEPTH_LIMIT: usize = 90;

/// Objects with more members are left to the fallback: the search for duplicate keys compares every
/// pair.
const MEMBER_LIMIT: usize = 200;

/// The prefix of keys that the reader of values treats specially.
const MAGIC: &str = "$serde_json::";

/// A text that is being read. Every method returns `None` if it gives up.
#[derive(Clone, Debug)]
pub(super) struct TextTokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> TextTokens<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Returns the text that was read since an earlier position.
    pub(super) fn text_since(&self, earlier: &Self) -> &'a str {
        self.text.get(earlier.at..self.at).unwrap_or_default()
    }

    /// Whether only white space is left.
    pub(super) fn is_at_end(&mut self) -> bool {
        self.peek().is_none()
    }

    /// Skips white space, and returns the next byte without taking it.
    pub(super) fn peek(&mut self) -> Option<u8> {
        let rest = self.remaining_bytes();
        let space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\r' | b'\t');
        let length = rest.iter().position(|byte| !space(byte))?;
        self.at += length;
        Some(rest[length])
    }

    /// Takes a byte, if it is the next one.
    pub(super) fn take_if_next(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn require_byte(&mut self, byte: u8) -> Option<()> {
        self.take_if_next(byte).then_some(())
    }

    /// Takes `null`, if it comes next.
    pub(super) fn take_null(&mut self) -> bool {
        self.peek() == Some(b'n') && self.take_word("null").is_some()
    }

    fn take_word(&mut self, word: &str) -> Option<()> {
        let found = self.remaining_bytes().starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found.then_some(())
    }

    /// Reads an object. `each` gets a key and reads its value.
    pub(super) fn read_object(
        &mut self,
        mut each: impl FnMut(&mut Self, &str) -> Option<()>,
    ) -> Option<()> {
        self.require_byte(b'{')?;
        if self.take_if_next(b'}') {
            return Some(());
        }
        loop {
            let key = self.read_string().filter(|key| !key.starts_with(MAGIC))?;
            self.require_byte(b':')?;
            each(self, &key)?;
            if !self.take_if_next(b',') {
                return self.require_byte(b'}');
            }
        }
    }

    /// Reads a list. `each` reads an item.
    pub(super) fn read_list(
        &mut self,
        mut each: impl FnMut(&mut Self) -> Option<()>,
    ) -> Option<()> {
        self.require_byte(b'[')?;
        if self.take_if_next(b']') {
            return Some(());
        }
        loop {
            each(self)?;
            if !self.take_if_next(b',') {
                return self.require_byte(b']');
            }
        }
    }

    /// Reads a list of two items.
    pub(super) fn read_pair<A, B>(
        &mut self,
        first: impl FnOnce(&mut Self) -> Option<A>,
        second: impl FnOnce(&mut Self) -> Option<B>,
    ) -> Option<(A, B)> {
        self.require_byte(b'[')?;
        let first = first(self)?;
        self.require_byte(b',')?;
        let second = second(self)?;
        self.require_byte(b']')?;
        Some((first, second))
    }

    /// Reads a string.
    pub(super) fn read_string(&mut self) -> Option<Cow<'a, str>> {
        self.require_byte(b'"')?;
        let start = self.at;
        self.at += run_length(self.remaining_bytes(), RunEnd::Special);
        if self.remaining_bytes().first() == Some(&b'"') {
            self.at += 1;
            return Some(Cow::Borrowed(self.text.get(start..self.at - 1)?));
        }
        self.at = start;
        let mut out = Vec::new();
        self.append_unescaped(&mut out)?;
        String::from_utf8(out).ok().map(Cow::Owned)
    }

    /// Reads a string into an owned one.
    pub(super) fn read_owned_string(&mut self) -> Option<String> {
        self.read_string().map(Cow::into_owned)
    }

    /// Appends the unescaped rest of a string, whose opening quote has been taken.
    fn append_unescaped(&mut self, out: &mut Vec<u8>) -> Option<()> {
        loop {
            let rest = self.remaining_bytes();
            let plain = run_length(rest, RunEnd::Special);
            out.extend_from_slice(&rest[..plain]);
            self.at += plain;
            match rest.get(plain)? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' => {
                    let (character, length) = read_escape(&rest[plain..]).ok()?;
                    out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
                    self.at += length;
                }
                _ => return None,
            }
        }
    }

    /// Appends an unescaped string to `out`. Returns its length in bytes.
    pub(super) fn string_into(&mut self, out: &mut Vec<u8>) -> Option<usize> {
        self.require_byte(b'"')?;
        let before = out.len();
        self.append_unescaped(out)?;
        Some(out.len() - before)
    }

    /// Reads a number's text.
    fn read_digits(&mut self) -> Option<&'a str> {
        self.peek()?;
        let start = self.at;
        self.at += usize::from(self.remaining_bytes().first() == Some(&b'-'));
        if self.remaining_bytes().first() == Some(&b'0') {
            self.at += 1;
        } else {
            self.run_of_digits()?;
        }
        if self.remaining_bytes().first() == Some(&b'.') {
            self.at += 1;
            self.run_of_digits()?;
        }
        if matches!(self.remaining_bytes().first(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.remaining_bytes().first(), Some(b'+' | b'-')));
            self.run_of_digits()?;
        }
        self.text.get(start..self.at)
    }

    fn run_of_digits(&mut self) -> Option<()> {
        let count = self.remaining_bytes().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        (count > 0).then_some(())
    }

    /// Reads a number that a float can hold.
    pub(super) fn read_number(&mut self) -> Option<f64> {
        self.read_digits()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Reads a whole number that is written as one.
    pub(super) fn read_count(&mut self) -> Option<u64> {
        self.read_digits()?.parse().ok()
    }

    /// Reads any value as a tree.
    pub(super) fn read_value(&mut self) -> Option<Value> {
        let from = self.clone();
        self.copy_value(&mut Vec::new(), JsonSpacing::Compact, 0)?;
        serde_json::from_str(self.text_since(&from)).ok()
    }

    /// Appends any value's text with another spacing. Gives up if the tree of the value would be
    /// written with different strings or numbers.
    pub(super) fn copy_value(
        &mut self,
        out: &mut Vec<u8>,
        spacing: JsonSpacing,
        depth: usize,
    ) -> Option<()> {
        if depth > DEPTH_LIMIT {
            return None;
        }
        match self.peek()? {
            b'"' => self.copy_string(out).map(|_| ()),
            b'{' => self.copy_object(out, spacing, depth),
            b'[' => self.copy_list(out, spacing, depth),
            b't' => self.copy_word(out, "true"),
            b'f' => self.copy_word(out, "false"),
            b'n' => self.copy_word(out, "null"),
            _ => {
                out.extend_from_slice(self.read_digits()?.as_bytes());
                Some(())
            }
        }
    }

    fn copy_word(&mut self, out: &mut Vec<u8>, word: &str) -> Option<()> {
        out.extend_from_slice(word.as_bytes());
        self.take_word(word)
    }

    fn copy_object(&mut self, out: &mut Vec<u8>, spacing: JsonSpacing, depth: usize) -> Option<()> {
        let (comma, colon): (&[u8], &[u8]) = separators(spacing);
        self.require_byte(b'{')?;
        out.push(b'{');
        let mut keys: Vec<&str> = Vec::new();
        if !self.take_if_next(b'}') {
            loop {
                self.peek()?;
                let key = self.copy_string(out)?;
                if keys.contains(&key) || key.starts_with(MAGIC) || keys.len() >= MEMBER_LIMIT {
                    return None;
                }
                keys.push(key);
                self.require_byte(b':')?;
                out.extend_from_slice(colon);
                self.copy_value(out, spacing, depth + 1)?;
                if !self.take_if_next(b',') {
                    break;
                }
                out.extend_from_slice(comma);
            }
            self.require_byte(b'}')?;
        }
        out.push(b'}');
        Some(())
    }

    fn copy_list(&mut self, out: &mut Vec<u8>, spacing: JsonSpacing, depth: usize) -> Option<()> {
        let (comma, _) = separators(spacing);
        self.require_byte(b'[')?;
        out.push(b'[');
        if !self.take_if_next(b']') {
            loop {
                self.copy_value(out, spacing, depth + 1)?;
                if !self.take_if_next(b',') {
                    break;
                }
                out.extend_from_slice(comma);
            }
            self.require_byte(b']')?;
        }
        out.push(b']');
        Some(())
    }

    /// Appends a string as it is in the source, if loomrec would write it the same way. Returns the
    /// text between its quotes.
    fn copy_string(&mut self, out: &mut Vec<u8>) -> Option<&'a str> {
        self.require_byte(b'"')?;
        let start = self.at;
        loop {
            self.at += run_length(self.remaining_bytes(), RunEnd::Special);
            let rest = self.remaining_bytes();
            match rest.first()? {
                b'"' => break,
                b'\\' => self.at += own_escape(rest)?,
                _ => return None,
            }
        }
        let raw = self.text.get(start..self.at)?;
        self.at += 1;
        out.extend_from_slice(&self.text.as_bytes()[start - 1..self.at]);
        Some(raw)
    }

    fn remaining_bytes(&self) -> &'a [u8] {
        self.text.as_bytes().get(self.at..).unwrap_or_default()
    }
}

/// Returns the length of an escape, if loomrec would write it the same way.
fn own_escape(bytes: &[u8]) -> Option<usize> {
    match bytes.get(1)? {
        b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f' => Some(2),
        b'u' => match bytes.get(2..6)? {
            [b'0', b'0', b'0', b'0'..=b'7' | b'b' | b'e' | b'f']
            | [b'0', b'0', b'1', b'0'..=b'9' | b'a'..=b'f'] => Some(6),
            _ => None,
        },
        _ => None,
    }
}

fn separators(spacing: JsonSpacing) -> (&'static [u8], &'static [u8]) {
    match spacing {
        JsonSpacing::Spaced => (b", ", b": "),
        _ => (b",", b":"),
    }
}

/// Returns a body in a style, straight from its value's text. Gives up if only the fallback can do
/// that.
pub(super) fn body_in_style(value: &str, style: JsonStyle) -> Option<Vec<u8>> {
    if style.ascii || !matches!(style.spacing, JsonSpacing::Compact | JsonSpacing::Spaced) {
        return None;
    }
    let mut tokens = TextTokens::new(value);
    let mut out = Vec::with_capacity(value.len());
    tokens.copy_value(&mut out, style.spacing, 0)?;
    if !tokens.is_at_end() {
        return None;
    }
    if style.newline {
        out.push(b'\n');
    }
    Some(out)
}

#[cfg(test)]
#[path = "typed_reader_tests.rs"]
mod tests;
