//! The new entries of a recording that is rewritten, in a file without a name, so that memory does
//! not grow with them.
//!
//! One entry at a time is in memory, in a few copies while it is written. If there is no room for
//! that, it is refused beforehand, because an allocation that fails ends the process.

use std::fs::File;
use std::io;

use super::disk::Disk;
use super::error::StoreError;
use super::log::LONGEST;
use super::memory_guard::has_room;
use super::merge::{EntryOrigin, TakeRef};
use loomrec_recording::{CallScope, Entry, EntryName, log_codec};

/// The origin of a new entry: a recording that is rewritten has no other log.
const SPOOL: EntryOrigin = EntryOrigin::Log(0);

/// How many copies of an entry's bytes are in memory while it goes into a file: packed, read again,
/// and as text in a growing buffer.
const COPIES: usize = 5;

/// New entries, one after the other.
#[derive(Debug)]
pub(super) struct EntrySpool {
    file: File,
    length: u64,
}

impl EntrySpool {
    /// Returns an empty spool.
    ///
    /// # Errors
    /// There is no room for temporary files.
    pub(super) fn new() -> Result<Self, StoreError> {
        Ok(Self { file: tempfile::tempfile().map_err(spool_error)?, length: 0 })
    }

    /// Adds an entry and returns its place.
    ///
    /// # Errors
    /// The entry is too large for a recording or for the memory, or there is no room for temporary
    /// files.
    pub(super) fn put(&mut self, name: &EntryName, entry: &Entry) -> Result<TakeRef, StoreError> {
        let weight = entry.approximate_size();
        let (name_of, bytes) = (|| name.to_string(), weight as u64);
        if bytes > u64::from(LONGEST) {
            return Err(StoreError::TooLong { name: name_of(), bytes, limit: LONGEST.into() });
        }
        if !has_room(weight, COPIES) {
            return Err(StoreError::TooHeavy { name: name_of(), bytes });
        }
        let mut packed = Vec::new();
        log_codec::pack_to(
            &mut packed,
            name,
            log_codec::TakePrecedence::Further,
            &CallScope::default(),
            entry,
        );
        Disk::real().write_all_at(&self.file, &packed, self.length).map_err(spool_error)?;
        let place = TakeRef { origin: SPOOL, at: self.length, length: packed.len() as u64 };
        self.length += place.length;
        Ok(place)
    }

    /// Returns the file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Returns the file.
    pub(super) fn into_file(self) -> File {
        self.file
    }
}

fn spool_error(source: io::Error) -> StoreError {
    StoreError::write_failed(std::env::temp_dir(), source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entry_longer_than_any_is_refused() {
        let name = EntryName::from_step_id("long").unwrap();
        // The memory is never touched, so it is never used.
        let entry = Entry {
            content: Some(String::from_utf8(vec![0; LONGEST as usize + 1]).unwrap()),
            ..Entry::default()
        };
        let told = EntrySpool::new().unwrap().put(&name, &entry).unwrap_err();
        assert!(matches!(told, StoreError::TooLong { .. }), "{told}");
    }
}
