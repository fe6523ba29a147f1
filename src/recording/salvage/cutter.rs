//! Cuts a text where its members begin, while it is read.

use std::ops::Range;

/// Longer pieces are not looked into: no recorder writes such an entry.
pub const LONGEST: usize = 192 << 20;

/// Cuts a text into pieces at the beginnings of its top-level members.
#[derive(Debug, Default)]
pub struct MemberCutter {
    /// What has been fed and not given.
    buffer: Vec<u8>,
    /// Where that begins in the text.
    at: u64,
    /// Up to where no beginning is in the buffer.
    seen: usize,
    /// What a member begins with: a line feed, the file's indentation, a quote.
    begins: Option<Vec<u8>>,
    /// The bytes of a piece that is too long, which are not held.
    dropped: u64,
}

/// A piece of a text: members that cannot be told apart by lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CutPiece {
    /// Where it begins in the text.
    pub at: u64,
    /// How many bytes it has.
    pub length: u64,
    /// Its bytes; none where they are too many.
    pub bytes: Vec<u8>,
}

impl MemberCutter {
    /// Reads on; gives the pieces whose ends have been seen.
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
            // The line feed belongs to what is before it.
            let end = self.seen + found + 1;
            cuts.push(self.cut(from..end));
            (from, self.seen) = (end, end);
        }
        self.buffer.drain(..from);
        // A beginning may lie across two feeds.
        self.seen = self.buffer.len().saturating_sub(begins.len() - 1);
        if self.buffer.len() > LONGEST {
            self.dropped += self.seen as u64;
            self.at += self.seen as u64;
            self.buffer.drain(..self.seen);
            self.seen = 0;
        }
        cuts
    }

    /// What is behind the last beginning.
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

/// What the members of a text begin with: as its first one does, or as ours do. Where the
/// first line is one within a member, as damage may leave it, others stand further out.
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

/// What stands before the first member on its line, where it begins one.
fn first_member(rest: &[u8]) -> Option<&[u8]> {
    let (gap, rest) = rest.split_at(rest.len() - rest.trim_ascii_start().len());
    let line = gap.iter().rposition(|byte| *byte == b'\n')?;
    (rest.first() == Some(&b'"')).then(|| &gap[line + 1..])
}
