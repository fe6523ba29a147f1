//! Segments: parts of a recorder's log that are stored elsewhere instead of being compacted.
//!
//! A recorder that leaves its log ([`RecordingAppender::leave_log`]) never compacts it.
//! [`cut_segment`] moves the log out of its way, as a compaction begins, and gives it a name.
//!
//! [`RecordingAppender::leave_log`]: super::RecordingAppender::leave_log

use std::fs::File;
use std::path::Path;

use super::disk::Disk;
use super::error::StoreError;
use super::location::RecordingLocation;
use super::lock::RecordingLock;
use super::log::{self, FramePlace, HEAD, LogContents};
use super::paths::RecordingPaths;
use super::rotation::{RotatedLog, rotate_log};
use super::store_event::StoreEvent;
use loomrec_identity::IdentityRules;
use loomrec_recording::log_codec::{self, PackedHead};
use loomrec_recording::{Entry, KeyVariables};

/// A segment, open for reading.
#[derive(Debug)]
pub struct SegmentFile {
    file: File,
    scanned: LogContents,
}

impl SegmentFile {
    /// Scans a segment. Its entries are read when they are needed.
    ///
    /// # Errors
    /// The file cannot be read, or a newer loomrec wrote it.
    pub fn open(file: File, path: &Path) -> Result<Self, StoreError> {
        let scanned = log::scan_frames(&file)
            .map_err(|source| StoreError::read_failed(path.to_owned(), source))?;
        match scanned.newer {
            true => Err(StoreError::NewerLog { path: path.to_owned() }),
            false => Ok(Self { file, scanned }),
        }
    }

    /// Returns the rules that the keys were made under; `None` if the segment does not state them.
    pub fn rules(&self) -> Option<&IdentityRules> {
        self.scanned.rules.as_ref()
    }

    /// Returns the key variables that the recorded programs had.
    pub fn key_variables(&self) -> &KeyVariables {
        &self.scanned.key_variables
    }

    /// Whether there are bytes that are no whole frame.
    pub fn is_damaged(&self) -> bool {
        !self.scanned.damaged.is_empty() || self.scanned.torn_length() > 0
    }

    /// Returns the entries, in the order in which they were recorded. `path` names the segment in
    /// messages.
    ///
    /// An item is an error if it cannot be read.
    pub fn entries<'a>(
        &'a self,
        path: &'a Path,
    ) -> impl Iterator<Item = Result<(PackedHead, Entry), StoreError>> + 'a {
        self.scanned.frames.iter().map(move |&frame| {
            let packed = log::read_payload(&self.file, frame)
                .map_err(|source| StoreError::read_failed(path.to_owned(), source))?;
            log_codec::unpack_entry(&packed)
                .map_err(|problem| StoreError::Log { path: path.to_owned(), problem })
        })
    }
}

/// Moves the log of a recording to `segment`, in the same file system. Returns `None` if there is
/// no entry in it, otherwise the events that people should know. Bytes that are no whole entry are
/// set aside, as a compaction does.
///
/// # Errors
/// The lock cannot be taken, or the storage fails. The log is then where the next call finds it.
pub fn cut_segment(
    location: &RecordingLocation,
    segment: &Path,
) -> Result<Option<Vec<StoreEvent>>, StoreError> {
    let disk = Disk::real();
    let failed = |source| StoreError::write_failed(segment.to_owned(), source);
    let paths = RecordingPaths::from_path(location.as_path()).map_err(failed)?;
    let mut lock = RecordingLock::new(&paths.lock, &disk);
    let RotatedLog::Folding { file, notes } = rotate_log(&paths, &disk, &mut lock, None)? else {
        return Ok(None);
    };
    let scanned = log::scan_frames(&file).map_err(failed)?;
    let is_whole = scanned.damaged.is_empty() && scanned.torn_length() == 0;
    match scanned.frames.is_empty() {
        true => disk.remove(&paths.folding).map_err(failed)?,
        false if is_whole => disk.rename(&paths.folding, segment).map_err(failed)?,
        false => {
            copy_frames(&disk, &file, &scanned, segment).map_err(failed)?;
            disk.remove(&paths.folding).map_err(failed)?;
        }
    }
    Ok((!scanned.frames.is_empty()).then_some(notes))
}

/// Writes the whole frames of a damaged log to a segment.
fn copy_frames(
    disk: &Disk,
    log: &File,
    scanned: &LogContents,
    segment: &Path,
) -> std::io::Result<()> {
    use std::io::Read as _;
    let file = disk.create_new(segment)?;
    if let Some(rules) = &scanned.rules {
        let mut about = Vec::new();
        log::write_first_frame(rules, &scanned.key_variables, &mut about)
            .map_err(std::io::Error::other)?;
        std::io::Write::write_all(&mut disk.writer(&file), &about)?;
    }
    for FramePlace { at, len, .. } in &scanned.frames {
        let from = at - HEAD as u64;
        let mut frame = log::cursor_at(log, from).take(HEAD as u64 + u64::from(*len));
        std::io::copy(&mut frame, &mut disk.writer(&file))?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "segment_tests.rs"]
mod tests;
