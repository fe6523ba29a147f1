//! What became of the declared faults: how often each matched a call, how often it happened, and
//! why it did not.
//!
//! Faults are declared in four places before a run: by a flag, in a plan, in an entry and in a rule
//! of a script. One that never happened tested nothing, wherever it was declared. Faults that calls
//! declare in headers, and those of chaos, are judged once they were decided for a call.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::fault_source::FaultSource;
use super::kind::Fault;
use super::obstacle::FaultObstacle;

/// At most this many different reasons are kept of one fault.
const MOST_REASONS: usize = 8;
/// At most this many of them are shown.
const SHOWN_REASONS: usize = 3;

/// How often a rule matched, and how often its fault happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleCount {
    /// How many calls it matched.
    pub matched: u64,
    /// How many calls got its fault.
    pub fired: u64,
}

/// A fault that is declared before the run.
#[derive(Clone, Debug)]
pub struct DeclaredFaultName {
    /// Where it is declared.
    pub source: FaultSource,
    /// The name of the rule or the entry.
    pub rule: Arc<str>,
    /// The type of the fault.
    pub kind: &'static str,
    /// Whether it applies to connections.
    pub is_at_accept: bool,
}

/// A declared fault that never happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UntestedFault {
    /// Where it was declared.
    pub source: FaultSource,
    /// The name of the rule, the entry or the chaos action.
    pub rule: Arc<str>,
    /// The type of the fault.
    pub kind: &'static str,
    /// How many calls it matched.
    pub matched: u64,
    /// Why it did not happen.
    pub why: String,
}

/// A reason why a fault did not happen to calls, and their number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultWarning {
    /// The fault and the reason.
    pub text: String,
    /// The number of calls.
    pub calls: u64,
}

/// What became of one fault.
#[derive(Clone, Debug, Default)]
struct FaultCounter {
    count: RuleCount,
    kind: &'static str,
    /// Whether it is declared before the run.
    is_declared: bool,
    is_at_accept: bool,
    /// The matching calls that chance decided against.
    spared: u64,
    /// The calls that got another fault, which comes first.
    overruled: u64,
    /// The calls that match except for their number.
    other_number: Option<OtherNumber>,
    /// Why it could not happen to the calls that it was decided for, with their number.
    obstacles: BTreeMap<String, u64>,
}

/// The call or attempt that a fault is for, and the latest one that came.
#[derive(Clone, Debug)]
pub(super) struct OtherNumber {
    /// `call` or `attempt`.
    pub(super) what: &'static str,
    /// The numbers that the fault is for.
    pub(super) wanted: Vec<u64>,
    /// The highest number of a call that matches otherwise.
    pub(super) latest: u64,
}

/// What became of the faults of a run, or of a session.
#[derive(Debug, Default)]
pub struct FaultCounters {
    counters: Mutex<BTreeMap<(FaultSource, Arc<str>), FaultCounter>>,
    /// The counters of the run whose recording and plan a session shares. What no session used is
    /// judged there.
    of_run: Option<Arc<FaultCounters>>,
}

impl FaultCounters {
    /// Creates the counters of a session that shares the recording of a run.
    pub fn with_shared_run(of_run: Arc<Self>) -> Self {
        Self { of_run: Some(of_run), ..Self::default() }
    }

    /// Adds a fault that is declared before the run.
    pub fn declare(&self, declared: DeclaredFaultName) {
        let DeclaredFaultName { source, rule, kind, is_at_accept } = declared;
        self.change_own_counter(source, &rule, |counter| {
            counter.kind = kind;
            counter.is_at_accept = is_at_accept;
            counter.is_declared = true;
        });
    }

    /// Counts a call that a fault matches.
    pub(super) fn count_matched(&self, source: FaultSource, rule: &Arc<str>, fault: &Fault) {
        self.change_counter(source, rule, |counter| {
            counter.kind = fault.name();
            counter.count.matched += 1;
        });
    }

    /// Counts a fault that has happened.
    pub(super) fn count_fired(&self, source: FaultSource, rule: &Arc<str>) {
        self.change_counter(source, rule, |counter| counter.count.fired += 1);
    }

    /// Counts a matching call that chance decided against.
    pub(super) fn count_spared(&self, source: FaultSource, rule: &Arc<str>) {
        self.change_counter(source, rule, |counter| counter.spared += 1);
    }

    /// Counts a call that another fault came first for.
    pub(super) fn count_overruled(&self, source: FaultSource, rule: &Arc<str>) {
        self.change_counter(source, rule, |counter| counter.overruled += 1);
    }

    /// Notes a call that matches except for its number.
    pub(super) fn other_number(&self, source: FaultSource, rule: &Arc<str>, number: OtherNumber) {
        self.change_counter(source, rule, |counter| {
            let before = counter.other_number.as_ref().map_or(0, |number| number.latest);
            let latest = number.latest.max(before);
            counter.other_number = Some(OtherNumber { latest, ..number.clone() });
        });
    }

    /// Notes why a fault could not happen to a call that it was decided for.
    pub(super) fn note_obstacle(&self, source: FaultSource, rule: &Arc<str>, why: &FaultObstacle) {
        let text = why.to_string();
        self.change_counter(source, rule, |counter| {
            if counter.obstacles.len() < MOST_REASONS || counter.obstacles.contains_key(&text) {
                *counter.obstacles.entry(text.clone()).or_default() += 1;
            }
        });
    }

    /// Returns the counts of all declared faults of plans and flags, and of every other one that
    /// matched a call.
    pub fn rule_counts(&self) -> BTreeMap<(FaultSource, Arc<str>), RuleCount> {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let is_listed = |source: FaultSource, counter: &FaultCounter| {
            source.is_planned() || counter.count.matched > 0
        };
        let listed = counters.iter().filter(|((source, _), counter)| is_listed(*source, counter));
        listed.map(|(name, counter)| (name.clone(), counter.count)).collect()
    }

    /// Returns how many faults happened.
    pub fn total_fired(&self) -> u64 {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        counters.values().map(|counter| counter.count.fired).sum()
    }

    /// Returns the faults that never happened although they were declared before the run, or
    /// decided for a call. What the entries of a shared recording declare is left to the run, unless
    /// a call of this session matched it.
    pub fn untested_faults(&self) -> Vec<UntestedFault> {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = |source: FaultSource, counter: &FaultCounter| {
            counter.count.matched > 0
                || (counter.is_declared && (self.of_run.is_none() || source.is_planned()))
        };
        let untested = counters
            .iter()
            .filter(|((source, _), counter)| counter.count.fired == 0 && is_due(*source, counter));
        let untested = untested.map(|((source, rule), counter)| UntestedFault {
            source: *source,
            rule: Arc::clone(rule),
            kind: counter.kind,
            matched: counter.count.matched,
            why: counter.untested_reason(*source),
        });
        untested.collect()
    }

    /// Returns why faults that were decided for calls did not happen to them.
    pub fn warnings(&self) -> Vec<FaultWarning> {
        let counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        let of_counter = |((_, rule), counter): (&(FaultSource, Arc<str>), &FaultCounter)| {
            let warning = |(why, calls): (&String, &u64)| FaultWarning {
                text: format!("{} ({rule}) did not happen: {why}", counter.kind),
                calls: *calls,
            };
            counter.obstacles.iter().map(warning).collect::<Vec<_>>()
        };
        counters.iter().flat_map(of_counter).collect()
    }

    /// Changes the counter of a fault, and that of the run if the run declares it, too.
    fn change_counter(
        &self,
        source: FaultSource,
        rule: &Arc<str>,
        change: impl Fn(&mut FaultCounter),
    ) {
        self.change_own_counter(source, rule, &change);
        if let Some(run) = &self.of_run {
            let mut counters = run.counters.lock().unwrap_or_else(PoisonError::into_inner);
            counters.get_mut(&(source, Arc::clone(rule))).into_iter().for_each(change);
        }
    }

    fn change_own_counter(
        &self,
        source: FaultSource,
        rule: &Arc<str>,
        change: impl FnOnce(&mut FaultCounter),
    ) {
        let mut counters = self.counters.lock().unwrap_or_else(PoisonError::into_inner);
        change(counters.entry((source, Arc::clone(rule))).or_default());
    }
}

impl FaultCounter {
    /// Returns why the fault never happened.
    fn untested_reason(&self, source: FaultSource) -> String {
        if !self.obstacles.is_empty() {
            let mut why: Vec<&str> = self.obstacles.keys().map(String::as_str).collect();
            why.truncate(SHOWN_REASONS);
            return why.join("; ");
        }
        if self.overruled > 0 {
            return "its calls got other faults, which come first".to_owned();
        }
        if self.spared > 0 {
            return format!("chance decided against it at all of its calls: {}", self.spared);
        }
        if let Some(OtherNumber { what, wanted, latest }) = &self.other_number {
            let wanted: Vec<String> = wanted.iter().map(u64::to_string).collect();
            return format!(
                "it is for {what} {}, and its calls came to {what} {latest}",
                wanted.join(" or ")
            );
        }
        let why = match (self.count.matched, source) {
            (0, FaultSource::Entry) => "no call got its answer",
            (0, _) if self.is_at_accept => "no connection matched it",
            (0, _) => "no call matched it",
            _ => "its calls ended before it",
        };
        why.to_owned()
    }
}

#[cfg(test)]
#[path = "fault_counters_tests.rs"]
mod tests;
