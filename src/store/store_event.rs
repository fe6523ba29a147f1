//! Events of the store that are no errors but that people should know.

use std::fmt;
use std::path::{Path, PathBuf};

/// An event to report. Displayed as a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreEvent {
    /// A log ended in bytes that are not a whole entry, because a crash or a full disk cut the
    /// write. They were moved aside.
    Torn {
        /// The log.
        log: PathBuf,
        /// The file that holds the tail now.
        aside: PathBuf,
        /// The length of the tail.
        bytes: u64,
    },
    /// A log had bytes in it that are not a whole entry, because of bad storage or another program.
    /// They were copied aside.
    Damaged {
        /// The log.
        log: PathBuf,
        /// The file that holds them now.
        aside: PathBuf,
        /// The number of bytes.
        bytes: u64,
        /// The number of entries that they held, as far as that is known.
        entries: usize,
    },
    /// Another process removed the log while it was in use. It was written again.
    Recovered {
        /// The log.
        log: PathBuf,
        /// The number of entries that were saved.
        entries: usize,
    },
    /// Another process cut the log short while it was in use.
    Cut {
        /// The log.
        log: PathBuf,
    },
    /// The entries that a dead recorder left in its log are in the recording now.
    Compacted {
        /// The recording.
        path: PathBuf,
        /// The number of entries.
        entries: usize,
    },
    /// A log that a dead recorder left, and that is not merged yet.
    Unmerged {
        /// The recording.
        path: PathBuf,
        /// The log.
        log: PathBuf,
        /// The number of entries in it.
        entries: usize,
    },
    /// Calls that failed were left out, because there are takes of the same requests whose calls
    /// succeeded.
    Failures {
        /// The recording.
        path: PathBuf,
        /// The number of calls.
        calls: usize,
    },
    /// The file system is one whose locks may not work between machines.
    Network {
        /// The recording.
        path: PathBuf,
        /// Its file system.
        system: &'static str,
    },
}

impl StoreEvent {
    /// Returns the event with its paths relative to a folder, as far as they are below it.
    #[must_use]
    pub fn relative_to(&self, folder: &Path) -> Self {
        let mut event = self.clone();
        let paths = match &mut event {
            Self::Torn { log, aside, .. } | Self::Damaged { log, aside, .. } => {
                [Some(log), Some(aside)]
            }
            Self::Unmerged { path, log, .. } => [Some(path), Some(log)],
            Self::Recovered { log, .. } | Self::Cut { log } => [Some(log), None],
            Self::Compacted { path, .. }
            | Self::Failures { path, .. }
            | Self::Network { path, .. } => [Some(path), None],
        };
        for path in paths.into_iter().flatten() {
            match path.strip_prefix(folder) {
                Ok(rest) if !rest.as_os_str().is_empty() => *path = rest.to_owned(),
                _ => {}
            }
        }
        event
    }

    /// Returns how many stored entries are not in the recording.
    pub fn entries_set_aside(&self) -> usize {
        match self {
            Self::Damaged { entries, .. } => *entries,
            _ => 0,
        }
    }
}

impl fmt::Display for StoreEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Torn { log, aside, bytes } => write!(
                f,
                "{} ended in {bytes} bytes that are not a whole entry, as a crash or a full disk \
                 leaves them; they are kept aside in {}, and everything before them is kept",
                log.display(),
                aside.display()
            ),
            Self::Damaged { log, aside, bytes, entries } => write!(
                f,
                "{} was damaged: {entries} of its entries ({bytes} bytes) cannot be read and are \
                 NOT in the recording; they are set aside in {}, and all others are kept; check \
                 the disk",
                log.display(),
                aside.display()
            ),
            Self::Failures { path, calls } => write!(
                f,
                "{calls} {} did not replace what {} holds, which succeeded; --keep-failures lets \
                 failed calls do that",
                match calls {
                    1 => "call that failed or was given up",
                    _ => "calls that failed or were given up",
                },
                path.display()
            ),
            Self::Recovered { log, entries } => write!(
                f,
                "{} was removed by someone else while recording; its entries ({entries}) were \
                 written again and nothing is lost",
                log.display()
            ),
            Self::Cut { log } => write!(
                f,
                "{} was cut short by someone else while recording; the next compaction reports \
                 what is lost",
                log.display()
            ),
            Self::Compacted { path, entries } => write!(
                f,
                "{} now holds the entries ({entries}) that an earlier recorder left in its log",
                path.display()
            ),
            Self::Unmerged { path, log, entries } => write!(
                f,
                "{} holds {entries} takes that {} does not: a recorder was killed, or the log came \
                 with it; `loomrec verify --fix {1}` merges them, and so does the next \
                 `loomrec record`",
                log.display(),
                path.display()
            ),
            Self::Network { path, system } => write!(
                f,
                "{} is on a network file system ({system}), where locks may not hold between \
                 machines: record to a local disk and move the file, unless only this machine \
                 records to it",
                path.display()
            ),
        }
    }
}
