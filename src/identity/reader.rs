//! The JSON reader: strict grammar, nothing merged, nothing guessed.
//!
//! It refuses what two JSON readers could understand differently, or a canonical text could not
//! hold: malformed text, trailing bytes, a byte-order mark, bytes that are not UTF-8, a key twice
//! in one object, half a surrogate pair, `NaN` and `Infinity`. It also refuses values that would
//! cost too much memory; see the limits below. Such a body is hashed by its bytes.

use super::json::{Json, JsonError};
use super::json_text::{self, BadEscape, JsonStr, RunEnd};

/// How deep arrays and objects may nest, so that the stack of every thread suffices.
pub const MAX_DEPTH: usize = 500;

/// How many digits an integer may have: as many as Python's `int` reads by default, so that Python
/// can make the same canonical text.
pub const MAX_DIGITS: usize = 4300;

/// How many values one body may hold. A value takes some 32 bytes here and may
/// take two in a body, so this bounds the memory a hostile body can claim.
pub const MAX_VALUES: usize = 8_000_000;

/// Reads one JSON value that fills `bytes`, apart from white space around it.
///
/// # Errors
///
/// [`JsonError`] if `bytes` are not plain JSON.
pub fn parse(bytes: &[u8]) -> Result<Json<'_>, JsonError> {
    let source =
        std::str::from_utf8(bytes).map_err(|error| JsonError::Utf8 { at: error.valid_up_to() })?;
    let mut reader = JsonReader { source, at: 0, values: 0 };
    reader.space();
    let value = reader.value(0)?;
    reader.space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.unexpected()),
    }
}

struct JsonReader<'a> {
    source: &'a str,
    at: usize,
    values: usize,
}

impl<'a> JsonReader<'a> {
    fn value(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(JsonError::TooManyValues { at: self.at });
        }
        match self.peek() {
            Some(b'"') => self.string().map(Json::String),
            Some(b'{') => self.object(self.deeper(depth)?),
            Some(b'[') => self.array(self.deeper(depth)?),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            _ => Err(self.unexpected()),
        }
    }

    fn array(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        self.space();
        let mut items = Vec::new();
        if self.take(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.value(depth)?);
            self.space();
            if self.take(b']') {
                return Ok(Json::Array(items));
            }
            self.expect(b',')?;
            self.space();
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        self.space();
        let mut members = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.unexpected());
            }
            let key = self.string()?;
            self.space();
            self.expect(b':')?;
            self.space();
            members.push((key, self.value(depth)?));
            self.space();
            if self.take(b'}') {
                return self.close(members);
            }
            self.expect(b',')?;
            self.space();
        }
    }

    /// Sorts an object's members, so that equal keys are neighbours.
    fn close(&self, mut members: Vec<(JsonStr<'a>, Json<'a>)>) -> Result<Json<'a>, JsonError> {
        members.sort_unstable_by_key(|(key, _)| *key);
        let twice = members.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
        if twice { Err(JsonError::DuplicateKey { at: self.at }) } else { Ok(Json::Object(members)) }
    }

    fn string(&mut self) -> Result<JsonStr<'a>, JsonError> {
        let start = self.at + 1;
        self.at = start;
        let mut escaped = false;
        loop {
            self.at += json_text::run(self.rest(), RunEnd::Special);
            match self.peek() {
                Some(b'"') => {
                    let raw = self.source.get(start..self.at).ok_or_else(|| self.unexpected())?;
                    self.at += 1;
                    return Ok(JsonStr::from_source(raw, escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += self.escape()?;
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    fn escape(&self) -> Result<usize, JsonError> {
        match json_text::escape(self.rest()) {
            Ok((_, length)) => Ok(length),
            Err(BadEscape::Syntax) => Err(self.unexpected()),
            Err(BadEscape::Surrogate) => Err(JsonError::Surrogate { at: self.at }),
        }
    }

    fn number(&mut self) -> Result<Json<'a>, JsonError> {
        let start = self.at;
        self.take(b'-');
        let whole = self.at;
        if !self.take(b'0') {
            self.digits()?;
        }
        let digits = self.at - whole;
        let mut float = false;
        if self.take(b'.') {
            float = true;
            self.digits()?;
        }
        if self.take(b'e') || self.take(b'E') {
            float = true;
            let _sign = self.take(b'+') || self.take(b'-');
            self.digits()?;
        }
        if !float && digits > MAX_DIGITS {
            return Err(JsonError::TooManyDigits { at: start });
        }
        let text = self.source.get(start..self.at).ok_or_else(|| self.unexpected())?;
        Ok(Json::Number(text))
    }

    /// Takes one or more digits.
    fn digits(&mut self) -> Result<(), JsonError> {
        let count = self.rest().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.unexpected()) } else { Ok(()) }
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, JsonError> {
        if !self.rest().starts_with(word.as_bytes()) {
            return Err(self.unexpected());
        }
        self.at += word.len();
        Ok(value)
    }

    fn deeper(&self, depth: usize) -> Result<usize, JsonError> {
        if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(JsonError::TooDeep { at: self.at }) }
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take(byte) { Ok(()) } else { Err(self.unexpected()) }
    }

    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.source.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn unexpected(&self) -> JsonError {
        JsonError::Syntax { at: self.at }
    }
}
