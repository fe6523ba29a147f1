//! The exclusive lock on a recording: a sidecar file, since the recording itself
//! is replaced by rename.
//!
//! Whoever holds a [`Guard`] may write. The lock file may be removed by its
//! holder: one who was waiting on it sees that its path no longer names what was
//! locked, and starts over.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use super::error::StoreError;

/// How long a lock is waited for.
pub(super) const WAIT: Duration = Duration::from_secs(30);

/// The lock, held until this is dropped.
#[derive(Debug)]
pub(super) struct Guard {
    path: PathBuf,
    /// Locked; the lock goes when it is closed, by a crash too.
    _file: File,
}

impl Guard {
    /// Takes the lock on `path`, creating the file where it is missing, and
    /// leaves there who holds it.
    pub(super) fn acquire(path: &Path, wait: Duration) -> Result<Self, StoreError> {
        let failed = |source| StoreError::Lock { path: path.to_owned(), source };
        let deadline = Instant::now() + wait;
        loop {
            let file = open(path).map_err(failed)?;
            let Some(mut file) = lock_until(file, deadline).map_err(failed)? else {
                return Err(StoreError::Held {
                    path: path.to_owned(),
                    seconds: wait.as_secs(),
                    holder: holder(path),
                });
            };
            if names(path, &file).map_err(failed)? {
                // For people only: a lock without a name on it is as good.
                let _ = sign(&mut file);
                return Ok(Self { path: path.to_owned(), _file: file });
            }
        }
    }

    /// Removes the lock file, then lets go of the lock.
    pub(super) fn remove(self) -> io::Result<()> {
        fs::remove_file(&self.path)
    }
}

/// Opens a sidecar for reading and writing, creating it for its owner only.
pub(super) fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(0o600).open(path)
}

/// Whether an error says that someone else holds the lock.
pub(super) fn is_contended(error: &io::Error) -> bool {
    error.raw_os_error() == fs2::lock_contended_error().raw_os_error()
}

/// Locks the file, or gives up at the deadline. The waiting is the kernel's, on
/// a thread of its own, since it is fair there and ends at once; a thread that
/// is given up on lets go as soon as it gets the lock.
fn lock_until(file: File, deadline: Instant) -> io::Result<Option<File>> {
    match fs2::FileExt::try_lock_exclusive(&file) {
        Ok(()) => return Ok(Some(file)),
        Err(error) if is_contended(&error) => {}
        Err(error) => return Err(error),
    }
    let (send, receive) = mpsc::channel();
    thread::Builder::new().name("lock-wait".to_owned()).spawn(move || {
        let locked = fs2::FileExt::lock_exclusive(&file).map(|()| file);
        let _ = send.send(locked);
    })?;
    let left = deadline.saturating_duration_since(Instant::now());
    receive.recv_timeout(left).ok().transpose()
}

/// Whether the path still names this very file.
fn names(path: &Path, file: &File) -> io::Result<bool> {
    let ours = file.metadata()?;
    match fs::metadata(path) {
        Ok(theirs) => Ok((ours.dev(), ours.ino()) == (theirs.dev(), theirs.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn sign(file: &mut File) -> io::Result<()> {
    let command = std::env::args_os().next().unwrap_or_default();
    let command = Path::new(&command).file_name().unwrap_or_default();
    let since = time::OffsetDateTime::now_utc()
        .format(&time::format_description::well_known::Rfc3339)
        .unwrap_or_default();
    let text =
        format!("{}, pid {}, since {since}\n", command.to_string_lossy(), std::process::id());
    file.set_len(0)?;
    file.rewind()?;
    file.write_all(text.as_bytes())
}

fn holder(path: &Path) -> String {
    match fs::read_to_string(path) {
        Ok(text) if !text.trim().is_empty() => text.trim().to_owned(),
        _ => "another process".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn second_taker_waits_no_longer_than_told_and_names_the_holder() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        let guard = Guard::acquire(&path, WAIT).unwrap();
        let error = Guard::acquire(&path, Duration::from_millis(30)).unwrap_err();
        let text = error.to_string();
        assert!(text.contains(&format!("pid {}", std::process::id())), "{text}");
        drop(guard);
        Guard::acquire(&path, WAIT).unwrap();
    }

    #[test]
    fn waiter_starts_over_when_the_lock_file_was_removed() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.lock");
        let guard = Guard::acquire(&path, WAIT).unwrap();
        let waiter = {
            let path = path.clone();
            thread::spawn(move || Guard::acquire(&path, WAIT))
        };
        // Whether it waits by now or comes later, it must end with the new file.
        thread::sleep(Duration::from_millis(20));
        guard.remove().unwrap();
        let second = waiter.join().unwrap().unwrap();
        let error = Guard::acquire(&path, Duration::from_millis(10)).unwrap_err();
        assert!(matches!(error, StoreError::Held { .. }));
        drop(second);
    }
}
