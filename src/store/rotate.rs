//! Moves the log out of the recorders' way, to be folded: the first step of a fold.

use std::fs::File;
use std::io::{self, Read as _};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use super::disk::Disk;
use super::error::StoreError;
use super::lock::{self, Lock};
use super::log::{self, Scanned};
use super::note::Note;
use super::paths::Paths;
use super::run;

/// What there is to fold.
#[derive(Debug)]
pub(super) enum Rotated {
    /// Nothing.
    Nothing,
    /// Something, and someone alive is folding it.
    Busy,
    /// This log, which stands at [`Paths::folding`]. It is locked for as long as
    /// the file is open, so that nobody else folds it.
    Folding {
        /// Open for reading.
        file: File,
        /// What is to be told about it.
        note: Option<Note>,
    },
}

/// Finds a log to fold: one that was left behind while it was being folded, else
/// the recorders' own, whose names are noted in the run before it is moved.
///
/// The log is read before the lock is taken, and under it only what came since.
///
/// # Errors
/// A lock that cannot be had; a log of a newer version; storage that fails. The
/// log is then where it was, or has been moved.
pub(super) fn rotate(
    paths: &Paths,
    disk: &Disk,
    lock: &mut Lock,
    wait: Duration,
) -> Result<Rotated, StoreError> {
    let at_log = |source| StoreError::Write { path: paths.log.clone(), source };
    let ahead = match open(&paths.log).map_err(at_log)? {
        Some(file) if !paths.folding.exists() => {
            let scanned = log::scan(&file).map_err(at_log)?;
            Some((file, scanned))
        }
        _ => None,
    };
    let _guard = lock.acquire(wait)?;
    let at_folding = |source| StoreError::Write { path: paths.folding.clone(), source };
    if let Some(file) = open(&paths.folding).map_err(at_folding)? {
        return match lock::try_lock(&file).map_err(at_folding)? {
            true => Ok(Rotated::Folding { file, note: None }),
            false => Ok(Rotated::Busy),
        };
    }
    let Some(file) = open(&paths.log).map_err(at_log)? else {
        return Ok(Rotated::Nothing);
    };
    let scanned = finish_scan(&file, ahead).map_err(at_log)?;
    if scanned.newer {
        return Err(StoreError::NewerLog { path: paths.log.clone() });
    }
    let note = match &scanned.damaged {
        Some(damaged) => Some(keep_damaged(paths, disk, &file, damaged)?),
        None => set_aside(paths, disk, &file, &scanned)?,
    };
    let id = lock::id_of(&file.metadata().map_err(at_log)?);
    let names: Vec<_> = scanned.frames.iter().map(|frame| frame.name).collect();
    run::note_rotation(&paths.run, disk, &names, id)
        .map_err(|source| StoreError::Write { path: paths.run.clone(), source })?;
    disk.rename(&paths.log, &paths.folding).map_err(at_folding)?;
    if !lock::try_lock(&file).map_err(at_folding)? {
        return Ok(Rotated::Busy);
    }
    Ok(Rotated::Folding { file, note })
}

/// Moves a log's torn tail into a file of its own. Only under the recording's
/// lock: without it the tail may be what someone is just writing.
pub(super) fn set_aside(
    paths: &Paths,
    disk: &Disk,
    file: &File,
    scanned: &Scanned,
) -> Result<Option<Note>, StoreError> {
    if scanned.torn() == 0 {
        return Ok(None);
    }
    let (aside, torn) = free_place(paths, disk)?;
    let at = |path: &Path| {
        let path = path.to_owned();
        move |source| StoreError::Write { path, source }
    };
    let mut tail = log::from(file, scanned.whole);
    let copied = io::copy(&mut tail, &mut disk.writer(&torn)).map_err(at(&aside));
    let cut = copied.and_then(|_| disk.set_len(file, scanned.whole).map_err(at(&paths.log)));
    if let Err(error) = cut {
        // Half a copy is of no use to anyone; the tail is still where it was.
        let _ = disk.remove_if_there(&aside);
        return Err(error);
    }
    Ok(Some(Note::Torn { log: paths.log.clone(), aside, bytes: scanned.torn() }))
}

/// Copies bytes that are no frame into a file of their own: the log that holds
/// them is about to be folded.
fn keep_damaged(
    paths: &Paths,
    disk: &Disk,
    file: &File,
    damaged: &Range<u64>,
) -> Result<Note, StoreError> {
    let (aside, kept) = free_place(paths, disk)?;
    let bytes = damaged.end - damaged.start;
    let mut source = log::from(file, damaged.start).take(bytes);
    if let Err(source) = io::copy(&mut source, &mut disk.writer(&kept)) {
        let _ = disk.remove_if_there(&aside);
        return Err(StoreError::Write { path: aside, source });
    }
    Ok(Note::Damaged { log: paths.log.clone(), aside, bytes })
}

fn free_place(paths: &Paths, disk: &Disk) -> Result<(std::path::PathBuf, File), StoreError> {
    let mut number = 1;
    loop {
        let aside = paths.torn(number);
        match disk.create_new(&aside) {
            Ok(file) => return Ok((aside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => number += 1,
            Err(source) => return Err(StoreError::Write { path: aside, source }),
        }
    }
}

/// What of a log was not read ahead.
fn finish_scan(file: &File, ahead: Option<(File, Scanned)>) -> io::Result<Scanned> {
    let id = lock::id_of(&file.metadata()?);
    match ahead {
        Some((before, mut scanned)) if lock::id_of(&before.metadata()?) == id => {
            let rest = log::scan_from(file, scanned.whole)?;
            scanned.frames.extend(rest.frames);
            (scanned.whole, scanned.len) = (rest.whole, rest.len);
            scanned.newer = rest.newer;
            scanned.damaged = rest.damaged.or(scanned.damaged);
            scanned.rules = rest.rules.or(scanned.rules);
            Ok(scanned)
        }
        _ => log::scan(file),
    }
}

fn open(path: &Path) -> io::Result<Option<File>> {
    match File::options().read(true).write(true).open(path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}
