//! The takes of one name while frames of the log are merged into them.

use std::collections::HashMap;

use loomrec_recording::{CallScope, Entry};

use super::named_frame::{EntryOrigin, NamedFrame, TakeRef};
use super::replacement::{self, ReplacingFrame};
use super::take::{CompactionTake, find_each, insertion_index};

/// The takes of a name.
pub(super) struct NameTakes {
    takes: Vec<CompactionTake>,
    /// Whether the name is that of a step.
    is_step: bool,
    /// The number of failed takes that were left out.
    pub(super) left_out: usize,
    /// The number of takes of earlier runs that were replaced.
    pub(super) replaced: usize,
    /// The number of faults that these declared.
    pub(super) faults: usize,
    /// The number of takes of earlier runs that could have been replaced and were not.
    pub(super) kept: usize,
}

impl NameTakes {
    /// Returns the takes that the file has of a name.
    pub(super) fn new(in_file: &[TakeRef], is_step: bool) -> Self {
        Self {
            takes: in_file.iter().copied().map(CompactionTake::in_file).collect(),
            is_step,
            left_out: 0,
            replaced: 0,
            faults: 0,
            kept: 0,
        }
    }

    pub(super) fn into_places(self) -> Vec<TakeRef> {
        self.takes.into_iter().map(|take| take.place).collect()
    }

    /// Merges the frames of one log.
    pub(super) fn merge_frames<E>(
        &mut self,
        frames: &[NamedFrame],
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<(), E> {
        let further: Vec<_> =
            frames.iter().filter(|frame| frame.run_position().is_none()).collect();
        if further.len() == frames.len() {
            return further.into_iter().try_for_each(|frame| self.add_frame(frame, read));
        }
        self.replace_takes(frames, read)?;
        // A run decides for each scope whether its takes replace others.
        let mut further: Vec<_> = further.into_iter().map(CompactionTake::in_log).collect();
        let known = find_each(&mut further, &mut self.takes, read)?;
        let new = further.into_iter().zip(known).filter(|(_, known)| known.is_none());
        self.takes.extend(new.map(|(take, _)| take));
        Ok(())
    }

    /// Merges the frames that replace takes of earlier runs, scope by scope.
    fn replace_takes<E>(
        &mut self,
        frames: &[NamedFrame],
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<(), E> {
        let mut unclaimed = UnclaimedTakes::default();
        for (place, take) in self.takes.iter_mut().enumerate() {
            unclaimed.add(place, take.facts(read)?.scope);
        }
        let (mut new, mut old, mut surplus) = (Vec::new(), Vec::new(), Vec::new());
        for (scope, own) in by_scope(frames) {
            let mut places = unclaimed.claim_takes(scope);
            let base: Vec<_> =
                places.iter().map(|&place| self.takes[place].unmatched_copy()).collect();
            let faults = count_faults(&base);
            places.sort_unstable();
            let merged = replacement::merge_replacing(base, own, self.is_step, read)?;
            self.left_out += merged.left_out;
            self.replaced += merged.replaced;
            self.faults += faults - count_faults(merged.new.iter().chain(&merged.old)).min(faults);
            self.kept += merged.kept;
            let own = merged.new.len();
            let mut rest = merged.new.into_iter().chain(merged.old).enumerate();
            for place in places {
                match rest.next() {
                    Some((_, take)) => self.takes[place] = take,
                    None => surplus.push(place),
                }
            }
            for (number, take) in rest {
                if number < own { &mut new } else { &mut old }.push(take);
            }
        }
        surplus.sort_unstable();
        surplus.into_iter().rev().for_each(|place| drop(self.takes.remove(place)));
        self.append_by_time(new, read)?;
        self.takes.extend(old);
        Ok(())
    }

    /// Appends takes of several scopes, each in order, by time if all have one.
    fn append_by_time<E>(
        &mut self,
        mut takes: Vec<CompactionTake>,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<(), E> {
        let mut times = Vec::with_capacity(takes.len());
        for take in &mut takes {
            times.push(take.recorded_time(read)?.clone());
        }
        let mut timed: Vec<_> = times.into_iter().zip(takes).collect();
        if timed.iter().all(|(time, _)| time.is_some()) {
            timed.sort_by(|one, other| one.0.cmp(&other.0));
        }
        self.takes.extend(timed.into_iter().map(|(_, take)| take));
        Ok(())
    }

    /// Inserts a frame that replaces nothing at its place.
    fn add_frame<E>(
        &mut self,
        frame: &NamedFrame,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<(), E> {
        let mut new = CompactionTake::in_log(frame);
        if frame.time.is_none() {
            if !self.match_untimed(&mut new, read)? {
                self.takes.push(new);
            }
            return Ok(());
        }
        let at = insertion_index(&mut self.takes, &frame.time, read)?;
        for take in self.takes[..at].iter_mut().rev() {
            if *take.recorded_time(read)? != frame.time {
                break;
            }
            if new.equals(take, read)? {
                return Ok(());
            }
        }
        self.takes.insert(at, new);
        Ok(())
    }

    /// Whether a frame without a time equals an entry of the file. Each of those entries is matched
    /// once, so that equal entries are counted.
    fn match_untimed<E>(
        &mut self,
        new: &mut CompactionTake,
        read: &impl Fn(&TakeRef) -> Result<Entry, E>,
    ) -> Result<bool, E> {
        for take in self.takes.iter_mut().filter(|take| take.place.origin == EntryOrigin::File) {
            if !take.is_matched && new.equals(take, read)? {
                take.is_matched = true;
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns how many of these takes are known to declare a fault.
fn count_faults<'a>(takes: impl IntoIterator<Item = &'a CompactionTake>) -> usize {
    takes.into_iter().filter(|take| take.has_known_fault()).count()
}

/// Returns the frames that replace takes, by scope, with the scopes in the order of their first
/// frames.
fn by_scope(frames: &[NamedFrame]) -> Vec<(&CallScope, Vec<ReplacingFrame>)> {
    let mut groups: Vec<(&CallScope, Vec<ReplacingFrame>)> = Vec::new();
    let mut places: HashMap<&CallScope, usize> = HashMap::new();
    for frame in frames {
        let Some(replacing) = ReplacingFrame::from_frame(frame) else { continue };
        let next = groups.len();
        let group = *places.entry(&frame.scope).or_insert(next);
        if group == next {
            groups.push((&frame.scope, Vec::new()));
        }
        groups[group].1.push(replacing);
    }
    groups
}

/// The places of takes that no scope has claimed, each with the scope of its take, by session.
#[derive(Default)]
struct UnclaimedTakes(HashMap<Option<String>, Vec<(usize, CallScope)>>);

impl UnclaimedTakes {
    fn add(&mut self, place: usize, scope: CallScope) {
        self.0.entry(scope.session.clone()).or_default().push((place, scope));
    }

    /// Removes the places of the takes that calls of a scope may replace, and returns them: those of
    /// takes in exactly this scope first, as takes of the same run are.
    fn claim_takes(&mut self, scope: &CallScope) -> Vec<usize> {
        let Some(all) = self.0.get_mut(&scope.session) else { return Vec::new() };
        let mut claimed: Vec<_> =
            all.extract_if(.., |(_, known)| scope.agrees_with(known)).collect();
        claimed.sort_by_key(|(_, known)| known != scope);
        claimed.into_iter().map(|(place, _)| place).collect()
    }
}
