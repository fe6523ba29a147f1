//! What follows bytes of a log that are no whole frame: a frame that was damaged has whole
//! ones behind it, or ends where the log does; one that was never written whole is torn.
//!
//! A body may hold bytes that look like a frame. They are not taken for one where the
//! frame around them tells its own length: by its head, and by the lengths within its entry.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::{BARE, BUFFER, FrameSearch, HEAD, LONGEST, MARK, next, reader};
use loomrec_os::{read_at, read_exact_at};
use loomrec_recording::log_codec;

/// What a look at one place costs, in bytes that are read.
const LOOK: u64 = 4096;

/// Finds the next whole frame, again and again in one log.
pub(super) struct DamageFinder<'a> {
    file: &'a File,
    /// How many bytes may still be read: marks may be anywhere in a body.
    budget: u64,
    marks: FrameMarks<'a>,
}

/// What was found behind whole frames.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DamagedTail {
    /// The damaged frames, as far as they can be told apart.
    pub(super) damaged: Vec<Range<u64>>,
    /// Where the next whole frame begins, or the torn tail; else the log's end.
    pub(super) at: u64,
    /// Whether a torn tail begins there.
    pub(super) torn: bool,
}

/// How far the bytes of a frame go that does not check.
enum Extent {
    /// Up to here.
    Until(u64),
    /// Past the log's end: it was never written whole.
    Torn,
    Unknown,
}

impl<'a> DamageFinder<'a> {
    /// For a log with so many bytes to be looked at.
    pub(super) fn new(file: &'a File, bytes: u64) -> Self {
        Self { file, budget: 16 * bytes + (64 << 20), marks: FrameMarks::new(file) }
    }

    /// Finds what follows the bytes at `from`, where no whole frame begins; the log is
    /// `len` bytes long.
    pub(super) fn resume(&mut self, from: u64, len: u64) -> io::Result<DamagedTail> {
        let mut behind = DamagedTail { at: from, ..DamagedTail::default() };
        while behind.at < len {
            let at = behind.at;
            if at > from && self.is_frame(at, len)? {
                break;
            }
            match self.extent(at, len)? {
                Extent::Until(end) => {
                    behind.damaged.push(at..end);
                    behind.at = end;
                }
                Extent::Torn => {
                    behind.torn = true;
                    break;
                }
                Extent::Unknown => {
                    self.search(&mut behind, len)?;
                    break;
                }
            }
        }
        Ok(behind)
    }

    /// Looks for the next whole frame at every mark.
    fn search(&mut self, behind: &mut DamagedTail, len: u64) -> io::Result<()> {
        let begins = behind.at;
        let (mut piece, mut at) = (begins, begins + 1);
        while let Some(mark) = self.marks.find(at, len)? {
            if self.is_frame(mark, len)? {
                behind.damaged.push(piece..mark);
                behind.at = mark;
                return Ok(());
            }
            if self.budget == 0 {
                break;
            }
            // One more that is damaged, most likely.
            if let Some(end) = self.claimed_end(mark, len)?
                && self.is_end(end, len)?
            {
                behind.damaged.push(piece..mark);
                piece = mark;
            }
            at = mark + 1;
        }
        behind.torn = piece == begins && self.budget > 0 && self.is_torn(begins, len)?;
        if !behind.torn {
            behind.damaged.push(piece..len);
            behind.at = len;
        }
        Ok(())
    }

    /// Whether a whole frame begins there.
    fn is_frame(&mut self, at: u64, len: u64) -> io::Result<bool> {
        self.spend(LOOK);
        let end = match self.claimed_end(at, len)? {
            Some(end) if end <= len && self.begins(at)? && self.budget > 0 => end,
            _ => return Ok(false),
        };
        self.spend(end - at);
        let buffer = usize::try_from(end - at).map_or(BUFFER, |bytes| bytes.min(BUFFER));
        let found = next(&mut reader(self.file, at, buffer), len - at)?;
        Ok(matches!(found, Some(FrameSearch::Frame { .. } | FrameSearch::Newer { .. })))
    }

    /// How far the frame goes that does not check at `at`. Its head says so, and the lengths
    /// within its entry say it again: one damaged byte leaves one of them right.
    fn extent(&mut self, at: u64, len: u64) -> io::Result<Extent> {
        self.spend(LOOK);
        let claimed = self.claimed_end(at, len)?;
        let measured = self.measured_end(at)?;
        if let (Some(claimed), Some(measured)) = (claimed, measured)
            && claimed == measured
        {
            return Ok(if claimed <= len { Extent::Until(claimed) } else { Extent::Torn });
        }
        for end in [measured, claimed].into_iter().flatten() {
            if self.is_end(end, len)? {
                return Ok(Extent::Until(end));
            }
        }
        Ok(Extent::Unknown)
    }

    /// Where the frame at `at` ends, by its head.
    fn claimed_end(&self, at: u64, len: u64) -> io::Result<Option<u64>> {
        let mut length = [0; 4];
        if at + BARE as u64 > len || !self.fill(at + 8, &mut length)? {
            return Ok(None);
        }
        let length = u32::from_le_bytes(length);
        let fits = length > 0 && length <= LONGEST;
        Ok(fits.then(|| at + BARE as u64 + u64::from(length)))
    }

    /// Where the frame at `at` ends, by the lengths within its entry.
    fn measured_end(&mut self, at: u64) -> io::Result<Option<u64>> {
        let (file, payload) = (self.file, at + HEAD as u64);
        let length = log_codec::measure(|offset, buffer: &mut [u8]| {
            self.spend(buffer.len() as u64);
            let Some(at) = payload.checked_add(offset) else { return Ok(false) };
            if self.budget == 0 { Ok(false) } else { fill(file, at, buffer) }
        })?;
        Ok(length.filter(|length| *length <= u64::from(LONGEST)).map(|length| payload + length))
    }

    /// Whether a frame may end there: where another one begins, or the log ends.
    fn is_end(&self, end: u64, len: u64) -> io::Result<bool> {
        Ok(end == len || (end < len && self.begins(end)?))
    }

    /// Whether a mark stands there.
    fn begins(&self, at: u64) -> io::Result<bool> {
        let mut mark = [0; MARK.len()];
        Ok(self.fill(at, &mut mark)? && mark == MARK)
    }

    /// Whether bytes up to the end are the beginning of a frame, and no more.
    fn is_torn(&self, at: u64, len: u64) -> io::Result<bool> {
        let mut mark = MARK;
        let there = usize::try_from(len - at).map_or(MARK.len(), |left| left.min(MARK.len()));
        if !self.fill(at, &mut mark[..there])? || mark != MARK {
            return Ok(false);
        }
        let end = self.claimed_end(at, len)?;
        Ok(len - at < BARE as u64 || end.is_some_and(|end| end > len))
    }

    fn fill(&self, at: u64, buffer: &mut [u8]) -> io::Result<bool> {
        fill(self.file, at, buffer)
    }

    fn spend(&mut self, bytes: u64) {
        self.budget = self.budget.saturating_sub(bytes);
    }
}

/// Whether a buffer could be filled; the end of the file is no error.
fn fill(file: &File, at: u64, buffer: &mut [u8]) -> io::Result<bool> {
    super::filled(read_exact_at(file, buffer, at))
}

/// The places of marks in a file; what was read once is kept for the next search.
pub(super) struct FrameMarks<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    /// Where the buffer's bytes stand in the file.
    read: Range<u64>,
}

impl<'a> FrameMarks<'a> {
    pub(super) fn new(file: &'a File) -> Self {
        Self { file, buffer: Vec::new(), read: 0..0 }
    }

    /// The first mark from `from` on with room for a head behind it in a log of `len` bytes:
    /// a log that is being written may be longer by now.
    pub(super) fn find(&mut self, from: u64, len: u64) -> io::Result<Option<u64>> {
        let mut at = from;
        while at + (BARE as u64) <= len {
            if !self.read.contains(&at) || self.read.end - at < MARK.len() as u64 {
                self.buffer.resize(BUFFER, 0);
                let read = read_at(self.file, &mut self.buffer, at)?;
                self.read = at..at + read as u64;
            }
            let held = (self.read.end - self.read.start) as usize;
            let skipped = (at - self.read.start) as usize;
            let bytes = self.buffer.get(skipped..held).unwrap_or_default();
            if bytes.len() < MARK.len() {
                break;
            }
            if let Some(found) = memchr::memmem::find(bytes, &MARK) {
                let mark = at + found as u64;
                return Ok((mark + BARE as u64 <= len).then_some(mark));
            }
            // A mark may lie across two pieces.
            at = self.read.end - (MARK.len() as u64 - 1);
        }
        Ok(None)
    }
}
