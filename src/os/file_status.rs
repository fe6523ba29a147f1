//! The status of a file: its identity, its kind, length, permissions and age.

use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;

/// The permission bits that let others than the owner read or write a file.
const OTHERS: u32 = 0o066;

/// All permission bits of others than the owner.
const ALL_OTHERS: u32 = 0o077;

/// The identity of a file, whatever its names are. Equal ids mean the same file, as long as it
/// exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId {
    /// The device that holds it.
    pub device: u64,
    /// Its number on the device.
    pub inode: u64,
}

/// The status of a file at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileStatus {
    /// The identity of the file.
    pub id: FileId,
    /// What kind of file it is.
    pub kind: FileKind,
    /// Its length in bytes.
    pub length: u64,
    /// How many names (hard links) it has; 0 once it is deleted.
    pub names: u64,
    /// Its permissions, as in `0o600`.
    pub mode: u32,
    /// The number of the user that owns it.
    pub owner: u32,
    /// When its bytes last changed, in nanoseconds since 1970. Its owner can set this time.
    pub modified: i128,
    /// When its bytes or its status last changed, in nanoseconds since 1970. Nobody can set this
    /// time but by the system's clock.
    pub changed: i128,
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
    /// A device, or an unknown kind.
    Device,
}

impl FileId {
    /// Returns the identity of an open file.
    ///
    /// # Errors
    /// If the system returns no status for the file.
    pub fn from_file(file: &File) -> io::Result<Self> {
        FileStatus::from_file(file).map(|status| status.id)
    }

    /// Returns the identity of the file at a path, `None` if there is none. A symbolic link is not
    /// followed.
    ///
    /// # Errors
    /// If the path cannot be examined.
    pub fn at_path(path: &Path) -> io::Result<Option<Self>> {
        Ok(FileStatus::at_path(path)?.map(|status| status.id))
    }
}

impl FileStatus {
    /// Returns the status of an open file.
    ///
    /// # Errors
    /// If the system returns no status for the file.
    pub fn from_file(file: &File) -> io::Result<Self> {
        file.metadata().map(|metadata| Self::from_metadata(&metadata))
    }

    /// Returns the status of the file at a path, `None` if there is none. A symbolic link is not
    /// followed.
    ///
    /// # Errors
    /// If the path cannot be examined.
    pub fn at_path(path: &Path) -> io::Result<Option<Self>> {
        Self::found(fs::symlink_metadata(path))
    }

    /// Returns the status of the file at a path, as [`Self::at_path`] does, but follows symbolic
    /// links.
    ///
    /// # Errors
    /// If the path cannot be examined.
    pub fn at_target(path: &Path) -> io::Result<Option<Self>> {
        Self::found(fs::metadata(path))
    }

    /// Whether only its owner may read or write it.
    pub fn is_private(&self) -> bool {
        self.mode & OTHERS == 0
    }

    /// Whether only its owner may use it, and its owner is the user of this process.
    pub fn is_private_of_user(&self) -> bool {
        self.owner == rustix::process::geteuid().as_raw() && self.mode & ALL_OTHERS == 0
    }

    fn found(looked: io::Result<Metadata>) -> io::Result<Option<Self>> {
        match looked {
            Ok(metadata) => Ok(Some(Self::from_metadata(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn from_metadata(metadata: &Metadata) -> Self {
        let time =
            |seconds: i64, nanos: i64| i128::from(seconds) * 1_000_000_000 + i128::from(nanos);
        Self {
            id: FileId { device: metadata.dev(), inode: metadata.ino() },
            kind: FileKind::from_type(metadata.file_type()),
            length: metadata.len(),
            names: metadata.nlink(),
            mode: metadata.mode() & 0o777,
            owner: metadata.uid(),
            modified: time(metadata.mtime(), metadata.mtime_nsec()),
            changed: time(metadata.ctime(), metadata.ctime_nsec()),
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
            assert_eq!(status.is_private_of_user(), mode & 0o077 == 0, "{mode:o}");
        }
        let kind = |path: &Path| FileStatus::at_path(path).unwrap().unwrap().kind;
        assert_eq!(kind(dir.path()), FileKind::Directory);
        assert_eq!(kind(Path::new("/dev/null")), FileKind::Device);
    }
}
