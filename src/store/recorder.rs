//! The recorder: adds entries to a recording, beside any number of other recorders.
//!
//! Recorded entries go to the log first, which costs the same however large the recording is.
//! Compactions move them from there into the recording.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use foldhash::{HashMap, HashSet};

use super::compaction_job::{self, CompactionDone, CompactionJob};
use super::compaction_schedule::CompactionSchedule;
use super::disk::Disk;
use super::error::StoreError;
use super::file_version::FileVersion;
use super::frame_encoder::{EncodedFrame, FrameEncoder, LogItem};
use super::lock::{self, RecordingLock};
use super::log::{self, NameFingerprint};
use super::log_appender::{LogAppender, OpenLog};
use super::merge::TakeReplacement;
use super::paths::RecordingPaths;
use super::run::{RunChoice, RunSeat};
use super::secret_guard::SecretGuard;
use super::store_event::StoreEvent;
use loomrec_identity::IdentityRules;
use loomrec_os::FileId;
use loomrec_recording::redact::CallCredentials;
use loomrec_recording::{Entry, EntryName, KeyVariables};

mod follow;
mod lost;
mod open;

/// How long to wait for the lock after another process was seen to keep it, so that not every
/// answer to a client is held up by the full wait.
const SHORT_WAIT: Duration = Duration::from_millis(500);

/// How often the final compaction is repeated for what arrived meanwhile. If other recorders go on,
/// they compact the rest.
const ROUNDS: usize = 3;

/// A recording that is open for adding to it.
///
/// Everything that [`RecordingAppender::append_frames`] has returned from is on disk. Dropping the
/// recorder ends its part in the run, as [`RecordingAppender::close`] does.
#[derive(Debug)]
pub struct RecordingAppender {
    /// As it was named, for messages.
    path: PathBuf,
    paths: RecordingPaths,
    disk: Disk,
    rules: IdentityRules,
    lock: RecordingLock,
    /// The lock's file when the run was last seen to be in order.
    settled: Option<FileId>,
    wait: Duration,
    /// `None` once it is closed.
    run: Option<RunSeat>,
    tail: LogAppender,
    /// What a log begins with.
    about: Vec<u8>,
    /// The key variables that the recorded program has.
    key_variables: KeyVariables,
    /// Logs that another process removed, whose entries are still to be saved.
    orphans: Vec<OpenLog>,
    secret_guard: Arc<SecretGuard>,
    /// The names that the recording held when it was opened: half of each fingerprint.
    held: Vec<u64>,
    /// The names that this recorder has stored.
    own: HashSet<NameFingerprint>,
    schedule: CompactionSchedule,
    /// The recording's version when it was last known to be right.
    stamp: Option<FileVersion>,
    /// Whether another process has cut a log short.
    suspicious: bool,
    notes: Vec<StoreEvent>,
    /// What compactions replaced of the takes of earlier runs.
    replacements: Vec<TakeReplacement>,
    /// Whether the log is compacted. Otherwise others cut it into segments.
    compacts: bool,
}

impl RecordingAppender {
    /// Searches every entry for these credentials as well before it is written.
    pub fn watch_for(&self, secrets: &CallCredentials) {
        self.secret_guard.watch_for(secrets);
    }

    /// Returns an encoder of exchanges for [`RecordingAppender::append_frames`]. With `replace`,
    /// each take that this run records takes the place of one that an earlier run left under the
    /// same name and session. Otherwise all are kept.
    pub fn encoder(&self, replace: bool) -> FrameEncoder {
        FrameEncoder::new(self.path.clone(), Arc::clone(&self.secret_guard), replace)
    }

    /// Returns the place of this recorder in its run, counted from 0. It distinguishes what two of
    /// them record at the same moment.
    pub fn place_in_run(&self) -> usize {
        self.run.as_ref().map_or(0, RunSeat::place_in_run)
    }

    /// States the key variables that the recorded program has. They get into the recording with
    /// the next entries.
    ///
    /// # Errors
    /// The rules of the recording are too long for a log.
    pub fn state_key_variables(&mut self, names: &KeyVariables) -> Result<(), StoreError> {
        self.key_variables.add(names);
        self.about = open::first_frame(&self.path, &self.rules, &self.key_variables)?;
        if !self.key_variables.is_empty() {
            self.tail.add_to_others();
        }
        Ok(())
    }

    /// Leaves the log for [`super::cut_segment`]: it is never compacted.
    pub fn leave_log(&mut self) {
        self.compacts = false;
    }

    /// Whether the log is compacted.
    pub(super) fn can_compact(&self) -> bool {
        self.compacts
    }

    /// Encodes a batch and stores it, as [`RecordingAppender::append_frames`] does.
    ///
    /// # Errors
    /// [`StoreError::Secret`] if an entry holds a credential of this run: it is left out, and the
    /// others are stored. Otherwise as for [`RecordingAppender::append_frames`].
    pub fn append_entries(
        &mut self,
        batch: Vec<(EntryName, Entry)>,
        replace: bool,
    ) -> Result<(), StoreError> {
        let encoder = self.encoder(replace);
        let mut encoded = Vec::with_capacity(batch.len());
        let mut secret = Vec::new();
        for (name, entry) in batch {
            match encoder.encode(&LogItem::new(name, entry, Arc::default())) {
                Ok(frame) => encoded.push(frame),
                Err(StoreError::Secret { names, .. }) => secret.extend(names),
                Err(other) => return Err(other),
            }
        }
        self.append_frames(&mut encoded)?;
        if secret.is_empty() {
            return Ok(());
        }
        Err(StoreError::Secret { path: self.path.clone(), names: secret })
    }

    /// Stores a batch of frames, or of values that hold one. Once this returns, the batch is on
    /// disk. Entries of one name are ordered by `recorded_at`.
    ///
    /// A batch may be passed again after an error: an entry that is there already is stored once.
    ///
    /// # Errors
    /// The lock cannot be taken, or the storage fails. Nothing of the batch is then known to be
    /// stored, what was stored before is unchanged, and the next batch is tried again.
    pub fn append_frames(
        &mut self,
        batch: &mut [impl AsMut<EncodedFrame>],
    ) -> Result<(), StoreError> {
        if batch.is_empty() {
            return Ok(());
        }
        let guard = self.acquire_lock()?;
        self.write_batch(batch, guard)
    }

    /// Stores a batch, as [`RecordingAppender::append_frames`] does, if that needs no wait and is
    /// sure to be quick. Returns `None` if others hold the lock or the storage is slow.
    pub fn keep_now(
        &mut self,
        batch: &mut [impl AsMut<EncodedFrame>],
    ) -> Option<Result<(), StoreError>> {
        if self.run.is_none() || !self.tail.is_quick() {
            return None;
        }
        match self.lock.acquire_for_live_run() {
            Ok(guard) => Some(self.write_batch(batch, guard)),
            Err(StoreError::Held { .. }) => None,
            Err(error) => Some(Err(error)),
        }
    }

    /// Appends a batch.
    fn write_batch(
        &mut self,
        batch: &mut [impl AsMut<EncodedFrame>],
        guard: lock::LockGuard,
    ) -> Result<(), StoreError> {
        self.catch_up()?;
        let Some(run) = &mut self.run else { return Ok(()) };
        let room = batch.iter_mut().map(|frame| frame.as_mut().len()).sum();
        let mut frames = Vec::with_capacity(room);
        let mut marks: HashMap<NameFingerprint, u32> = HashMap::default();
        let mut may_be_left_out = false;
        for frame in batch.iter_mut().map(AsMut::as_mut) {
            let counted = |mark| run.recorded_count(mark) + marks.get(&mark).copied().unwrap_or(0);
            let known = frame.recorded_takes(counted);
            frames.extend_from_slice(frame.bytes_for(known));
            may_be_left_out |= frame.may_be_left_out();
            *marks.entry(frame.run_mark()).or_default() += 1;
        }
        let at_log = |source| StoreError::write_failed(self.paths.log.clone(), source);
        self.tail.append_frames(&self.about, &mut frames, run.rotation_count()).map_err(at_log)?;
        drop(guard);
        for frame in batch.iter_mut().map(AsMut::as_mut) {
            run.count_logged(frame.run_mark());
            if !frame.may_be_left_out() {
                self.own.insert(frame.name);
            }
        }
        self.schedule.note_append(Instant::now(), may_be_left_out);
        Ok(())
    }

    fn acquire_lock(&mut self) -> Result<lock::LockGuard, StoreError> {
        let guard = self.lock.acquire(self.wait);
        self.wait = match &guard {
            Err(StoreError::Held { .. }) => SHORT_WAIT,
            _ => lock::WAIT,
        };
        guard
    }

    /// Whether there are events to report.
    pub(super) fn has_notes(&self) -> bool {
        !self.notes.is_empty()
    }

    /// Returns the events to report, each once.
    pub(super) fn take_notes(&mut self) -> Vec<StoreEvent> {
        std::mem::take(&mut self.notes)
    }

    /// Returns what compactions replaced of the takes of earlier runs, each once.
    pub(super) fn take_replacements(&mut self) -> Vec<TakeReplacement> {
        std::mem::take(&mut self.replacements)
    }

    /// Returns when the next compaction is due; `None` if there is nothing to compact.
    pub(super) fn compaction_due(&self) -> Option<Instant> {
        if !self.compacts {
            return None;
        }
        let file = self.stamp.map_or(0, |stamp| stamp.length);
        self.schedule.next_due(self.tail.len(), file)
    }

    /// Returns the work of a compaction, for another thread. Its outcome must be passed to
    /// [`RecordingAppender::compaction_done`] before the next compaction begins.
    pub(super) fn start_compaction(&mut self) -> CompactionJob {
        self.schedule.note_begin(Instant::now());
        self.compaction_job(false)
    }

    fn compaction_job(&self, wait: bool) -> CompactionJob {
        let others = self.run.as_ref().is_some_and(|run| run.rotation_count() > 0);
        // A file that was removed right after it was written has no stamp to compare with.
        let changed = || self.stamp.is_none() || self.stamp_now() != self.stamp;
        let doubt = self.suspicious || (others && changed());
        CompactionJob {
            path: self.path.clone(),
            paths: self.paths.clone(),
            disk: self.disk.clone(),
            rules: self.rules.clone(),
            wait,
            known: self.tail.known_log(),
            check: doubt.then(|| self.own.clone()),
        }
    }

    fn stamp_now(&self) -> Option<FileVersion> {
        FileVersion::at_path(&self.paths.target).ok().flatten()
    }

    /// Notes that a compaction could not begin.
    pub(super) fn compaction_refused(&mut self) {
        self.schedule.note_failure(Instant::now());
    }

    /// Notes the outcome of a compaction. Returns whether something is left.
    ///
    /// # Errors
    /// The reason why it failed: it is retried later, and everything is still in the log.
    /// [`StoreError::Gone`], once, if another process deleted or replaced the recording.
    pub(super) fn compaction_done(&mut self, done: CompactionDone) -> Result<bool, StoreError> {
        let compacted = match done.result {
            Ok(compacted) => compacted,
            Err(error) => {
                self.schedule.note_failure(Instant::now());
                return Err(error);
            }
        };
        match compacted.busy {
            true => self.schedule.note_busy(Instant::now()),
            false => self.schedule.note_completion(Instant::now(), compacted.left),
        }
        self.notes.extend(compacted.notes);
        self.replacements.extend(compacted.replacements);
        self.suspicious = false;
        let mut gone = done.gone;
        self.stamp = match &done.replaced {
            Some(replaced) => replaced.written,
            None => self.stamp_now(),
        };
        let lost =
            done.replaced.and_then(|replaced| self.count_lost_names(replaced.read, &mut gone));
        for name in &gone {
            self.own.remove(name);
        }
        match (lost, gone.len()) {
            (None, 0) => Ok(compacted.left),
            (lost, gone) => {
                let names = gone.max(lost.unwrap_or(0));
                Err(StoreError::Gone { path: self.path.clone(), names })
            }
        }
    }

    /// Compacts what is in the log, ends this recorder's part in the run, and cleans up if it is
    /// the last.
    ///
    /// # Errors
    /// The log could not be compacted: everything is still in it, and the next `record` or
    /// `verify --fix` tries again. Or the recording no longer holds what was stored in it, or a lock
    /// or a file beside it could not be removed.
    pub fn close(&mut self) -> Result<(), StoreError> {
        let compacted = self.compact_all();
        let left = self.leave_run();
        // If both failed, the calls matter more than the files beside the recording.
        compacted.and(left)
    }

    fn compact_all(&mut self) -> Result<(), StoreError> {
        if self.run.is_none() {
            return Ok(());
        }
        // A log that another process removed is saved first.
        let guard = self.acquire_lock()?;
        self.catch_up()?;
        drop(guard);
        if !self.compacts {
            return Ok(());
        }
        for _ in 0..ROUNDS {
            let done = self.compaction_job(true).run();
            if !self.compaction_done(done)? {
                break;
            }
        }
        Ok(())
    }

    fn leave_run(&mut self) -> Result<(), StoreError> {
        let Some(run) = self.run.take() else {
            return Ok(());
        };
        let guard = self.acquire_lock()?;
        let failed = |source| StoreError::lock_failed(self.paths.lock.clone(), source);
        if run.leave().map_err(failed)? {
            self.lock.remove(guard).map_err(failed)?;
        }
        Ok(())
    }
}

impl Drop for RecordingAppender {
    fn drop(&mut self) {
        // The error cannot be reported any more, and what is left does no harm.
        let _ = self.close();
    }
}

#[cfg(test)]
mod failed_call_tests;
#[cfg(test)]
mod failure_tests;
#[cfg(test)]
mod meddling_tests;
#[cfg(test)]
mod replacement_scope_tests;
#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
