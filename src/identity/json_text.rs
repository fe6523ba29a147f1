//! The text of JSON strings as it is in a body: borrowed, and decoded only on demand.
//!
//! A chat body is mostly strings, so a string is never copied to be hashed: [`JsonStr`] keeps the
//! raw text between the quotes, and comparing or writing it decodes on the fly.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// A JSON string, borrowed from its source.
///
/// Strings are compared and ordered, by code point, as their decoded text: `"a"` and `"\u0061"` are
/// equal.
#[derive(Clone, Copy)]
pub struct JsonStr<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> JsonStr<'a> {
    /// A string from the raw text between the quotes, whose escapes the reader has checked.
    pub(super) fn from_source(raw: &'a str, escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The decoded text; allocates only if the source holds an escape.
    pub fn as_str(&self) -> Cow<'a, str> {
        if self.escaped { Cow::Owned(self.decoded_text()) } else { Cow::Borrowed(self.raw) }
    }

    /// Decodes a source with escapes; the text between them is copied.
    fn decoded_text(&self) -> String {
        let mut text = String::with_capacity(self.raw.len());
        let mut rest = self.raw;
        while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
            let (plain, escape) = rest.split_at(at);
            let (meant, length) = escaped_character(escape);
            text.push_str(plain);
            text.push(meant);
            rest = escape.get(length..).unwrap_or_default();
        }
        text.push_str(rest);
        text
    }

    /// The characters of the decoded text.
    pub fn chars(&self) -> JsonChars<'a> {
        JsonChars { rest: self.raw, escaped: self.escaped }
    }

    /// The address of its source text in memory. It gives the names of one object the order in
    /// which they were written.
    pub fn source_address(&self) -> usize {
        self.raw.as_ptr() as usize
    }

    /// Whether the string is empty.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The length of its source text in bytes: the work it takes to read it.
    pub(super) fn source_len(&self) -> usize {
        self.raw.len()
    }

    /// Its source text, and whether backslashes in it are escapes.
    pub fn source(&self) -> (&'a str, bool) {
        (self.raw, self.escaped)
    }
}

impl<'a> From<&'a str> for JsonStr<'a> {
    /// Plain text, in which a backslash is no escape.
    fn from(text: &'a str) -> Self {
        Self { raw: text, escaped: false }
    }
}

impl Ord for JsonStr<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.escaped || other.escaped {
            self.chars().cmp(other.chars())
        } else {
            self.raw.cmp(other.raw)
        }
    }
}

impl PartialOrd for JsonStr<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for JsonStr<'_> {
    fn eq(&self, other: &Self) -> bool {
        if self.escaped || other.escaped {
            self.chars().eq(other.chars())
        } else {
            self.raw == other.raw
        }
    }
}

impl Eq for JsonStr<'_> {}

impl PartialEq<str> for JsonStr<'_> {
    fn eq(&self, other: &str) -> bool {
        *self == JsonStr::from(other)
    }
}

impl PartialEq<&str> for JsonStr<'_> {
    fn eq(&self, other: &&str) -> bool {
        *self == JsonStr::from(*other)
    }
}

impl fmt::Debug for JsonStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.as_str(), f)
    }
}

impl fmt::Display for JsonStr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.as_str())
    }
}

/// The characters of a [`JsonStr`], with escapes decoded.
#[derive(Clone, Debug)]
pub struct JsonChars<'a> {
    rest: &'a str,
    escaped: bool,
}

impl Iterator for JsonChars<'_> {
    type Item = char;

    fn next(&mut self) -> Option<char> {
        let first = self.rest.chars().next()?;
        let (meant, length) = if first == '\\' && self.escaped {
            escaped_character(self.rest)
        } else {
            (first, first.len_utf8())
        };
        self.rest = self.rest.get(length..).unwrap_or_default();
        Some(meant)
    }
}

/// The character of the escape at the start of `source`, and how many bytes it takes.
///
/// The reader has accepted `source` before. If it were no escape, the result would be a replacement
/// character, not a failure.
pub(super) fn escaped_character(source: &str) -> (char, usize) {
    read_escape(source.as_bytes()).unwrap_or((char::REPLACEMENT_CHARACTER, 1))
}

/// Why an escape is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadEscape {
    /// Not one of JSON's escapes.
    Syntax,
    /// Half of a surrogate pair, which is no character.
    Surrogate,
}

/// Reads the escape that starts at `bytes[0]`, a backslash: its character and
/// its length in bytes.
pub fn read_escape(bytes: &[u8]) -> Result<(char, usize), BadEscape> {
    let simple = match bytes.get(1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return unicode_escape(bytes),
        _ => return Err(BadEscape::Syntax),
    };
    Ok((simple, 2))
}

fn unicode_escape(bytes: &[u8]) -> Result<(char, usize), BadEscape> {
    let first = parse_hex(bytes.get(2..6)).ok_or(BadEscape::Syntax)?;
    if let Some(plain) = char::from_u32(first) {
        return Ok((plain, 6));
    }
    let second = match bytes.get(6..8) {
        Some(br"\u") => parse_hex(bytes.get(8..12)).ok_or(BadEscape::Syntax)?,
        _ => return Err(BadEscape::Surrogate),
    };
    if !(0xd800..0xdc00).contains(&first) || !(0xdc00..0xe000).contains(&second) {
        return Err(BadEscape::Surrogate);
    }
    let astral = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
    char::from_u32(astral).map(|c| (c, 12)).ok_or(BadEscape::Surrogate)
}

fn parse_hex(digits: Option<&[u8]>) -> Option<u32> {
    digits?.iter().try_fold(0, |value, digit| Some(value * 16 + char::from(*digit).to_digit(16)?))
}

/// The bytes that end a run which can be copied unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunEnd {
    /// Quotes, backslashes and control characters, which a reader must handle.
    Special,
    /// Those, DEL, and all bytes that are not ASCII: where the canonical text differs from the
    /// source.
    Unprintable,
}

/// How many bytes from the start of `bytes` can be in a JSON string unescaped: all before a quote,
/// a backslash or a control character.
pub fn plain_run(bytes: &[u8]) -> usize {
    run_length(bytes, RunEnd::Special)
}

/// The length of strings that are searched eight bytes at a time.
const SHORT: usize = 16;

/// How many bytes from the start of `bytes` come before the first stop.
///
/// A body is nearly all strings, and apart from SHA-256 itself, hashing one spends its time here.
/// So it looks at the first bytes, with which most names and ids end, then at 32 bytes at a time,
/// then at eight.
pub fn run_length(bytes: &[u8], stop: RunEnd) -> usize {
    let beginning = &bytes[..bytes.len().min(SHORT)];
    let length = short_run(beginning, stop);
    if length < beginning.len() {
        return length;
    }
    let rest = &bytes[length..];
    let clear = match stop {
        RunEnd::Special => clear_blocks(rest, is_special),
        RunEnd::Unprintable => clear_blocks(rest, is_unprintable),
    };
    length + clear + short_run(&rest[clear..], stop)
}

/// How many bytes from the start are in blocks without a stop. All bytes of a block are checked
/// without a branch, so that the compiler can use wide registers.
fn clear_blocks(bytes: &[u8], is_stop: impl Fn(u8) -> bool) -> usize {
    let (blocks, _) = bytes.as_chunks::<32>();
    let clear = |block: &&[u8; 32]| !block.iter().fold(false, |found, &byte| found | is_stop(byte));
    32 * blocks.iter().take_while(clear).count()
}

fn short_run(bytes: &[u8], stop: RunEnd) -> usize {
    let mut length = 0;
    for word in bytes.as_chunks::<8>().0 {
        let mask = mark_stops(u64::from_le_bytes(*word), stop);
        if mask != 0 {
            return length + (mask.trailing_zeros() / 8) as usize;
        }
        length += 8;
    }
    let tail = bytes.get(length..).unwrap_or_default();
    let is_stop = |byte: &u8| match stop {
        RunEnd::Special => is_special(*byte),
        RunEnd::Unprintable => is_unprintable(*byte),
    };
    length + tail.iter().position(is_stop).unwrap_or(tail.len())
}

fn is_special(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < 0x20)
}

fn is_unprintable(byte: u8) -> bool {
    is_special(byte) | (byte >= 0x7f)
}

/// Sets the high bit of every byte of `word` that is a stop. Bytes above the first stop may be
/// marked wrongly (a borrow or a carry runs upward), so only the lowest mark counts.
fn mark_stops(word: u64, stop: RunEnd) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let equal = |byte: u8| (word ^ (ONES * u64::from(byte))).wrapping_sub(ONES);
    // In an ASCII byte, the high bit of each of these is set if the byte is a stop.
    let special = word.wrapping_sub(ONES * 0x20) | equal(b'"') | equal(b'\\');
    match stop {
        RunEnd::Special => special & !word & HIGH,
        // DEL is the only such byte for which adding 1 gives 0x80.
        RunEnd::Unprintable => (special | word | word.wrapping_add(ONES)) & HIGH,
    }
}
