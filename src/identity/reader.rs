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
    reader.skip_space();
    let value = reader.read_value(0)?;
    reader.skip_space();
    match reader.peek() {
        None => Ok(value),
        Some(_) => Err(reader.syntax_error()),
    }
}

struct JsonReader<'a> {
    source: &'a str,
    at: usize,
    values: usize,
}

impl<'a> JsonReader<'a> {
    fn read_value(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.values += 1;
        if self.values > MAX_VALUES {
            return Err(JsonError::TooManyValues { at: self.at });
        }
        match self.peek() {
            Some(b'"') => self.read_string().map(Json::String),
            Some(b'{') => self.read_object(self.next_depth(depth)?),
            Some(b'[') => self.read_array(self.next_depth(depth)?),
            Some(b'-' | b'0'..=b'9') => self.read_number(),
            Some(b't') => self.take_word("true", Json::Bool(true)),
            Some(b'f') => self.take_word("false", Json::Bool(false)),
            Some(b'n') => self.take_word("null", Json::Null),
            _ => Err(self.syntax_error()),
        }
    }

    fn read_array(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        self.skip_space();
        let mut items = Vec::new();
        if self.take_if_next(b']') {
            return Ok(Json::Array(items));
        }
        loop {
            items.push(self.read_value(depth)?);
            self.skip_space();
            if self.take_if_next(b']') {
                return Ok(Json::Array(items));
            }
            self.require_byte(b',')?;
            self.skip_space();
        }
    }

    fn read_object(&mut self, depth: usize) -> Result<Json<'a>, JsonError> {
        self.at += 1;
        self.skip_space();
        let mut members = Vec::new();
        if self.take_if_next(b'}') {
            return Ok(Json::Object(members));
        }
        loop {
            if self.peek() != Some(b'"') {
                return Err(self.syntax_error());
            }
            let key = self.read_string()?;
            self.skip_space();
            self.require_byte(b':')?;
            self.skip_space();
            members.push((key, self.read_value(depth)?));
            self.skip_space();
            if self.take_if_next(b'}') {
                return self.sort_members(members);
            }
            self.require_byte(b',')?;
            self.skip_space();
        }
    }

    /// Sorts an object's members, so that equal keys are neighbours.
    fn sort_members(
        &self,
        mut members: Vec<(JsonStr<'a>, Json<'a>)>,
    ) -> Result<Json<'a>, JsonError> {
        members.sort_unstable_by_key(|(key, _)| *key);
        let twice = members.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b));
        if twice { Err(JsonError::DuplicateKey { at: self.at }) } else { Ok(Json::Object(members)) }
    }

    fn read_string(&mut self) -> Result<JsonStr<'a>, JsonError> {
        let start = self.at + 1;
        self.at = start;
        let mut escaped = false;
        loop {
            self.at += json_text::run_length(self.remaining_bytes(), RunEnd::Special);
            match self.peek() {
                Some(b'"') => {
                    let raw = self.source.get(start..self.at).ok_or_else(|| self.syntax_error())?;
                    self.at += 1;
                    return Ok(JsonStr::from_source(raw, escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += self.escape_length()?;
                }
                _ => return Err(self.syntax_error()),
            }
        }
    }

    fn escape_length(&self) -> Result<usize, JsonError> {
        match json_text::read_escape(self.remaining_bytes()) {
            Ok((_, length)) => Ok(length),
            Err(BadEscape::Syntax) => Err(self.syntax_error()),
            Err(BadEscape::Surrogate) => Err(JsonError::Surrogate { at: self.at }),
        }
    }

    fn read_number(&mut self) -> Result<Json<'a>, JsonError> {
        let start = self.at;
        self.take_if_next(b'-');
        let whole = self.at;
        if !self.take_if_next(b'0') {
            self.take_digits()?;
        }
        let digits = self.at - whole;
        let mut float = false;
        if self.take_if_next(b'.') {
            float = true;
            self.take_digits()?;
        }
        if self.take_if_next(b'e') || self.take_if_next(b'E') {
            float = true;
            let _sign = self.take_if_next(b'+') || self.take_if_next(b'-');
            self.take_digits()?;
        }
        if !float && digits > MAX_DIGITS {
            return Err(JsonError::TooManyDigits { at: start });
        }
        let text = self.source.get(start..self.at).ok_or_else(|| self.syntax_error())?;
        Ok(Json::Number(text))
    }

    /// Takes one or more digits.
    fn take_digits(&mut self) -> Result<(), JsonError> {
        let count = self.remaining_bytes().iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        if count == 0 { Err(self.syntax_error()) } else { Ok(()) }
    }

    fn take_word(&mut self, word: &str, value: Json<'a>) -> Result<Json<'a>, JsonError> {
        if !self.remaining_bytes().starts_with(word.as_bytes()) {
            return Err(self.syntax_error());
        }
        self.at += word.len();
        Ok(value)
    }

    fn next_depth(&self, depth: usize) -> Result<usize, JsonError> {
        if depth < MAX_DEPTH { Ok(depth + 1) } else { Err(JsonError::TooDeep { at: self.at }) }
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    fn take_if_next(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn require_byte(&mut self, byte: u8) -> Result<(), JsonError> {
        if self.take_if_next(byte) { Ok(()) } else { Err(self.syntax_error()) }
    }

    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn remaining_bytes(&self) -> &'a [u8] {
        self.source.as_bytes().get(self.at..).unwrap_or_default()
    }

    fn syntax_error(&self) -> JsonError {
        JsonError::Syntax { at: self.at }
    }
}
