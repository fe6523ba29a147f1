//! The lease of a recording by a session that records it anew. At most one session of one process
//! holds it, from its beginning to its end.
//!
//! It is a lock on the sidecar `FILE.session`, which a crash releases.

use std::path::PathBuf;
use std::time::Duration;

use super::disk::Disk;
use super::error::StoreError;
use super::location::RecordingLocation;
use super::lock::{self, ExistingLock, LockGuard, RecordingLock};
use super::paths::RecordingPaths;
use super::run;

/// The lease of a recording. Dropping it ends the lease.
#[derive(Debug)]
pub struct SessionLease {
    lock: RecordingLock,
    /// Taken when the lease ends.
    guard: Option<LockGuard>,
}

impl SessionLease {
    /// Leases a recording, which need not exist.
    ///
    /// # Errors
    /// [`StoreError::Leased`] if another session holds the lease, [`StoreError::Busy`] if a recorder
    /// writes into the recording itself, or something else is in the place of a file beside it.
    pub fn acquire(place: &RecordingLocation) -> Result<Self, StoreError> {
        let paths = paths_of(place)?;
        let mut lock = RecordingLock::new(&paths.session, &Disk::real());
        let guard = lock.acquire(Duration::ZERO).map_err(|error| lease_error(&paths, error))?;
        let lease = Self { lock, guard: Some(guard) };
        let is_recorded = run::is_held(&paths.run);
        match is_recorded.map_err(|source| StoreError::lock_failed(paths.run.clone(), source))? {
            true => Err(StoreError::Busy { path: paths.target }),
            false => Ok(lease),
        }
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        if let Some(guard) = self.guard.take() {
            // A file that stays is not locked any more.
            let _ = self.lock.remove(guard);
        }
    }
}

/// Refuses a recording that a session has leased, for recorders that write into it directly.
///
/// # Errors
/// [`StoreError::Leased`], or the file of the lease cannot be read.
pub fn refuse_leased(place: &RecordingLocation) -> Result<(), StoreError> {
    let paths = paths_of(place)?;
    match lock::acquire_existing(&paths.session, Duration::ZERO)? {
        ExistingLock::Missing | ExistingLock::Acquired(_) => Ok(()),
        ExistingLock::Held => {
            let holder = lock::read_holder(&paths.session);
            Err(StoreError::Leased { path: paths.target, holder })
        }
    }
}

/// Turns the error for a lock that is held into that for a lease.
fn lease_error(paths: &RecordingPaths, error: StoreError) -> StoreError {
    match error {
        StoreError::Held { holder, .. } => {
            StoreError::Leased { path: paths.target.clone(), holder }
        }
        other => other,
    }
}

fn paths_of(place: &RecordingLocation) -> Result<RecordingPaths, StoreError> {
    let path: PathBuf = place.as_path().to_owned();
    RecordingPaths::from_path(&path).map_err(|source| StoreError::read_failed(path, source))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lease_is_held_by_one_at_a_time_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let place = RecordingLocation::from(folder.path().join("a.json"));
        refuse_leased(&place).unwrap();
        let lease = SessionLease::acquire(&place).unwrap();
        for error in [SessionLease::acquire(&place).err(), refuse_leased(&place).err()] {
            assert!(matches!(error, Some(StoreError::Leased { .. })), "{error:?}");
        }
        drop(lease);
        assert_eq!(crate::state_folder::all_names(folder.path()), [""; 0]);
        drop(SessionLease::acquire(&place).unwrap());
        refuse_leased(&place).unwrap();
    }
}
