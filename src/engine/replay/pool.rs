//! Pools: the takes of one key that one kind of call may get, and how far each session has come in
//! them.
//!
//! Each session gets a take once. Each pool remembers where its first unused take can be, so the
//! twenty-thousandth identical call costs no more than the first.

use std::collections::BTreeMap;

use super::mode::RequestedMode;
use super::name_ids::NameId;
use super::take::ReplayTake;
use super::take_scope::TakeScope;

/// What a further identical call gets once its takes are used up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// A mismatch, reason `exhausted`.
    Error,
    /// The last take again.
    Last,
    /// All takes again, from the first.
    Cycle,
}

/// Identifies a pool of one key, within a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct PoolKey {
    pub(super) kind: PoolKind,
    pub(super) spot: TakeScope,
    /// The only form of its takes; `None` if they may have any.
    pub(super) form: Option<RequestedMode>,
    /// Whether its takes are those of whose answers no client got anything.
    pub(super) undelivered: bool,
}

/// Which takes a call may be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum PoolKind {
    /// Takes that have no step id.
    Plain,
    /// Takes that have any step id.
    Stepped,
    /// Takes that have this step id.
    Step(NameId),
}

impl PoolKind {
    /// Whether `take` is one of them.
    pub(super) fn contains_take(self, take: &ReplayTake) -> bool {
        match self {
            Self::Plain => take.under.step.is_none(),
            Self::Stepped => take.under.step.is_some(),
            Self::Step(step) => take.under.step == Some(step),
        }
    }
}

/// How far one session has come in the takes of one key.
#[derive(Debug, Default)]
pub(super) struct SessionCursor {
    /// The used takes, by position among the key's takes.
    used: BitSet,
    /// How many takes were made unused again in exchange for others.
    exchanged: usize,
    /// Present for keys of many takes only.
    pools: BTreeMap<PoolKey, TakePool>,
}

/// The takes that a call may get, in order, and where the unused ones begin.
#[derive(Debug)]
struct TakePool {
    members: TakeSet,
    /// No member before this one is unused.
    first: usize,
    /// No member before this one is unused and of this form.
    first_of: [usize; RequestedMode::COUNT],
    /// The last member of this form, else the last one; set once it was asked for.
    last_of: [Option<usize>; RequestedMode::COUNT],
}

/// Positions among a key's takes, in ascending order.
#[derive(Debug, PartialEq)]
pub(super) enum TakeSet {
    /// All of this many.
    All(usize),
    /// Some of few.
    Few([u8; FEW], u8),
    /// Some of many.
    Some(Box<[u32]>),
}

/// A key of at most this many takes is searched for each call. That is quicker than remembering
/// positions.
pub(super) const FEW: usize = 16;

/// The result of asking a pool for a take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PoolChoice {
    /// The take at this position.
    Take(usize),
    /// All are used.
    Exhausted,
    /// The pool has no takes.
    Empty,
}

impl SessionCursor {
    /// Uses up the first unused take of a pool that has the wanted form, or else the first unused
    /// one, or else does what `repeat` says of the pool's last take. `all` is the number of the
    /// key's takes, `members` finds those of the pool, and `take` returns each by its position.
    pub(super) fn next<'t>(
        &mut self,
        (key, all): (PoolKey, usize),
        wanted: RequestedMode,
        repeat: impl Fn(&ReplayTake) -> Repeat,
        members: impl FnOnce() -> TakeSet,
        take: impl Fn(usize) -> &'t ReplayTake + Copy,
    ) -> PoolChoice {
        let mut fresh;
        let pool = if all <= FEW {
            fresh = TakePool::new(members());
            &mut fresh
        } else {
            self.pools.entry(key).or_insert_with(|| TakePool::new(members()))
        };
        let Some(end) = pool.members.len().checked_sub(1) else { return PoolChoice::Empty };
        if let Some(position) = pool.next(&self.used, wanted, take) {
            self.used.set(position);
            return PoolChoice::Take(position);
        }
        match repeat(take(pool.members.position(end))) {
            Repeat::Error => PoolChoice::Exhausted,
            Repeat::Last => PoolChoice::Take(pool.last_position(wanted, take)),
            Repeat::Cycle => {
                for at in 0..=end {
                    self.used.clear(pool.members.position(at));
                }
                pool.look_again_from(0);
                let position = pool.next(&self.used, wanted, take).unwrap_or(end);
                let first = pool.members.position(0);
                self.look_again_from(first);
                self.used.set(position);
                PoolChoice::Take(position)
            }
        }
    }

    /// Makes one take unused again. Returns whether it was used.
    pub(super) fn release(&mut self, position: usize) -> bool {
        let was_used = self.used.get(position);
        self.used.clear(position);
        self.look_again_from(position);
        was_used
    }

    /// Makes one take unused again, and uses up one of `others` in its place, if any is unused.
    /// Returns whether it did: it does so once for each of `others`.
    pub(super) fn exchange(&mut self, position: usize, others: &[usize]) -> bool {
        if self.exchanged >= others.len() {
            return false;
        }
        self.exchanged += 1;
        if let Some(other) = others.iter().find(|other| !self.used.get(**other)) {
            self.used.set(*other);
        }
        self.release(position)
    }

    /// Uses one take up. Returns whether it was unused.
    pub(super) fn consume(&mut self, position: usize) -> bool {
        let was_used = self.used.get(position);
        self.used.set(position);
        !was_used
    }

    /// Notes that takes from this position on may be unused again.
    fn look_again_from(&mut self, position: usize) {
        for pool in self.pools.values_mut() {
            pool.look_again_from(pool.members.first_from(position));
        }
    }
}

impl TakePool {
    fn new(members: TakeSet) -> Self {
        let (first_of, last_of) = ([0; RequestedMode::COUNT], [None; RequestedMode::COUNT]);
        Self { members, first: 0, first_of, last_of }
    }

    /// Returns the position of the first unused member, of the wanted form if there is one.
    fn next<'t>(
        &mut self,
        used: &BitSet,
        wanted: RequestedMode,
        take: impl Fn(usize) -> &'t ReplayTake,
    ) -> Option<usize> {
        let members = &self.members;
        let unused = |at: &usize| !used.get(members.position(*at));
        let fits = |at: &usize| take(members.position(*at)).form.fits(wanted);
        let count = members.len();
        let of_form = &mut self.first_of[wanted as usize];
        *of_form = (*of_form..count).find(|at| unused(at) && fits(at)).unwrap_or(count);
        if *of_form < count {
            return Some(members.position(*of_form));
        }
        self.first = (self.first..count).find(unused).unwrap_or(count);
        (self.first < count).then(|| members.position(self.first))
    }

    /// Returns the position of the last member of the wanted form, or else of the last member. The
    /// pool must not be empty.
    fn last_position<'t>(
        &mut self,
        wanted: RequestedMode,
        take: impl Fn(usize) -> &'t ReplayTake,
    ) -> usize {
        let members = &self.members;
        let fits = |at: &usize| take(members.position(*at)).form.fits(wanted);
        let end = members.len() - 1;
        let find = || (0..=end).rev().find(fits).unwrap_or(end);
        members.position(*self.last_of[wanted as usize].get_or_insert_with(find))
    }

    /// Notes that members from this one on may be unused again.
    fn look_again_from(&mut self, at: usize) {
        self.first = self.first.min(at);
        self.first_of = self.first_of.map(|first| first.min(at));
    }
}

impl TakeSet {
    /// Returns those of `positions`, ascending, that `is_one` accepts. `all` is the number of all
    /// takes.
    pub(super) fn from_positions(
        positions: impl Iterator<Item = u32>,
        all: usize,
        is_one: impl Fn(usize) -> bool,
    ) -> Self {
        let positions = positions.filter(|&at| is_one(at as usize));
        if all <= FEW {
            let (mut few, mut count) = ([0; FEW], 0);
            for at in positions {
                few[count] = at as u8;
                count += 1;
            }
            return Self::Few(few, count as u8);
        }
        let positions: Vec<u32> = positions.collect();
        match positions.len() == all {
            true => Self::All(all),
            false => Self::Some(positions.into()),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::All(count) => *count,
            Self::Few(_, count) => usize::from(*count),
            Self::Some(positions) => positions.len(),
        }
    }

    fn position(&self, at: usize) -> usize {
        match self {
            Self::All(_) => at,
            Self::Few(positions, _) => usize::from(positions[at]),
            Self::Some(positions) => positions[at] as usize,
        }
    }

    /// Returns the first member at or after this position.
    fn first_from(&self, position: usize) -> usize {
        match self {
            Self::All(_) => position,
            Self::Few(positions, count) => {
                let positions = &positions[..usize::from(*count)];
                positions.partition_point(|&p| usize::from(p) < position)
            }
            Self::Some(positions) => positions.partition_point(|&p| (p as usize) < position),
        }
    }
}

/// A growing set of small numbers.
#[derive(Debug, Default)]
struct BitSet {
    /// The numbers below 64: mostly, that is all of them.
    low: u64,
    high: Vec<u64>,
}

impl BitSet {
    fn get(&self, at: usize) -> bool {
        let word =
            if at < 64 { self.low } else { self.high.get(at / 64 - 1).copied().unwrap_or(0) };
        word & (1 << (at % 64)) != 0
    }

    fn set(&mut self, at: usize) {
        if at >= 64 && self.high.len() < at / 64 {
            self.high.resize(at / 64, 0);
        }
        if let Some(word) = self.word(at) {
            *word |= 1 << (at % 64);
        }
    }

    fn clear(&mut self, at: usize) {
        if let Some(word) = self.word(at) {
            *word &= !(1 << (at % 64));
        }
    }

    fn word(&mut self, at: usize) -> Option<&mut u64> {
        if at < 64 { Some(&mut self.low) } else { self.high.get_mut(at / 64 - 1) }
    }
}

#[cfg(test)]
#[path = "pool_tests.rs"]
mod tests;
