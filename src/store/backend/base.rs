//! A recording without its logs, open for reading, and the version that it is.

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

/// What a back-end holds of a recording, without what its logs hold.
#[derive(Debug)]
pub(crate) enum BaseSnapshot {
    /// Nothing.
    Nothing,
    /// A file.
    File(FileSnapshot),
    /// A folder, whose files are opened as they are read.
    Folder(Box<FolderSnapshot>),
}

/// An open file.
#[derive(Debug)]
pub(crate) struct FileSnapshot {
    /// Its name for people.
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

/// What a snapshot is as long as nobody changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BaseVersion {
    /// Not there.
    Nothing,
    /// A file.
    File(FileVersion),
    /// The files of entries in a folder, by name.
    Folder(Vec<(OsString, FileVersion)>),
}

impl BaseSnapshot {
    /// Where everything stands in it; `None` where there is nothing yet.
    ///
    /// # Errors
    /// A file that cannot be read, or is no recording: `path` is its name for people.
    pub(crate) fn outline(&mut self, path: &Path) -> Result<Option<RecordingOutline>, StoreError> {
        match self {
            Self::Nothing => Ok(None),
            Self::File(base) => index::read(path, &base.file).map(Some),
            Self::Folder(base) => Ok(base.take_outline()),
        }
    }

    /// The version that it is, to be compared later.
    ///
    /// # Errors
    /// A file that cannot be looked at.
    pub(crate) fn version(&self) -> std::io::Result<BaseVersion> {
        Ok(match self {
            Self::Nothing => BaseVersion::Nothing,
            Self::File(base) => BaseVersion::File(FileVersion::of(&base.file)?),
            Self::Folder(base) => BaseVersion::Folder(base.state()),
        })
    }

    /// Another handle to it.
    ///
    /// # Errors
    /// No handle to be had.
    pub(crate) fn try_clone(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Nothing => Self::Nothing,
            Self::File(FileSnapshot { path, file }) => {
                Self::File(FileSnapshot { path: path.clone(), file: file.try_clone()? })
            }
            Self::Folder(base) => Self::Folder(base.clone()),
        })
    }

    /// Whether there is nothing at all.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Self::Nothing)
    }

    /// Whether all entries stand in one text, with what the recording says about itself.
    pub(crate) fn is_one_text(&self) -> bool {
        matches!(self, Self::File(_))
    }

    /// Whether the takes of a name may stand in several files, of which some may have been
    /// written anew by a compaction that was interrupted.
    pub(crate) fn may_be_between_versions(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// The files that are not called as the keys that they hold, and what each is to be
    /// called.
    pub(crate) fn misnamed_files(&self, outline: &RecordingOutline) -> Vec<(OsString, String)> {
        match self {
            Self::Nothing | Self::File(_) => Vec::new(),
            Self::Folder(base) => base.misnamed(outline),
        }
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::File(base) => base.file.metadata().map_or(0, |metadata| metadata.len()),
            Self::Folder(base) => base.size(),
        }
    }

    /// The bytes of a take, or of another place.
    ///
    /// # Errors
    /// A file that cannot be read, or is shorter than it was. `path` is the recording's
    /// name for people.
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

    /// The file that a place is in, for people; `path` is the recording's own name.
    pub(crate) fn path_at(&self, at: u64, path: &Path) -> PathBuf {
        match self {
            Self::Nothing => path.to_owned(),
            Self::File(base) => base.path.clone(),
            Self::Folder(base) => base.path_at(at),
        }
    }

    /// The first place in the file around `at` where it is no JSON.
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
    /// Whether there is no entry's text at all.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::File(_) => false,
            Self::Folder(files) => files.is_empty(),
        }
    }
}
