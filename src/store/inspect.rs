//! Opens a recording's file as it is, whatever is wrong with it, and changes nothing.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::ops::Range;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::location::RecordingLocation;
use super::memory_guard::has_room;
use super::reader::paths_of;
use super::{file, index, log, regular_file, run, sidecars};
use loomrec_os::read_exact_at;
use loomrec_recording::FormatError;
use loomrec_recording::error::not_object;
use loomrec_recording::scan::{MemberScanner, NotSplit};
use loomrec_recording::verification::{FileLayout, LayoutReader};

/// How much is read at once where nothing is held of it.
const PIECE: usize = 1024 * 1024;

/// How often an entry's bytes are in memory at once while it is looked at.
const COPIES: usize = 8;

/// A recording's file, open, with nothing of it understood yet.
#[derive(Debug)]
pub struct InspectedFile {
    path: PathBuf,
    file: File,
}

/// A file that stands beside a recording and has no business there, or not yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LeftoverFile {
    /// Calls that are not in the recording yet.
    Log {
        /// The log.
        path: PathBuf,
        /// How many entries it holds.
        entries: usize,
        /// Whether no live recorder holds it: replay refuses the recording then.
        is_abandoned: bool,
    },
    /// Bytes that were set aside, since they are no whole entries.
    Torn {
        /// Where they are.
        path: PathBuf,
        /// How many there are.
        bytes: u64,
    },
    /// Requests that wait for their answers, or answers that wait for their review.
    Waiting {
        /// The file.
        path: PathBuf,
    },
}

impl InspectedFile {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that is missing, is none, is too large, or cannot be read.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { path: path.to_owned() };
        let file = file::open(path)?.ok_or_else(missing)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Opens a file in a recording's folder.
    ///
    /// # Errors
    /// As [`Self::open`]; a link or a file with several names.
    pub fn open_part(path: &Path) -> Result<Self, StoreError> {
        let missing = || StoreError::Missing { path: path.to_owned() };
        let file = file::open_part(path)?.ok_or_else(missing)?;
        Ok(Self { path: path.to_owned(), file })
    }

    /// Where everything in it stands, and what is wrong with that.
    ///
    /// # Errors
    /// A file that cannot be read, or is not a JSON object.
    pub fn layout(&self) -> Result<FileLayout, StoreError> {
        self.read().map(LayoutReader::finish)
    }

    /// The same of a file in a recording's folder.
    ///
    /// # Errors
    /// As [`Self::layout`].
    pub fn part(&self) -> Result<FileLayout, StoreError> {
        self.read().map(LayoutReader::finish_part)
    }

    fn read(&self) -> Result<LayoutReader, StoreError> {
        let (mut scanner, mut reader) = (MemberScanner::new(), LayoutReader::default());
        let mut source = BufReader::with_capacity(PIECE, log::from(&self.file, 0));
        let found = loop {
            let piece = source.fill_buf().map_err(|error| self.failed(error))?;
            if piece.is_empty() {
                break scanner.finish();
            }
            if let Err(NotSplit) = scanner.feed(piece) {
                break Err(NotSplit);
            }
            scanner.take_found().for_each(|found| reader.add(found));
            let length = piece.len();
            source.consume(length);
        };
        match found {
            Ok(_) => Ok(reader),
            Err(NotSplit) => Err(self.no_object()?),
        }
    }

    /// Why the file is no JSON object.
    fn no_object(&self) -> Result<StoreError, StoreError> {
        let found = index::problem(&self.file).map_err(|error| self.failed(error))?;
        let mut source = BufReader::new(log::from(&self.file, 0));
        let problem: FormatError = match found {
            Some(problem) => problem,
            None => not_object(source.fill_buf().map_err(|error| self.failed(error))?),
        };
        Ok(index::unusable(&self.path, problem))
    }

    /// The bytes at a place.
    ///
    /// # Errors
    /// A file that cannot be read, or is shorter than it was.
    pub fn text(&self, range: &Range<u64>) -> Result<Vec<u8>, StoreError> {
        let full = || self.failed(std::io::ErrorKind::OutOfMemory.into());
        let length = usize::try_from(range.end - range.start).map_err(|_| full())?;
        let mut bytes = Vec::new();
        bytes.try_reserve_exact(length).map_err(|_| full())?;
        if !has_room(length, COPIES) {
            let bytes = length as u64;
            return Err(StoreError::TooHeavyToRead { path: self.path.clone(), bytes });
        }
        bytes.resize(length, 0);
        read_exact_at(&self.file, &mut bytes, range.start).map_err(|error| self.failed(error))?;
        Ok(bytes)
    }

    /// How many lines end at a place.
    ///
    /// # Errors
    /// As [`Self::text`].
    pub fn lines(&self, range: &Range<u64>) -> Result<usize, StoreError> {
        let (mut at, mut lines) = (range.start, 0);
        while at < range.end {
            let end = range.end.min(at + PIECE as u64);
            lines += memchr::memchr_iter(b'\n', &self.text(&(at..end))?).count();
            at = end;
        }
        Ok(lines)
    }

    fn failed(&self, source: std::io::Error) -> StoreError {
        StoreError::read(self.path.clone(), source)
    }
}

/// What stands beside a recording.
///
/// # Errors
/// A log that cannot be read.
pub fn leftovers(location: &RecordingLocation) -> Result<Vec<LeftoverFile>, StoreError> {
    let paths = paths_of(location.as_path())?;
    let mut found = Vec::new();
    let is_abandoned = run::abandoned_log(&paths)?.is_some();
    for path in [&paths.folding, &paths.log] {
        let failed = |source| StoreError::read(path.clone(), source);
        match regular_file::open_to_read(path).map_err(failed)? {
            Some(file) if file.metadata().map_err(failed)?.len() > 0 => {
                let entries = log::scan(&file).map_err(failed)?.frames.len();
                found.push(LeftoverFile::Log { path: path.clone(), entries, is_abandoned });
            }
            _ => {}
        }
    }
    for number in 1.. {
        let path = paths.torn(number);
        let failed = |source| StoreError::read(&path, source);
        let Some(status) = regular_file::look_at(&path).map_err(failed)? else { break };
        found.push(LeftoverFile::Torn { path, bytes: status.length });
    }
    for path in paths.waiting() {
        if sidecars::is_at(&path)? {
            found.push(LeftoverFile::Waiting { path });
        }
    }
    Ok(found)
}
