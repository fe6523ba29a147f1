//! The exclusive lock on a recording. It is on a sidecar file, because the recording itself is
//! replaced by rename.
//!
//! The holder of a [`LockGuard`] may change the recording and the files beside it. A
//! [`RecordingLock`] keeps its file open between two turns, so an uncontended turn mostly costs two
//! small system calls. The holder may remove the lock file. A process that was waiting for it sees
//! that the path no longer names what it locked, and starts over.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::error::StoreError;
use super::regular_file;
use super::state_folder;
use loomrec_os::{FileId, read_at, read_exact_at, write_all_at};

/// How long to wait for a lock.
pub(super) const WAIT: Duration = Duration::from_secs(30);

/// How often a lock that is held elsewhere is retried before the kernel is asked to wait. Most
/// turns are over sooner than a thread is started.
const TRIES: u32 = 16;

/// The pause between two tries.
const PAUSE: Duration = Duration::from_micros(50);

/// A wait of at most this long consists of retries only. It leaves no waiting thread behind,
/// however often it fails while another process keeps the lock.
const SHORT: Duration = Duration::from_millis(500);

/// The pause between two such retries.
const LONG_PAUSE: Duration = Duration::from_millis(2);

/// A signature younger than this is not renewed, so that a process with many turns signs only now
/// and then.
const FRESH: Duration = Duration::from_millis(500);

/// How long a live recorder takes the free lock without checking its path again.
const UNCHECKED: Duration = Duration::from_millis(20);

/// The size of every signature in bytes. They are equal, so that one overwrites another in full.
const SIGNATURE: usize = 160;

/// A handle to a recording's lock.
#[derive(Debug)]
pub(super) struct RecordingLock {
    path: PathBuf,
    disk: Disk,
    open: Option<(Arc<File>, FileId)>,
    signed: Option<(Instant, Vec<u8>)>,
    /// When the path was last seen to name the open file, which was signed then.
    checked: Option<Instant>,
}

/// The lock, which is held until this is dropped.
#[derive(Debug)]
pub(super) struct LockGuard {
    file: Arc<File>,
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        // Unlocks explicitly, because a copy of the file in a child process that is being started
        // would keep it locked.
        let _ = fs2::FileExt::unlock(&*self.file);
    }
}

impl RecordingLock {
    /// Returns the lock at `path`. Nothing is opened yet.
    pub(super) fn new(path: &Path, disk: &Disk) -> Self {
        Self { path: path.to_owned(), disk: disk.clone(), open: None, signed: None, checked: None }
    }

    /// Takes the lock, and writes into its file who holds it. Creates the file if it is missing.
    /// Must not be called while a guard of the same lock lives.
    ///
    /// # Errors
    /// The file cannot be locked at all, or another process holds it for longer than `wait`.
    pub(super) fn acquire(&mut self, wait: Duration) -> Result<LockGuard, StoreError> {
        self.checked = None;
        self.acquire_within(wait)
    }

    /// Takes the lock as [`Self::acquire`] does, without waiting. For recorders only: no loomrec
    /// removes the lock's file while a recorder is alive, so the path is checked only once in
    /// [`UNCHECKED`].
    ///
    /// # Errors
    /// As for [`Self::acquire`].
    pub(super) fn acquire_for_live_run(&mut self) -> Result<LockGuard, StoreError> {
        self.acquire_within(Duration::ZERO)
    }

    fn acquire_within(&mut self, wait: Duration) -> Result<LockGuard, StoreError> {
        let failed = |source| StoreError::lock_failed(self.path.clone(), source);
        let began = Instant::now();
        let deadline = began + wait;
        loop {
            let (file, id) = match self.open.take() {
                Some(open) => open,
                None => {
                    (self.signed, self.checked) = (None, None);
                    let open = || self.disk.open(&self.path);
                    let file = state_folder::open_within(&self.path, &self.disk, open);
                    let file = file.map_err(failed)?;
                    let id = FileId::from_file(&file).map_err(failed)?;
                    (Arc::new(file), id)
                }
            };
            let is_free = try_lock(&file).map_err(failed)?;
            if !is_free && !lock_until(&file, deadline).map_err(failed)? {
                return Err(StoreError::Held {
                    path: self.path.clone(),
                    seconds: wait.as_secs(),
                    holder: read_holder(&self.path),
                });
            }
            let guard = LockGuard { file: Arc::clone(&file) };
            // Only a caller that waited can have locked a file that its holder removed.
            if is_free && self.checked.is_some_and(|at| began.duration_since(at) < UNCHECKED) {
                self.open = Some((file, id));
                return Ok(guard);
            }
            if FileId::at_path(&self.path).map_err(failed)? == Some(id) {
                // The signature is for people only. The lock works without it.
                let _ = self.write_signature(&file);
                self.checked = Some(began);
                self.open = Some((file, id));
                return Ok(guard);
            }
        }
    }

    /// Returns the identity of the file that was locked last. If it changes, the file was removed.
    pub(super) fn file_id(&self) -> Option<FileId> {
        self.open.as_ref().map(|(_, id)| *id)
    }

    /// Removes the lock's file. Needs the guard, which is released.
    pub(super) fn remove(&mut self, guard: LockGuard) -> io::Result<()> {
        self.open = None;
        let removed = self.disk.remove_if_there(&self.path);
        drop(guard);
        removed
    }

    /// Writes who holds the lock, unless that is written already.
    fn write_signature(&mut self, file: &File) -> io::Result<()> {
        if let Some((when, text)) = &self.signed
            && when.elapsed() < FRESH
        {
            let mut there = [0; SIGNATURE];
            if read_exact_at(file, &mut there, 0).is_ok() && there == **text {
                return Ok(());
            }
        }
        let text = own_signature();
        write_all_at(file, &text, 0)?;
        self.signed = Some((Instant::now(), text));
        Ok(())
    }
}

/// Takes a lock without creating its file or signing it, for processes that only read.
///
/// # Errors
/// The file cannot be locked, or is not a file.
pub(super) fn acquire_existing(path: &Path, wait: Duration) -> Result<ExistingLock, StoreError> {
    let failed = |source| StoreError::lock_failed(path, source);
    let deadline = Instant::now() + wait;
    loop {
        let Some(file) = regular_file::open_to_read(path).map_err(failed)? else {
            return Ok(ExistingLock::Missing);
        };
        let (id, file) = (FileId::from_file(&file).map_err(failed)?, Arc::new(file));
        if !lock_until(&file, deadline).map_err(failed)? {
            return Ok(ExistingLock::Held);
        }
        let guard = LockGuard { file };
        // Its holder may have removed it meanwhile.
        if FileId::at_path(path).map_err(failed)? == Some(id) {
            return Ok(ExistingLock::Acquired(guard));
        }
    }
}

/// A lock as a reader finds it.
#[derive(Debug)]
pub(super) enum ExistingLock {
    /// There is no file, so nobody holds it.
    Missing,
    /// Another process holds it, and did not release it in time.
    Held,
    /// The caller holds it until the guard is dropped.
    Acquired(LockGuard),
}

/// Whether an error says that another process holds the lock.
pub(super) fn is_contended(error: &io::Error) -> bool {
    error.raw_os_error() == fs2::lock_contended_error().raw_os_error()
}

/// Takes the exclusive lock on a file. Returns whether it was free.
pub(super) fn try_lock(file: &File) -> io::Result<bool> {
    match fs2::FileExt::try_lock_exclusive(file) {
        Ok(()) => Ok(true),
        Err(error) if is_contended(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Locks the file, or gives up at the deadline. After a few retries, a separate thread waits in the
/// kernel, which is fair and returns as soon as the lock is free. A thread that was given up on
/// holds the last handle to the file, so it releases the lock as soon as it gets it.
fn lock_until(file: &Arc<File>, deadline: Instant) -> io::Result<bool> {
    for _ in 0..TRIES {
        if try_lock(file)? {
            return Ok(true);
        }
        if Instant::now() >= deadline {
            return Ok(false);
        }
        thread::sleep(PAUSE);
    }
    if deadline.saturating_duration_since(Instant::now()) <= SHORT {
        while Instant::now() < deadline {
            if try_lock(file)? {
                return Ok(true);
            }
            thread::sleep(LONG_PAUSE);
        }
        return try_lock(file);
    }
    let (send, receive) = mpsc::channel();
    let waiting = Arc::clone(file);
    thread::Builder::new().name("lock-wait".to_owned()).spawn(move || {
        let locked = loop {
            match fs2::FileExt::lock_exclusive(&*waiting) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                locked => break locked,
            }
        };
        drop(waiting);
        // The receiver is gone if the wait was given up.
        let _ = send.send(locked);
    })?;
    let left = deadline.saturating_duration_since(Instant::now());
    match receive.recv_timeout(left) {
        Ok(locked) => locked.map(|()| true),
        Err(_) => Ok(false),
    }
}

/// Returns who this process is, and the time.
fn own_signature() -> Vec<u8> {
    let command = std::env::args_os().next().unwrap_or_default();
    let command = Path::new(&command).file_name().unwrap_or_default().to_string_lossy();
    let command: String = command.chars().filter(|c| !c.is_control()).take(20).collect();
    let since = time::OffsetDateTime::now_utc()
        .format(&time::format_description::well_known::Rfc3339)
        .unwrap_or_default();
    let mut text = format!("{command}, pid {}, since {since}", std::process::id()).into_bytes();
    text.resize(SIGNATURE - 1, b' ');
    text.push(b'\n');
    text
}

/// Returns who has signed a lock, in words.
pub(super) fn read_holder(path: &Path) -> String {
    let mut text = [0; SIGNATURE];
    let file = regular_file::open_to_read(path).ok().flatten();
    let read = file.map(|file| read_at(&file, &mut text, 0));
    let text =
        String::from_utf8_lossy(&text[..read.and_then(Result::ok).unwrap_or(0)]).into_owned();
    // A process that may write the file may have written anything.
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    match text.trim() {
        "" => "another process".to_owned(),
        text => text.to_owned(),
    }
}

#[cfg(test)]
#[path = "lock_tests.rs"]
mod tests;
