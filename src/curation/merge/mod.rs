//! Merging the takes of a name.
//!
//! Takes of a name with the same [`TakeIdentity`] form one **call**. [`merge_name`] decides call by
//! call, and compares with the common base of both sides if it is known. A call that only one side
//! changed is taken from that side, including a removal. A call that both changed differently is a
//! [`MergeConflict`].
//!
//! Nothing is lost unless a side removed it, or a conflict is decided against it. Answers that no
//! client got are given up for those that one got.

mod meta;

use std::collections::HashMap;

use sha2::{Digest as _, Sha256};

pub use meta::merge_keys;

use loomrec_recording::take_identity::TakeIdentity;
use loomrec_recording::{CallScope, Entry, EntryName, log_codec};

/// The origin of a take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TakePosition {
    /// The index of the recording.
    pub file: usize,
    /// The index of the take in the recording.
    pub place: usize,
}

/// A take of one of the recordings: its identity and its hash, without the entry itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeTake {
    /// Its origin.
    pub at: TakePosition,
    question: TakeIdentity,
    whole: [u8; 32],
    /// Whether no client got its answer.
    is_undelivered: bool,
}

/// How a conflict of a call is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictChoice {
    /// Takes what the first side has.
    First,
    /// Takes what the second side has.
    Last,
    /// Takes both, those of the first side first.
    Both,
}

/// How both sides changed a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeConflict {
    /// Both sides have the call, with different changes.
    Changed,
    /// The first side removed it, the second changed it.
    RemovedByFirst,
    /// The second side removed it, the first changed it.
    RemovedByLast,
}

/// The merged takes of a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MergedName {
    /// Its takes in order; empty if the name is removed.
    pub takes: Vec<MergeTake>,
    /// Its calls with a conflict, which were decided as preferred.
    pub conflicts: Vec<MergeConflict>,
    /// Whether both sides added takes of one call after the same takes. Then all of them are kept,
    /// one after the other.
    pub appended: bool,
}

impl MergeTake {
    /// Returns the take at a position.
    pub fn from_entry(at: TakePosition, name: &EntryName, entry: &Entry) -> Self {
        let mut bytes = Vec::new();
        log_codec::pack_to(
            &mut bytes,
            name,
            log_codec::TakePrecedence::Further,
            &CallScope::default(),
            entry,
        );
        Self {
            at,
            question: TakeIdentity::from_entry(entry),
            whole: Sha256::digest(&bytes).into(),
            is_undelivered: entry.is_undelivered(),
        }
    }

    /// Whether both are exactly the same entry.
    pub fn is_identical(&self, other: &Self) -> bool {
        self.whole == other.whole
    }
}

/// Merges the takes of one name. `base` holds the takes that both sides come from; empty if that is
/// not known. `same` returns whether two entries that differ are equivalent.
///
/// # Errors
/// The errors of `same`.
pub fn merge_name<E>(
    base: &[MergeTake],
    ours: &[MergeTake],
    theirs: &[MergeTake],
    prefer: ConflictChoice,
    mut same: impl FnMut(&MergeTake, &MergeTake) -> Result<bool, E>,
) -> Result<MergedName, E> {
    let (mut sides, mut known) = (Vec::<Sides>::new(), HashMap::new());
    for (side, takes) in [ours, theirs, base].into_iter().enumerate() {
        for take in takes {
            let at = *known.entry(take.question).or_insert(sides.len());
            if at == sides.len() {
                sides.push(Sides::default());
            }
            sides[at].0[side].push(take.clone());
        }
    }
    let mut merged = MergedName::default();
    let mut calls = Vec::with_capacity(sides.len());
    for call in sides {
        let (takes, special) = call.merge(prefer, &mut same)?;
        match special {
            Some(Special::Conflict(conflict)) => merged.conflicts.push(conflict),
            Some(Special::Appended) => merged.appended = true,
            None => {}
        }
        calls.push(takes.into_iter());
    }
    // Each call's takes go where ours had takes of the call. Any further takes go to the end.
    let of = |take: &MergeTake| known.get(&take.question).copied();
    merged.takes = ours.iter().filter_map(|take| calls.get_mut(of(take)?)?.next()).collect();
    merged.takes.extend(calls.into_iter().flatten());
    Ok(merged)
}

/// The takes of one call: ours, theirs, and those of the base.
#[derive(Default)]
struct Sides([Vec<MergeTake>; 3]);

/// What has to be reported of a call.
enum Special {
    Conflict(MergeConflict),
    Appended,
}

impl Sides {
    fn merge<E>(
        self,
        prefer: ConflictChoice,
        same: &mut impl FnMut(&MergeTake, &MergeTake) -> Result<bool, E>,
    ) -> Result<(Vec<MergeTake>, Option<Special>), E> {
        let Self([ours, theirs, base]) = self;
        if are_very_same(&ours, &theirs) || are_very_same(&theirs, &base) {
            return Ok((ours, None));
        }
        if are_very_same(&ours, &base) {
            return Ok((theirs, None));
        }
        let all = |one: &[MergeTake], other: &[MergeTake], same: &mut _| -> Result<bool, E> {
            Ok(one.len() == other.len() && count_equivalent(one, other, same)? == one.len())
        };
        // Apart from times, one of the sides has changed nothing.
        if all(&ours, &theirs, same)? || all(&theirs, &base, same)? {
            return Ok((ours, None));
        }
        if all(&ours, &base, same)? {
            return Ok((theirs, None));
        }
        // One side continued where the other stopped.
        let together = count_equivalent(&ours, &theirs, same)?;
        let gone_on = together == ours.len() || together == theirs.len();
        if gone_on && together > 0 && together >= base.len() {
            let longer = if theirs.len() > ours.len() { theirs } else { ours };
            return Ok((longer, None));
        }
        if !base.is_empty() && together >= base.len() {
            let more = theirs.into_iter().skip(together);
            return Ok((ours.into_iter().chain(more).collect(), Some(Special::Appended)));
        }
        if base.is_empty() && is_better(&ours, &theirs) {
            return Ok((ours, None));
        }
        if base.is_empty() && is_better(&theirs, &ours) {
            return Ok((theirs, None));
        }
        let conflict = match (ours.is_empty(), theirs.is_empty()) {
            (true, _) => MergeConflict::RemovedByFirst,
            (_, true) => MergeConflict::RemovedByLast,
            _ => MergeConflict::Changed,
        };
        let takes = match prefer {
            ConflictChoice::First => ours,
            ConflictChoice::Last => theirs,
            ConflictChoice::Both => unite_takes(ours, theirs, same)?,
        };
        Ok((takes, Some(Special::Conflict(conflict))))
    }
}

/// Whether clients got all answers of one side, and none of the other.
fn is_better(one: &[MergeTake], other: &[MergeTake]) -> bool {
    let has_any = !one.is_empty() && !other.is_empty();
    has_any
        && one.iter().all(|take| !take.is_undelivered)
        && other.iter().all(|take| take.is_undelivered)
}

fn are_very_same(one: &[MergeTake], other: &[MergeTake]) -> bool {
    one.len() == other.len() && one.iter().zip(other).all(|(one, other)| one.is_identical(other))
}

/// Returns how many takes are equivalent, from the first on.
fn count_equivalent<E>(
    one: &[MergeTake],
    other: &[MergeTake],
    same: &mut impl FnMut(&MergeTake, &MergeTake) -> Result<bool, E>,
) -> Result<usize, E> {
    let mut count = 0;
    for (one, other) in one.iter().zip(other) {
        if !one.is_identical(other) && !same(one, other)? {
            break;
        }
        count += 1;
    }
    Ok(count)
}

/// Returns the first side's takes, and those of the second side that the first side does not have.
fn unite_takes<E>(
    ours: Vec<MergeTake>,
    theirs: Vec<MergeTake>,
    same: &mut impl FnMut(&MergeTake, &MergeTake) -> Result<bool, E>,
) -> Result<Vec<MergeTake>, E> {
    let mut free = ours.clone();
    let mut takes = ours;
    for take in theirs {
        let mut like = None;
        for (at, other) in free.iter().enumerate() {
            if take.is_identical(other) || same(other, &take)? {
                like = Some(at);
                break;
            }
        }
        match like {
            Some(at) => drop(free.remove(at)),
            None => takes.push(take),
        }
    }
    Ok(takes)
}

#[cfg(test)]
mod tests;
