//! Compaction: moves the entries of the log into the recording's file.
//!
//! The log is first moved out of the recorders' way ([`super::rotation`]). Then the new file is
//! written beside the old one, without any lock; unchanged text is copied, a piece at a time. Under
//! the lock again, the new file replaces the old one, if that is still the file that was read.
//!
//! A crash at any point leaves the old file or the new one, and the log. Compacting the log again
//! changes nothing.

use std::fs::{self, File};
use std::io;
use std::thread;
use std::time::{Duration, Instant};

use super::disk::Disk;
use super::error::StoreError;
use super::file_version::FileVersion;
use super::lock::{self, RecordingLock};
use super::log::{self, FramePlace, HEAD};
use super::merge::{LogMerge, TakeReplacement};
use super::paths::RecordingPaths;
use super::rotation::{KnownLog, RotatedLog, keep_damaged, rotate_log};
use super::run::note_target;
use super::sidecars;
use super::snapshot::RecordingSnapshot;
use super::staged_file::{StageTerms, StagedFile};
use super::store_event::StoreEvent;
use loomrec_identity::IdentityRules;
use loomrec_recording::log_codec;

/// How long to wait for another process's compaction.
const OTHERS: Duration = Duration::from_secs(600);

/// The pause between two checks whether it is over.
const PAUSE: Duration = Duration::from_millis(10);

/// How often a file is read again that others keep replacing.
const TRIES: usize = 10;

/// The recording's file before a compaction and after it; `None` if there was none.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileReplacement {
    /// The version that was read.
    pub(super) read: Option<FileVersion>,
    /// The version that is there since.
    pub(super) written: Option<FileVersion>,
}

/// The result of a compaction.
#[derive(Debug, Default)]
pub(super) struct CompactionResult {
    /// The number of entries that were moved from the log into the file.
    pub(super) compacted_entries: usize,
    /// Whether there is more to compact.
    pub(super) left: bool,
    /// Whether nothing was done, because another process is compacting.
    pub(super) busy: bool,
    /// The events that people should know about.
    pub(super) notes: Vec<StoreEvent>,
    /// What it replaced of the takes of earlier runs.
    pub(super) replacements: Vec<TakeReplacement>,
    /// The file that was read, and the file that replaced it; `None` if there was no log.
    pub(super) replaced: Option<FileReplacement>,
}

/// Compacts the log, and before it a log whose compaction was interrupted. If another process is
/// compacting, waits for it (`wait`) or returns at once.
///
/// # Errors
/// The lock cannot be taken, the recording or a log cannot be used, or the storage fails.
/// Everything is then where it was, or where the next compaction finds it.
pub(super) fn compact_with_rules(
    paths: &RecordingPaths,
    disk: &Disk,
    rules: &IdentityRules,
    wait: bool,
    known: Option<KnownLog>,
) -> Result<CompactionResult, StoreError> {
    compact_log(paths, disk, Some(rules), wait, known)
}

/// The same. Without `rules`, those of the log or the recording apply.
pub(super) fn compact_log(
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
        match rotate_log(paths, disk, &mut lock, known)? {
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
                let (next, written, notes) =
                    compact_moved_log(paths, disk, rules, &mut lock, &file)?;
                done.compacted_entries += next.entries;
                done.notes.extend(notes);
                done.replacements.extend(next.replacements);
                let read = done.replaced.map_or(next.before, |earlier| earlier.read);
                done.replaced = Some(FileReplacement { read, written });
                // A busy recorder would never let this end.
                if !leftover {
                    done.left = fs::symlink_metadata(&paths.log).is_ok_and(|log| log.len() > 0);
                    return Ok(done);
                }
            }
        }
    }
}

/// Compacts the log that was moved. Returns what was done, and the file that took the recording's
/// place. Entries that cannot be read are set aside, so that they do not block the others for ever.
fn compact_moved_log(
    paths: &RecordingPaths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    lock: &mut RecordingLock,
    log: &File,
) -> Result<(StagedCompaction, Option<FileVersion>, Vec<StoreEvent>), StoreError> {
    let at_log = |source| StoreError::read_failed(paths.folding.clone(), source);
    let mut aside = Vec::new();
    for _ in 0..TRIES {
        let next = match prepare_compaction(paths, disk, rules, log, &aside) {
            Err(error @ StoreError::Log { .. }) if aside.is_empty() => {
                aside = unreadable_frames(log).map_err(at_log)?;
                if aside.is_empty() {
                    return Err(error);
                }
                continue;
            }
            next => next?,
        };
        let (done, note) = match keep_aside(paths, disk, log, &aside) {
            Ok(note) => (commit_compaction(paths, disk, lock, &next), note),
            Err(error) => (Err(error), None),
        };
        if let Ok(CommitOutcome::As(written)) = done {
            let (path, calls) = (paths.target.clone(), next.failures);
            let left_out = (calls > 0).then_some(StoreEvent::Failures { path, calls });
            return Ok((next, written, note.into_iter().chain(left_out).collect()));
        }
        // What is left of it is overwritten by the next compaction.
        if let Some(staged) = &next.staged {
            staged.discard(disk);
        }
        if let Some(StoreEvent::Damaged { aside, .. }) = &note {
            let _ = disk.remove_if_there(aside);
        }
        done?;
    }
    let source = io::Error::other("others keep replacing it");
    Err(StoreError::write_failed(paths.target.clone(), source))
}

/// The outcome of a commit.
enum CommitOutcome {
    /// It is done. This is the recording's file now.
    As(Option<FileVersion>),
    /// The recording is no longer the one that was read.
    Stale,
}

/// A compaction that only has to be committed.
struct StagedCompaction {
    /// The number of entries of the log in it.
    entries: usize,
    /// The number of these that are left out, because their calls failed.
    failures: usize,
    /// What it replaces of the takes of earlier runs.
    replacements: Vec<TakeReplacement>,
    /// The version that was read.
    before: Option<FileVersion>,
    /// The text that is to take its place; `None` if the old text holds everything already.
    staged: Option<StagedFile>,
}

fn prepare_compaction(
    paths: &RecordingPaths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    log: &File,
    aside: &[FramePlace],
) -> Result<StagedCompaction, StoreError> {
    let source = RecordingSnapshot::for_compaction(paths, log, aside)?;
    let failed = |source| StoreError::read_failed(paths.target.clone(), source);
    let before = match &source {
        Some(source) => source.file_version().map_err(failed)?,
        // The log is empty, so nothing was read.
        None => paths.file_version()?,
    };
    let staged = match &source {
        Some(source) if !source.plan.is_empty() => {
            Some(write_staged_file(paths, disk, rules, source)?)
        }
        _ => None,
    };
    let entries = source.as_ref().map_or(0, RecordingSnapshot::logged_count);
    let plan = source.map(|source| source.plan).unwrap_or_default();
    let LogMerge { failures, replacements, .. } = plan;
    Ok(StagedCompaction { entries, failures, replacements, before, staged })
}

/// Copies the frames that are left out into a separate file.
fn keep_aside(
    paths: &RecordingPaths,
    disk: &Disk,
    log: &File,
    frames: &[FramePlace],
) -> Result<Option<StoreEvent>, StoreError> {
    let range = |frame: &FramePlace| frame.at - HEAD as u64..frame.end_offset();
    let ranges: Vec<_> = frames.iter().map(range).collect();
    keep_damaged(paths, disk, log, &ranges)
}

/// Writes the new text beside its place.
fn write_staged_file(
    paths: &RecordingPaths,
    disk: &Disk,
    rules: Option<&IdentityRules>,
    source: &RecordingSnapshot,
) -> Result<StagedFile, StoreError> {
    let rules = rules.or(source.log_rules()).unwrap_or(source.outline.meta().rules()).clone();
    let theirs = source.outline.meta().rules();
    if !theirs.makes_keys_of(&rules) && source.outline.count_names() > 0 {
        return Err(StoreError::other_rules(&paths.target, &rules, theirs));
    }
    let rules = rules.with_keyless_rules_of(theirs);
    // Only the process that compacts writes this file, so it needs no unique name.
    let terms = StageTerms { disk, rules: Some(&rules), tag: FOLD };
    StagedFile::write_beside(source, &paths.target, terms)
}

/// Puts the new text in place of the old one, if that is still the version that was read, and
/// removes the log.
fn commit_compaction(
    paths: &RecordingPaths,
    disk: &Disk,
    lock: &mut RecordingLock,
    next: &StagedCompaction,
) -> Result<CommitOutcome, StoreError> {
    let _guard = lock.acquire(lock::WAIT)?;
    if paths.file_version()? != next.before {
        return Ok(CommitOutcome::Stale);
    }
    let mut written = next.before;
    if let Some(staged) = &next.staged {
        // Noted before the file is in its place: a file that is there later may be another
        // process's already.
        written = staged.file_version()?;
        note_target(&paths.run, disk, written.map(FileVersion::file_id))
            .map_err(|source| StoreError::write_failed(&paths.run, source))?;
        staged.put_in_place(disk)?;
    }
    disk.remove_if_there(&paths.folding)
        .map_err(|source| StoreError::write_failed(paths.folding.clone(), source))?;
    Ok(CommitOutcome::As(written))
}

/// Distinguishes the temporary files of a compaction from others.
const FOLD: &str = "fold";

/// Returns the frames of a log that are whole but whose entries cannot be read.
///
/// # Errors
/// The log cannot be read.
fn unreadable_frames(log: &File) -> io::Result<Vec<FramePlace>> {
    let mut found = Vec::new();
    for frame in log::scan_frames(log)?.frames {
        if log_codec::unpack_entry(&log::read_payload(log, frame)?).is_err() {
            found.push(frame);
        }
    }
    Ok(found)
}

#[cfg(test)]
#[path = "compaction_tests.rs"]
mod tests;
