//! Splits a recording's text into its top-level members while it is read in pieces of any size.
//!
//! Values are read only as far as it takes to find their ends, and only those of metadata are kept.
//! So the memory depends on the number of entries, not on their size. The scanner does not check
//! whether the values are JSON; their reader does.

mod gap;
mod split_error;
mod utf8;

pub use split_error::SplitError;

use std::ops::Range;

use gap::TokenGap;
use utf8::Utf8Checker;

use super::json_style::write_file_string;

/// One member of the top-level object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundMember {
    /// The key, unescaped.
    pub key: String,
    /// The offset of the key.
    pub at: u64,
    /// The line of the key, counted from 1.
    pub line: usize,
    /// The range of the value.
    pub value: Range<u64>,
    /// The shape of the value, as far as it was looked at.
    pub shape: ValueShape,
    /// Whether everything before the value is written as [`super::format`] writes it.
    pub tidy: bool,
    /// The value's text, if the key is metadata.
    pub text: Vec<u8>,
}

/// The shape of a value, judged by its outermost level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueShape {
    /// `{…}`.
    Object,
    /// `[{…}, …]`, with the range of each object.
    List(Vec<Range<u64>>),
    /// A scalar, any other list, or not JSON at all.
    Other,
}

#[derive(Clone, Copy, Debug)]
enum ScanState {
    /// Before the object.
    Start,
    /// After its opening brace.
    First,
    /// After a comma.
    Next,
    /// In a key. Whether the previous byte was a backslash.
    Key(bool),
    Colon,
    /// Before a value.
    Before,
    Value,
    /// After a value.
    After,
    /// After the object.
    Done,
}

/// Finds the members of the top-level object in the pieces that it is fed.
#[derive(Debug)]
pub struct MemberScanner {
    state: ScanState,
    /// The members whose ends have been read, until they are taken.
    found: Vec<FoundMember>,
    /// Whether a key has been seen.
    begun: bool,
    /// The number of bytes in earlier pieces.
    before: u64,
    /// The current line, counted from 1; the line breaks up to `counted` in the present piece are
    /// included.
    line: usize,
    counted: usize,
    /// The raw text of the key that is being read.
    key: Vec<u8>,
    member: FoundMember,
    gap: TokenGap,
    value: ValueProgress,
    utf8: Utf8Checker,
}

/// The value that is being read.
#[derive(Debug, Default)]
struct ValueProgress {
    depth: usize,
    in_string: bool,
    escaped: bool,
    /// The start of the current object in a list.
    item: u64,
    /// Whether an object, and not a comma, must follow in a list.
    wants_item: bool,
    /// Whether a list holds anything but objects separated by commas.
    odd: bool,
}

impl Default for MemberScanner {
    fn default() -> Self {
        Self::new()
    }
}

impl MemberScanner {
    /// Returns a scanner that has read nothing yet.
    pub fn new() -> Self {
        Self {
            state: ScanState::Start,
            found: Vec::new(),
            begun: false,
            before: 0,
            line: 1,
            counted: 0,
            key: Vec::new(),
            member: blank_member(),
            gap: TokenGap::default(),
            value: ValueProgress::default(),
            utf8: Utf8Checker::default(),
        }
    }

    /// Reads the next piece of the text.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), SplitError> {
        self.utf8.check(piece)?;
        self.counted = 0;
        let mut at = 0;
        while at < piece.len() {
            at = match self.state {
                ScanState::Key(escaped) => self.read_key(piece, at, escaped)?,
                ScanState::Value => self.read_value(piece, at)?,
                _ => self.read_between(piece, at)?,
            };
        }
        self.count_lines(piece, piece.len());
        self.before += piece.len() as u64;
        Ok(())
    }

    /// Takes the members that were found.
    pub fn take_found(&mut self) -> std::vec::Drain<'_, FoundMember> {
        self.found.drain(..)
    }

    /// Returns the members that have not been taken, after all of the text has been fed.
    pub fn finish(self) -> Result<Vec<FoundMember>, SplitError> {
        match self.state {
            ScanState::Done if self.utf8.is_whole() => Ok(self.found),
            _ => Err(SplitError),
        }
    }

    /// Handles a byte outside keys and values.
    fn read_between(&mut self, piece: &[u8], at: usize) -> Result<usize, SplitError> {
        let byte = piece[at];
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            self.gap.push(byte);
            return Ok(at + 1);
        }
        self.state = match (self.state, byte) {
            (ScanState::Start, b'{') => ScanState::First,
            (ScanState::First | ScanState::Next, b'"') => {
                self.count_lines(piece, at);
                self.begin_member(at);
                self.state = ScanState::Key(false);
                return Ok(at);
            }
            (ScanState::First | ScanState::After, b'}') => ScanState::Done,
            (ScanState::Colon, b':') => ScanState::Before,
            (ScanState::Before, _) => {
                self.begin_value(byte, at);
                return Ok(at);
            }
            (ScanState::After, b',') => ScanState::Next,
            _ => return Err(SplitError),
        };
        self.gap.push(byte);
        Ok(at + 1)
    }

    fn begin_member(&mut self, at: usize) {
        let expected: &[u8] = if self.begun { b",\n  " } else { b"{\n  " };
        self.begun = true;
        let tidy = self.gap.equals(expected);
        self.member =
            FoundMember { at: self.before + at as u64, line: self.line, tidy, ..blank_member() };
        self.key.clear();
    }

    fn read_key(
        &mut self,
        piece: &[u8],
        at: usize,
        mut escaped: bool,
    ) -> Result<usize, SplitError> {
        // The first byte is the opening quote.
        let from = at + usize::from(self.key.is_empty());
        for (end, &byte) in piece.iter().enumerate().skip(from) {
            if escaped {
                escaped = false;
            } else if byte == b'\\' {
                escaped = true;
            } else if byte == b'"' {
                self.key.extend_from_slice(&piece[at..=end]);
                self.end_key()?;
                return Ok(end + 1);
            }
        }
        self.key.extend_from_slice(&piece[at..]);
        self.state = ScanState::Key(escaped);
        Ok(piece.len())
    }

    fn end_key(&mut self) -> Result<(), SplitError> {
        self.member.key = serde_json::from_slice(&self.key).map_err(|_| SplitError)?;
        let mut tidy = Vec::with_capacity(self.key.len());
        write_file_string(&mut tidy, &self.member.key);
        self.member.tidy &= tidy == self.key;
        self.gap = TokenGap::default();
        self.state = ScanState::Colon;
        Ok(())
    }

    fn begin_value(&mut self, byte: u8, at: usize) {
        self.member.tidy &= self.gap.equals(b": ");
        self.member.value.start = self.before + at as u64;
        self.member.shape = match byte {
            b'{' => ValueShape::Object,
            b'[' => ValueShape::List(Vec::new()),
            _ => ValueShape::Other,
        };
        self.value = ValueProgress::default();
        self.state = ScanState::Value;
    }

    fn read_value(&mut self, piece: &[u8], from: usize) -> Result<usize, SplitError> {
        let end = self.value_end(piece, from);
        if self.member.key.starts_with('_') {
            self.member.text.extend_from_slice(&piece[from..end.unwrap_or(piece.len())]);
        }
        let Some(end) = end else {
            return Ok(piece.len());
        };
        let mut member = std::mem::replace(&mut self.member, blank_member());
        member.value.end = self.before + end as u64;
        if member.value.is_empty() {
            return Err(SplitError);
        }
        if self.value.odd {
            member.shape = ValueShape::Other;
        }
        self.found.push(member);
        self.gap = TokenGap::default();
        self.state = ScanState::After;
        Ok(end)
    }

    /// Returns the end of the value; `None` if it is not in this piece.
    fn value_end(&mut self, piece: &[u8], mut at: usize) -> Option<usize> {
        loop {
            if self.value.in_string {
                at = self.value.string_end(piece, at)?;
                if self.value.depth == 0 {
                    return Some(at);
                }
            }
            let depth = self.value.depth;
            at += match depth {
                0 => 0,
                1 => self.in_list(piece, at),
                _ => plain_length(&piece[at..]),
            };
            match *piece.get(at)? {
                b'"' => {
                    self.value.odd |= self.value.depth == 1 && self.is_list();
                    self.value.in_string = true;
                }
                b'{' | b'[' => self.value.depth += 1,
                b'}' | b']' if depth == 0 => return Some(at),
                byte @ (b'}' | b']') => {
                    self.value.depth -= 1;
                    if self.close_bracket(byte, at) {
                        return Some(at + 1);
                    }
                }
                b',' | b' ' | b'\n' | b'\r' | b'\t' if depth == 0 => return Some(at),
                _ => {}
            }
            at += 1;
        }
    }

    fn is_list(&self) -> bool {
        matches!(self.member.shape, ValueShape::List(_))
    }

    /// Returns how many bytes from `at` on can be skipped one level deep. In a list, the next byte
    /// after them begins an object or ends the list.
    fn in_list(&mut self, piece: &[u8], at: usize) -> usize {
        if !self.is_list() {
            return plain_length(&piece[at..]);
        }
        for (passed, &byte) in piece[at..].iter().enumerate() {
            match byte {
                b' ' | b'\n' | b'\r' | b'\t' => continue,
                b',' if !self.value.wants_item && !self.is_empty_list() => {
                    self.value.wants_item = true;
                    continue;
                }
                b'{' => {
                    self.value.odd |= !self.value.wants_item && !self.is_empty_list();
                    self.value.wants_item = false;
                    self.value.item = self.before + (at + passed) as u64;
                }
                b']' => self.value.odd |= self.value.wants_item,
                _ => self.value.odd = true,
            }
            return passed;
        }
        piece.len() - at
    }

    fn is_empty_list(&self) -> bool {
        matches!(&self.member.shape, ValueShape::List(items) if items.is_empty())
    }

    /// Handles a closing bracket. Returns whether it ends the value.
    fn close_bracket(&mut self, byte: u8, at: usize) -> bool {
        let end = self.before + at as u64 + 1;
        if let ValueShape::List(items) = &mut self.member.shape {
            match self.value.depth {
                0 => self.value.odd |= byte != b']',
                1 => items.push(self.value.item..end),
                _ => {}
            }
        }
        self.value.depth == 0
    }

    fn count_lines(&mut self, piece: &[u8], to: usize) {
        self.line += memchr::memchr_iter(b'\n', &piece[self.counted..to]).count();
        self.counted = to;
    }
}

impl ValueProgress {
    /// Returns the offset after the string that `at` is in; `None` if its end is not in this piece.
    fn string_end(&mut self, piece: &[u8], mut at: usize) -> Option<usize> {
        loop {
            if self.escaped {
                piece.get(at)?;
                self.escaped = false;
                at += 1;
            }
            at += memchr::memchr2(b'"', b'\\', piece.get(at..)?)?;
            self.escaped = piece[at] == b'\\';
            at += 1;
            if !self.escaped {
                self.in_string = false;
                return Some(at);
            }
        }
    }
}

/// Returns the number of bytes before the first quote or bracket.
fn plain_length(bytes: &[u8]) -> usize {
    let loud = |byte: &u8| matches!(byte, b'"' | b'{' | b'}' | b'[' | b']');
    bytes.iter().position(loud).unwrap_or(bytes.len())
}

fn blank_member() -> FoundMember {
    FoundMember {
        key: String::new(),
        at: 0,
        line: 0,
        value: 0..0,
        shape: ValueShape::Other,
        tidy: false,
        text: Vec::new(),
    }
}

#[cfg(test)]
#[path = "scan_tests.rs"]
mod tests;
