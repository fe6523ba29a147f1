//! The appender of one recorder, which knows where its last append to the log ended.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::regular_file;
use super::rotation::KnownLog;
use loomrec_os::{FileId, FileStatus};

/// An append that takes longer shows that the storage is slow at present.
const SLOW: Duration = Duration::from_millis(2);

/// How long that is assumed.
const SLOW_FOR: Duration = Duration::from_secs(1);

/// A recorder's handle to the log.
#[derive(Debug)]
pub(super) struct LogAppender {
    path: PathBuf,
    disk: Disk,
    /// Whether a log of others gets what this recorder states of it, too.
    adds_to_others: bool,
    open: Option<OpenLog>,
    /// Until when appends are assumed to be slow.
    slow_until: Option<Instant>,
}

/// An open log.
#[derive(Debug)]
pub(super) struct OpenLog {
    pub(super) file: File,
    pub(super) id: FileId,
    /// How far it is known, and whole.
    pub(super) end: u64,
    /// The number of logs of the run that had been moved away when it was opened.
    pub(super) rotations: usize,
    /// Whether it states all that this recorder has to state.
    pub(super) is_stated: bool,
}

impl OpenLog {
    /// A log of which nothing is known yet.
    fn new(file: File, id: FileId, rotations: usize) -> Self {
        Self { file, id, end: 0, rotations, is_stated: false }
    }
}

/// How the log has changed since the last check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogState {
    /// Not changed, or still missing.
    Same,
    /// Others appended to it.
    Longer,
    /// It was cut.
    Shorter,
    /// The path names another file, or none.
    Other,
}

impl LogAppender {
    /// Returns a handle to the log at `path`. Nothing is opened yet.
    pub(super) fn new(path: &Path, disk: &Disk) -> Self {
        Self {
            path: path.to_owned(),
            disk: disk.clone(),
            adds_to_others: false,
            open: None,
            slow_until: None,
        }
    }

    /// Also states what this recorder has to state in a log that another one began.
    pub(super) fn add_to_others(&mut self) {
        self.adds_to_others = true;
    }

    /// Whether an append only copies into the system's memory, and has been that quick lately.
    pub(super) fn is_quick(&self) -> bool {
        self.slow_until.is_none_or(|until| until <= Instant::now())
    }

    /// Checks the file at the path.
    pub(super) fn check_file(&self) -> io::Result<LogState> {
        Ok(match (&self.open, FileStatus::at_path(&self.path)?) {
            (None, None) => LogState::Same,
            (Some(open), Some(there)) if open.id == there.id => match there.length.cmp(&open.end) {
                std::cmp::Ordering::Equal => LogState::Same,
                std::cmp::Ordering::Greater => LogState::Longer,
                std::cmp::Ordering::Less => LogState::Shorter,
            },
            _ => LogState::Other,
        })
    }

    /// Closes the open log, and opens the one that is at the path, if any, with nothing of it
    /// known. Returns the former one.
    pub(super) fn reopen(&mut self, rotations: usize) -> io::Result<Option<OpenLog>> {
        let mut options = File::options();
        let open = regular_file::open_existing(&self.path, options.read(true).append(true))?;
        let open = match open {
            Some(file) => {
                let id = FileId::from_file(&file)?;
                Some(OpenLog::new(file, id, rotations))
            }
            None => None,
        };
        Ok(std::mem::replace(&mut self.open, open))
    }

    /// Returns the log, if there is one.
    pub(super) fn open_log(&mut self) -> Option<&mut OpenLog> {
        self.open.as_mut()
    }

    /// Returns how far the log is known to be whole.
    pub(super) fn known_log(&self) -> Option<KnownLog> {
        self.open.as_ref().map(|open| KnownLog { log: open.id, end: open.end })
    }

    /// Returns the known length of the log.
    pub(super) fn len(&self) -> u64 {
        self.open.as_ref().map_or(0, |open| open.end)
    }

    /// Appends frames in one write, with `first` before them if the log is empty or does not state
    /// what that states. A write that fails is cut off again. Only under the recording's lock, and when all of the log is known.
    pub(super) fn append_frames(
        &mut self,
        first: &[u8],
        frames: &mut Vec<u8>,
        rotations: usize,
    ) -> io::Result<()> {
        if self.open.is_none() {
            let file = self.disk.open_to_append(&self.path)?;
            let id = FileId::from_file(&file)?;
            self.open = Some(OpenLog::new(file, id, rotations));
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        let states = open.end == 0 || (self.adds_to_others && !open.is_stated);
        if states {
            frames.splice(..0, first.iter().copied());
        }
        let began = Instant::now();
        let written = self.disk.write_all(&open.file, frames);
        self.slow_until = (began.elapsed() > SLOW).then(|| began + SLOW_FOR);
        match written {
            Ok(()) => {
                open.end += frames.len() as u64;
                open.is_stated |= states;
                Ok(())
            }
            Err(error) => {
                // If this fails as well, the next recorder finds a torn tail.
                let _ = self.disk.set_len(&open.file, open.end);
                Err(error)
            }
        }
    }
}
