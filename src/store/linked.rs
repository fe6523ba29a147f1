//! Recordings that are named by a symbolic link. The target of a link is changed only if it is a
//! recording already.

use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::reader::Recording;
use super::regular_file;

/// Rejects a link, unless its target holds an entry or says that it is a recording.
///
/// A link may have come with a repository: a file with other JSON in it may belong to
/// anyone.
///
/// # Errors
/// The link is rejected, or its target cannot be read.
pub(super) fn require_recording_behind_link(path: &Path) -> Result<(), StoreError> {
    let plain: PathBuf = path.components().collect();
    if !plain.is_symlink() {
        return Ok(());
    }
    let is_recording = match Recording::open_to_inspect(path) {
        Ok(recording) => recording.meta().is_loomrec() || recording.names().next().is_some(),
        Err(StoreError::Missing { .. }) => false,
        Err(error) => return Err(error),
    };
    if is_recording {
        return Ok(());
    }
    let looked_at = regular_file::look_at(&plain).map(drop);
    looked_at.map_err(|source| StoreError::write_failed(plain, source))
}
