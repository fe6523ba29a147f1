//! Input files that a flag or a setting names: what may be read, and how much of it.

use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal as _, Read as _};
use std::path::Path;

use crate::{FileKind, FileStatus};

/// The device that is always empty.
const EMPTY: &str = "/dev/null";

/// Opens a file that is read to its end: a regular file, or a pipe or a terminal that the user
/// named. Links are followed.
///
/// # Errors
/// [`ErrorKind::InvalidInput`] for a folder, a socket or a device, whose bytes may never end, or the
/// error of opening it.
pub fn open_input(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    let status = FileStatus::from_file(&file)?;
    let kind = match status.kind {
        FileKind::Regular | FileKind::Pipe | FileKind::SymbolicLink => return Ok(file),
        FileKind::Device if is_empty(&status) || file.is_terminal() => return Ok(file),
        FileKind::Device => "a device",
        FileKind::Directory => "a folder",
        FileKind::Socket => "a socket",
    };
    Err(io::Error::new(ErrorKind::InvalidInput, format!("it is {kind}, and not a file")))
}

/// Reads a whole file, as [`open_input`] opens it.
///
/// # Errors
/// Those of [`open_input`]; [`ErrorKind::FileTooLarge`] for a file of more than `limit` bytes.
pub fn read_input(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = open_input(path)?;
    let mut bytes = Vec::new();
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > limit {
        false => Ok(bytes),
        true => Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {limit} bytes, which is the most that is read"),
        )),
    }
}

/// Whether this is the device that is always empty.
fn is_empty(status: &FileStatus) -> bool {
    let empty = FileStatus::at_target(Path::new(EMPTY)).ok().flatten();
    empty.is_some_and(|empty| empty.id == status.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_read_within_its_limit_and_endless_ones_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "four").unwrap();
        std::os::unix::fs::symlink("file", dir.path().join("link")).unwrap();
        assert_eq!(read_input(&path, 4).unwrap(), b"four");
        assert_eq!(read_input(&dir.path().join("link"), 4).unwrap(), b"four");
        assert_eq!(read_input(&path, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert_eq!(read_input(Path::new(EMPTY), 0).unwrap(), b"");
        for place in [Path::new("/dev/zero"), Path::new("/dev/urandom"), dir.path()] {
            let error = read_input(place, u64::MAX).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{}", place.display());
        }
        let missing = read_input(&dir.path().join("none"), 4).unwrap_err();
        assert_eq!(missing.kind(), ErrorKind::NotFound);
    }
}
