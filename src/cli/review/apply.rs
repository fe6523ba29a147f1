//! Carrying decisions out: accepted entries go into the recording, then what was
//! decided leaves the place where it waited.
//!
//! Between the two a crash leaves changes that are made already; they are known again
//! by what they hold, and dropped the next time.

use std::collections::{BTreeMap, BTreeSet};

use super::super::args::LogFormat;
use super::super::exit::CommandFailure;
use super::super::output::Output;
use super::super::{serve_setup, terminal};
use super::changes::{ReviewDesk, is_there};
use super::view::command;
use crate::recording::pending::{PendingChange, PendingKind, ReplacedTake};
use crate::recording::{Entry, EntryName};
use crate::review::{ChangeStanding, ReviewOutcome, ReviewSource, outcome};
use crate::store::{Recording, RecordingChanges, StoreError, TakeChange};

/// What is to become of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Verdict {
    /// It goes into the recording.
    Accept,
    /// It is dropped.
    Reject,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::cli) struct AppliedReview {
    pub(in crate::cli) accepted: usize,
    pub(in crate::cli) rejected: usize,
    /// Changes that go on waiting.
    pub(in crate::cli) left: usize,
    /// Changes that were made before, and are forgotten now.
    pub(in crate::cli) made: usize,
}

/// Why decisions were not carried out.
#[derive(Debug)]
pub(in crate::cli) enum ReviewFailure {
    /// None of them was.
    Whole(CommandFailure),
    /// The recording has what was accepted, and it waits still.
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
    /// Carries decisions out, one for each change; what has none goes on waiting.
    ///
    /// # Errors
    /// A recording that is being recorded into, or is not any more what was opened; a
    /// storage that fails. Each file is as it was, or as it is to be.
    pub(in crate::cli) fn apply(
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
        let result = outcome(&self.held, &self.changes, &self.standings, &accepted);
        self.write(&result).map_err(|error| ReviewFailure::Whole(error.into()))?;
        let forgotten = self.forget(&gone, &result).and_then(|()| self.answered(&gone));
        forgotten.map(|()| done).map_err(|failure| match accepted.is_empty() {
            true => ReviewFailure::Whole(failure),
            false => ReviewFailure::Half(self.half(failure)),
        })
    }

    /// A failure behind which the recording has what was accepted.
    fn half(&self, failure: CommandFailure) -> CommandFailure {
        let file = terminal::path_line(self.file.as_path());
        let rest = command(self, "review");
        let text =
            format!("{}\n  {file} has what was accepted; {rest} does the rest", failure.message);
        CommandFailure::new(failure.code, text)
    }

    /// Writes the recording.
    fn write(&self, result: &ReviewOutcome) -> Result<(), StoreError> {
        let mut changes = RecordingChanges::new()?;
        for named in &result.names {
            match &named.instead_of {
                Some(old) => changes.rename(old.clone(), named.name.clone(), Vec::new())?,
                None => changes.set(named.name.clone(), Vec::new())?,
            }
            for take in &named.takes {
                let kept = match *take {
                    ReviewSource::Held(at) => TakeChange::Place(self.held_at[at]),
                    ReviewSource::New(at) => TakeChange::Entry(Box::new(self.entry(at)?)),
                };
                changes.push(&named.name, kept)?;
            }
        }
        self.recording.rewrite(&changes).map(drop)
    }

    /// Drops what was decided from where it waited; the file goes with the last.
    fn forget(&self, gone: &BTreeSet<usize>, result: &ReviewOutcome) -> Result<(), CommandFailure> {
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
            changes.set((*name).clone(), Vec::new())?;
        }
        for at in all.filter(|at| !gone.contains(at)) {
            let name = &self.changes[at].entry.name;
            if !touched.contains(name) {
                continue;
            }
            let place = self.changes_at[at];
            let kept = match renumbered(at) {
                Some(take) => {
                    let mut entry = self.waiting.entry(&place)?;
                    renumber(&mut entry, take);
                    TakeChange::Entry(Box::new(entry))
                }
                None => TakeChange::Place(place),
            };
            changes.push(name, kept)?;
        }
        self.waiting.rewrite(&changes)?;
        Ok(())
    }

    /// Drops the requests from `FILE.pending` whose answers were decided about.
    fn answered(&self, gone: &BTreeSet<usize>) -> Result<(), CommandFailure> {
        let path = self.file.beside(".pending");
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
            let found = decided.iter().position(|at| self.answers(*at, asked));
            found.map(|at| decided.swap_remove(at)).is_some()
        })?;
        Ok(())
    }
}

/// Says of an entry that the take it replaces has another number now.
fn renumber(entry: &mut Entry, take: usize) {
    if let Some(mut pending) = PendingChange::of(entry) {
        if let Some(replaced) = &mut pending.replaces {
            replaced.take = take;
        }
        pending.mark(entry);
    }
}

/// Drops requests that are answered; the file goes with the last.
fn forget_requests(
    requests: &Recording,
    mut is_answered: impl FnMut(&ReplacedTake) -> bool,
) -> Result<(), StoreError> {
    let (mut stay, mut all, mut touched) = (Vec::new(), 0, BTreeSet::new());
    for stored in requests.entries() {
        let stored = stored?;
        all += 1;
        match is_answered(&ReplacedTake::of(&stored.name, stored.take, &stored.entry)) {
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
        changes.set(name.clone(), Vec::new())?;
    }
    for (name, place) in stay.into_iter().filter(|(name, _)| touched.contains(name)) {
        changes.push(&name, TakeChange::Place(place))?;
    }
    requests.rewrite(&changes).map(drop)
}
