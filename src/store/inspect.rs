//! The inspection of a recording's file: opens it whatever is wrong with it, and changes nothing.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::location::RecordingLocation;
use super::memory_guard::has_room;
use super::reader::paths_of;
use super::{file, index, log, regular_file, run, sidecars, temporary_file};
use loomrec_curation::verification::{FileLayout, LayoutReader};
use loomrec_os::read_exact_at;
use loomrec_recording::FormatError;
use loomrec_recording::error::not_object;
use loomrec_recording::other_file::other_file;
use loomrec_recording::scan::{MemberScanner, SplitError};

/// How many bytes are read at one time if none of them are kept.
const PIECE: usize = 1024 * 1024;

/// How many copies of an entry's bytes are in memory while it is inspected.
const COPIES: usize = 8;

/// An open recording file of which nothing has been parsed yet.
#[derive(Debug)]
pub struct InspectedFile {
    path: PathBuf,
    file: File,
}

/// A file beside a recording that should not be there, or not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverFile {
    /// A log: calls that are not in the recording yet.
    Log {
        /// The log.
        path: PathBuf,
        /// The number of entries in it.
        entries: usize,
        /// Whether no live recorder holds it. Replay then refuses the recording.
        is_abandoned: bool,
    },
    /// Bytes that were set aside, because they are no whole entries.
    Torn {
        /// The file that holds them.
        path: PathBuf,
        /// The number of bytes.
        bytes: u64,
    },
    /// Requests that wait for answers, or answers that wait for review.
    Waiting {
        /// The file.
        path: PathBuf,
    },
}

impl InspectedFile {
    /// Opens a file.
    ///
    /// # Errors
    /// The file is missing, is not a file, is too large, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { path: path.to_owned() };
        let file = file::open_if_there(path)?.ok_or_else(missing)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Returns where everything in it is, and what is wrong with that.
    ///
    /// # Errors
    /// The file cannot be read, or is not a JSON object.
    pub fn read_layout(&self) -> Result<FileLayout, StoreError> {
        let (mut scanner, mut reader) = (MemberScanner::new(), LayoutReader::default());
        let mut source = BufReader::with_capacity(PIECE, log::cursor_at(&self.file, 0));
        if let Some(error) =
            other_file(source.fill_buf().map_err(|error| self.read_failure(error))?)
        {
            return Err(index::unusable_file(&self.path, error));
        }
        let found = loop {
            let piece = source.fill_buf().map_err(|error| self.read_failure(error))?;
            if piece.is_empty() {
                break scanner.finish();
            }
            if let Err(SplitError) = scanner.feed(piece) {
                break Err(SplitError);
            }
            scanner.take_found().for_each(|found| reader.add_member(found));
            let length = piece.len();
            source.consume(length);
        };
        match found {
            Ok(_) => Ok(reader.into_layout()),
            Err(SplitError) => Err(self.no_object()?),
        }
    }

    /// Returns why the file is not a JSON object.
    fn no_object(&self) -> Result<StoreError, StoreError> {
        let found = index::find_problem(&self.file).map_err(|error| self.read_failure(error))?;
        let mut source = BufReader::new(log::cursor_at(&self.file, 0));
        let problem: FormatError = match found {
            Some(problem) => problem,
            None => not_object(source.fill_buf().map_err(|error| self.read_failure(error))?),
        };
        Ok(index::unusable_file(&self.path, problem))
    }

    /// Returns the bytes at a place.
    ///
    /// # Errors
    /// The file cannot be read, or is shorter than it was.
    pub fn read_range(&self, range: &Range<u64>) -> Result<Vec<u8>, StoreError> {
        let full = || self.read_failure(std::io::ErrorKind::OutOfMemory.into());
        let length = usize::try_from(range.end - range.start).map_err(|_| full())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| full())?;
        if !has_room(length, COPIES) {
            let bytes = length as u64;
            return Err(StoreError::TooHeavyToRead { path: self.path.clone(), bytes });
        }
        bytes.resize(length, 0);
        read_exact_at(&self.file, &mut bytes, range.start)
            .map_err(|error| self.read_failure(error))?;
        Ok(bytes)
    }

    /// Returns the number of lines that end at a place.
    ///
    /// # Errors
    /// As for [`Self::read_range`].
    pub fn count_lines(&self, range: &Range<u64>) -> Result<usize, StoreError> {
        let (mut at, mut lines) = (range.start, 0);
        while at < range.end {
            let end = range.end.min(at + PIECE as u64);
            lines += memchr::memchr_iter(b'\n', &self.read_range(&(at..end))?).count();
            at = end;
        }
        Ok(lines)
    }

    fn read_failure(&self, source: std::io::Error) -> StoreError {
        StoreError::read_failed(self.path.clone(), source)
    }
}

/// Returns the files beside a recording that should not be there.
///
/// # Errors
/// A log cannot be read.
pub fn find_leftovers(location: &RecordingLocation) -> Result<Vec<LeftoverFile>, StoreError> {
    let paths = paths_of(location.as_path())?;
    let mut found = Vec::new();
    let is_abandoned = run::abandoned_log(&paths)?.is_some();
    for path in [&paths.folding, &paths.log] {
        let failed = |source| StoreError::read_failed(path.clone(), source);
        match regular_file::open_to_read(path).map_err(failed)? {
            Some(file) if file.metadata().map_err(failed)?.len() > 0 => {
                let entries = log::scan_frames(&file).map_err(failed)?.frames.len();
                found.push(LeftoverFile::Log { path: path.clone(), entries, is_abandoned });
            }
            _ => {}
        }
    }
    for number in 1.. {
        let path = paths.torn_tail(number);
        let failed = |source| StoreError::read_failed(&path, source);
        let Some(status) = regular_file::look_at(&path).map_err(failed)? else { break };
        found.push(LeftoverFile::Torn { path, bytes: status.length });
    }
    for path in paths.pending_files() {
        if sidecars::is_at(&path)? {
            found.push(LeftoverFile::Waiting { path });
        }
    }
    Ok(found)
}

/// Returns the temporary files of a recording: whole copies that a process writes now, or that one
/// left which was killed. The next recorder removes these.
///
/// # Errors
/// The hidden folder cannot be read.
pub fn find_temporary_files(location: &RecordingLocation) -> Result<Vec<PathBuf>, StoreError> {
    let paths = paths_of(location.as_path())?;
    let folder = paths.state_folder();
    match temporary_file::find_temporary(folder, &paths.target) {
        Ok(found) => Ok(found),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(StoreError::read_failed(folder.to_owned(), error)),
    }
}
