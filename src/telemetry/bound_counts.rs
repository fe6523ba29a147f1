//! How often the values of a run were put in the place of recorded ones.

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
    calls: AtomicU64,
    places: AtomicU64,
}

impl BoundCount {
    fn new(name: &str) -> Self {
        let (calls, places) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { name: name.to_owned(), calls, places }
    }
}

impl BoundCounts {
    /// Sets the names of the run's values. Only the first call does.
    pub fn start<'a>(&self, names: impl Iterator<Item = &'a str>) {
        self.values.get_or_init(|| names.map(BoundCount::new).collect());
    }

    /// Sets the rules for what clients make anew. Only the first call does.
    pub fn start_rules(&self, rules: impl Iterator<Item = String>) {
        self.rules.get_or_init(|| rules.map(|rule| BoundCount::new(&rule)).collect());
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

    /// Returns each rule for what clients make anew, with the number of calls that needed it.
    pub fn rules(&self) -> Vec<(String, u64)> {
        let read = |rule: &BoundCount| (rule.name.clone(), rule.calls.load(Ordering::Relaxed));
        self.rules.get().into_iter().flatten().map(read).collect()
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
