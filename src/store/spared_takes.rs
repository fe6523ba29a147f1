//! Takes that succeeded and that a finished recording would replace by calls that failed.

use loomrec_recording::{CallScope, EntryName};

use super::error::StoreError;
use super::location::RecordingLocation;
use super::merge::TakeRef;
use super::reader::Recording;
use super::rewrite::{RecordingChanges, TakeChange};

/// The calls of a finished recording that must not replace a take that succeeded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SparedTakes {
    /// The number of calls that failed and are left out.
    pub left_out: usize,
    /// Whether these are all calls of the recording, so that it must not replace the other one.
    pub are_all: bool,
}

/// A take of a name, with what decides whether it may replace another.
struct ScopedTake {
    scope: CallScope,
    failed: bool,
    place: TakeRef,
}

/// Puts the takes at `place` that succeeded into a finished recording that is to replace them, where
/// all its calls of the same name and scope failed. Changes nothing if all its calls failed.
///
/// # Errors
/// A recording cannot be read, or the finished one cannot be written.
pub fn spare_successes(
    finished: &RecordingLocation,
    place: &RecordingLocation,
) -> Result<SparedTakes, StoreError> {
    let earlier = match Recording::open_to_inspect(place) {
        Ok(earlier) => earlier,
        Err(StoreError::Missing { .. }) => return Ok(SparedTakes::default()),
        Err(error) => return Err(error),
    };
    let recording = Recording::open_to_inspect(finished)?;
    let (mut failures, mut successes) = (0, 0);
    for stored in recording.entries() {
        let is_lesser = stored?.entry.is_lesser_take();
        *(if is_lesser { &mut failures } else { &mut successes }) += 1;
    }
    if failures == 0 {
        return Ok(SparedTakes::default());
    }
    if successes == 0 {
        let are_all = has_success(&earlier)?;
        return Ok(SparedTakes { left_out: if are_all { failures } else { 0 }, are_all });
    }
    let mut changes = RecordingChanges::new()?;
    let mut left_out = 0;
    for name in recording.names() {
        left_out += spare_name(&recording, &earlier, name, &mut changes)?;
    }
    recording.rewrite(&changes)?;
    Ok(SparedTakes { left_out, are_all: false })
}

/// Adds the change to one name, if it needs any. Returns how many of its takes are left out.
fn spare_name(
    recording: &Recording,
    earlier: &Recording,
    name: EntryName,
    changes: &mut RecordingChanges,
) -> Result<usize, StoreError> {
    let takes = scoped_takes(recording, &name)?;
    if takes.iter().all(|take| !take.failed) {
        return Ok(0);
    }
    let before = scoped_takes(earlier, &name)?;
    let has_success = |among: &[ScopedTake], scope: &CallScope| {
        among.iter().any(|take| !take.failed && take.scope.agrees_with(scope))
    };
    let is_spared = |scope: &CallScope| !has_success(&takes, scope) && has_success(&before, scope);
    let (lost, kept): (Vec<_>, Vec<_>) = takes.iter().partition(|take| is_spared(&take.scope));
    if lost.is_empty() {
        return Ok(0);
    }
    let mut all: Vec<_> = kept.into_iter().map(|take| TakeChange::Place(take.place)).collect();
    let of_lost = |take: &&ScopedTake| lost.iter().any(|lost| lost.scope.agrees_with(&take.scope));
    for take in before.iter().filter(of_lost) {
        all.push(TakeChange::Entry(Box::new(earlier.read_entry(&take.place)?)));
    }
    changes.set_takes(name, all)?;
    Ok(lost.len())
}

/// Returns the takes of a name.
fn scoped_takes(recording: &Recording, name: &EntryName) -> Result<Vec<ScopedTake>, StoreError> {
    let places = recording.take_places(name)?.into_iter();
    let read = |place: TakeRef| {
        let entry = recording.read_entry(&place)?;
        Ok(ScopedTake {
            scope: CallScope::from_entry(&entry),
            failed: entry.is_lesser_take(),
            place,
        })
    };
    places.map(read).collect()
}

/// Whether a recording has a take that succeeded.
fn has_success(recording: &Recording) -> Result<bool, StoreError> {
    for stored in recording.entries() {
        if !stored?.entry.is_lesser_take() {
            return Ok(true);
        }
    }
    Ok(false)
}
