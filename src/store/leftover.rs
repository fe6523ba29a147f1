//! The log that a recorder which is gone has left beside a recording.

use std::path::Path;
use std::time::Duration;

use super::beside::{has_leftover, is_at};
use super::disk::Disk;
use super::error::StoreError;
use super::fold::{Folded, fold};
use super::lock::Lock;
use super::note::Note;
use super::paths::Paths;
use super::run::is_live;

/// How long the lock is waited for where nothing depends on it.
const SHORT: Duration = Duration::from_secs(2);

/// Folds what recorders that are gone have left behind; gives what is to be told
/// of it. `path` is the recording's name for people.
///
/// # Errors
/// As [`super::fold::run`].
pub(super) fn merge(path: &Path, paths: &Paths, disk: &Disk) -> Result<Vec<Note>, StoreError> {
    if !has_leftover(paths)? {
        return Ok(Vec::new());
    }
    let failed = |source| StoreError::lock(paths.lock.clone(), source);
    let found = is_at(&paths.lock)?;
    let mut lock = Lock::new(&paths.lock, disk);
    let guard = match lock.acquire(SHORT) {
        // Whoever holds it is alive, and so is the log's recorder.
        Err(StoreError::Held { .. }) => return Ok(Vec::new()),
        guard => guard?,
    };
    let live = is_live(&paths.run).map_err(failed)?;
    drop(guard);
    if live {
        return Ok(Vec::new());
    }
    let done = fold(paths, disk, None, false, None);
    if !found {
        let guard = lock.acquire(SHORT)?;
        if !is_live(&paths.run).map_err(failed)? {
            lock.remove(guard).map_err(failed)?;
        }
    }
    let Folded { folded, mut notes, .. } = done?;
    if folded > 0 {
        notes.push(Note::Folded { path: path.to_owned(), entries: folded });
    }
    Ok(notes)
}
