//! Splits a text at the beginnings of its members while it is read.

use std::ops::Range;

/// Longer pieces are not searched: no recorder writes such an entry.
pub const LONGEST: usize = 192 << 20;

/// Cuts a text into pieces at the beginnings of its top-level members.
#[derive(Debug, Default)]
pub struct MemberCutter {
    /// The bytes that were fed and not returned yet.
    buffer: Vec<u8>,
    /// The offset of the buffer in the text.
    at: u64,
    /// The part of the buffer up to here contains no beginning.
    seen: usize,
    /// The beginning of a member: a line feed, the file's indentation, a quote.
    begins: Option<Vec<u8>>,
    /// The number of bytes dropped from a piece that is too long.
    dropped: u64,
}

/// A piece of a text. It may hold several members that line breaks do not separate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutPiece {
    /// Its offset in the text.
    pub at: u64,
    /// Its length in bytes.
    pub length: u64,
    /// Its bytes; empty if it is too long.
    pub bytes: Vec<u8>,
}

impl MemberCutter {
    /// Reads the next bytes. Returns the pieces whose ends have been read.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<CutPiece> {
        self.buffer.extend_from_slice(bytes);
        let begins = match &self.begins {
            Some(begins) => begins.clone(),
            None => self.begins.insert(beginning(&self.buffer)).clone(),
        };
        let mut cuts = Vec::new();
        let mut from = 0;
        let finder = memchr::memmem::Finder::new(&begins);
        while let Some(found) = finder.find(self.buffer.get(self.seen..).unwrap_or_default()) {
            // The line feed belongs to the piece before it.
            let end = self.seen + found + 1;
            cuts.push(self.cut(from..end));
            (from, self.seen) = (end, end);
        }
        self.buffer.drain(..from);
        // A beginning may be split across two calls.
        self.seen = self.buffer.len().saturating_sub(begins.len() - 1);
        if self.buffer.len() > LONGEST {
            self.dropped += self.seen as u64;
            self.at += self.seen as u64;
            self.buffer.drain(..self.seen);
            self.seen = 0;
        }
        cuts
    }

    /// Returns the piece after the last beginning.
    pub fn finish(mut self) -> Option<CutPiece> {
        let length = self.buffer.len();
        let last = self.cut(0..length);
        (last.length > 0).then_some(last)
    }

    fn cut(&mut self, range: Range<usize>) -> CutPiece {
        let dropped = std::mem::take(&mut self.dropped);
        let length = range.len() as u64;
        let at = self.at - dropped;
        self.at += length;
        let bytes = match dropped {
            0 => self.buffer.get(range).unwrap_or_default().to_vec(),
            _ => Vec::new(),
        };
        CutPiece { at, length: dropped + length, bytes }
    }
}

/// Returns the beginning of members in a text: that of its first member, or the one that loomrec
/// writes. Damage may leave a first line that is inside a member. So a later line with less
/// indentation takes precedence.
fn beginning(text: &[u8]) -> Vec<u8> {
    let own = b"\n  \"".to_vec();
    let Some(rest) = text.trim_ascii_start().strip_prefix(b"{") else { return own };
    let Some(first) = first_member(rest) else { return own };
    let lines = memchr::memchr_iter(b'\n', rest).filter_map(|at| {
        let line = &rest[at + 1..];
        let blank = line.len() - line.trim_ascii_start().len();
        (blank > 0 && line.get(blank) == Some(&b'"')).then(|| &line[..blank])
    });
    let outer = lines.filter(|blank| blank.len() < first.len()).min_by_key(|blank| blank.len());
    [b"\n", outer.unwrap_or(first), b"\""].concat()
}

/// Returns the text before the first member on its line, if the member is the first on its line.
fn first_member(rest: &[u8]) -> Option<&[u8]> {
    let (gap, rest) = rest.split_at(rest.len() - rest.trim_ascii_start().len());
    let line = gap.iter().rposition(|byte| *byte == b'\n')?;
    (rest.first() == Some(&b'"')).then(|| &gap[line + 1..])
}
