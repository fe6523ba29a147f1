//! The log that a recorder which is gone has left beside a recording.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::disk::Disk;
use super::error::StoreError;
use super::fold::{Folded, fold};
use super::lock::Lock;
use super::note::Note;
use super::paths::Paths;
use super::regular_file;
use super::run::is_live;

/// How long the lock is waited for where nothing depends on it.
const SHORT: Duration = Duration::from_secs(2);

/// Folds what recorders that are gone have left behind; gives what is to be told
/// of it. `path` is the recording's name for people.
///
/// # Errors
/// As [`run`].
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

/// Whether a log stands beside the recording.
///
/// # Errors
/// Something else in a log's place.
pub(super) fn has_leftover(paths: &Paths) -> Result<bool, StoreError> {
    left_log(paths).map(|log| log.is_some())
}

/// A log beside the recording that holds something: the one that is being folded first.
///
/// # Errors
/// Something else in a log's place.
pub(super) fn left_log(paths: &Paths) -> Result<Option<PathBuf>, StoreError> {
    let (mut left, logs) = (None, [&paths.folding, &paths.log]);
    for path in logs {
        let found = regular_file::look_at(path).map_err(|source| StoreError::read(path, source))?;
        if left.is_none() && found.is_some_and(|metadata| metadata.len() > 0) {
            left = Some(path.clone());
        }
    }
    Ok(left)
}

/// Whether a file stands at a path beside the recording.
///
/// # Errors
/// Something else in its place.
pub(super) fn is_at(path: &Path) -> Result<bool, StoreError> {
    let found = regular_file::look_at(path).map_err(|source| StoreError::read(path, source))?;
    Ok(found.is_some())
}
