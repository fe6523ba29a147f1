//! The log that a recorder which has ended left beside a recording.

use std::path::Path;
use std::time::Duration;

use super::compaction::{CompactionResult, compact_log};
use super::disk::Disk;
use super::error::StoreError;
use super::lock::RecordingLock;
use super::paths::RecordingPaths;
use super::run::is_live;
use super::sidecars::{has_leftover, is_at};
use super::store_event::StoreEvent;

/// How long to wait for the lock when nothing depends on it.
const SHORT: Duration = Duration::from_secs(2);

/// Compacts what recorders that have ended left behind. Returns the events to report. `path` names
/// the recording in messages.
///
/// # Errors
/// As for [`super::compaction::run`].
pub(super) fn compact_abandoned(
    path: &Path,
    paths: &RecordingPaths,
    disk: &Disk,
) -> Result<Vec<StoreEvent>, StoreError> {
    if !has_leftover(paths)? {
        return Ok(Vec::new());
    }
    let failed = |source| StoreError::lock_failed(paths.lock.clone(), source);
    let found = is_at(&paths.lock)?;
    let mut lock = RecordingLock::new(&paths.lock, disk);
    let guard = match lock.acquire(SHORT) {
        // The holder of the lock is alive, and so is the log's recorder.
        Err(StoreError::Held { .. }) => return Ok(Vec::new()),
        guard => guard?,
    };
    let live = is_live(&paths.run).map_err(failed)?;
    drop(guard);
    if live {
        return Ok(Vec::new());
    }
    let done = compact_log(paths, disk, None, false, None);
    if !found {
        let guard = lock.acquire(SHORT)?;
        if !is_live(&paths.run).map_err(failed)? {
            lock.remove(guard).map_err(failed)?;
        }
    }
    let CompactionResult { compacted_entries, mut notes, .. } = done?;
    if compacted_entries > 0 {
        notes.push(StoreEvent::Compacted { path: path.to_owned(), entries: compacted_entries });
    }
    Ok(notes)
}

/// Compacts what an older loomrec left beside the recording, and removes its other files there, so
/// that the hidden folder is used from now on. A live recorder of an older loomrec keeps them.
/// Returns the events to report.
///
/// # Errors
/// As for [`compact_abandoned`].
pub(super) fn leave_old_place(
    path: &Path,
    paths: &RecordingPaths,
    disk: &Disk,
) -> Result<Vec<StoreEvent>, StoreError> {
    let notes = compact_abandoned(path, paths, disk)?;
    let failed = |source| StoreError::lock_failed(paths.lock.clone(), source);
    let mut lock = RecordingLock::new(&paths.lock, disk);
    let guard = match lock.acquire(SHORT) {
        Err(StoreError::Held { .. }) => return Ok(notes),
        guard => guard?,
    };
    if !is_live(&paths.run).map_err(failed)? && !has_leftover(paths)? {
        // The logs are empty.
        let files = [&paths.run, &paths.log, &paths.folding];
        files.into_iter().try_for_each(|file| disk.remove_if_there(file)).map_err(failed)?;
        lock.remove(guard).map_err(failed)?;
    }
    Ok(notes)
}
