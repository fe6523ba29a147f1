//! The bytes of a log that are no whole frame. A damaged frame is followed by whole frames, or ends
//! where the log does. A frame that was never written in full is torn.
//!
//! A body may hold bytes that look like a frame. They do not count as one if the frame around them
//! states its own length, in its head or by the lengths within its entry.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::{BARE, BUFFER, FrameSearch, HEAD, LONGEST, MARK, buffered_reader, read_frame};
use loomrec_os::{read_at, read_exact_at};
use loomrec_recording::log_codec;

/// The number of bytes that are read to check one place.
const LOOK: u64 = 4096;

/// Finds the next whole frame, repeatedly in one log.
pub(super) struct DamageFinder<'a> {
    file: &'a File,
    /// How many bytes may still be read. Marks may be anywhere in a body.
    budget: u64,
    marks: FrameMarks<'a>,
}

/// What was found after whole frames.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct DamagedTail {
    /// The damaged frames, as far as they can be told apart.
    pub(super) damaged: Vec<Range<u64>>,
    /// Where the next whole frame or the torn tail begins; otherwise the log's end.
    pub(super) at: u64,
    /// Whether a torn tail begins there.
    pub(super) torn: bool,
}

/// The extent of a frame whose checksum does not match.
enum FrameExtent {
    /// It ends here.
    Until(u64),
    /// It goes past the log's end: it was never written in full.
    Torn,
    Unknown,
}

impl<'a> DamageFinder<'a> {
    /// Returns a finder for a log with `bytes` bytes to search.
    pub(super) fn new(file: &'a File, bytes: u64) -> Self {
        Self { file, budget: 16 * bytes + (64 << 20), marks: FrameMarks::new(file) }
    }

    /// Finds what follows the bytes at `from`, where no whole frame begins. The log is `len` bytes
    /// long.
    pub(super) fn find_damaged_tail(&mut self, from: u64, len: u64) -> io::Result<DamagedTail> {
        let mut behind = DamagedTail { at: from, ..DamagedTail::default() };
        while behind.at < len {
            let at = behind.at;
            if at > from && self.is_frame(at, len)? {
                break;
            }
            match self.frame_extent(at, len)? {
                FrameExtent::Until(end) => {
                    behind.damaged.push(at..end);
                    behind.at = end;
                }
                FrameExtent::Torn => {
                    behind.torn = true;
                    break;
                }
                FrameExtent::Unknown => {
                    self.search_marks(&mut behind, len)?;
                    break;
                }
            }
        }
        Ok(behind)
    }

    /// Searches for the next whole frame at every mark.
    fn search_marks(&mut self, behind: &mut DamagedTail, len: u64) -> io::Result<()> {
        let begins = behind.at;
        let (mut piece, mut at) = (begins, begins + 1);
        while let Some(mark) = self.marks.find_next(at, len)? {
            if self.is_frame(mark, len)? {
                behind.damaged.push(piece..mark);
                behind.at = mark;
                return Ok(());
            }
            if self.budget == 0 {
                break;
            }
            // This is most likely another damaged frame.
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
        self.spend_budget(LOOK);
        let end = match self.claimed_end(at, len)? {
            Some(end) if end <= len && self.has_mark(at)? && self.budget > 0 => end,
            _ => return Ok(false),
        };
        self.spend_budget(end - at);
        let buffer = usize::try_from(end - at).map_or(BUFFER, |bytes| bytes.min(BUFFER));
        let found = read_frame(&mut buffered_reader(self.file, at, buffer), len - at)?;
        Ok(matches!(found, Some(FrameSearch::Frame { .. } | FrameSearch::Newer)))
    }

    /// Returns the extent of the frame at `at`, whose checksum does not match. Its head states the
    /// length, and the lengths within its entry state it again: one damaged byte leaves one of them
    /// right.
    fn frame_extent(&mut self, at: u64, len: u64) -> io::Result<FrameExtent> {
        self.spend_budget(LOOK);
        let claimed = self.claimed_end(at, len)?;
        let measured = self.measured_end(at)?;
        if let (Some(claimed), Some(measured)) = (claimed, measured)
            && claimed == measured
        {
            return Ok(if claimed <= len {
                FrameExtent::Until(claimed)
            } else {
                FrameExtent::Torn
            });
        }
        for end in [measured, claimed].into_iter().flatten() {
            if self.is_end(end, len)? {
                return Ok(FrameExtent::Until(end));
            }
        }
        Ok(FrameExtent::Unknown)
    }

    /// Returns where the frame at `at` ends by its head.
    fn claimed_end(&self, at: u64, len: u64) -> io::Result<Option<u64>> {
        let mut length = [0; 4];
        if at + BARE as u64 > len || !self.fill_buffer(at + 8, &mut length)? {
            return Ok(None);
        }
        let length = u32::from_le_bytes(length);
        let fits = length > 0 && length <= LONGEST;
        Ok(fits.then(|| at + BARE as u64 + u64::from(length)))
    }

    /// Returns where the frame at `at` ends by the lengths within its entry.
    fn measured_end(&mut self, at: u64) -> io::Result<Option<u64>> {
        let (file, payload) = (self.file, at + HEAD as u64);
        let length = log_codec::packed_length(|offset, buffer: &mut [u8]| {
            self.spend_budget(buffer.len() as u64);
            let Some(at) = payload.checked_add(offset) else { return Ok(false) };
            if self.budget == 0 { Ok(false) } else { fill_buffer(file, at, buffer) }
        })?;
        Ok(length.filter(|length| *length <= u64::from(LONGEST)).map(|length| payload + length))
    }

    /// Whether a frame may end there, because another one begins there or the log ends.
    fn is_end(&self, end: u64, len: u64) -> io::Result<bool> {
        Ok(end == len || (end < len && self.has_mark(end)?))
    }

    /// Whether there is a mark.
    fn has_mark(&self, at: u64) -> io::Result<bool> {
        let mut mark = [0; MARK.len()];
        Ok(self.fill_buffer(at, &mut mark)? && mark == MARK)
    }

    /// Whether the bytes up to the end are only the beginning of a frame.
    fn is_torn(&self, at: u64, len: u64) -> io::Result<bool> {
        let mut mark = MARK;
        let there = usize::try_from(len - at).map_or(MARK.len(), |left| left.min(MARK.len()));
        if !self.fill_buffer(at, &mut mark[..there])? || mark != MARK {
            return Ok(false);
        }
        let end = self.claimed_end(at, len)?;
        Ok(len - at < BARE as u64 || end.is_some_and(|end| end > len))
    }

    fn fill_buffer(&self, at: u64, buffer: &mut [u8]) -> io::Result<bool> {
        fill_buffer(self.file, at, buffer)
    }

    fn spend_budget(&mut self, bytes: u64) {
        self.budget = self.budget.saturating_sub(bytes);
    }
}

/// Whether a buffer could be filled. The end of the file is no error.
fn fill_buffer(file: &File, at: u64, buffer: &mut [u8]) -> io::Result<bool> {
    super::is_filled(read_exact_at(file, buffer, at))
}

/// Finds marks in a file. What was read once is kept for the next search.
struct FrameMarks<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    /// The range of the file that the buffer holds.
    read: Range<u64>,
}

impl<'a> FrameMarks<'a> {
    fn new(file: &'a File) -> Self {
        Self { file, buffer: Vec::new(), read: 0..0 }
    }

    /// Returns the first mark from `from` on that has room for a head after it, in a log of `len`
    /// bytes. A log that is being written may be longer by now.
    fn find_next(&mut self, from: u64, len: u64) -> io::Result<Option<u64>> {
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
            // A mark may span two pieces.
            at = self.read.end - (MARK.len() as u64 - 1);
        }
        Ok(None)
    }
}
