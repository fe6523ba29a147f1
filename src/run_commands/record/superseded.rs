//! Removal of the earlier takes of calls that a run recorded again with other values of the run.

use time::OffsetDateTime;

use crate::args::{RecordArgs, RecordMode};
use loomrec_cli::exit::CommandFailure;
use loomrec_engine::replay;
use loomrec_identity::RunValues;
use loomrec_recording::{Entry, timestamp};
use loomrec_store::{Recording, RecordingChanges, TakeChange};

/// Removes the earlier takes of calls that this run, which began at `began`, recorded again in
/// another directory or on another day. Returns their number. `any` says whether a call of the run
/// holds a value of it.
///
/// # Errors
/// The recording cannot be read or written.
pub(crate) fn remove(
    args: &RecordArgs,
    here: &RunValues,
    began: OffsetDateTime,
    any: bool,
) -> Result<u64, CommandFailure> {
    if args.mode != RecordMode::All || !any {
        return Ok(0);
    }
    let recording = Recording::open_merged(&args.recording)?;
    let began = i64::try_from(began.unix_timestamp_nanos() / 1000).unwrap_or(i64::MAX);
    let began = timestamp::format_timestamp(began);
    let is_new = |entry: &Entry| entry.recorded_at.as_ref().is_some_and(|at| *at >= began);
    let superseded = replay::superseded_takes(&recording, here, is_new)?;
    if superseded.is_empty() {
        return Ok(0);
    }
    let mut changes = RecordingChanges::new()?;
    for name in superseded.keys() {
        changes.set_takes(name.clone(), Vec::new())?;
    }
    for stored in recording.entries() {
        let stored = stored?;
        let Some(takes) = superseded.get(&stored.name) else { continue };
        if !takes.contains(&stored.take) {
            changes.push(&stored.name, TakeChange::Place(stored.place))?;
        }
    }
    recording.rewrite(&changes)?;
    Ok(superseded.values().map(|takes| takes.len() as u64).sum())
}

/// Returns the note about such takes.
pub(super) fn note(count: u64) -> Option<String> {
    let takes = if count == 1 { "take" } else { "takes" };
    (count > 0).then(|| {
        format!(
            "{count} earlier {takes} replaced: the same calls, recorded in another directory or on \
             another day"
        )
    })
}
