//! The errors of reading and storing recordings.

use std::io;
use std::path::{Path, PathBuf};

use loomrec_identity::IdentityRules;
use loomrec_recording::FormatError;
use loomrec_recording::log_codec::PackedError;

use super::regular_file::UnsafeFileError;

/// The error of a recording that could not be used. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// The file does not exist.
    #[error("find the recording {}: check the path, or record it first", path.display())]
    Missing {
        /// The recording.
        path: PathBuf,
    },
    /// A path to read names a folder.
    #[error(
        "read the recording {}: it names a folder, and a recording is one file; name a file in it",
        path.display()
    )]
    IsFolder {
        /// The path.
        path: PathBuf,
    },
    /// A path to write names a folder.
    #[error(
        "write the recording {}: it names a folder, and a recording is one file; name a file in \
         it, such as {}",
        path.display(), path.join("agent.json").display()
    )]
    IntoFolder {
        /// The path.
        path: PathBuf,
    },
    /// It is a pipe, a device or the like.
    #[error("read {}: it is not a file; name the recording itself", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A link, a pipe or the like is in the place of a file beside a recording.
    #[error(
        "open {}: it is {}, and loomrec opens only regular files with one name beside a recording; \
         see where it comes from, then delete it",
        .0.path.display(), .0.kind
    )]
    Unsafe(UnsafeFileError),
    /// It is larger than loomrec reads.
    #[error(
        "read the recording {}: its {bytes} bytes are above the limit of {limit}; split it",
        path.display()
    )]
    TooLarge {
        /// The recording.
        path: PathBuf,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// With its log, it would be larger than loomrec reads.
    #[error(
        "compact the log of {}: its {bytes} bytes would be above the limit of {limit}; \
         record into another file from now on",
        path.display()
    )]
    WouldBeTooLarge {
        /// The recording.
        path: PathBuf,
        /// The size it would have.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// It is damaged, of a newer format, or not a recording.
    #[error("read {}{}: {problem}", problem.path_prefix(), path.display())]
    Format {
        /// The recording.
        path: PathBuf,
        /// What is wrong, where, and what helps.
        problem: Box<FormatError>,
    },
    /// An entry does not fit into memory.
    #[error(
        "read {}: an entry of {bytes} bytes in it needs more memory than is available; raise the \
         memory limit",
        path.display()
    )]
    TooHeavyToRead {
        /// The file.
        path: PathBuf,
        /// The entry's size.
        bytes: u64,
    },
    /// The file could not be read.
    #[error("read the recording {}: check that it may be read", path.display())]
    Read {
        /// The recording.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// The log beside the recording has an unknown version.
    #[error("read {}: a newer loomrec wrote it; update this one", path.display())]
    NewerLog {
        /// The log.
        path: PathBuf,
    },
    /// An entry in the log beside the recording cannot be read.
    #[error("read {}: {problem}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        problem: PackedError,
    },
    /// The file could not be written. The old file is unchanged.
    #[error("write {}: {}; what was recorded before is untouched", path.display(), storage_remedy(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// An entry is larger than any may be.
    #[error(
        "keep {name}: its {bytes} bytes are above the limit of {limit} for one entry; leave it out"
    )]
    TooLong {
        /// The entry.
        name: String,
        /// Its size.
        bytes: u64,
        /// The limit.
        limit: u64,
    },
    /// An entry does not fit into memory while it is written.
    #[error(
        "keep {name}: its {bytes} bytes need more memory than is available; raise the memory \
         limit, or leave the entry out"
    )]
    TooHeavy {
        /// The entry.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// Another process is recording into it.
    #[error(
        "change {}: it is being recorded into; wait for the end of that run",
        path.display()
    )]
    Busy {
        /// The recording.
        path: PathBuf,
    },
    /// A recorder that was killed has left a log beside it.
    #[error(
        "change {}: {} lies beside it, and no recorder is writing it; `loomrec verify --fix {0}` \
         merges it; then run this again",
        path.display(), log.display()
    )]
    LeftLog {
        /// The recording.
        path: PathBuf,
        /// The log.
        log: PathBuf,
    },
    /// It is no longer what was read.
    #[error(
        "change {}: someone else has changed it meanwhile, and nothing was written; run this again",
        path.display()
    )]
    Changed {
        /// The recording.
        path: PathBuf,
    },
    /// A recorder that died left a log beside it, which nobody has reviewed.
    #[error(
        "replay {}: {} lies beside it, and no recorder is writing it: its calls are not in the \
         recording and were not reviewed; `loomrec ls {0}` shows it, `loomrec verify --fix {0}` \
         merges it; or delete it",
        path.display(), log.display()
    )]
    Unmerged {
        /// The recording.
        path: PathBuf,
        /// The log.
        log: PathBuf,
    },
    /// The file exists already.
    #[error("write {}: it is there already; name another file, or use --force", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A lock could not be taken at all.
    #[error("lock {}: {}, on a file system with locks", path.display(), storage_remedy(source))]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: io::Error,
    },
    /// Another process held a lock for too long.
    #[error(
        "lock {} within {seconds} s: it is held by {holder}; wait for that process, or stop it",
        path.display()
    )]
    Held {
        /// The lock file.
        path: PathBuf,
        /// How long this process waited.
        seconds: u64,
        /// Who holds it, in words.
        holder: String,
    },
    /// Another session records it anew.
    #[error(
        "record a session into {}: another session records there ({holder}); end that session \
         first, or name another file",
        path.display()
    )]
    Leased {
        /// The recording.
        path: PathBuf,
        /// Who holds the lease, in words.
        holder: String,
    },
    /// The recording's keys were made under other identity rules.
    #[error(
        "record into {} with `--ignore` {ours}: its requests were hashed with {theirs}; \
         use the same rules, or record into a new file",
        path.display()
    )]
    OtherRules {
        /// The recording.
        path: PathBuf,
        /// The rules asked for, in words.
        ours: String,
        /// The rules in the file, in words.
        theirs: String,
    },
    /// Stored takes are no longer there.
    #[error(
        "keep {}: it was deleted or replaced by someone else while recording, and {}; record \
         again",
        path.display(),
        match names {
            0 => "answers recorded before may be gone".to_owned(),
            names => format!("{names} of the keys recorded before are gone"),
        }
    )]
    Gone {
        /// The recording.
        path: PathBuf,
        /// The number of names that are gone; 0 if another recording with the same names is there.
        names: usize,
    },
    /// An entry still held a credential. It was not written.
    #[error(
        "keep {} in {}: the text contains a credential of this run; add a `--redact` rule for it",
        names.join(", "), path.display()
    )]
    Secret {
        /// The recording.
        path: PathBuf,
        /// The entries that were left out.
        names: Vec<String>,
    },
}

/// Returns what helps against a failure of storage.
fn storage_remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "free some space there",
        io::ErrorKind::FileTooLarge => "raise the limit of file sizes (ulimit -f)",
        io::ErrorKind::QuotaExceeded => "free some space of your quota there",
        io::ErrorKind::ReadOnlyFilesystem => "make its file system writable",
        io::ErrorKind::PermissionDenied => "let this user write it and its folder",
        io::ErrorKind::NotFound => "create its folder, which is missing",
        io::ErrorKind::NotADirectory => "name a path whose parent is a folder",
        _ => "check the disk and the folder's permissions",
    }
}

impl StoreError {
    /// Returns the error for a recording that was made under other rules.
    pub(super) fn other_rules(path: &Path, ours: &IdentityRules, theirs: &IdentityRules) -> Self {
        let words = |rules: &IdentityRules| {
            let words: Vec<String> = rules.rule_descriptions();
            if words.is_empty() { "no rules".to_owned() } else { words.join(" ") }
        };
        Self::OtherRules { path: path.to_owned(), ours: words(ours), theirs: words(theirs) }
    }

    /// Returns the error of a file that could not be read, or of a folder in its place.
    pub(super) fn read_failed(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::IsADirectory => Self::IsFolder { path },
            _ => Self::of_unsafe(&source).unwrap_or(Self::Read { path, source }),
        }
    }

    /// Returns the error of a file that could not be written, or of a folder in its place.
    pub(super) fn write_failed(path: impl Into<PathBuf>, source: io::Error) -> Self {
        let path = path.into();
        match source.kind() {
            io::ErrorKind::IsADirectory => Self::IntoFolder { path },
            _ => Self::of_unsafe(&source).unwrap_or(Self::Write { path, source }),
        }
    }

    /// Returns the error of a lock that could not be taken.
    pub(super) fn lock_failed(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::of_unsafe(&source).unwrap_or_else(|| Self::Lock { path: path.into(), source })
    }

    fn of_unsafe(source: &io::Error) -> Option<Self> {
        UnsafeFileError::find_in_error(source).cloned().map(Self::Unsafe)
    }

    /// Returns the error and its causes on one line.
    pub fn error_chain(&self) -> String {
        loomrec_identity::error_chain(self)
    }
}
