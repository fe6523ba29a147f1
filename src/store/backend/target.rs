//! What a compaction found in the place of a recording, and what it left there.

use std::ffi::OsString;

use foldhash::HashSet;

use super::StoreBackend;
use super::base::BaseVersion;
use super::folder;
use crate::file_version::FileVersion;
use crate::log::NameFingerprint;
use crate::run::RunTarget;

/// The recording's file before a compaction and after it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ReplacedFile {
    read: Option<FileVersion>,
    written: Option<FileVersion>,
}

/// What a compaction found and left in the recording's place.
#[derive(Debug)]
pub(crate) struct TargetChange {
    /// The file or folder that it found.
    pub(crate) found: RunTarget,
    /// The file or folder that it left there.
    pub(crate) left: Option<FileVersion>,
    /// The files of a folder.
    pub(crate) files: Vec<OsString>,
    /// The names that the recording holds, if a file that was there before is gone.
    pub(crate) names: Option<HashSet<NameFingerprint>>,
}

impl BaseVersion {
    /// Returns the version of the file, if it is one.
    pub(crate) fn file(&self) -> Option<FileVersion> {
        match self {
            Self::File(version) => Some(*version),
            Self::Nothing | Self::Folder(_) => None,
        }
    }

    /// Returns this version of a file and the one that replaced it, after an `earlier` compaction
    /// of the same round; `None` for a folder.
    pub(crate) fn replaced_by(
        &self,
        written: Option<FileVersion>,
        earlier: Option<ReplacedFile>,
    ) -> Option<ReplacedFile> {
        match self {
            Self::Folder(_) => earlier,
            Self::Nothing | Self::File(_) => {
                let read = earlier.map_or(self.file(), |earlier| earlier.read);
                Some(ReplacedFile { read, written })
            }
        }
    }
}

impl StoreBackend {
    /// Returns what a finished compaction found and left; `None` if that cannot be read. `files`
    /// are those that a folder held before, and `names` reads the names it holds.
    pub(crate) fn observe(
        &self,
        replaced: Option<ReplacedFile>,
        files: &[OsString],
        names: impl FnOnce() -> Option<HashSet<NameFingerprint>>,
    ) -> Option<TargetChange> {
        match self {
            Self::File(path) => {
                // If there was nothing to compact, it is what is there now.
                let replaced = match replaced {
                    Some(replaced) => replaced,
                    None => {
                        let read = FileVersion::at(path).ok()?;
                        ReplacedFile { read, written: read }
                    }
                };
                Some(TargetChange {
                    found: replaced.read.map(FileVersion::id),
                    left: replaced.written,
                    files: Vec::new(),
                    names: None,
                })
            }
            Self::Folder(folder) => {
                let left = FileVersion::at(folder).ok()?;
                let now = folder::names(folder).ok()?;
                let is_gone = |file: &OsString| now.binary_search(file).is_err();
                let names = files.iter().any(is_gone).then(names).flatten();
                let found = left.map(FileVersion::id_of_folder);
                Some(TargetChange { found, left, files: now, names })
            }
        }
    }
}
