//! The back-ends of recordings, which keep the entries: a file or a folder.
//!
//! This is the seam between what a recording is (a snapshot of entries, a log of what was appended,
//! changes that replace it) and where it is. The log, the lock and the run are beside the recording
//! and are the same for both back-ends. Nothing outside this module asks which back-end a recording
//! has. The writing half is in [`stage`].

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

/// The place that keeps the entries of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StoreBackend {
    /// One file.
    File(PathBuf),
    /// A folder with a file for each entry.
    Folder(PathBuf),
}

impl StoreBackend {
    /// Returns the back-end of the recording at `target`: a folder if one is there, or if nothing
    /// is there and the name ends in a slash.
    ///
    /// # Errors
    /// A file is there, but the name ends in a slash.
    pub(super) fn at(target: &Path, has_slash: bool) -> io::Result<Self> {
        let is_missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
        match fs::metadata(target) {
            Ok(metadata) if metadata.is_dir() => Ok(Self::Folder(target.to_owned())),
            Ok(_) if has_slash => Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if has_slash && is_missing(&error) => Ok(Self::Folder(target.to_owned())),
            _ => Ok(Self::File(target.to_owned())),
        }
    }

    /// Whether the recording is a folder. For outputs that must be one file.
    pub(super) fn is_folder(&self) -> bool {
        matches!(self, Self::Folder(_))
    }

    /// Opens the recording without its log. A folder is read in full. `path` names the recording in
    /// messages.
    ///
    /// # Errors
    /// Something else is there, or it cannot be read or used.
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

    /// Returns the snapshot that a new recording replaces: for a folder each file that is replaced,
    /// for a file nothing.
    ///
    /// # Errors
    /// As for [`Self::snapshot`].
    pub(super) fn replaced_snapshot(&self, path: &Path) -> Result<BaseSnapshot, StoreError> {
        match self {
            Self::File(_) => Ok(BaseSnapshot::Nothing),
            Self::Folder(_) => self.snapshot(path),
        }
    }

    /// Returns the version that is there now.
    ///
    /// # Errors
    /// The status of a file or folder cannot be read.
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

    /// Returns which file or folder is there now, as a run notes it.
    ///
    /// # Errors
    /// The status of a path cannot be read.
    pub(super) fn run_target(&self) -> io::Result<RunTarget> {
        Ok(match self {
            Self::File(path) => FileVersion::at(path)?.map(FileVersion::id),
            Self::Folder(folder) => FileVersion::at(folder)?.map(FileVersion::id_of_folder),
        })
    }

    /// Creates what recorders need, which is the folder. A file is created by the first compaction.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub(super) fn prepare(&self, disk: &Disk) -> io::Result<()> {
        match self {
            Self::File(_) => Ok(()),
            Self::Folder(folder) => disk.create_folder(folder),
        }
    }

    /// Rejects a path that is neither a recording's file nor its folder.
    ///
    /// # Errors
    /// [`StoreError::NotAFile`]; `path` is the name in the message.
    pub(super) fn refuse_other(&self, path: &Path) -> Result<(), StoreError> {
        match self {
            Self::File(at) if fs::metadata(at).is_ok_and(|metadata| !metadata.is_file()) => {
                Err(StoreError::NotAFile { path: path.to_owned() })
            }
            _ => Ok(()),
        }
    }

    /// Removes everything that a killed process left, also in the recording's hidden folder
    /// (`state`). Only under the recording's lock, and only while no compaction is running.
    ///
    /// # Errors
    /// The storage fails.
    pub(super) fn sweep(&self, state: &Path) -> io::Result<()> {
        match self {
            Self::File(path) => temporary_file::sweep(state, path),
            Self::Folder(folder) => {
                folder::sweep_all(folder)?;
                temporary_file::sweep(state, folder)
            }
        }
    }

    /// Returns the sorted names of the files that hold one entry each; none if one file holds all.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub(super) fn file_names(&self) -> io::Result<Vec<OsString>> {
        match self {
            Self::File(_) => Ok(Vec::new()),
            Self::Folder(folder) => folder::names(folder),
        }
    }

    /// Removes the files of this version. Only under the recording's lock.
    ///
    /// # Errors
    /// The storage fails.
    pub(super) fn remove(&self, version: &BaseVersion, disk: &Disk) -> io::Result<()> {
        match (self, version) {
            (_, BaseVersion::Nothing) => Ok(()),
            (Self::File(path) | Self::Folder(path), BaseVersion::File(_)) => disk.remove(path),
            (Self::File(path) | Self::Folder(path), BaseVersion::Folder(files)) => {
                files.iter().try_for_each(|(name, _)| disk.remove(&path.join(name)))?;
                // Other files in the folder are not loomrec's to remove.
                let _ = fs::remove_dir(path);
                Ok(())
            }
        }
    }
}
