//! The text of a recording without its logs: one file, or a folder with a file for each entry.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use super::error::StoreError;
use super::file;
use super::file_version::FileVersion;
use super::folder::{self, FolderSnapshot};
use super::index;
use super::paths::{RecordingForm, RecordingPaths};
use loomrec_recording::outline::RecordingOutline;

/// The text of a recording, without what its logs hold.
#[derive(Debug)]
pub(super) enum BaseText {
    /// None.
    Nothing,
    /// A file, open.
    File(File),
    /// A folder, whose files are opened as they are read.
    Split(Box<FolderSnapshot>),
}

/// What a body is as long as nobody changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum BaseState {
    /// Not there.
    Nothing,
    /// A file.
    File(FileVersion),
    /// The files of entries in a folder, by name.
    Split(Vec<(OsString, FileVersion)>),
}

impl BaseText {
    /// Opens what stands at a path; a folder is read through.
    ///
    /// # Errors
    /// Something else than it must be, or that cannot be read or used.
    pub(super) fn open(path: &Path, form: RecordingForm) -> Result<Self, StoreError> {
        match form {
            RecordingForm::File => Ok(file::open(path)?.map_or(Self::Nothing, Self::File)),
            RecordingForm::Folder => {
                FolderSnapshot::open(path).map(|split| Self::Split(Box::new(split)))
            }
        }
    }

    /// Where everything stands in it; `None` where there is nothing yet.
    ///
    /// # Errors
    /// A file that cannot be read, or is no recording: `path` is its name for people.
    pub(super) fn outline(&mut self, path: &Path) -> Result<Option<RecordingOutline>, StoreError> {
        match self {
            Self::Nothing => Ok(None),
            Self::File(file) => index::read(path, file).map(Some),
            Self::Split(split) => Ok(split.take_outline()),
        }
    }

    /// What it is, to be compared later.
    ///
    /// # Errors
    /// A file that cannot be looked at.
    pub(super) fn state(&self) -> std::io::Result<BaseState> {
        Ok(match self {
            Self::Nothing => BaseState::Nothing,
            Self::File(file) => BaseState::File(FileVersion::of(file)?),
            Self::Split(split) => BaseState::Split(split.state()),
        })
    }

    /// Another handle to it.
    ///
    /// # Errors
    /// No handle to be had.
    pub(super) fn try_clone(&self) -> std::io::Result<Self> {
        Ok(match self {
            Self::Nothing => Self::Nothing,
            Self::File(file) => Self::File(file.try_clone()?),
            Self::Split(split) => Self::Split(split.clone()),
        })
    }
}

impl BaseState {
    /// What stands there now.
    ///
    /// # Errors
    /// A file or folder that cannot be looked at.
    pub(super) fn at(paths: &RecordingPaths) -> Result<Self, StoreError> {
        let failed = |source| StoreError::write(paths.target.clone(), source);
        match paths.form {
            RecordingForm::File => {
                let stamp = FileVersion::at(&paths.target).map_err(failed)?;
                Ok(stamp.map_or(Self::Nothing, Self::File))
            }
            RecordingForm::Folder => folder::list(&paths.target).map(Self::Split),
        }
    }

    /// The file that it is, or none; `None` for a folder.
    pub(super) fn stamp(&self) -> Option<Option<FileVersion>> {
        match self {
            Self::Nothing => Some(None),
            Self::File(stamp) => Some(Some(*stamp)),
            Self::Split(_) => None,
        }
    }

    /// Whether there is no entry's text at all.
    pub(super) fn is_nothing(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::File(_) => false,
            Self::Split(files) => files.is_empty(),
        }
    }
}
