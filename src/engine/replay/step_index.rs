//! The takes under each step id.

use std::ops::Range;

use super::name_ids::NameId;

/// Means "none".
const NONE: u32 = u32::MAX;

/// For each step id, its takes in order, and the group of those that are not checked.
#[derive(Debug, Default)]
pub(super) struct StepIndex {
    /// By the step's id. The elements of other names are empty.
    steps: Vec<StepTakes>,
    /// Takes of further recordings.
    more: Vec<Vec<Range<u32>>>,
}

/// The takes of a step. Those of one recording are contiguous.
#[derive(Clone, Copy, Debug)]
struct StepTakes {
    /// The takes of the first recording that has any: the range `from..to`.
    from: u32,
    to: u32,
    /// The index of the others in `more`.
    more: u32,
    /// The group of the takes that are not checked.
    unchecked: u32,
}

impl StepTakes {
    const EMPTY: Self = Self { from: 0, to: 0, more: NONE, unchecked: NONE };
}

impl StepIndex {
    /// Makes room for `count` names.
    pub(super) fn reserve(&mut self, count: usize) {
        // The lowest id is 1.
        self.steps.reserve_exact(count + 1);
    }

    /// Adds a take to a step.
    pub(super) fn push(&mut self, step: NameId, take: u32) {
        let new_more = self.more.len() as u32;
        let step = self.step_takes(step);
        if step.from == step.to {
            (step.from, step.to) = (take, take + 1);
            return;
        }
        if step.more == NONE && step.to == take {
            step.to += 1;
            return;
        }
        if step.more == NONE {
            step.more = new_more;
        }
        let more = step.more as usize;
        self.more.resize_with(self.more.len().max(more + 1), Vec::new);
        match self.more[more].last_mut() {
            Some(last) if last.end == take => last.end += 1,
            _ => self.more[more].push(take..take + 1),
        }
    }

    /// Returns the group of the step's takes that are not checked, and whether it is new. `new`
    /// makes it.
    pub(super) fn unchecked_or(&mut self, step: NameId, new: impl FnOnce() -> u32) -> (u32, bool) {
        let step = self.step_takes(step);
        let is_new = step.unchecked == NONE;
        if is_new {
            step.unchecked = new();
        }
        (step.unchecked, is_new)
    }

    /// Returns the group of the step's takes that are not checked, if there are any.
    pub(super) fn unchecked_group(&self, step: NameId) -> Option<u32> {
        let step = self.steps.get(step.get() as usize)?;
        (step.unchecked != NONE).then_some(step.unchecked)
    }

    /// Whether any takes have this id.
    pub(super) fn contains(&self, step: NameId) -> bool {
        self.steps.get(step.get() as usize).is_some_and(|step| step.from < step.to)
    }

    /// Returns the takes of a step, in order.
    pub(super) fn takes(&self, step: NameId) -> impl Iterator<Item = u32> {
        self.take_ranges(step).flatten()
    }

    /// Returns the number of takes of a step.
    pub(super) fn take_count(&self, step: NameId) -> usize {
        self.take_ranges(step).map(|run| run.len()).sum()
    }

    /// Returns the ids that takes have.
    pub(super) fn ids(&self) -> impl Iterator<Item = NameId> {
        let ids = (0..self.steps.len() as u32).filter_map(NameId::new);
        ids.filter(|id| self.contains(*id))
    }

    fn take_ranges(&self, step: NameId) -> impl Iterator<Item = Range<u32>> {
        let step = self.steps.get(step.get() as usize).copied().unwrap_or(StepTakes::EMPTY);
        let more = self.more.get(step.more as usize).map_or(&[][..], Vec::as_slice);
        std::iter::once(step.from..step.to).chain(more.iter().cloned())
    }

    fn step_takes(&mut self, step: NameId) -> &mut StepTakes {
        let at = step.get() as usize;
        if self.steps.len() <= at {
            self.steps.resize(at + 1, StepTakes::EMPTY);
        }
        &mut self.steps[at]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_of_a_step_come_in_order_from_every_recording() {
        let id = |number| NameId::new(number).unwrap();
        let mut steps = StepIndex::default();
        for (step, take) in [(3, 0), (3, 1), (9, 2), (3, 5), (3, 6), (1, 7), (3, 8)] {
            steps.push(id(step), take);
        }
        assert_eq!(steps.takes(id(3)).collect::<Vec<_>>(), [0, 1, 5, 6, 8]);
        assert_eq!(
            (steps.take_count(id(3)), steps.take_count(id(9)), steps.take_count(id(2))),
            (5, 1, 0)
        );
        assert_eq!(steps.ids().map(NameId::get).collect::<Vec<_>>(), [1, 3, 9]);
        assert!(steps.contains(id(9)) && !steps.contains(id(2)) && !steps.contains(id(99)));
        assert_eq!(steps.unchecked_group(id(3)), None);
        assert_eq!(steps.unchecked_or(id(3), || 4), (4, true));
        assert_eq!(steps.unchecked_or(id(3), || 5), (4, false));
        assert_eq!((steps.unchecked_group(id(3)), steps.unchecked_group(id(9))), (Some(4), None));
    }
}
