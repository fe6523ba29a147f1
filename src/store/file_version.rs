//! The version of a file: it differs once the file is replaced or changed.

use std::fs::File;
use std::io;
use std::path::Path;

use loomrec_os::{FileId, FileStatus};

/// A file as it was at one time: it has been replaced or changed when this differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileVersion {
    file: FileId,
    /// Its bytes.
    pub(super) length: u64,
    modified: i128,
}

impl FileVersion {
    /// An open file as it is now.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        FileStatus::from_file(file).map(|status| Self::from_status(&status))
    }

    /// The file at a path as it is now; `None` where there is none.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        Ok(FileStatus::at_path(path)?.map(|status| Self::from_status(&status)))
    }

    /// Which file it is, and how long: what stays when it is renamed, on whatever file
    /// system.
    pub(super) fn id(self) -> (u64, u64) {
        (self.file.inode, self.length)
    }

    /// Which folder it is, whatever files come into it.
    pub(super) fn id_of_folder(self) -> (u64, u64) {
        (self.file.inode, 0)
    }

    /// What a look at a file found.
    pub(super) fn from_status(status: &FileStatus) -> Self {
        Self { file: status.id, length: status.length, modified: status.modified }
    }
}
