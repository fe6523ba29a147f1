//! Applying reviewed changes to a recording.
//!
//! A [`ReviewChange`] is an entry that was fetched again. [`change_standings`] compares each change
//! with the current recording, and [`apply_changes`] returns the recording's new content when some
//! changes are accepted. Both work with the identities of entries, and hold no entries.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use loomrec_recording::EntryName;
use loomrec_recording::pending::ReplacedTake;

/// An entry that waits for its review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewChange {
    /// The identity of the entry.
    pub entry: ReplacedTake,
    /// The take that it will replace; `None` if it is a new one.
    pub replaces: Option<ReplacedTake>,
}

/// The relation of a change to the recording. Takes are given by their indexes in the recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStanding {
    /// The take that it replaces is in the recording.
    Replaces(usize),
    /// It replaces no take.
    Adds,
    /// The recording holds it already. It only has to be forgotten.
    Made,
    /// Another take is at the place of the one that it replaces, or that one was edited.
    Changed(usize),
    /// The take that it replaces is gone, and no other is at its place.
    Gone,
}

impl ChangeStanding {
    /// Whether the recording no longer is what the change was made for.
    pub fn is_conflict(self) -> bool {
        matches!(self, Self::Changed(_) | Self::Gone)
    }

    /// Returns the take whose place it would get.
    pub fn replaced_index(self) -> Option<usize> {
        match self {
            Self::Replaces(at) | Self::Changed(at) => Some(at),
            Self::Adds | Self::Made | Self::Gone => None,
        }
    }

    /// Returns the word for JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Replaces(_) => "replaces",
            Self::Adds => "adds",
            Self::Made => "made",
            Self::Changed(_) => "conflict_changed",
            Self::Gone => "conflict_gone",
        }
    }
}

/// Returns the range of each name's takes, which are consecutive.
fn take_ranges(held: &[ReplacedTake]) -> BTreeMap<&EntryName, Range<usize>> {
    let mut found: BTreeMap<&EntryName, Range<usize>> = BTreeMap::new();
    for (at, take) in held.iter().enumerate() {
        found.entry(&take.name).or_insert(at..at).end = at + 1;
    }
    found
}

/// Whether two takes are the same apart from their position.
fn is_like(one: &ReplacedTake, other: &ReplacedTake) -> bool {
    one.request_hash == other.request_hash && one.recorded_at == other.recorded_at
}

/// Returns the standing of each change, given the takes of a recording in order. `is_same` returns
/// whether a take holds exactly the entry of a change.
pub fn change_standings(
    held: &[ReplacedTake],
    changes: &[ReviewChange],
    mut is_same: impl FnMut(usize, usize) -> bool,
) -> Vec<ChangeStanding> {
    let ranges = take_ranges(held);
    let of = |name: &EntryName| ranges.get(name).cloned().unwrap_or(0..0);
    // A take is the result of at most one change.
    let mut made = BTreeSet::new();
    let mut all = Vec::with_capacity(changes.len());
    for (at, change) in changes.iter().enumerate() {
        let same = of(&change.entry.name).find(|take| {
            is_like(&held[*take], &change.entry) && !made.contains(take) && is_same(*take, at)
        });
        all.push(match (same, &change.replaces) {
            (Some(take), _) => {
                made.insert(take);
                ChangeStanding::Made
            }
            (None, None) => ChangeStanding::Adds,
            (None, Some(replaced)) => find_replaced(held, of(&replaced.name), replaced),
        });
    }
    all
}

/// Finds a take that will be replaced.
fn find_replaced(
    held: &[ReplacedTake],
    of: Range<usize>,
    replaced: &ReplacedTake,
) -> ChangeStanding {
    let there = replaced.take.checked_sub(1).and_then(|index| of.clone().nth(index));
    let standing = |at: usize| match replaced.is_edited(&held[at]) {
        true => ChangeStanding::Changed(at),
        false => ChangeStanding::Replaces(at),
    };
    if let Some(at) = there.filter(|at| is_like(&held[*at], replaced)) {
        return standing(at);
    }
    // Takes before it may have been removed. Then its time identifies it.
    let mut alike = of.filter(|at| is_like(&held[*at], replaced) && replaced.recorded_at.is_some());
    match (alike.next(), alike.next(), there) {
        (Some(at), None, _) => standing(at),
        (_, _, Some(at)) => ChangeStanding::Changed(at),
        _ => ChangeStanding::Gone,
    }
}

/// The new content of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewOutcome {
    /// The names that change.
    pub names: Vec<ReviewedName>,
    /// Takes that stay but get another number, with that number.
    pub moved: Vec<(usize, usize)>,
}

/// The new content of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedName {
    /// The name.
    pub name: EntryName,
    /// The name that is removed, whose place this one gets.
    pub instead_of: Option<EntryName>,
    /// Its takes. If there are none, the name is removed.
    pub takes: Vec<ReviewSource>,
}

/// The origin of a take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewSource {
    /// The recording.
    Held(usize),
    /// A change.
    New(usize),
}

/// Returns the recording's new content if `accepted` changes are applied in this order. If several
/// changes replace the same take, the first gets its place. The others go after the takes of their
/// names, as does a change whose take is gone.
pub fn apply_changes(
    held: &[ReplacedTake],
    changes: &[ReviewChange],
    standings: &[ChangeStanding],
    accepted: &[usize],
) -> ReviewOutcome {
    let mut work =
        NameChanges { held, ranges: take_ranges(held), slots: BTreeMap::new(), order: Vec::new() };
    let mut taken = BTreeSet::new();
    // For each take that moved to another name: the old name and the new one.
    let mut instead: Vec<(&EntryName, &EntryName)> = Vec::new();
    for &at in accepted.iter().filter(|at| standings[**at] != ChangeStanding::Made) {
        let new = &changes[at].entry.name;
        let place = standings[at].replaced_index().filter(|take| taken.insert(*take));
        let Some(take) = place else {
            work.name_slots(new).push(Some(ReviewSource::New(at)));
            continue;
        };
        let old = &held[take].name;
        let index = take - work.ranges.get(old).map_or(take, |range| range.start);
        if old == new {
            work.name_slots(old)[index] = Some(ReviewSource::New(at));
        } else {
            work.name_slots(old)[index] = None;
            work.name_slots(new).push(Some(ReviewSource::New(at)));
            instead.push((old, new));
        }
    }
    work.into_outcome(&instead)
}

/// The state of the work: the names that change.
struct NameChanges<'a> {
    held: &'a [ReplacedTake],
    ranges: BTreeMap<&'a EntryName, Range<usize>>,
    /// Their takes; `None` for a take that was removed.
    slots: BTreeMap<&'a EntryName, Vec<Option<ReviewSource>>>,
    /// The names in the order of their first change.
    order: Vec<&'a EntryName>,
}

impl<'a> NameChanges<'a> {
    fn name_slots(&mut self, name: &'a EntryName) -> &mut Vec<Option<ReviewSource>> {
        let range = self.ranges.get(name).cloned().unwrap_or(0..0);
        let order = &mut self.order;
        self.slots.entry(name).or_insert_with(|| {
            order.push(name);
            range.map(|at| Some(ReviewSource::Held(at))).collect()
        })
    }

    fn into_outcome(self, instead: &[(&'a EntryName, &'a EntryName)]) -> ReviewOutcome {
        let mut out = ReviewOutcome::default();
        let is_gone = |name: &EntryName| {
            self.slots.get(name).is_some_and(|slots| slots.iter().all(Option::is_none))
        };
        let mut heirs: BTreeMap<&EntryName, &EntryName> = BTreeMap::new();
        let mut followed = BTreeSet::new();
        for (old, new) in instead.iter().copied() {
            let is_free = is_gone(old) && !followed.contains(old);
            if is_free && !self.ranges.contains_key(new) && !heirs.contains_key(new) {
                heirs.insert(new, old);
                followed.insert(old);
            }
        }
        for name in self.order.iter().copied().filter(|name| !followed.contains(name)) {
            let takes: Vec<ReviewSource> =
                self.slots.get(name).into_iter().flatten().flatten().copied().collect();
            for (index, take) in takes.iter().enumerate() {
                if let ReviewSource::Held(at) = *take
                    && self.held[at].take != index + 1
                {
                    out.moved.push((at, index + 1));
                }
            }
            let instead_of = heirs.get(name).map(|old| (*old).clone());
            out.names.push(ReviewedName { name: name.clone(), instead_of, takes });
        }
        out
    }
}

#[cfg(test)]
mod tests;
