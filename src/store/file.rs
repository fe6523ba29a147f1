//! The opening of a recording's file, after a check of what it is.

use std::fs::File;
use std::io;
use std::path::Path;

use super::error::StoreError;
use super::regular_file;

/// Larger recordings are rejected.
pub(super) const SIZE_LIMIT: u64 = 4 * 1024 * 1024 * 1024;

/// Opens the file for reading. Returns `None` if it does not exist.
///
/// # Errors
/// The path names something else, or the file cannot be read or is too large.
pub(super) fn open_if_there(path: &Path) -> Result<Option<File>, StoreError> {
    if regular_file::is_sidecar_name(path) {
        return open_beside(path);
    }
    let failed = |source| StoreError::read_failed(path.to_owned(), source);
    // Checked before it is opened, because opening a pipe would block.
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if metadata.is_dir() {
        return Err(StoreError::IsFolder { path: path.to_owned() });
    }
    if !metadata.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned() });
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    check_size(path, file).map(Some)
}

/// Opens a file beside a recording for reading. Returns `None` if it does not exist.
fn open_beside(path: &Path) -> Result<Option<File>, StoreError> {
    let opened =
        regular_file::open_to_read(path).map_err(|source| StoreError::read_failed(path, source))?;
    opened.map(|file| check_size(path, file)).transpose()
}

fn check_size(path: &Path, file: File) -> Result<File, StoreError> {
    let bytes = file.metadata().map_err(|source| StoreError::read_failed(path, source))?.len();
    if bytes > SIZE_LIMIT {
        return Err(StoreError::TooLarge { path: path.to_owned(), bytes, limit: SIZE_LIMIT });
    }
    Ok(file)
}
