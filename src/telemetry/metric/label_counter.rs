//! Counts by label for rare events: faults and chaos.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::model::printable_label;

/// How many combinations of labels are counted separately.
const MOST: usize = 200;

/// The longest label, in bytes.
const LONGEST: usize = 128;

/// Counts under `N` labels each. Names of rules come from files and headers, so their number is
/// bounded: further ones are counted as `other`.
#[derive(Debug)]
pub(super) struct LabelCounter<const N: usize> {
    counts: Mutex<BTreeMap<[String; N], u64>>,
}

impl<const N: usize> LabelCounter<N> {
    /// Creates empty counts.
    pub(super) fn new() -> Self {
        Self { counts: Mutex::default() }
    }

    /// Adds one.
    pub(super) fn add(&self, labels: [&str; N]) {
        let label = |text: &str| match text.len() > LONGEST {
            true => "other".to_owned(),
            false => printable_label(text).into_owned(),
        };
        let mut labels = labels.map(label);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.len() >= MOST && !counts.contains_key(&labels) {
            labels = std::array::from_fn(|_| "other".to_owned());
        }
        *counts.entry(labels).or_default() += 1;
    }

    /// Returns the counts summed by some of their labels.
    pub(super) fn sum_by<const M: usize>(
        &self,
        some: impl Fn([String; N]) -> [String; M],
    ) -> BTreeMap<[String; M], u64> {
        let mut sums = BTreeMap::new();
        for (labels, count) in self.all_counts() {
            *sums.entry(some(labels)).or_default() += count;
        }
        sums
    }

    /// Returns all counts, sorted.
    pub(super) fn all_counts(&self) -> BTreeMap<[String; N], u64> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_bounded_and_none_is_lost() {
        let few = LabelCounter::new();
        (0..1_000).for_each(|number| few.add([&format!("rule {number}"), "plan"]));
        few.add(["rule 7", "plan"]);
        few.add([&"x".repeat(1_000), "plan"]);
        let all = few.all_counts();
        assert_eq!(all.len(), MOST + 1);
        assert_eq!(all.values().sum::<u64>(), 1_002);
        assert_eq!(all[&["rule 7".to_owned(), "plan".to_owned()]], 2);
        assert_eq!(all[&["other".to_owned(), "other".to_owned()]], 801);
    }
}
