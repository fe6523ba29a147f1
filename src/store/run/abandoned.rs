//! Logs that no live recorder holds.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::StoreError;
use crate::lock::{self, ExistingLock};
use crate::paths::RecordingPaths;
use crate::regular_file;
use crate::sidecars;
use loomrec_os::FileStatus;

/// How long to wait for the recording's lock.
const MOMENT: Duration = Duration::from_millis(500);

/// Returns a log that is not empty although no live recorder holds the recording; `None` if there
/// is none. Nothing is created or changed.
///
/// # Errors
/// Something beside the recording is not a file, or cannot be read.
pub(crate) fn abandoned_log(paths: &RecordingPaths) -> Result<Option<PathBuf>, StoreError> {
    if sidecars::left_log(paths)?.is_none() {
        return Ok(None);
    }
    // Under the recording's lock, a recorder that enters the run at this moment does not mistake
    // the reader for another recorder. Anyone who may read the lock's file can hold it, so it
    // proves nothing: only the run counts.
    let guard = match lock::acquire_existing(&paths.lock, MOMENT)? {
        ExistingLock::Acquired(guard) => Some(guard),
        ExistingLock::Held | ExistingLock::Missing => None,
    };
    let is_held =
        is_held(&paths.run).map_err(|source| StoreError::lock_failed(&paths.run, source))?;
    if is_held {
        return Ok(None);
    }
    // Its recorder may have ended meanwhile.
    let left = sidecars::left_log(paths);
    drop(guard);
    left
}

/// Whether a recorder of this user, or of a user whose files this user may read, holds the run. A
/// file that others may open, such as one that came with a repository, may be locked by anyone.
pub(crate) fn is_held(run: &Path) -> io::Result<bool> {
    let Some(file) = regular_file::open_to_read(run)? else { return Ok(false) };
    Ok(FileStatus::from_file(&file)?.is_private() && !lock::try_lock(&file)?)
}
