//! The opening of a recording for adding to it.

use super::*;
use crate::error::StoreError;
use crate::location::RecordingLocation;
use crate::run::RunTarget;
use crate::{
    compaction, leftover, linked, reader::Recording, regular_file, run, sidecars, temporary_file,
};

/// How often what an earlier run left is compacted before this is given up. Each time, another
/// recorder has come and died meanwhile.
const LEFTOVERS: usize = 8;

/// A file of up to this many bytes is read in full before it is added to. Of a larger one, only the
/// outline is read, so that recording begins soon.
const READ_THROUGH: u64 = 64 << 20;

impl RecordingAppender {
    /// Opens a recording for adding to it. The folder that it is in is created here, its file by the
    /// first compaction. What is there already is read and checked, and what an earlier run left in its
    /// log is compacted.
    ///
    /// # Errors
    /// An existing recording cannot be used or was made under other rules, or a lock cannot be
    /// taken. The recording is never changed then.
    pub fn open(
        location: impl Into<RecordingLocation>,
        run: &RunChoice,
        rules: &IdentityRules,
    ) -> Result<Self, StoreError> {
        Self::open_on(Disk::real(), location.into().as_path(), run, rules)
    }

    /// The same, on a disk that may fail.
    pub(crate) fn open_on(
        disk: Disk,
        path: &Path,
        choice: &RunChoice,
        rules: &IdentityRules,
    ) -> Result<Self, StoreError> {
        let failed = |source| StoreError::write_failed(path.to_owned(), source);
        disk.create_folder(temporary_file::parent_folder(path)).map_err(failed)?;
        let mut paths = RecordingPaths::from_path(path).map_err(failed)?;
        linked::require_recording_behind_link(path)?;
        let mut notes = Vec::new();
        if paths.is_old_place() {
            notes.extend(leftover::leave_old_place(path, &paths, &disk)?);
            paths = RecordingPaths::from_path(path).map_err(failed)?;
        }
        let held = check_recording(path, rules)?;
        let mut lock = RecordingLock::new(&paths.lock, &disk);
        let (run, entered) = enter_run(path, &paths, &disk, &mut lock, choice, rules)?;
        notes.extend(entered);
        let key_variables = KeyVariables::default();
        let about = first_frame(path, rules, &key_variables)?;
        let mut recorder = Self {
            path: path.to_owned(),
            tail: LogAppender::new(&paths.log, &disk),
            settled: lock.file_id(),
            wait: lock::WAIT,
            run: Some(run),
            orphans: Vec::new(),
            secret_guard: Arc::default(),
            own: HashSet::default(),
            schedule: CompactionSchedule::default(),
            stamp: FileVersion::at_path(&paths.target).map_err(failed)?,
            held,
            suspicious: false,
            rules: rules.clone(),
            paths,
            disk,
            lock,
            about,
            key_variables,
            notes,
            replacements: Vec::new(),
            compacts: true,
        };
        if let Some(system) = loomrec_os::network_file_system(recorder.paths.recording_folder()) {
            recorder.notes.push(StoreEvent::Network { path: path.to_owned(), system });
        }
        Ok(recorder)
    }
}

/// Returns the frame that a log begins with.
pub(super) fn first_frame(
    path: &Path,
    rules: &IdentityRules,
    key_variables: &KeyVariables,
) -> Result<Vec<u8>, StoreError> {
    let mut frame = Vec::new();
    let failed = |error| StoreError::write_failed(path.to_owned(), std::io::Error::other(error));
    log::write_first_frame(rules, key_variables, &mut frame).map_err(failed)?;
    Ok(frame)
}

/// Enters the run, after compacting what an earlier run left. Entries that are in the log after
/// that belong to the run that is entered.
fn enter_run(
    path: &Path,
    paths: &RecordingPaths,
    disk: &Disk,
    lock: &mut RecordingLock,
    choice: &RunChoice,
    rules: &IdentityRules,
) -> Result<(RunSeat, Vec<StoreEvent>), StoreError> {
    let mut notes = Vec::new();
    let mut entries = 0;
    let mut attempts = 0;
    loop {
        let guard = lock.acquire(lock::WAIT)?;
        let at_run = |source| StoreError::lock_failed(paths.run.clone(), source);
        let left = sidecars::is_at(&paths.log)? || sidecars::is_at(&paths.folding)?;
        let is_held = run::is_held(&paths.run).map_err(at_run)?;
        if !is_held && !run::is_of(&paths.run, current_target(paths)?).map_err(at_run)? {
            // It may have come with the recording, with names that nobody recorded here.
            disk.remove_if_there(&paths.run).map_err(at_run)?;
        }
        if left && attempts < LEFTOVERS && !run::is_live(&paths.run).map_err(at_run)? {
            drop(guard);
            attempts += 1;
            let done = compaction::compact_with_rules(paths, disk, rules, true, None)?;
            entries += done.compacted_entries;
            notes.extend(done.notes);
            continue;
        }
        remove_leftovers(path, paths)?;
        let mut run = RunSeat::enter(&paths.run, disk, choice).map_err(at_run)?;
        if run.is_alone() {
            run::note_target(&paths.run, disk, current_target(paths)?).map_err(at_run)?;
            run.read_new_lines().map_err(at_run)?;
        }
        drop(guard);
        if entries > 0 {
            notes.push(StoreEvent::Compacted { path: path.to_owned(), entries });
        }
        return Ok((run, notes));
    }
}

/// Returns which file the recording is now.
fn current_target(paths: &RecordingPaths) -> Result<RunTarget, StoreError> {
    paths.file_version().map(|version| version.map(FileVersion::file_id))
}

/// Removes what killed compactions left behind, unless one is running. Only under the lock.
fn remove_leftovers(path: &Path, paths: &RecordingPaths) -> Result<(), StoreError> {
    let failed = |source| StoreError::write_failed(path.to_owned(), source);
    let is_compacting = match regular_file::open_to_read(&paths.folding).map_err(failed)? {
        Some(file) => !lock::try_lock(&file).map_err(failed)?,
        None => false,
    };
    if is_compacting {
        return Ok(());
    }
    temporary_file::remove_leftovers(paths.state_folder(), &paths.target).map_err(failed)
}

/// Checks a recording and its rules, if it exists. Returns half of the fingerprint of each name it
/// holds. The entries of a large one are not read: a compaction copies those that it does not change
/// as they are.
fn check_recording(path: &Path, rules: &IdentityRules) -> Result<Vec<u64>, StoreError> {
    let recording = match Recording::open_to_inspect(path) {
        Ok(recording) => recording,
        Err(StoreError::Missing { .. }) => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    match recording.file_size() {
        0..=READ_THROUGH => recording.entries().try_for_each(|stored| stored.map(drop))?,
        _ => recording.check_shapes()?,
    }
    let held = recording
        .names()
        .map(|name| compaction_job::half_fingerprint(log::name_fingerprint(&name)));
    let held: Vec<u64> = held.collect();
    let theirs = recording.meta().rules();
    if !held.is_empty() && !theirs.makes_keys_of(rules) {
        return Err(StoreError::other_rules(path, rules, theirs));
    }
    Ok(held)
}
