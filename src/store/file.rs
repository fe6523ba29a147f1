//! Opens a recording's file, after a look at what it is.

use std::fs::File;
use std::io;
use std::path::Path;

use super::error::StoreError;

/// Recordings above this many bytes are refused.
pub(super) const SIZE_LIMIT: u64 = 4 * 1024 * 1024 * 1024;

/// The file, open for reading; `None` where there is none.
///
/// # Errors
/// A path that names something else, or a file that cannot be read or is too
/// large.
pub(super) fn open(path: &Path) -> Result<Option<File>, StoreError> {
    let failed = |source| StoreError::Read { path: path.to_owned(), source };
    // Looked at before it is opened: a pipe would never open.
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !metadata.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned() });
    }
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > SIZE_LIMIT {
        return Err(StoreError::TooLarge { path: path.to_owned(), bytes, limit: SIZE_LIMIT });
    }
    Ok(Some(file))
}
