//! A recording without its logs, open for reading, and its version.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::folder::FolderSnapshot;
use crate::error::StoreError;
use crate::file_version::FileVersion;
use crate::index;
use crate::merge::TakeRef;
use crate::read_buffer::{FileStretch, ReadBuffer};
use loomrec_recording::FormatError;
use loomrec_recording::outline::RecordingOutline;

/// What a back-end holds of a recording, without its logs.
#[derive(Debug)]
pub(crate) enum BaseSnapshot {
    /// Nothing.
    Nothing,
    /// A file.
    File(FileSnapshot),
    /// A folder, whose files are opened when they are read.
    Folder(Box<FolderSnapshot>),
}

/// An open file.
#[derive(Debug)]
pub(crate) struct FileSnapshot {
    /// Its name in messages.
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

/// The version of a snapshot. It stays the same as long as nothing changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BaseVersion {
    /// Does not exist.
    Nothing,
    /// A file.
    File(FileVersion),
    /// The files of entries in a folder, by name.
    Folder(Vec<(OsString, FileVersion)>),
}

impl BaseSnapshot {
    /// Returns its outline; `None` if there is nothing yet.
    ///
    /// # Errors
    /// A file cannot be read, or is not a recording. `path` names it in messages.
    pub(crate) fn outline(&mut self, path: &Path) -> Result<Option<RecordingOutline>, StoreError> {
        match self {
            Self::Nothing => Ok(None),
            Self::File(base) => index::read(path, &base.file).map(Some),
            Self::Folder(base) => Ok(base.take_outline()),
        }
    }

    /// Returns its version, to be compared later.
    ///
    /// # Errors
    /// The status of a file cannot be read.
    pub(crate) fn version(&self) -> std::io::Result<BaseVersion> {
        Ok(match self {
            Self::Nothing => BaseVersion::Nothing,
            Self::File(base) => BaseVersion::File(FileVersion::of(&base.file)?),
            Self::Folder(base) => BaseVersion::Folder(base.state()),
        })
    }

    /// Returns another handle to it.
    ///
    /// # Errors
    /// The system has no more handles.
    pub(crate) fn try_clone(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Nothing => Self::Nothing,
            Self::File(FileSnapshot { path, file }) => {
                Self::File(FileSnapshot { path: path.clone(), file: file.try_clone()? })
            }
            Self::Folder(base) => Self::Folder(base.clone()),
        })
    }

    /// Whether there is nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Whether all entries and the metadata are in one text.
    pub(crate) fn is_one_text(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Whether the takes of a name may be in several files, some of which an interrupted compaction
    /// may have rewritten.
    pub(crate) fn may_be_between_versions(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// Returns the files whose names do not match their keys, and the name that each should have.
    pub(crate) fn misnamed_files(&self, outline: &RecordingOutline) -> Vec<(OsString, String)> {
        match self {
            Self::Nothing | Self::File(_) => Vec::new(),
            Self::Folder(base) => base.misnamed(outline),
        }
    }

    /// Returns its size in bytes.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::File(base) => base.file.metadata().map_or(0, |metadata| metadata.len()),
            Self::Folder(base) => base.size(),
        }
    }

    /// Returns the bytes of a take, or of another place.
    ///
    /// # Errors
    /// A file cannot be read, or is shorter than it was. `path` names the recording in messages.
    pub(crate) fn read<'a>(
        &self,
        place: &TakeRef,
        window: &'a mut ReadBuffer,
        path: &Path,
    ) -> Result<&'a [u8], StoreError> {
        let opened;
        let (file, stretch) = match self {
            Self::File(base) => (Some(&base.file), FileStretch::ALONE),
            Self::Folder(base) if !window.holds(place) => {
                let (file, stretch) = base.file_at(place.at)?;
                opened = file;
                (Some(&opened), stretch)
            }
            Self::Folder(_) | Self::Nothing => (None, FileStretch::ALONE),
        };
        let failed = |source| StoreError::read(self.path_at(place.at, path), source);
        window.read(file, stretch, place).map_err(failed)
    }

    /// Returns the file that holds a place, for messages. `path` is the recording's own name.
    pub(crate) fn path_at(&self, at: u64, path: &Path) -> PathBuf {
        match self {
            Self::Nothing => path.to_owned(),
            Self::File(base) => base.path.clone(),
            Self::Folder(base) => base.path_at(at),
        }
    }

    /// Returns the first problem in the file around `at` if that is not JSON.
    pub(crate) fn json_problem_at(&self, at: u64) -> Option<FormatError> {
        match self {
            Self::Nothing => None,
            Self::File(base) => index::problem(&base.file).ok().flatten(),
            Self::Folder(base) => {
                base.file_at(at).ok().and_then(|(file, _)| index::problem(&file).ok().flatten())
            }
        }
    }
}

impl BaseVersion {
    /// Whether it has no text of any entry.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::File(_) => false,
            Self::Folder(files) => files.is_empty(),
        }
    }
}
