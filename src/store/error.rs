//! Why a recording could not be read, or not be kept.

use std::io;
use std::path::{Path, PathBuf};

use loomrec_identity::IdentityRules;
use loomrec_recording::FormatError;
use loomrec_recording::log_codec::PackedError;

use super::regular_file::UnsafeFileError;

/// A recording that could not be used. Messages read after "failed to".
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// No such file.
    #[error("find the recording {}: check the path, or record it first", path.display())]
    Missing {
        /// The recording.
        path: PathBuf,
    },
    /// A directory, a pipe or the like.
    #[error("read {}: it is not a file; name the recording itself", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
    },
    /// A file that was named as a folder.
    #[error("use {} as a folder: it is a file; leave out the slash at its end", path.display())]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// A link, a pipe or the like in the place of a file beside or within a recording.
    #[error(
        "open {}: it is {}, and loomrec opens only regular files with one name beside or within a \
         recording; see where it comes from, then delete it",
        .0.path.display(), .0.kind
    )]
    Unsafe(UnsafeFileError),
    /// A directory, a pipe or the like, called as an entry's file in a recording's folder.
    #[error(
        "read {}: in a recording's folder only the files of entries are called *.json, and this \
         is no file; move it away",
        path.display()
    )]
    OddFile {
        /// The path.
        path: PathBuf,
    },
    /// A file in a recording's folder that holds no entry, or several.
    #[error(
        "read {}: a file in a recording's folder holds one entry, and this one holds {entries}; \
         name the recording itself, or make a folder of it with `loomrec convert`",
        path.display()
    )]
    NotOneEntry {
        /// The file.
        path: PathBuf,
        /// How many keys it has that are no metadata.
        entries: usize,
    },
    /// Two files in a recording's folder with one key.
    #[error(
        "read {}: it holds the entry {key}, and so does {}; keep one of them",
        path.display(), other.display()
    )]
    TwoFiles {
        /// The one.
        path: PathBuf,
        /// The other.
        other: PathBuf,
        /// The key.
        key: String,
    },
    /// Two files in a recording's folder that were made under different rules.
    #[error(
        "read {}: its `_loomrec` does not agree with that of {}, on the rules of `--ignore` or on \
         what is pending; all files in a recording's folder have the same",
        path.display(), other.display()
    )]
    Disagree {
        /// The one.
        path: PathBuf,
        /// The other.
        other: PathBuf,
    },
    /// A file in a recording's folder that is not the one that was read at first.
    #[error(
        "read {}: someone has changed it since the recording was opened; run this again",
        path.display()
    )]
    Moved {
        /// The file.
        path: PathBuf,
    },
    /// Above the size that is read.
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
    /// With what is in its log it would be above that size.
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
    /// Damaged, of a newer format, or not a recording.
    #[error("read the recording {}: {problem}", path.display())]
    Format {
        /// The recording.
        path: PathBuf,
        /// What is wrong, where, and what helps.
        problem: Box<FormatError>,
    },
    /// An entry that cannot be held.
    #[error(
        "read {}: an entry of {bytes} bytes in it takes more memory than there is to be had; give \
         it more",
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
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The log beside the recording is of a version that is not known.
    #[error("read {}: a newer loomrec wrote it; update this one", path.display())]
    NewerLog {
        /// The log.
        path: PathBuf,
    },
    /// An entry in the log beside the recording that cannot be read.
    #[error("read {}: {problem}", path.display())]
    Log {
        /// The log.
        path: PathBuf,
        /// What is wrong with it.
        problem: PackedError,
    },
    /// The file could not be written. The one that was there is untouched.
    #[error("write {}: {}; what was recorded before is untouched", path.display(), remedy(source))]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// An entry above the size of any.
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
    /// An entry that cannot be held while it is written.
    #[error(
        "keep {name}: its {bytes} bytes take more memory than there is to be had; give it more, \
         or leave the entry out"
    )]
    TooHeavy {
        /// The entry.
        name: String,
        /// Its size.
        bytes: u64,
    },
    /// Someone records into it.
    #[error(
        "change {}: it is being recorded into; wait for the end of that run",
        path.display()
    )]
    Busy {
        /// The recording.
        path: PathBuf,
    },
    /// It is not what was read any more.
    #[error(
        "change {}: someone else has changed it meanwhile, and nothing was written; run this again",
        path.display()
    )]
    Changed {
        /// The recording.
        path: PathBuf,
    },
    /// A recorder that died has left a log beside it, which nobody has reviewed.
    #[error(
        "replay {}: {} lies beside it, and no recorder is writing it: what it holds is not in the \
         recording and was not reviewed; `loomrec ls {0}` shows it, `loomrec verify --fix {0}` \
         merges it; or delete it",
        path.display(), log.display()
    )]
    Unmerged {
        /// The recording.
        path: PathBuf,
        /// The log.
        log: PathBuf,
    },
    /// There is one already.
    #[error("write {}: it is there already; name another file, or use --force", path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A lock that could not be taken at all.
    #[error("lock {}: {}, on a file system with locks", path.display(), remedy(source))]
    Lock {
        /// The lock file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A lock that someone else held for too long.
    #[error(
        "lock {} within {seconds} s: it is held by {holder}; wait for that process, or stop it",
        path.display()
    )]
    Held {
        /// The lock file.
        path: PathBuf,
        /// How long it was waited for.
        seconds: u64,
        /// Who holds it, in words.
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
    /// What was kept is there no more.
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
        /// How many names are gone; 0 where a recording of the same names stands there.
        names: usize,
    },
    /// An entry that still held a credential; it was not written.
    #[error(
        "keep {} in {}: a credential of this run stands in it; remove it from \
         the text with `--redact`",
        names.join(", "), path.display()
    )]
    Secret {
        /// The recording.
        path: PathBuf,
        /// The entries that were left out.
        names: Vec<String>,
    },
}

/// What helps against a failure of storage.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::StorageFull => "free some space there",
        io::ErrorKind::FileTooLarge => "raise the limit of file sizes (ulimit -f)",
        io::ErrorKind::QuotaExceeded => "free some space of your quota there",
        io::ErrorKind::ReadOnlyFilesystem => "make its file system writable",
        io::ErrorKind::PermissionDenied => "let this user write it and its folder",
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "bring its folder back",
        _ => "look after its disk and its folder's permissions",
    }
}

/// What kind of failure it is, for the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorClass {
    /// A recording is missing, damaged or of a newer format: exit code 4.
    Unusable,
    /// A recording could not be kept whole: exit code 5.
    NotKept,
    /// The options do not fit the recording: exit code 2.
    Usage,
}

impl StoreError {
    /// The error for a recording that was made under other rules.
    pub(super) fn other_rules(path: &Path, ours: &IdentityRules, theirs: &IdentityRules) -> Self {
        let words = |rules: &IdentityRules| {
            let words: Vec<String> = rules.words();
            if words.is_empty() { "no rules".to_owned() } else { words.join(" ") }
        };
        Self::OtherRules { path: path.to_owned(), ours: words(ours), theirs: words(theirs) }
    }

    /// The error of a file that could not be read.
    pub(super) fn read(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::of_unsafe(&source).unwrap_or_else(|| Self::Read { path: path.into(), source })
    }

    /// The error of a file that could not be written.
    pub(super) fn write(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::of_unsafe(&source).unwrap_or_else(|| Self::Write { path: path.into(), source })
    }

    /// The error of a lock that could not be taken.
    pub(super) fn lock(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::of_unsafe(&source).unwrap_or_else(|| Self::Lock { path: path.into(), source })
    }

    fn of_unsafe(source: &io::Error) -> Option<Self> {
        UnsafeFileError::within(source).cloned().map(Self::Unsafe)
    }

    /// The error and its causes on one line.
    pub fn chain(&self) -> String {
        let mut text = self.to_string();
        let mut source = std::error::Error::source(self);
        while let Some(cause) = source {
            text.push_str(&format!(": {cause}"));
            source = cause.source();
        }
        text
    }

    /// What kind of failure it is.
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::Missing { .. }
            | Self::NotAFile { .. }
            | Self::Unsafe(_)
            | Self::Unmerged { .. }
            | Self::OddFile { .. }
            | Self::NotOneEntry { .. }
            | Self::TwoFiles { .. }
            | Self::Disagree { .. }
            | Self::Moved { .. }
            | Self::TooLarge { .. }
            | Self::TooHeavyToRead { .. }
            | Self::Format { .. }
            | Self::NewerLog { .. }
            | Self::Log { .. }
            | Self::Read { .. } => ErrorClass::Unusable,
            Self::Write { .. }
            | Self::TooLong { .. }
            | Self::TooHeavy { .. }
            | Self::Busy { .. }
            | Self::Changed { .. }
            | Self::WouldBeTooLarge { .. }
            | Self::Lock { .. }
            | Self::Held { .. }
            | Self::Gone { .. }
            | Self::Secret { .. } => ErrorClass::NotKept,
            Self::NotAFolder { .. } | Self::OtherRules { .. } | Self::Exists { .. } => {
                ErrorClass::Usage
            }
        }
    }
}
