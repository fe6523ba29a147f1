//! Checks of the files beside a recording, which change nothing.

use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::paths::RecordingPaths;
use super::regular_file;

/// Whether there is a log beside the recording.
///
/// # Errors
/// Something else is in a log's place.
pub(super) fn has_leftover(paths: &RecordingPaths) -> Result<bool, StoreError> {
    left_log(paths).map(|log| log.is_some())
}

/// Returns a log beside the recording that is not empty; the one that is being compacted comes
/// first.
///
/// # Errors
/// Something else is in a log's place.
pub(super) fn left_log(paths: &RecordingPaths) -> Result<Option<PathBuf>, StoreError> {
    let (mut left, logs) = (None, [&paths.folding, &paths.log]);
    for path in logs {
        let found =
            regular_file::look_at(path).map_err(|source| StoreError::read_failed(path, source))?;
        if left.is_none() && found.is_some_and(|status| status.length > 0) {
            left = Some(path.clone());
        }
    }
    Ok(left)
}

/// Whether there is a file at a path beside the recording.
///
/// # Errors
/// Something else is in its place.
pub(super) fn is_at(path: &Path) -> Result<bool, StoreError> {
    let found =
        regular_file::look_at(path).map_err(|source| StoreError::read_failed(path, source))?;
    Ok(found.is_some())
}
