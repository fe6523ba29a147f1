//! The creation of recordings from entries that come from elsewhere, in a new place or in that of
//! another recording.

use std::fs;

use super::*;
use crate::error::StoreError;
use crate::location::RecordingLocation;
use crate::state_folder;
use crate::temporary_file;
use loomrec_recording::RecordingMeta;

/// An entry of a new recording. Each is made when it is needed.
type NewEntry<E> = Result<(EntryName, Entry), E>;

/// Creates a recording from entries, in their order. Returns how many there were. With `over`, it
/// replaces a recording that exists already. If the entries were read from that recording, use
/// [`Recording::replace_entries`].
///
/// # Errors
/// [`StoreError::Exists`] if there is one and `over` is not set, [`StoreError::Busy`] while another
/// process records into it, the error of `entries`, or the storage fails. Nothing is then changed.
pub fn create_recording<E: From<StoreError>>(
    location: impl Into<RecordingLocation>,
    meta: &RecordingMeta,
    entries: impl Iterator<Item = NewEntry<E>>,
    over: bool,
) -> Result<usize, E> {
    let location = location.into();
    let path = location.as_path();
    state_folder::create_for_file(path, &Disk::real())
        .map_err(|source| StoreError::write_failed(path.to_owned(), source))?;
    let paths = RecordingPaths::from_path(path)
        .map_err(|source| StoreError::write_failed(path.to_owned(), source))?;
    let exists = || StoreError::Exists { path: path.to_owned() };
    let before = paths.file_version()?;
    if before.is_some() && !over {
        return Err(exists().into());
    }
    if fs::metadata(&paths.target).is_ok_and(|metadata| !metadata.is_file()) {
        return Err(StoreError::NotAFile { path: path.to_owned() }.into());
    }
    linked::require_recording_behind_link(path)?;
    write_from(entries, |entries| {
        write_entries(path, &paths, meta, entries, before).map_err(|failed| match failed {
            // It did not exist before, and now it does.
            CreateFailure::Store(StoreError::Changed { .. }) if !over => exists().into(),
            failed => failed,
        })
    })
}

/// Creates a recording without entries where nothing is, so that its place looks from the start as
/// it will when there are entries.
///
/// # Errors
/// The storage fails.
pub fn create_empty(location: &RecordingLocation, rules: &IdentityRules) -> Result<(), StoreError> {
    let path = location.as_path();
    let failed = |source| StoreError::write_failed(path.to_owned(), source);
    Disk::real().create_folder(temporary_file::parent_folder(path)).map_err(failed)?;
    let paths = paths_of(path)?;
    if sidecars::has_leftover(&paths)? {
        return Ok(());
    }
    let none = std::iter::empty::<Result<_, StoreError>>();
    match create_recording(location.clone(), &RecordingMeta::new(rules), none, false) {
        // Another process has it.
        Err(StoreError::Exists { .. } | StoreError::Busy { .. } | StoreError::LeftLog { .. }) => {
            Ok(())
        }
        done => done.map(drop),
    }
}

/// Removes a recording that holds no entry, unless a process records into it.
///
/// # Errors
/// The storage fails.
pub fn remove_empty(location: &RecordingLocation) -> Result<(), StoreError> {
    let removed = match Recording::open_merged(location.clone()) {
        Ok(recording) if recording.names().next().is_none() => recording.remove(),
        Ok(_) | Err(StoreError::Missing { .. }) => Ok(()),
        Err(error) => Err(error),
    };
    match removed {
        Err(StoreError::Busy { .. } | StoreError::LeftLog { .. } | StoreError::Changed { .. }) => {
            Ok(())
        }
        done => done,
    }
}

impl Recording {
    /// Replaces the recording by entries, in their order, some of which were read from it. Returns
    /// how many there were.
    ///
    /// # Errors
    /// As for [`Self::rewrite`], or the error of `entries`. Nothing is then changed.
    pub fn replace_entries<E: From<StoreError>>(
        &self,
        meta: &RecordingMeta,
        entries: impl Iterator<Item = NewEntry<E>>,
    ) -> Result<usize, E> {
        let path = self.path();
        let paths = paths_of(path)?;
        linked::require_recording_behind_link(path)?;
        write_from(entries, |entries| {
            write_entries(path, &paths, meta, entries, self.opened_version())
        })
    }
}

/// Why a recording was not created.
enum CreateFailure {
    Store(StoreError),
    /// The source of the entries failed. It keeps its error.
    Source,
}

impl From<StoreError> for CreateFailure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Passes entries to `write` with their errors set aside: so it is compiled once for all sources.
fn write_from<E: From<StoreError>>(
    entries: impl Iterator<Item = NewEntry<E>>,
    write: impl FnOnce(
        &mut dyn Iterator<Item = NewEntry<CreateFailure>>,
    ) -> Result<usize, CreateFailure>,
) -> Result<usize, E> {
    let mut source_error = None;
    let mut entries = entries.map(|made| {
        made.map_err(|error| {
            source_error = Some(error);
            CreateFailure::Source
        })
    });
    let written = write(&mut entries);
    drop(entries);
    match (written, source_error) {
        (_, Some(error)) => Err(error),
        (Ok(count), None) => Ok(count),
        (Err(CreateFailure::Store(error)), None) => Err(error.into()),
        // A source that fails sets its error.
        (Err(CreateFailure::Source), None) => Ok(0),
    }
}

/// Writes a recording from entries, and puts it in its place if that is unchanged. Returns the
/// number of entries.
fn write_entries(
    path: &Path,
    paths: &RecordingPaths,
    meta: &RecordingMeta,
    entries: &mut dyn Iterator<Item = NewEntry<CreateFailure>>,
    before: Option<FileVersion>,
) -> Result<usize, CreateFailure> {
    let outline = RecordingOutline::empty(meta.clone());
    let mut changes = RecordingChanges::new()?;
    let mut count = 0;
    for made in entries {
        let (name, entry) = made?;
        changes.push(&name, TakeChange::Entry(Box::new(entry)))?;
        count += 1;
    }
    let plan = changes.merge_plan(&outline);
    let source =
        RecordingSnapshot::for_rewrite(path, None, outline, changes.spool.into_file(), plan);
    write_and_replace(paths, &source, None, before)?;
    Ok(count)
}
