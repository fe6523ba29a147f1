//! A buffer of the bytes that were read last, so that neighbouring reads cost one.

use std::fs::File;
use std::io;

use super::merge::{EntryOrigin, TakeRef};
use loomrec_os::read_at;

/// The least that is read at one time if entries are read one after the other.
const WINDOW: u64 = 256 * 1024;

/// Bytes that were read last, so that neighbours are read together.
#[derive(Debug, Default)]
pub(super) struct ReadBuffer {
    origin: Option<EntryOrigin>,
    at: u64,
    /// As long as the longest read so far: a buffer that is made anew for each read is filled with
    /// zeros each time.
    bytes: Vec<u8>,
    /// How many of the bytes were read last.
    filled: usize,
}

impl ReadBuffer {
    /// Returns the bytes at a place in its file, which exists if there is a place in it.
    pub(super) fn read_place(&mut self, file: Option<&File>, place: &TakeRef) -> io::Result<&[u8]> {
        let behind = place.at.checked_sub(self.at).filter(|_| self.origin == Some(place.origin));
        let held = self.filled as u64;
        let start = match behind {
            Some(start) if start.saturating_add(place.length) <= held => start,
            _ => {
                // Only a read next to the last one suggests that more neighbours follow.
                let near = behind.is_some_and(|start| start <= held.saturating_add(WINDOW));
                let wanted = if near { place.length.max(WINDOW) } else { place.length };
                let file = file.ok_or(io::ErrorKind::NotFound)?;
                self.fill_from(file, place, wanted)?;
                0
            }
        };
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(place.length).unwrap_or(usize::MAX));
        self.bytes[..self.filled].get(start..end).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn fill_from(&mut self, file: &File, place: &TakeRef, wanted: u64) -> io::Result<()> {
        (self.origin, self.filled) = (None, 0);
        let wanted = usize::try_from(wanted).map_err(|_| io::ErrorKind::OutOfMemory)?;
        // The length comes from a file, so the allocation must be able to fail.
        let more = wanted.saturating_sub(self.bytes.len());
        self.bytes.try_reserve_exact(more).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.bytes.resize(wanted.max(self.bytes.len()), 0);
        let mut filled = 0;
        while filled < wanted {
            match read_at(file, &mut self.bytes[filled..wanted], place.at + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.filled = filled;
        (self.origin, self.at) = (Some(place.origin), place.at);
        Ok(())
    }
}
