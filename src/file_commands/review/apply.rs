//! Applying decisions: accepted entries go into the recording. Then everything that was decided is
//! removed from the file in which it waited.
//!
//! After a crash between the two, changes that were already made still wait. They are recognised by
//! their content, and dropped the next time.

use std::collections::{BTreeMap, BTreeSet};

use super::super::args::LogFormat;
use super::changes::ReviewDesk;
use super::view::review_command;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::waiting_recordings::is_there;
use loomrec_cli::{serve_setup, terminal};
use loomrec_curation::review::{ChangeStanding, ReviewOutcome, ReviewSource, apply_changes};
use loomrec_recording::pending::{PendingChange, PendingKind, ReplacedTake};
use loomrec_recording::{Entry, EntryName};
use loomrec_store::{Recording, RecordingChanges, StoreError, TakeChange};

/// A decision about a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The change goes into the recording.
    Accept,
    /// The change is dropped.
    Reject,
}

/// The result of applying decisions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AppliedReview {
    pub(crate) accepted: usize,
    pub(crate) rejected: usize,
    /// Changes that still wait.
    pub(crate) left: usize,
    /// Changes that had been made before, and are now removed.
    pub(crate) made: usize,
}

/// Why decisions were not applied.
#[derive(Debug)]
pub(crate) enum ReviewFailure {
    /// None of them was applied.
    Whole(CommandFailure),
    /// The recording has the accepted changes, but they still wait.
    Half(CommandFailure),
}

impl From<ReviewFailure> for CommandFailure {
    fn from(undone: ReviewFailure) -> Self {
        match undone {
            ReviewFailure::Whole(failure) | ReviewFailure::Half(failure) => failure,
        }
    }
}

impl ReviewDesk {
    /// Applies decisions, one for each change. A change without a decision still waits.
    ///
    /// # Errors
    /// A recording that is being recorded into, or has changed since it was opened; a storage
    /// failure. Each file is either unchanged or complete.
    pub(crate) fn apply_verdicts(
        &self,
        verdicts: &[Option<Verdict>],
    ) -> Result<AppliedReview, ReviewFailure> {
        let is_made = |at: &usize| self.standings[*at] == ChangeStanding::Made;
        let all = 0..self.changes.len();
        let of = |verdict: Verdict| -> Vec<usize> {
            all.clone().filter(|at| verdicts[*at] == Some(verdict) && !is_made(at)).collect()
        };
        let (accepted, rejected) = (of(Verdict::Accept), of(Verdict::Reject));
        let made: Vec<usize> = all.clone().filter(is_made).collect();
        let gone: BTreeSet<usize> =
            [&accepted, &rejected, &made].into_iter().flatten().copied().collect();
        let done = AppliedReview {
            accepted: accepted.len(),
            rejected: rejected.len(),
            left: self.changes.len() - gone.len(),
            made: made.len(),
        };
        let result = apply_changes(&self.held, &self.changes, &self.standings, &accepted);
        self.write(&result).map_err(|error| ReviewFailure::Whole(error.into()))?;
        let forgotten =
            self.remove_decided(&gone, &result).and_then(|()| self.remove_answered(&gone));
        forgotten.map(|()| done).map_err(|failure| match accepted.is_empty() {
            true => ReviewFailure::Whole(failure),
            false => ReviewFailure::Half(self.half_done_failure(failure)),
        })
    }

    /// Returns a failure after which the recording has the accepted changes.
    fn half_done_failure(&self, failure: CommandFailure) -> CommandFailure {
        let file = terminal::path_line(self.file.as_path());
        let rest = review_command(self, "");
        let text =
            format!("{}\n  {file} has the accepted changes; {rest} does the rest", failure.message);
        CommandFailure::new(failure.code, text)
    }

    /// Writes the recording.
    fn write(&self, result: &ReviewOutcome) -> Result<(), StoreError> {
        let mut changes = RecordingChanges::new()?;
        for named in &result.names {
            match &named.instead_of {
                Some(old) => changes.rename_takes(old.clone(), named.name.clone(), Vec::new())?,
                None => changes.set_takes(named.name.clone(), Vec::new())?,
            }
            for take in &named.takes {
                let kept = match *take {
                    ReviewSource::Held(at) => TakeChange::Place(self.held_at[at]),
                    ReviewSource::New(at) => TakeChange::Entry(Box::new(self.read_entry(at)?)),
                };
                changes.push(&named.name, kept)?;
            }
        }
        self.recording.rewrite(&changes).map(drop)
    }

    /// Removes the decided changes from the file in which they waited. Removes the file if it is
    /// empty then.
    fn remove_decided(
        &self,
        gone: &BTreeSet<usize>,
        result: &ReviewOutcome,
    ) -> Result<(), CommandFailure> {
        if gone.len() == self.changes.len() {
            return Ok(self.waiting.remove()?);
        }
        if gone.is_empty() {
            return Ok(());
        }
        let numbers: BTreeMap<usize, usize> = result.moved.iter().copied().collect();
        let renumbered = |at: usize| match self.standings[at] {
            ChangeStanding::Replaces(take) => numbers.get(&take).copied(),
            _ => None,
        };
        let all = 0..self.changes.len();
        let moved: BTreeSet<usize> =
            all.clone().filter(|at| !gone.contains(at) && renumbered(*at).is_some()).collect();
        let touched: BTreeSet<&EntryName> =
            gone.union(&moved).map(|at| &self.changes[*at].entry.name).collect();
        let mut changes = RecordingChanges::new()?;
        for name in &touched {
            changes.set_takes((*name).clone(), Vec::new())?;
        }
        for at in all.filter(|at| !gone.contains(at)) {
            let name = &self.changes[at].entry.name;
            if !touched.contains(name) {
                continue;
            }
            let place = self.changes_at[at];
            let kept = match renumbered(at) {
                Some(take) => {
                    let mut entry = self.waiting.read_entry(&place)?;
                    renumber_take(&mut entry, take);
                    TakeChange::Entry(Box::new(entry))
                }
                None => TakeChange::Place(place),
            };
            changes.push(name, kept)?;
        }
        self.waiting.rewrite(&changes)?;
        Ok(())
    }

    /// Removes the requests from `FILE.pending` whose answers were decided.
    fn remove_answered(&self, gone: &BTreeSet<usize>) -> Result<(), CommandFailure> {
        let path = self.file.pending_file();
        if gone.is_empty() || !is_there(&path) {
            return Ok(());
        }
        let requests =
            serve_setup::open_to_change(&path, &Output::new(LogFormat::Human, false, false))?;
        if requests.meta().waits_for() != Some(PendingKind::Answers) {
            return Ok(());
        }
        let mut decided: Vec<usize> = gone.iter().copied().collect();
        forget_requests(&requests, |asked| {
            let found = decided.iter().position(|at| self.is_answer(*at, asked));
            found.map(|at| decided.swap_remove(at)).is_some()
        })?;
        Ok(())
    }
}

/// Updates the number of the take that an entry replaces.
fn renumber_take(entry: &mut Entry, take: usize) {
    if let Some(mut pending) = PendingChange::from_entry(entry) {
        if let Some(replaced) = &mut pending.replaces {
            replaced.take = take;
        }
        pending.add_to(entry);
    }
}

/// Removes answered requests. Removes the file if it is empty then.
fn forget_requests(
    requests: &Recording,
    mut is_answered: impl FnMut(&ReplacedTake) -> bool,
) -> Result<(), StoreError> {
    let (mut stay, mut all, mut touched) = (Vec::new(), 0, BTreeSet::new());
    for stored in requests.entries() {
        let stored = stored?;
        all += 1;
        match is_answered(&ReplacedTake::from_entry(&stored.name, stored.take, &stored.entry)) {
            true => drop(touched.insert(stored.name)),
            false => stay.push((stored.name, stored.place)),
        }
    }
    if stay.len() == all {
        return Ok(());
    }
    if stay.is_empty() {
        return requests.remove();
    }
    let mut changes = RecordingChanges::new()?;
    for name in &touched {
        changes.set_takes(name.clone(), Vec::new())?;
    }
    for (name, place) in stay.into_iter().filter(|(name, _)| touched.contains(name)) {
        changes.push(&name, TakeChange::Place(place))?;
    }
    requests.rewrite(&changes).map(drop)
}
