//! Folds the log into the recording's file.
//!
//! The log is first moved out of the recorders' way ([`super::rotation`]). Then,
//! without any lock, the new file is written beside the old one: what is not
//! changed is copied as it stands, a piece at a time. Under the lock again it
//! takes the old one's place, if that still is the file that was read.
//!
//! A crash at any point leaves the old file or the new one, and a log that is
//! compacted again, which changes nothing.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::base_text::{BaseState, BaseText};
use super::compose::compose;
use super::disk::Disk;
use super::error::StoreError;
use super::file::SIZE_LIMIT;
use super::file_version::FileVersion;
use super::folder;
use super::folder::stage::{FolderStage, StagedFolder};
use super::lock::{self, RecordingLock};
use super::log::{self, FramePlace, HEAD};
use super::paths::{RecordingForm, RecordingPaths};
use super::rotation::{KnownLog, RotatedLog, keep_damaged, rotate};
use super::run;
use super::sidecars;
use super::snapshot::RecordingSnapshot;
use super::store_event::StoreEvent;
use super::temporary_file;
use loomrec_identity::IdentityRules;
use loomrec_os::{FileKind, FileStatus};
use loomrec_recording::log_codec;

/// How long a compaction of someone else's is waited for.
const OTHERS: Duration = Duration::from_secs(600);

/// How often it is looked after.
const PAUSE: Duration = Duration::from_millis(10);

/// How often a file is read again that others keep replacing.
const TRIES: usize = 10;

/// What a compaction has done.
#[derive(Debug, Default)]
pub(super) struct CompactionResult {
    /// How many entries of the log are in the file now.
    pub(super) folded: usize,
    /// Whether there is more to compact.
    pub(super) left: bool,
    /// Whether nothing was done, since someone else is compacting.
    pub(super) busy: bool,
    /// What people should know.
    pub(super) notes: Vec<StoreEvent>,
    /// Which file was read, and which one has taken its place; `None` where nothing was
    /// compacted, or the recording is a folder.
    pub(super) target: Option<ReplacedFile>,
}

/// The recording's file before a compaction and after it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplacedFile {
    pub(super) read: Option<FileVersion>,
    pub(super) written: Option<FileVersion>,
}

/// Compacts what is in the log, and before it a log whose compaction was interrupted.
/// Where someone else is compacting, that is waited for (`wait`), or left to him.
///
/// # Errors
/// A lock that cannot be had, a recording or a log that cannot be used, storage
/// that fails. Everything is then where it was, or where the next compaction finds it.
pub(super) fn run(
    paths: &RecordingPaths,
    disk: &Disk,
    rules: &IdentityRules,
    wait: bool,
    known: Option<KnownLog>,
) -> Result<CompactionResult, StoreError> {
    compact(paths, disk, Some(rules), wait, known)
}

/// The same; without `rules` those of the log or the recording hold.
pub(super) fn compact(
    paths: &RecordingPaths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    wait: bool,
    known: Option<KnownLog>,
) -> Result<CompactionResult, StoreError> {
    let mut lock = RecordingLock::new(&paths.lock, disk);
    let deadline = Instant::now() + OTHERS;
    let mut done = CompactionResult::default();
    loop {
        let leftover = sidecars::is_at(&paths.folding)?;
        match rotate(paths, disk, &mut lock, known)? {
            RotatedLog::Nothing => return Ok(done),
            RotatedLog::Busy if wait && Instant::now() < deadline => thread::sleep(PAUSE),
            RotatedLog::Busy if wait => {
                return Err(StoreError::Held {
                    path: paths.folding.clone(),
                    seconds: OTHERS.as_secs(),
                    holder: "another process, which compacts it".to_owned(),
                });
            }
            RotatedLog::Busy => {
                (done.left, done.busy) = (true, true);
                return Ok(done);
            }
            RotatedLog::Folding { file, notes } => {
                done.notes.extend(notes);
                let (next, written, notes) = one(paths, disk, rules, &mut lock, &file)?;
                done.folded += next.entries;
                done.notes.extend(notes);
                if let Some(read) = next.before.stamp() {
                    let read = done.target.map_or(read, |target| target.read);
                    done.target = Some(ReplacedFile { read, written });
                }
                // A recorder that is busy would never let this end.
                if !leftover {
                    done.left = fs::symlink_metadata(&paths.log).is_ok_and(|log| log.len() > 0);
                    return Ok(done);
                }
            }
        }
    }
}

/// Compacts the log that has been moved; gives what was done, and the file that has taken
/// the recording's place. Entries that
/// cannot be read are set aside, so that they are not in the way of the others
/// for ever.
fn one(
    paths: &RecordingPaths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    lock: &mut RecordingLock,
    log: &File,
) -> Result<(Next, Option<FileVersion>, Vec<StoreEvent>), StoreError> {
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
        if let Ok(Committed::As(written)) = done {
            let (path, calls) = (paths.target.clone(), next.failures);
            let left_out = (calls > 0).then_some(StoreEvent::Failures { path, calls });
            return Ok((next, written, note.into_iter().chain(left_out).collect()));
        }
        // What is left of these is written over or again by the next compaction.
        next.fresh.discard(disk);
        if let Some(StoreEvent::Damaged { aside, .. }) = &note {
            let _ = disk.remove_if_there(aside);
        }
        done?;
    }
    let source = io::Error::other("others keep replacing it");
    Err(StoreError::write(paths.target.clone(), source))
}

/// What became of a compaction.
enum Committed {
    /// It is done, and this is the recording's file now.
    As(Option<FileVersion>),
    /// The recording is not the one that was read any more.
    Stale,
}

/// A compaction that only has to be committed.
struct Next {
    /// How many entries of the log it has.
    entries: usize,
    /// How many of these are left out, since their calls failed.
    failures: usize,
    /// What was read.
    before: BaseState,
    /// What is to stand in its place.
    fresh: Fresh,
}

/// The new text of a recording, beside its place.
enum Fresh {
    /// The old one holds everything already.
    Nothing,
    File(PathBuf),
    Files(StagedFolder),
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
    paths: &RecordingPaths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    log: &File,
    aside: &[FramePlace],
) -> Result<Next, StoreError> {
    let source = RecordingSnapshot::compacting(paths, log, aside)?;
    let failed = |source| StoreError::read(paths.target.clone(), source);
    let before = match &source {
        Some(source) => source.body().state().map_err(failed)?,
        // An empty log: there is nothing that could have been read.
        None => BaseState::at(paths)?,
    };
    if paths.form == RecordingForm::Folder {
        folder::sweep(&paths.target, &temporary(FOLD)).map_err(failed)?;
    }
    let fresh = match &source {
        Some(source) if !source.plan.is_empty() => write(paths, disk, rules, source)?,
        _ => Fresh::Nothing,
    };
    let failures = source.as_ref().map_or(0, |source| source.plan.failures);
    Ok(Next { entries: source.map_or(0, |source| source.logged()), failures, before, fresh })
}

/// Copies the frames that are left out into a file of their own.
fn keep_aside(
    paths: &RecordingPaths,
    disk: &Disk,
    log: &File,
    frames: &[FramePlace],
) -> Result<Option<StoreEvent>, StoreError> {
    let range = |frame: &FramePlace| frame.at - HEAD as u64..frame.end();
    let ranges: Vec<_> = frames.iter().map(range).collect();
    keep_damaged(paths, disk, log, &ranges)
}

/// Writes the new text; gives where it is.
fn write(
    paths: &RecordingPaths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    source: &RecordingSnapshot,
) -> Result<Fresh, StoreError> {
    let failed = |source| StoreError::write(paths.target.clone(), source);
    let rules = rules.or(source.rules()).unwrap_or(source.outline.meta().rules()).clone();
    let theirs = source.outline.meta().rules();
    if *theirs != rules && source.outline.count_names() > 0 {
        return Err(StoreError::other_rules(&paths.target, &rules, theirs));
    }
    if let BaseText::Split(split) = source.body() {
        let staged = StagedFolder::write(
            source,
            split,
            FolderStage { folder: &paths.target, disk, rules: Some(&rules), meta: None, tag: FOLD },
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
    source: &RecordingSnapshot,
) -> Result<(), StoreError> {
    let failed = |source| StoreError::write(target.to_owned(), source);
    if let Ok(Some(old)) = FileStatus::at_path(target)
        && old.kind == FileKind::Regular
    {
        disk.set_mode(file, old.mode).map_err(failed)?;
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
/// read, and removes the log.
fn commit(
    paths: &RecordingPaths,
    disk: &Disk,
    lock: &mut RecordingLock,
    next: &Next,
) -> Result<Committed, StoreError> {
    let failed = |source| StoreError::write(paths.target.clone(), source);
    if let (RecordingForm::Folder, fresh) = (paths.form, &next.fresh) {
        // Without the lock, which is held for moments: as long as there is a log that is
        // being compacted, only who compacts it changes the folder.
        if BaseState::at(paths)? != next.before {
            return Ok(Committed::Stale);
        }
        if let Fresh::Files(staged) = fresh {
            staged.commit(disk)?;
        }
    }
    let _guard = lock.acquire(lock::WAIT)?;
    if paths.form == RecordingForm::File && BaseState::at(paths)? != next.before {
        return Ok(Committed::Stale);
    }
    let mut written = next.before.stamp().flatten();
    if let Fresh::File(fresh) = &next.fresh {
        // Before it has its place: a file that is there then may be another's already.
        written = FileVersion::at(fresh).map_err(failed)?;
        run::note_target(&paths.run, disk, written.map(FileVersion::id))
            .map_err(|source| StoreError::write(&paths.run, source))?;
        disk.rename(fresh, &paths.target).map_err(failed)?;
        disk.sync_folder(temporary_file::folder(&paths.target)).map_err(failed)?;
    }
    disk.remove_if_there(&paths.folding)
        .map_err(|source| StoreError::write(paths.folding.clone(), source))?;
    Ok(Committed::As(written))
}

/// Tells the temporary files of a compaction from others.
const FOLD: &str = "fold";

/// How the names of temporary files end that are told by `tag`.
fn temporary(tag: &str) -> String {
    format!(".{tag}{}", temporary_file::SUFFIX)
}

/// Where the new file is written. Only who compacts writes it, so it needs no name
/// of its own.
fn fresh(target: &Path) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    temporary_file::folder(target).join(format!(".{name}.fold.loomrec-tmp"))
}

/// The frames of a log that are whole, and whose entries cannot be read.
///
/// # Errors
/// A log that cannot be read.
fn unreadable(log: &File) -> io::Result<Vec<FramePlace>> {
    let mut found = Vec::new();
    for frame in log::scan(log)?.frames {
        if log_codec::unpack(&log::payload(log, frame)?).is_err() {
            found.push(frame);
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
