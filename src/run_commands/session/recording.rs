//! The recording of a session: kept beside its place until the session has ended, and then put there
//! or discarded.

use std::sync::Arc;
use std::time::Duration;

use time::OffsetDateTime;

use crate::args::RecordArgs;
use crate::record::superseded;
use loomrec_cli::exit::{CommandFailure, RECORDING};
use loomrec_cli::store_note::store_note;
use loomrec_engine::blocking;
use loomrec_identity::RunValues;
use loomrec_proxy::server::session::{CloseResult, SessionMode};
use loomrec_proxy::server::{OnNotice, Proxy, UserNotice};
use loomrec_store::{
    Recording, RecordingLocation, SessionLease, SparedTakes, StoreError, StoreEvent,
};
use loomrec_telemetry::run_counters::RunCounters;

/// How long exchanges that are on their way have to end.
const GRACE: Duration = Duration::from_secs(10);

/// A recording that is not in its place yet.
pub(super) struct Staging {
    place: RecordingLocation,
    unfinished: RecordingLocation,
    /// Whether calls that failed may replace takes that succeeded.
    replaces_successes: bool,
    /// Held until the session has ended: no other session records into the same place.
    _lease: SessionLease,
}

impl Staging {
    /// Begins a recording beside its place: empty, or as a copy of what is there.
    ///
    /// # Errors
    /// Another session or process records there, what is there cannot be read, or it is no file that
    /// a session may replace.
    pub(super) fn begin(
        place: &RecordingLocation,
        mode: SessionMode,
        keep_failures: bool,
    ) -> Result<Self, CommandFailure> {
        refuse_other_file(place)?;
        let lease = SessionLease::acquire(place)?;
        let unfinished = place.unfinished_file();
        loomrec_store::discard_unfinished(&unfinished)?;
        if mode == SessionMode::New {
            loomrec_store::copy_to(place, &unfinished)?;
        }
        // What is added to a copy replaces nothing.
        let replaces_successes = keep_failures || mode != SessionMode::Record;
        Ok(Self { place: place.clone(), unfinished, replaces_successes, _lease: lease })
    }

    /// Returns where the calls are recorded.
    pub(super) fn unfinished_location(&self) -> &RecordingLocation {
        &self.unfinished
    }

    /// Moves the recording to its place if `keep`. Failed calls do not replace takes that succeeded;
    /// `notify` gets their number. Discards the recording if that leaves no call of it, or without
    /// `keep`. Returns whether it was moved.
    pub(super) fn end(
        &self,
        keep: bool,
        notify: impl Fn(&StoreEvent),
    ) -> Result<bool, CommandFailure> {
        let mut is_kept = keep;
        if keep {
            refuse_other_file(&self.place)?;
            let spared = self.spare_successes()?;
            if spared.left_out > 0 {
                let path = self.place.as_path().to_owned();
                notify(&StoreEvent::Failures { path, calls: spared.left_out });
            }
            is_kept = !spared.are_all;
        }
        if is_kept {
            loomrec_store::put_in_place(&self.unfinished, &self.place)?;
        }
        // What is left of it: nothing, after it was put in its place.
        loomrec_store::discard_unfinished(&self.unfinished)?;
        Ok(is_kept)
    }

    fn spare_successes(&self) -> Result<SparedTakes, StoreError> {
        match self.replaces_successes {
            true => Ok(SparedTakes::default()),
            false => loomrec_store::spare_successes(&self.unfinished, &self.place),
        }
    }
}

/// Refuses to replace what is no recording of loomrec: a control call names it.
fn refuse_other_file(place: &RecordingLocation) -> Result<(), CommandFailure> {
    match Recording::open_to_inspect(place) {
        Ok(recording) if recording.meta().is_loomrec() => Ok(()),
        Err(StoreError::Missing { .. }) => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Err(CommandFailure::new(
            RECORDING,
            format!(
                "{} is no recording of loomrec, so it is not replaced: name another file",
                place.display()
            ),
        )),
    }
}

/// A session that may record.
pub(super) struct RecordedSession {
    pub(super) args: RecordArgs,
    pub(super) run_values: RunValues,
    pub(super) proxy: Arc<Proxy>,
    pub(super) staging: Option<Staging>,
    /// When the session began.
    pub(super) began: OffsetDateTime,
    /// Tells the user what became of its calls.
    pub(super) notify: OnNotice,
}

impl RecordedSession {
    /// Closes the recording. Returns whether it was written.
    ///
    /// # Errors
    /// What was recorded is not in its place.
    pub(super) async fn close(self, keep: bool) -> CloseResult {
        let Some(record) = self.proxy.engine.record_engine() else { return Ok(false) };
        let finished = record.finish_exchanges(GRACE).await;
        if let Err(reason) = &finished {
            self.proxy.telemetry.counters.note_unfolded(reason);
        }
        finished.map_err(|reason| format!("failed to {reason}"))?;
        let kept = RunCounters::counter_value(&self.proxy.telemetry.counters.recorded) > 0;
        blocking::run_blocking(move || self.settle(keep, kept)).await
    }

    /// Puts the recording in its place, or discards it.
    fn settle(&self, keep: bool, has_calls: bool) -> CloseResult {
        let notify = |event: &StoreEvent| (self.notify)(UserNotice::Warning(&store_note(event)));
        let settled = match &self.staging {
            Some(staging) => staging.end(keep && has_calls, notify),
            None => self.remove_superseded().map(|()| has_calls),
        };
        settled.map_err(|failure| failure.message)
    }

    /// Removes the earlier takes that this session recorded again with other values of the run.
    fn remove_superseded(&self) -> Result<(), CommandFailure> {
        let record = self.proxy.engine.record_engine();
        let has_values = record.is_some_and(|record| record.has_run_values());
        superseded::remove(&self.args, &self.run_values, self.began, has_values).map(drop)
    }
}
