//! The version of a file. It changes when the file is replaced or changed.

use std::fs::File;
use std::io;
use std::path::Path;

use loomrec_os::{FileId, FileStatus};

/// A file as it was at one time. If this differs, it has been replaced or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileVersion {
    file: FileId,
    /// Its length in bytes.
    pub(super) length: u64,
    modified: i128,
}

impl FileVersion {
    /// Returns the version of an open file.
    pub(super) fn from_file(file: &File) -> io::Result<Self> {
        FileStatus::from_file(file).map(|status| Self::from_status(&status))
    }

    /// Returns the version of the file at a path, or `None` if there is no file.
    pub(super) fn at_path(path: &Path) -> io::Result<Option<Self>> {
        Ok(FileStatus::at_path(path)?.map(|status| Self::from_status(&status)))
    }

    /// Returns what identifies the file, together with its length. Both stay the same when it is
    /// renamed, on any file system.
    pub(super) fn file_id(self) -> (u64, u64) {
        (self.file.inode, self.length)
    }

    /// Returns the version from a file's status.
    pub(super) fn from_status(status: &FileStatus) -> Self {
        Self { file: status.id, length: status.length, modified: status.modified }
    }
}
