//! What commands that look at files ask: which files a recording has, and how they are called.

use std::path::{Path, PathBuf};

use super::folder;
use crate::error::StoreError;
use crate::location::RecordingLocation;
use crate::paths::RecordingPaths;
use crate::reader::paths_of;

/// Whether a path names a recording that is a folder, or is to be one.
pub fn is_folder(location: &RecordingLocation) -> bool {
    RecordingPaths::of(location.as_path()).is_ok_and(|paths| paths.backend.is_folder())
}

/// The files of a recording that is a folder, by name, whatever is wrong with them;
/// `None` where it is one file.
///
/// # Errors
/// A folder that cannot be read, or has no entries.
pub fn files(location: impl Into<RecordingLocation>) -> Result<Option<Vec<PathBuf>>, StoreError> {
    let location = location.into();
    let path = location.as_path();
    let paths = paths_of(path)?;
    if !paths.backend.is_folder() {
        return Ok(None);
    }
    let names = paths.backend.file_names();
    let names = names.map_err(|source| StoreError::read(path.to_owned(), source))?;
    if names.is_empty() {
        return Err(StoreError::Missing { path: path.to_owned() });
    }
    Ok(Some(names.iter().map(|name| path.join(name)).collect()))
}

/// What a file in a recording's folder that holds a key would be called, where it is not
/// called so.
pub fn misnamed(file: &Path, key: &str) -> Option<String> {
    let fits = file.file_name().is_some_and(|name| folder::name::fits(name, key));
    (!fits).then(|| folder::name::of_key(key))
}
