//! Makes recordings of entries that come from elsewhere, in a new place or in that of
//! another recording.

use super::*;
use crate::error::StoreError;
use crate::location::RecordingLocation;

/// What the entries of a new recording come from: each is made as it is asked for.
type Made<E> = Result<(EntryName, Entry), E>;

/// Makes a new recording of entries, in their order; gives how many there were. With
/// `over`, one that is there already gives way to it: for one whose content went into the
/// entries, see [`Recording::replace`].
///
/// # Errors
/// [`StoreError::Exists`] where there is one and it may not give way,
/// [`StoreError::Busy`] while someone records into it, what `entries` fails with, or
/// storage that fails. Nothing is then changed.
pub fn create<E: From<StoreError>>(
    location: impl Into<RecordingLocation>,
    meta: &RecordingMeta,
    entries: impl Iterator<Item = Made<E>>,
    over: bool,
) -> Result<usize, E> {
    let location = location.into();
    let path = location.as_path();
    let paths =
        RecordingPaths::of(path).map_err(|source| StoreError::write(path.to_owned(), source))?;
    let exists = || StoreError::Exists { path: path.to_owned() };
    let before = paths.backend.version()?;
    if !before.is_nothing() && !over {
        return Err(exists().into());
    }
    paths.backend.refuse_other(path)?;
    linked::refuse_other_than_a_recording(path)?;
    match write(path, &paths, meta, entries, &before) {
        // It was not there, and now it is.
        Err(Failed::Store(StoreError::Changed { .. })) if !over => Err(exists().into()),
        Err(Failed::Store(error)) => Err(error.into()),
        Err(Failed::Entries(error)) => Err(error),
        Ok(count) => Ok(count),
    }
}

impl Recording {
    /// Makes the recording anew of entries, in their order, of which some have been read
    /// from it; gives how many there were.
    ///
    /// # Errors
    /// As [`Self::rewrite`]; what `entries` fails with. Nothing is then changed.
    pub fn replace<E: From<StoreError>>(
        &self,
        meta: &RecordingMeta,
        entries: impl Iterator<Item = Made<E>>,
    ) -> Result<usize, E> {
        let path = self.path();
        let paths = paths_of(path)?;
        linked::refuse_other_than_a_recording(path)?;
        write(path, &paths, meta, entries, self.opened()).map_err(|failed| match failed {
            Failed::Store(error) => error.into(),
            Failed::Entries(error) => error,
        })
    }
}

/// Why a recording was not made.
enum Failed<E> {
    Store(StoreError),
    /// The entries' own error.
    Entries(E),
}

impl<E> From<StoreError> for Failed<E> {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Writes a recording of entries, and puts it in its place where that is as it was.
fn write<E>(
    path: &Path,
    paths: &RecordingPaths,
    meta: &RecordingMeta,
    entries: impl Iterator<Item = Made<E>>,
    before: &BaseVersion,
) -> Result<usize, Failed<E>> {
    // What is in a folder is not removed unless all of it is a recording.
    let mut base = paths.backend.replaced_snapshot(path)?;
    let outline = base.outline(path)?.unwrap_or_else(|| RecordingOutline::empty(meta.clone()));
    let mut changes = RecordingChanges::new()?;
    let mut count = 0;
    for found in entries {
        let (name, entry) = found.map_err(Failed::Entries)?;
        changes.push(&name, TakeChange::Entry(Box::new(entry)))?;
        count += 1;
    }
    for name in outline.names() {
        if !changes.known.contains_key(&name) {
            changes.set(name, Vec::new())?;
        }
    }
    let plan = changes.plan(&outline);
    let source = RecordingSnapshot::rewriting(path, base, outline, changes.spool.into_file(), plan);
    replace(paths, &source, None, Some(meta), before)?;
    Ok(count)
}
