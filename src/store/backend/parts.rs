//! The files of a recording and their names, for commands that inspect them.

use std::path::{Path, PathBuf};

use super::folder;
use crate::error::StoreError;
use crate::location::RecordingLocation;
use crate::paths::RecordingPaths;
use crate::reader::paths_of;

/// Whether a location names a recording that is a folder, or will be one.
pub fn is_folder(location: &RecordingLocation) -> bool {
    RecordingPaths::of(location.as_path()).is_ok_and(|paths| paths.backend.is_folder())
}

/// Whether a location, named without a slash at its end, is a folder that holds something else than
/// a recording. Names that begin with a dot do not count.
pub fn is_other_folder(location: &RecordingLocation) -> bool {
    let path = location.as_path();
    let has_slash = path.as_os_str().as_encoded_bytes().ends_with(b"/");
    !has_slash && path.is_dir() && folder::holds_files(path) && !folder::holds_recording(path)
}

/// Returns the files of a recording that is a folder, by name, whatever is wrong with them; `None`
/// if it is one file.
///
/// # Errors
/// The folder cannot be read, or has no entries.
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

/// Returns the name that a file in a recording's folder with this key should have; `None` if it has
/// a name of the key.
pub fn misnamed(file: &Path, key: &str) -> Option<String> {
    let fits = file.file_name().is_some_and(|name| folder::name::fits(name, key));
    (!fits).then(|| folder::name::of_key(key))
}
