//! Where the entries of a recording are kept: a file or a folder today.
//!
//! This is the seam between what a recording is (a snapshot of entries, a log of what was
//! appended, changes that replace it) and where it is. The log, the lock and the run stand
//! beside the recording and are the same for both back-ends. Nothing outside this module
//! asks which of them a recording has. The writing half is in [`stage`].

pub(super) mod base;
pub(super) mod digest;
mod file_stage;
pub(super) mod folder;
pub(super) mod parts;
pub(super) mod stage;
pub(super) mod stage_terms;
pub(super) mod target;

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::error::StoreError;
use super::file;
use super::file_version::FileVersion;
use super::run::RunTarget;
use super::temporary_file;
use base::{BaseSnapshot, BaseVersion, FileSnapshot};
use folder::FolderSnapshot;

/// Where the entries of a recording are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoreBackend {
    /// One file.
    File(PathBuf),
    /// A folder with a file for each entry.
    Folder(PathBuf),
}

impl StoreBackend {
    /// The back-end of the recording at `target`: a folder where there is one, or where
    /// there is nothing and the name ends in a slash.
    ///
    /// # Errors
    /// A file whose name ends in a slash.
    pub(super) fn at(target: &Path, has_slash: bool) -> io::Result<Self> {
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match fs::metadata(target) {
            Ok(metadata) if metadata.is_dir() => Ok(Self::Folder(target.to_owned())),
            Ok(_) if has_slash => Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if has_slash && is_missing(&error) => Ok(Self::Folder(target.to_owned())),
            _ => Ok(Self::File(target.to_owned())),
        }
    }

    /// Whether the recording is a folder. For outputs that must be one file only.
    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// Opens what is there, without what is only in the log; a folder is read through.
    /// `path` is the recording's name for people.
    ///
    /// # Errors
    /// Something else than it must be, or that cannot be read or used.
    pub(super) fn snapshot(&self, path: &Path) -> Result<BaseSnapshot, StoreError> {
        match self {
            Self::File(_) => Ok(file::open(path)?.map_or(BaseSnapshot::Nothing, |file| {
                BaseSnapshot::File(FileSnapshot { path: path.to_owned(), file })
            })),
            Self::Folder(_) => {
                FolderSnapshot::open(path).map(|folder| BaseSnapshot::Folder(Box::new(folder)))
            }
        }
    }

    /// What a new recording takes the place of: of a folder each file that is replaced, of
    /// a file nothing.
    ///
    /// # Errors
    /// As [`Self::snapshot`]'s.
    pub(super) fn replaced_snapshot(&self, path: &Path) -> Result<BaseSnapshot, StoreError> {
        match self {
            Self::File(_) => Ok(BaseSnapshot::Nothing),
            Self::Folder(_) => self.snapshot(path),
        }
    }

    /// The version that is there now.
    ///
    /// # Errors
    /// A file or folder that cannot be looked at.
    pub(super) fn version(&self) -> Result<BaseVersion, StoreError> {
        match self {
            Self::File(path) => {
                let failed = |source| StoreError::write(path.clone(), source);
                let found = FileVersion::at(path).map_err(failed)?;
                Ok(found.map_or(BaseVersion::Nothing, BaseVersion::File))
            }
            Self::Folder(folder) => folder::list(folder).map(BaseVersion::Folder),
        }
    }

    /// Which file or folder is there now, as a run notes it.
    ///
    /// # Errors
    /// A path that cannot be looked at.
    pub(super) fn run_target(&self) -> io::Result<RunTarget> {
        Ok(match self {
            Self::File(path) => FileVersion::at(path)?.map(FileVersion::id),
            Self::Folder(folder) => FileVersion::at(folder)?.map(FileVersion::id_of_folder),
        })
    }

    /// Makes what recorders need to be there: the folder. A file comes with the first
    /// compaction.
    ///
    /// # Errors
    /// A folder that cannot be made.
    pub(super) fn prepare(&self, disk: &Disk) -> io::Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Folder(folder) => disk.create_folder(folder),
        }
    }

    /// Refuses something that is neither a recording's file nor its folder.
    ///
    /// # Errors
    /// [`StoreError::NotAFile`]; `path` is its name for people.
    pub(super) fn refuse_other(&self, path: &Path) -> Result<(), StoreError> {
        match self {
            Self::File(at) if fs::metadata(at).is_ok_and(|metadata| !metadata.is_file()) => {
                Err(StoreError::NotAFile { path: path.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Removes whatever a killed process left. Only under the recording's lock.
    ///
    /// # Errors
    /// Storage that fails.
    pub(super) fn sweep(&self) -> io::Result<()> {
        match self {
            Self::File(path) => temporary_file::sweep(path),
            Self::Folder(folder) => {
                folder::sweep_all(folder)?;
                temporary_file::sweep(folder)
            }
        }
    }

    /// The names of the files that hold an entry each, sorted; none where all are in one.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub(super) fn file_names(&self) -> io::Result<Vec<OsString>> {
        match self {
            Self::File(_) => Ok(Vec::new()),
            Self::Folder(folder) => folder::names(folder),
        }
    }

    /// Removes what this version holds. Only under the recording's lock.
    ///
    /// # Errors
    /// Storage that fails.
    pub(super) fn remove(&self, version: &BaseVersion, disk: &Disk) -> io::Result<()> {
        match (self, version) {
            (_, BaseVersion::Nothing) => Ok(()),
            (Self::File(path) | Self::Folder(path), BaseVersion::File(_)) => disk.remove(path),
            (Self::File(path) | Self::Folder(path), BaseVersion::Folder(files)) => {
                files.iter().try_for_each(|(name, _)| disk.remove(&path.join(name)))?;
                // Other files that stand in it are not ours to remove.
                let _ = fs::remove_dir(path);
                Ok(())
            }
        }
    }
}
