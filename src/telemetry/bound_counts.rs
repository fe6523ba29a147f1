//! How often the values of a run were put in the place of recorded ones.

use std::collections::BTreeSet;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use loomrec_identity::{BoundValues, NormalizeRule};

/// How often each value of a run was bound. Calls count without a lock.
#[derive(Debug, Default)]
pub struct BoundCounts {
    calls: AtomicU64,
    values: OnceLock<Box<[BoundCount]>>,
    rules: OnceLock<Box<[BoundCount]>>,
    tool_results: AtomicU64,
}

#[derive(Debug)]
struct BoundCount {
    name: String,
    /// Whether it is a rule that is neither of a recording nor of a flag.
    is_of_client: bool,
    calls: AtomicU64,
    places: AtomicU64,
}

impl BoundCount {
    fn new(name: &str) -> Self {
        let (calls, places) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name: name.to_owned(), is_of_client: false, calls, places }
    }

    fn of_client(rule: &str) -> Self {
        Self { is_of_client: true, ..Self::new(rule) }
    }
}

impl BoundCounts {
    /// Sets the names of the run's values. Only the first call does.
    pub fn start<'a>(&self, names: impl Iterator<Item = &'a str>) {
        self.values.get_or_init(|| names.map(BoundCount::new).collect());
    }

    /// Sets the rules for what clients make anew: those of recordings and flags, and those that known
    /// clients have. Only the first call does.
    pub fn start_rules(&self, rules: BTreeSet<String>, of_clients: BTreeSet<String>) {
        let own = rules.iter().map(|rule| BoundCount::new(rule));
        let of_clients = of_clients.difference(&rules).map(|rule| BoundCount::of_client(rule));
        self.rules.get_or_init(|| own.chain(of_clients).collect());
    }

    /// Adds a call in which these values were bound.
    pub(super) fn add(&self, bound: &BoundValues) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        for value in self.values.get().into_iter().flatten() {
            if let Some(places) = bound.values.get(&value.name) {
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
    pub fn rules(&self) -> Vec<(String, u64)> {
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
    pub fn calls(&self) -> u64 {
        self.calls.load(Ordering::Relaxed)
    }

    /// Returns the values that were bound: the name, the number of calls, the number of places.
    pub fn values(&self) -> Vec<(String, u64, u64)> {
        let read = |value: &BoundCount| {
            let calls = value.calls.load(Ordering::Relaxed);
            (value.name.clone(), calls, value.places.load(Ordering::Relaxed))
        };
        let all = self.values.get().into_iter().flatten().map(read);
        all.filter(|(_, calls, _)| *calls > 0).collect()
    }
}
