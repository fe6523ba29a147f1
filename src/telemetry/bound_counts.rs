//! How often the values of a run were put in the place of recorded ones.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use loomrec_identity::{BoundPair, BoundValues, NormalizeRule};

/// How often each value of a run was bound. Calls count without a lock.
#[derive(Debug, Default)]
pub struct BoundCounts {
    calls: AtomicU64,
    values: OnceLock<Box<[PairCount]>>,
    rules: OnceLock<Box<[BoundCount]>>,
    tool_results: AtomicU64,
}

#[derive(Debug)]
struct BoundCount {
    name: String,
    /// Whether it is a rule that is neither of a recording nor of a flag.
    is_of_client: bool,
    calls: AtomicU64,
}

#[derive(Debug)]
struct PairCount {
    pair: BoundPair,
    calls: AtomicU64,
    places: AtomicU64,
}

/// A value that was put in the place of a recorded one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundValueCount {
    /// The value.
    pub pair: BoundPair,
    /// The number of calls.
    pub calls: u64,
    /// The number of places in their requests.
    pub places: u64,
}

impl BoundCount {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), is_of_client: false, calls: AtomicU64::new(0) }
    }

    fn of_client(rule: &str) -> Self {
        Self { is_of_client: true, ..Self::new(rule) }
    }
}

impl BoundCounts {
    /// Sets the values of this run that are not the recorded ones. Only the first call does.
    pub fn start_values(&self, pairs: BTreeSet<BoundPair>) {
        let count = |pair: BoundPair| PairCount {
            pair,
            calls: AtomicU64::new(0),
            places: AtomicU64::new(0),
        };
        self.values.get_or_init(|| pairs.into_iter().map(count).collect());
    }

    /// Sets the rules for what clients make anew: those of recordings and flags, and those that known
    /// clients have. Only the first call does.
    pub fn start_rules(&self, rules: BTreeSet<String>, of_clients: BTreeSet<String>) {
        let own = rules.iter().map(|rule| BoundCount::new(rule));
        let of_clients = of_clients.difference(&rules).map(|rule| BoundCount::of_client(rule));
        self.rules.get_or_init(|| own.chain(of_clients).collect());
    }

    /// Adds a call in which these values were bound.
    pub(super) fn add_call(&self, bound: &BoundValues) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        for value in self.values.get().into_iter().flatten() {
            if let Some(places) = bound.values.get(&value.pair.name)
                && bound.pairs.contains(&value.pair)
            {
                value.calls.fetch_add(1, Ordering::Relaxed);
                value.places.fetch_add(*places as u64, Ordering::Relaxed);
            }
        }
        let results = bound.ids.get(NormalizeRule::TOOL_RESULT).map_or(0, |count| *count as u64);
        self.tool_results.fetch_add(results, Ordering::Relaxed);
        for rule in self.rules.get().into_iter().flatten() {
            if bound.rules.contains(&rule.name) {
                rule.calls.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    /// Returns each rule for what clients make anew, with the number of calls that needed it. Those of
    /// known clients are left out if no call needed them.
    pub fn rule_counts(&self) -> Vec<(String, u64)> {
        let read = |rule: &BoundCount| {
            let calls = rule.calls.load(Ordering::Relaxed);
            (calls > 0 || !rule.is_of_client).then(|| (rule.name.clone(), calls))
        };
        self.rules.get().into_iter().flatten().filter_map(read).collect()
    }

    /// Returns how many results of tools were not compared.
    pub fn tool_results(&self) -> u64 {
        self.tool_results.load(Ordering::Relaxed)
    }

    /// Returns how many calls were answered by a recorded call with other values.
    pub fn bound_calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the values that were bound.
    pub fn value_counts(&self) -> Vec<BoundValueCount> {
        let read = |value: &PairCount| BoundValueCount {
            pair: value.pair.clone(),
            calls: value.calls.load(Ordering::Relaxed),
            places: value.places.load(Ordering::Relaxed),
        };
        let all = self.values.get().into_iter().flatten().map(read);
        all.filter(|value| value.calls > 0).collect()
    }
}
