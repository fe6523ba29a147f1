//! What changes that wait for their review make of a recording.
//!
//! A [`ReviewChange`] is an entry that was fetched anew. [`standings`] says of each how it
//! stands to the recording as that is now, and [`outcome`] what the recording becomes
//! when some are accepted. Both know entries by what tells them apart, and hold none.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::EntryName;
use crate::pending::ReplacedTake;

/// An entry that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewChange {
    /// What tells it from others where it waits.
    pub entry: ReplacedTake,
    /// The take it is to stand for; `None` where it is a new one.
    pub replaces: Option<ReplacedTake>,
}

/// How a change stands to the recording. Takes are meant by their places in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeStanding {
    /// The take that it replaces is there.
    Replaces(usize),
    /// It replaces none.
    Adds,
    /// It is in the recording already: all that is left is to forget it.
    Made,
    /// Another take stands where the one was that it replaces.
    Changed(usize),
    /// No take stands there any more.
    Gone,
}

impl ChangeStanding {
    /// Whether the recording is not any more what the change was made for.
    pub fn is_conflict(self) -> bool {
        matches!(self, Self::Changed(_) | Self::Gone)
    }

    /// The take whose place it would have.
    pub fn replaced(self) -> Option<usize> {
        match self {
            Self::Replaces(at) | Self::Changed(at) => Some(at),
            Self::Adds | Self::Made | Self::Gone => None,
        }
    }

    /// A word for JSON.
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

/// Where the takes of each name stand; those of one name stand together.
fn ranges(held: &[ReplacedTake]) -> BTreeMap<&EntryName, Range<usize>> {
    let mut found: BTreeMap<&EntryName, Range<usize>> = BTreeMap::new();
    for (at, take) in held.iter().enumerate() {
        found.entry(&take.name).or_insert(at..at).end = at + 1;
    }
    found
}

/// Whether two are the same but for where they stand.
fn is_like(one: &ReplacedTake, other: &ReplacedTake) -> bool {
    one.request_hash == other.request_hash && one.recorded_at == other.recorded_at
}

/// How each change stands to the takes that a recording holds, in its order. `is_same`
/// says whether a take holds the very entry of a change.
pub fn standings(
    held: &[ReplacedTake],
    changes: &[ReviewChange],
    mut is_same: impl FnMut(usize, usize) -> bool,
) -> Vec<ChangeStanding> {
    let ranges = ranges(held);
    let of = |name: &EntryName| ranges.get(name).cloned().unwrap_or(0..0);
    // A take is the work of one change.
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
            (None, Some(replaced)) => find(held, of(&replaced.name), replaced),
        });
    }
    all
}

/// Where a take stands that is to be replaced.
fn find(held: &[ReplacedTake], of: Range<usize>, replaced: &ReplacedTake) -> ChangeStanding {
    let there = replaced.take.checked_sub(1).and_then(|index| of.clone().nth(index));
    if let Some(at) = there.filter(|at| is_like(&held[*at], replaced)) {
        return ChangeStanding::Replaces(at);
    }
    // Takes before it may have gone; its time tells it then.
    let mut alike = of.filter(|at| is_like(&held[*at], replaced) && replaced.recorded_at.is_some());
    match (alike.next(), alike.next(), there) {
        (Some(at), None, _) => ChangeStanding::Replaces(at),
        (_, _, Some(at)) => ChangeStanding::Changed(at),
        _ => ChangeStanding::Gone,
    }
}

/// What a recording becomes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReviewOutcome {
    /// The names that change.
    pub names: Vec<ReviewedName>,
    /// Takes that stay and get another number, with that number.
    pub moved: Vec<(usize, usize)>,
}

/// What becomes of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviewedName {
    /// The name.
    pub name: EntryName,
    /// The name that goes, in whose place it stands.
    pub instead_of: Option<EntryName>,
    /// Its takes; without any, it goes.
    pub takes: Vec<ReviewSource>,
}

/// Where a take comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReviewSource {
    /// The recording.
    Held(usize),
    /// A change.
    New(usize),
}

/// What the recording becomes when `accepted` are, in this order. Of several that
/// replace one take the first has its place, the others go behind the takes of their
/// names, as does one whose take is gone.
pub fn outcome(
    held: &[ReplacedTake],
    changes: &[ReviewChange],
    standings: &[ChangeStanding],
    accepted: &[usize],
) -> ReviewOutcome {
    let mut work = Work { held, ranges: ranges(held), slots: BTreeMap::new(), order: Vec::new() };
    let mut taken = BTreeSet::new();
    // For each name that takes moved away from: where to.
    let mut instead: Vec<(&EntryName, &EntryName)> = Vec::new();
    for &at in accepted.iter().filter(|at| standings[**at] != ChangeStanding::Made) {
        let new = &changes[at].entry.name;
        let place = standings[at].replaced().filter(|take| taken.insert(*take));
        let Some(take) = place else {
            work.slots(new).push(Some(ReviewSource::New(at)));
            continue;
        };
        let old = &held[take].name;
        let index = take - work.ranges.get(old).map_or(take, |range| range.start);
        if old == new {
            work.slots(old)[index] = Some(ReviewSource::New(at));
        } else {
            work.slots(old)[index] = None;
            work.slots(new).push(Some(ReviewSource::New(at)));
            instead.push((old, new));
        }
    }
    work.finish(&instead)
}

/// Names that change.
struct Work<'a> {
    held: &'a [ReplacedTake],
    ranges: BTreeMap<&'a EntryName, Range<usize>>,
    /// Their takes; none where one went.
    slots: BTreeMap<&'a EntryName, Vec<Option<ReviewSource>>>,
    /// The names, the first that was changed first.
    order: Vec<&'a EntryName>,
}

impl<'a> Work<'a> {
    fn slots(&mut self, name: &'a EntryName) -> &mut Vec<Option<ReviewSource>> {
        let range = self.ranges.get(name).cloned().unwrap_or(0..0);
        let order = &mut self.order;
        self.slots.entry(name).or_insert_with(|| {
            order.push(name);
            range.map(|at| Some(ReviewSource::Held(at))).collect()
        })
    }

    fn finish(self, instead: &[(&'a EntryName, &'a EntryName)]) -> ReviewOutcome {
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
