//! The status of a file: which one it is, of what kind, and how it is now.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// Those who may read or write a file beside its owner.
const OTHERS: u32 = 0o066;

/// Which file it is, whatever it is called. Equal ids mean the same file, as long as it
/// exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// The device that it is on.
    pub device: u64,
    /// Its number there.
    pub inode: u64,
}

/// A file as one look at it finds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// Which file it is.
    pub id: FileId,
    /// What kind of file it is.
    pub kind: FileKind,
    /// Its length in bytes.
    pub length: u64,
    /// How many names it has (hard links): 0 once it is deleted.
    pub names: u64,
    /// Its permissions, as in `0o600`.
    pub mode: u32,
    /// When its bytes were last changed, in nanoseconds since 1970.
    pub modified: i128,
}

/// What kinds of files there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A file that holds bytes.
    Regular,
    /// A directory.
    Directory,
    /// A symbolic link.
    SymbolicLink,
    /// A named pipe, or the end of an unnamed one.
    Pipe,
    /// A socket.
    Socket,
    /// A device, or a kind that is not known.
    Device,
}

impl FileId {
    /// Returns which file is open.
    ///
    /// # Errors
    /// A file that the system says nothing about.
    pub fn from_file(file: &File) -> io::Result<Self> {
        FileStatus::from_file(file).map(|status| status.id)
    }

    /// Returns which file a path names, `None` where nothing is there. A symbolic link is not
    /// followed.
    ///
    /// # Errors
    /// A path that cannot be looked at.
    pub fn at_path(path: &Path) -> io::Result<Option<Self>> {
        Ok(FileStatus::at_path(path)?.map(|status| status.id))
    }
}

impl FileStatus {
    /// Looks at an open file.
    ///
    /// # Errors
    /// A file that the system says nothing about.
    pub fn from_file(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from_metadata(&metadata))
    }

    /// Looks at a path; `None` where nothing is there. A symbolic link is not followed.
    ///
    /// # Errors
    /// A path that cannot be looked at.
    pub fn at_path(path: &Path) -> io::Result<Option<Self>> {
        Self::found(fs::symlink_metadata(path))
    }

    /// Looks at a path, as [`Self::at_path`] does, and follows symbolic links.
    ///
    /// # Errors
    /// A path that cannot be looked at.
    pub fn at_target(path: &Path) -> io::Result<Option<Self>> {
        Self::found(fs::metadata(path))
    }

    /// Whether nobody but its owner may read or write it.
    pub fn is_private(&self) -> bool {
        self.mode & OTHERS == 0
    }

    fn found(looked: io::Result<Metadata>) -> io::Result<Option<Self>> {
        match looked {
            Ok(metadata) => Ok(Some(Self::from_metadata(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        let seconds = i128::from(metadata.mtime());
        Self {
            id: FileId { device: metadata.dev(), inode: metadata.ino() },
            kind: FileKind::from_type(metadata.file_type()),
            length: metadata.len(),
            names: metadata.nlink(),
            mode: metadata.mode() & 0o777,
            modified: seconds * 1_000_000_000 + i128::from(metadata.mtime_nsec()),
        }
    }
}

impl FileKind {
    fn from_type(kind: fs::FileType) -> Self {
        match kind {
            _ if kind.is_file() => Self::Regular,
            _ if kind.is_symlink() => Self::SymbolicLink,
            _ if kind.is_dir() => Self::Directory,
            _ if kind.is_fifo() => Self::Pipe,
            _ if kind.is_socket() => Self::Socket,
            _ => Self::Device,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_the_same_under_each_of_its_names() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        let file = File::create(at("one")).unwrap();
        fs::hard_link(at("one"), at("two")).unwrap();
        fs::rename(at("one"), at("three")).unwrap();
        std::os::unix::fs::symlink("two", at("link")).unwrap();
        let id = FileId::from_file(&file).unwrap();
        for name in ["two", "three"] {
            assert_eq!(FileId::at_path(&at(name)).unwrap(), Some(id), "{name}");
        }
        assert_eq!(FileId::at_path(&at("one")).unwrap(), None);
        assert_ne!(FileId::at_path(&at("link")).unwrap(), Some(id));
        assert_eq!(FileStatus::at_target(&at("link")).unwrap().unwrap().id, id);
        assert_eq!(FileStatus::from_file(&file).unwrap().names, 2);
    }

    #[test]
    fn a_status_says_what_is_there_and_who_may_use_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        fs::write(&path, "four").unwrap();
        let file = File::open(&path).unwrap();
        for (mode, is_private) in [(0o600, true), (0o640, false), (0o711, true), (0o602, false)] {
            crate::set_mode(&file, mode).unwrap();
            let status = FileStatus::at_path(&path).unwrap().unwrap();
            assert_eq!((status.mode, status.is_private()), (mode, is_private));
            assert_eq!((status.kind, status.length), (FileKind::Regular, 4));
        }
        let kind = |path: &Path| FileStatus::at_path(path).unwrap().unwrap().kind;
        assert_eq!(kind(dir.path()), FileKind::Directory);
        assert_eq!(kind(Path::new("/dev/null")), FileKind::Device);
    }
}
