//! Regular files, opened without following links.
//!
//! A file beside a recording may have come with a repository or from another user. A link there
//! would make loomrec read, empty or overwrite a file elsewhere, and a named pipe would block it. So
//! each such file is opened here: the last part of its path is never followed, opening never waits,
//! and the open file must be a regular one with a single name.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use loomrec_os::{FileKind, FileStatus};

/// The end of every temporary file's name.
pub(super) const TEMPORARY: &str = ".loomrec-tmp";

/// The endings of the names of the files that loomrec keeps beside a recording.
const ENDINGS: [&str; 9] =
    [".log", ".folding", ".lock", ".run", ".new", ".pending", ".unfinished", ".session", TEMPORARY];

/// The error of a path that names something other than a regular file with one name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{} is {kind}", path.display())]
pub struct UnsafeFileError {
    /// The path.
    pub path: PathBuf,
    /// What it names.
    pub kind: UnsafeKind,
}

/// What is in the place of a regular file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnsafeKind {
    /// A symbolic link, and where it leads.
    #[error("a symbolic link to {}", to.display())]
    SymbolicLink {
        /// The text of the link.
        to: PathBuf,
    },
    /// A file with further names elsewhere.
    #[error("a file with {names} names (hard links)")]
    HardLink {
        /// The number of its names.
        names: u64,
    },
    /// A regular file, where a folder has to be.
    #[error("a regular file")]
    RegularFile,
    /// A directory.
    #[error("a directory")]
    Directory,
    /// A named pipe.
    #[error("a named pipe")]
    Pipe,
    /// A socket.
    #[error("a socket")]
    Socket,
    /// A device.
    #[error("a device")]
    Device,
}

impl UnsafeKind {
    /// Whether it leads to a file that has another name.
    pub(super) fn is_link(&self) -> bool {
        matches!(self, Self::SymbolicLink { .. } | Self::HardLink { .. })
    }
}

impl UnsafeFileError {
    /// Returns the error within an I/O error, if it is one of these.
    pub(super) fn find_in_error(error: &io::Error) -> Option<&Self> {
        error.get_ref().and_then(|inner| inner.downcast_ref())
    }

    /// Returns what is wrong with the file of this status; `None` for a regular file with one name.
    fn from_status(path: &Path, status: &FileStatus) -> Option<Self> {
        match status.kind {
            // A file that was removed since it was opened has no name.
            FileKind::Regular if status.names <= 1 => None,
            FileKind::Regular => {
                let kind = UnsafeKind::HardLink { names: status.names };
                Some(Self { path: path.to_owned(), kind })
            }
            _ => Some(Self::in_place_of_folder(path, status)),
        }
    }

    /// Returns the error for a file of this status that is where a folder has to be.
    pub(super) fn in_place_of_folder(path: &Path, status: &FileStatus) -> Self {
        let kind = match status.kind {
            FileKind::Regular => UnsafeKind::RegularFile,
            FileKind::SymbolicLink => {
                UnsafeKind::SymbolicLink { to: fs::read_link(path).unwrap_or_default() }
            }
            FileKind::Directory => UnsafeKind::Directory,
            FileKind::Pipe => UnsafeKind::Pipe,
            FileKind::Socket => UnsafeKind::Socket,
            FileKind::Device => UnsafeKind::Device,
        };
        Self { path: path.to_owned(), kind }
    }
}

impl From<UnsafeFileError> for io::Error {
    fn from(error: UnsafeFileError) -> Self {
        Self::other(error)
    }
}

/// Checks the status of the file at a path.
///
/// # Errors
/// [`UnsafeFileError`] for anything but a regular file with one name.
pub(super) fn check_file(path: &Path, status: &FileStatus) -> io::Result<()> {
    UnsafeFileError::from_status(path, status).map_or(Ok(()), |error| Err(error.into()))
}

/// Returns the status of the file at a path, or `None` if there is no file.
///
/// # Errors
/// [`UnsafeFileError`] for anything but a regular file with one name.
pub(super) fn look_at(path: &Path) -> io::Result<Option<FileStatus>> {
    let found = FileStatus::at_path(path)?;
    found.map_or(Ok(()), |status| check_file(path, &status))?;
    Ok(found)
}

/// Opens a file with these options, which must not truncate it.
///
/// # Errors
/// [`UnsafeFileError`] for anything but a regular file with one name, or the error of opening it.
pub(super) fn open_checked(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    // A device may act on being opened, so it is rejected before that.
    look_at(path)?;
    let file = match loomrec_os::refuse_links_and_waits(options).open(path) {
        Ok(file) => file,
        Err(error) => {
            // Something else may have taken its place meanwhile.
            look_at(path)?;
            return Err(error);
        }
    };
    check_file(path, &FileStatus::from_file(&file)?)?;
    Ok(file)
}

/// Opens a file for reading. Returns `None` if it does not exist.
///
/// # Errors
/// As for [`open_checked`].
pub(super) fn open_to_read(path: &Path) -> io::Result<Option<File>> {
    open_existing(path, OpenOptions::new().read(true))
}

/// Opens a file with these options. Returns `None` if it does not exist.
///
/// # Errors
/// As for [`open_checked`].
pub(super) fn open_existing(path: &Path, options: &mut OpenOptions) -> io::Result<Option<File>> {
    match open_checked(path, options) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes a file, a link or the like from a temporary file's place. It is no error if there is
/// nothing.
///
/// # Errors
/// [`UnsafeFileError`] for a directory, or the file cannot be removed.
pub(super) fn remove_temporary(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) if path.is_dir() && !path.is_symlink() => {
            look_at(path)?;
            Err(error)
        }
        done => done,
    }
}

/// Whether a file has a name of the files that loomrec keeps beside a recording.
pub(super) fn is_sidecar_name(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    ENDINGS.iter().any(|ending| name.ends_with(ending)) || name.contains(".log.torn-")
}

/// Opens a file that a user named for output, to be written from its beginning. It is created with
/// `mode`, and its contents stay until the caller empties it. A device or a pipe is opened as it
/// is: `/dev/stdout` and the like are links that the system keeps, and are followed.
///
/// # Errors
/// [`UnsafeFileError`] for a symbolic link elsewhere and for a file with several names, or the
/// error of opening it.
pub fn open_output(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false);
    loomrec_os::set_creation_mode(&mut options, mode);
    if !is_kept_by_system(path) {
        loomrec_os::refuse_links(&mut options);
    }
    let refuse = |status: &FileStatus| match UnsafeFileError::from_status(path, status) {
        Some(error) if error.kind.is_link() => Err(io::Error::from(error)),
        _ => Ok(()),
    };
    let file = match options.open(path) {
        Ok(file) => file,
        Err(error) => {
            let found = FileStatus::at_path(path).ok().flatten();
            found.map_or(Ok(()), |found| refuse(&found))?;
            return Err(error);
        }
    };
    refuse(&FileStatus::from_file(&file)?)?;
    Ok(file)
}

/// Whether a path is where only the system makes links: `/dev/stdout`, `/dev/fd/63`.
fn is_kept_by_system(path: &Path) -> bool {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    fs::canonicalize(folder.unwrap_or(Path::new(".")))
        .is_ok_and(|folder| folder == Path::new("/dev") || folder.starts_with("/proc"))
}

#[cfg(test)]
#[path = "regular_file_tests.rs"]
mod tests;
