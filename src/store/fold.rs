//! Folds the log into the recording's file.
//!
//! The log is first moved out of the recorders' way ([`super::rotate`]). Then,
//! without any lock, the new file is written beside the old one: what is not
//! changed is copied as it stands, a piece at a time. Under the lock again it
//! takes the old one's place, if that still is the file that was read.
//!
//! A crash at any point leaves the old file or the new one, and a log that is
//! folded again, which changes nothing.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::atomic;
use super::body::{Body, State};
use super::compose::compose;
use super::disk::Disk;
use super::error::StoreError;
use super::file::SIZE_LIMIT;
use super::lock::{self, Lock};
use super::log::{FrameAt, HEAD};
use super::note::Note;
use super::paths::{Form, Paths};
use super::regular_file;
use super::rotate::{Rotated, keep_damaged, rotate};
use super::run::is_live;
use super::source::{Source, unreadable};
use super::split;
use super::split::stage::{Stage, Staged};
use crate::identity::IdentityRules;

/// How long a fold of someone else's is waited for.
const OTHERS: Duration = Duration::from_secs(600);

/// How often it is looked after.
const PAUSE: Duration = Duration::from_millis(10);

/// How long the lock is waited for where nothing depends on it.
const SHORT: Duration = Duration::from_secs(2);

/// How often a file is read again that others keep replacing.
const TRIES: usize = 10;

/// What a fold has done.
#[derive(Debug, Default)]
pub(super) struct Folded {
    /// How many entries of the log are in the file now.
    pub(super) folded: usize,
    /// Whether there is more to fold.
    pub(super) left: bool,
    /// Whether nothing was done, since someone else is folding.
    pub(super) busy: bool,
    /// What people should know.
    pub(super) notes: Vec<Note>,
}

/// Folds what is in the log, and before it a log whose fold was interrupted.
/// Where someone else is folding, that is waited for (`wait`), or left to him.
///
/// # Errors
/// A lock that cannot be had, a recording or a log that cannot be used, storage
/// that fails. Everything is then where it was, or where the next fold finds it.
pub(super) fn run(
    paths: &Paths,
    disk: &Disk,
    rules: &IdentityRules,
    wait: bool,
) -> Result<Folded, StoreError> {
    fold(paths, disk, Some(rules), wait)
}

/// Folds what recorders that are gone have left behind; gives what is to be told
/// of it. `path` is the recording's name for people.
///
/// # Errors
/// As [`run`].
pub(super) fn leftover(path: &Path, paths: &Paths, disk: &Disk) -> Result<Vec<Note>, StoreError> {
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
    let done = fold(paths, disk, None, false);
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

fn fold(
    paths: &Paths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    wait: bool,
) -> Result<Folded, StoreError> {
    let mut lock = Lock::new(&paths.lock, disk);
    let deadline = Instant::now() + OTHERS;
    let mut done = Folded::default();
    loop {
        let leftover = is_at(&paths.folding)?;
        match rotate(paths, disk, &mut lock, lock::WAIT)? {
            Rotated::Nothing => return Ok(done),
            Rotated::Busy if wait && Instant::now() < deadline => thread::sleep(PAUSE),
            Rotated::Busy if wait => {
                return Err(StoreError::Held {
                    path: paths.folding.clone(),
                    seconds: OTHERS.as_secs(),
                    holder: "another process, which folds it".to_owned(),
                });
            }
            Rotated::Busy => {
                (done.left, done.busy) = (true, true);
                return Ok(done);
            }
            Rotated::Folding { file, note } => {
                done.notes.extend(note);
                let (folded, note) = one(paths, disk, rules, &mut lock, &file)?;
                done.folded += folded;
                done.notes.extend(note);
                // A recorder that is busy would never let this end.
                if !leftover {
                    done.left = fs::symlink_metadata(&paths.log).is_ok_and(|log| log.len() > 0);
                    return Ok(done);
                }
            }
        }
    }
}

/// Folds the log that has been moved; gives how many entries it held. Those that
/// cannot be read are set aside, so that they are not in the way of the others
/// for ever.
fn one(
    paths: &Paths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    lock: &mut Lock,
    log: &File,
) -> Result<(usize, Option<Note>), StoreError> {
    let at_log = |source| StoreError::read(paths.folding.clone(), source);
    let mut aside = Vec::new();
    for _ in 0..TRIES {
        let next = match prepare(paths, disk, rules, log, &aside) {
            Err(StoreError::Moved { .. }) => continue,
            Err(error @ StoreError::Log { .. }) if aside.is_empty() => {
                aside = unreadable(log).map_err(at_log)?;
                if aside.is_empty() {
                    return Err(error);
                }
                continue;
            }
            next => next?,
        };
        let (done, note) = match keep_aside(paths, disk, log, &aside) {
            Ok(note) => (commit(paths, disk, lock, &next), note),
            Err(error) => (Err(error), None),
        };
        if let Ok(true) = done {
            return Ok((next.entries, note));
        }
        // What is left of these is written over or again by the next fold.
        next.fresh.discard(disk);
        if let Some(Note::Damaged { aside, .. }) = &note {
            let _ = disk.remove_if_there(aside);
        }
        done?;
    }
    let source = io::Error::other("others keep replacing it");
    Err(StoreError::write(paths.target.clone(), source))
}

/// A fold that only has to be committed.
struct Next {
    /// How many entries of the log it has.
    entries: usize,
    /// What was read.
    before: State,
    /// What is to stand in its place.
    fresh: Fresh,
}

/// The new text of a recording, beside its place.
enum Fresh {
    /// The old one holds everything already.
    Nothing,
    File(PathBuf),
    Files(Staged),
}

impl Fresh {
    fn discard(&self, disk: &Disk) {
        match self {
            Self::Nothing => {}
            Self::File(path) => {
                let _ = disk.remove_if_there(path);
            }
            Self::Files(staged) => staged.discard(disk),
        }
    }
}

fn prepare(
    paths: &Paths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    log: &File,
    aside: &[FrameAt],
) -> Result<Next, StoreError> {
    let source = Source::folding(paths, log, aside)?;
    let failed = |source| StoreError::read(paths.target.clone(), source);
    let before = match &source {
        Some(source) => source.body().state().map_err(failed)?,
        // An empty log: there is nothing that could have been read.
        None => State::at(paths)?,
    };
    if paths.form == Form::Folder {
        split::sweep(&paths.target, &temporary(FOLD)).map_err(failed)?;
    }
    let fresh = match &source {
        Some(source) if !source.plan.is_empty() => write(paths, disk, rules, source)?,
        _ => Fresh::Nothing,
    };
    Ok(Next { entries: source.map_or(0, |source| source.logged()), before, fresh })
}

/// Copies the frames that are left out into a file of their own.
fn keep_aside(
    paths: &Paths,
    disk: &Disk,
    log: &File,
    frames: &[FrameAt],
) -> Result<Option<Note>, StoreError> {
    if frames.is_empty() {
        return Ok(None);
    }
    let range = |frame: &FrameAt| frame.at - HEAD as u64..frame.end();
    let ranges: Vec<_> = frames.iter().map(range).collect();
    keep_damaged(paths, disk, log, &ranges).map(Some)
}

/// Writes the new text; gives where it is.
fn write(
    paths: &Paths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    source: &Source,
) -> Result<Fresh, StoreError> {
    let failed = |source| StoreError::write(paths.target.clone(), source);
    let rules = rules.or(source.rules()).unwrap_or(source.outline.meta().rules()).clone();
    let theirs = source.outline.meta().rules();
    if *theirs != rules && !source.outline.names().is_empty() {
        return Err(StoreError::other_rules(&paths.target, &rules, theirs));
    }
    if let Body::Split(split) = source.body() {
        let staged = Staged::write(
            source,
            split,
            Stage { folder: &paths.target, disk, rules: Some(&rules), meta: None, tag: FOLD },
        )?;
        return Ok(Fresh::Files(staged));
    }
    let path = fresh(&paths.target);
    let file = disk.create_temporary(&path).map_err(failed)?;
    let written = write_to(&file, &paths.target, disk, Some(&rules), source);
    if written.is_err() {
        let _ = disk.remove_if_there(&path);
    }
    written.map(|()| Fresh::File(path))
}

/// Writes the new text of the recording at `target` to a file, which gets the old
/// one's mode.
pub(super) fn write_to(
    file: &File,
    target: &Path,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    source: &Source,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::write(target.to_owned(), source);
    if let Ok(old) = fs::symlink_metadata(target)
        && old.is_file()
    {
        disk.set_mode(file, old.permissions().mode() & 0o777).map_err(failed)?;
    }
    compose(source, rules, &mut disk.writer(file)).map_err(|error| error.at(target))?;
    // A larger one could never be read again.
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > SIZE_LIMIT {
        let (path, limit) = (target.to_owned(), SIZE_LIMIT);
        return Err(StoreError::WouldBeTooLarge { path, bytes, limit });
    }
    disk.sync_all(file).map_err(failed)
}

/// Puts the new text in the old one's place, where that is still the one that was
/// read, and removes the log; gives whether it did.
fn commit(paths: &Paths, disk: &Disk, lock: &mut Lock, next: &Next) -> Result<bool, StoreError> {
    let failed = |source| StoreError::write(paths.target.clone(), source);
    if let (Form::Folder, fresh) = (paths.form, &next.fresh) {
        // Without the lock, which is held for moments: as long as there is a log that is
        // being folded, only who folds it changes the folder.
        if State::at(paths)? != next.before {
            return Ok(false);
        }
        if let Fresh::Files(staged) = fresh {
            staged.commit(disk)?;
        }
    }
    let _guard = lock.acquire(lock::WAIT)?;
    if paths.form == Form::File && State::at(paths)? != next.before {
        return Ok(false);
    }
    if let Fresh::File(fresh) = &next.fresh {
        disk.rename(fresh, &paths.target).map_err(failed)?;
        disk.sync_folder(atomic::folder(&paths.target)).map_err(failed)?;
    }
    disk.remove_if_there(&paths.folding)
        .map_err(|source| StoreError::write(paths.folding.clone(), source))?;
    Ok(true)
}

/// Tells the temporary files of a fold from others.
const FOLD: &str = "fold";

/// How the names of temporary files end that are told by `tag`.
fn temporary(tag: &str) -> String {
    format!(".{tag}{}", atomic::SUFFIX)
}

/// Where the new file is written. Only who folds writes it, so it needs no name
/// of its own.
fn fresh(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    atomic::folder(target).join(format!(".{name}.fold.loomrec-tmp"))
}

#[cfg(test)]
#[path = "fold_tests.rs"]
mod tests;
