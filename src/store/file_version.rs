//! The version of a file: it differs once the file is replaced or changed.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

/// A file as it was at one time: it has been replaced or changed when this differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FileVersion {
    device: u64,
    inode: u64,
    /// Its bytes.
    pub(super) length: u64,
    seconds: i64,
    nanoseconds: i64,
}

impl FileVersion {
    /// An open file as it is now.
    pub(super) fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::read(&metadata))
    }

    /// The file at a path as it is now; `None` where there is none.
    pub(super) fn at(path: &Path) -> io::Result<Option<Self>> {
        match fs::symlink_metadata(path) {
            Ok(metadata) => Ok(Some(Self::read(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Which file it is, and how long: what stays when it is renamed, on whatever file
    /// system.
    pub(super) fn id(self) -> (u64, u64) {
        (self.inode, self.length)
    }

    /// Which folder it is, whatever files come into it.
    pub(super) fn id_of_folder(self) -> (u64, u64) {
        (self.inode, 0)
    }

    /// What a look at a file tells.
    pub(super) fn read(metadata: &fs::Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            seconds: metadata.mtime(),
            nanoseconds: metadata.mtime_nsec(),
        }
    }
}
