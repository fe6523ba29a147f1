//! The decision which calls get which fault.
//!
//! The decision about a call depends only on the plan, the seed, the call, and the earlier calls of
//! the same key in the same session. Calls of other keys may come before or after it in any order.
//! For that reason `times` is counted per key.
//!
//! A rule that names steps, and the fault of an entry that has a step id, count the calls of the
//! step in place of those of the key: the prompts of a step differ from round to round. A
//! `recover_after` that counts per upstream depends on the order of all calls of that upstream.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::call_attempt::{AttemptChange, CallAttempt, CallConclusion};
use super::call_history::CallHistories;
use super::call_key::CallKey;
use super::chance::roll_number;
use super::decided_fault::{CountedIn, DecidedFault, counted_as};
use super::fault_counters::{DeclaredFaultName, FaultCounters, RuleCount};
use super::fault_source::FaultSource;
use super::obstacle::FaultObstacle;
use super::plan::{FaultPlan, FaultRule};

/// Decides which calls get a fault, and remembers what it decided.
#[derive(Debug)]
pub struct FaultDecider {
    pub(super) plan: FaultPlan,
    pub(super) seed: u64,
    pub(super) histories: CallHistories,
    /// The histories of steps. Their locks are taken after those of `histories`.
    pub(super) steps: CallHistories,
    /// The histories of upstreams and sessions. As those of steps, they are locked last.
    pub(super) shared: CallHistories,
    /// What became of the faults.
    pub(super) counters: Arc<FaultCounters>,
    /// Whether any call named a step.
    pub(super) has_seen_step: AtomicBool,
}

impl FaultDecider {
    /// Creates a decider for `plan`, with `seed` for what it leaves to chance.
    pub fn new(plan: FaultPlan, seed: u64) -> Self {
        Self::counting_in(plan, seed, FaultCounters::default())
    }

    /// Creates a decider that counts in these counters.
    pub fn counting_in(plan: FaultPlan, seed: u64, counters: FaultCounters) -> Self {
        for rule in &plan.rules {
            counters.declare(DeclaredFaultName {
                source: rule.source,
                rule: Arc::from(rule.name.as_str()),
                kind: rule.fault.name(),
                is_at_accept: rule.is_at_accept(),
            });
        }
        let (histories, steps) = (CallHistories::default(), CallHistories::default());
        let (shared, has_seen_step) = (CallHistories::default(), AtomicBool::new(false));
        let counters = Arc::new(counters);
        Self { plan, seed, histories, steps, shared, counters, has_seen_step }
    }

    /// Returns what became of the faults.
    pub fn counters(&self) -> &Arc<FaultCounters> {
        &self.counters
    }

    /// The plan.
    pub fn plan(&self) -> &FaultPlan {
        &self.plan
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether the plan declares nothing, so that only calls and entries can declare faults.
    pub fn is_idle(&self) -> bool {
        self.plan.rules.is_empty() && self.plan.chaos.is_empty()
    }

    /// Takes account of how a call of this key was concluded.
    pub fn conclude_call(
        &self,
        key: &CallKey,
        attempt: &mut CallAttempt,
        conclusion: CallConclusion,
    ) {
        let Some(change) = attempt.conclude_call(conclusion) else { return };
        let mut histories = self.histories.lock_shard(key);
        let Some(history) = histories.find_history(key) else { return };
        history.change_attempts(change);
        self.change_step_attempts(history.step.as_ref(), change);
    }

    /// Changes the attempts of a step, if the call is in one.
    pub(super) fn change_step_attempts(&self, step: Option<&CallKey>, change: AttemptChange) {
        if let Some(step) = step
            && let Some(history) = self.steps.lock_shard(step).find_history(step)
        {
            history.change_step_attempts(change);
        }
    }

    /// Returns the fault of the `number`th connection, if it gets one before its first request.
    pub fn at_accept(&self, number: u64) -> Option<DecidedFault> {
        let meant =
            |rule: &&FaultRule| rule.is_at_accept() && rule.when.connection.contains(&number);
        self.plan
            .rules
            .iter()
            .filter(meant)
            .find_map(|rule| self.apply_connection_rule(rule, number))
    }

    /// Returns the fault of a rule that matches this connection, unless `times` is used up or the
    /// roll decides against it.
    fn apply_connection_rule(&self, rule: &FaultRule, number: u64) -> Option<DecidedFault> {
        let name = Arc::<str>::from(rule.name.as_str());
        self.counters.count_matched(rule.source, &name, &rule.fault);
        let roll = roll_number(self.seed, &name, &CallKey::Connection.chance_text(), number);
        if rule.probability.is_some_and(|rate| roll >= rate) {
            self.counters.count_spared(rule.source, &name);
            return None;
        }
        // All connections share one history, because their requests are not known yet.
        let mut histories = self.histories.lock_shard(&CallKey::Connection);
        let history = histories.get_or_insert(&CallKey::Connection);
        let fires = history.fires.entry(counted_as(rule.source, &name)).or_default();
        if rule.times.is_some_and(|times| *fires >= times) {
            return None;
        }
        *fires = fires.saturating_add(1);
        let (fault, source) = (rule.fault.clone(), rule.source);
        let is_last = rule.times == Some(*fires);
        Some(DecidedFault {
            fault,
            rule: name,
            source,
            call: number,
            attempt: 1,
            delay_ms: 0,
            roll,
            is_last,
            counted_in: CountedIn::Key,
        })
    }

    /// Counts a fault that has happened.
    pub fn count_fired(&self, decided: &DecidedFault) {
        self.counters.count_fired(decided.source, &decided.rule);
    }

    /// Notes that a decided fault could not happen to its call, of this key, and why. It has not
    /// used up one of its `times` then.
    pub fn give_back(&self, key: &CallKey, decided: &DecidedFault, why: &FaultObstacle) {
        self.counters.note_obstacle(decided.source, &decided.rule, why);
        let (histories, key) = match &decided.counted_in {
            CountedIn::Key => (&self.histories, key),
            CountedIn::Step(step) => (&self.steps, step),
            CountedIn::Shared(others) => (&self.shared, others),
        };
        if let Some(history) = histories.lock_shard(key).find_history(key)
            && let Some(fires) = history.fires.get_mut(&decided.counted_as())
        {
            *fires = fires.saturating_sub(1);
        }
    }

    /// The counts of every rule of the plan, and of every other declaration that matched a call.
    pub fn rule_counts(&self) -> BTreeMap<(FaultSource, Arc<str>), RuleCount> {
        self.counters.rule_counts()
    }

    /// The rules that name steps, if their faults never happened and no call named any step.
    pub fn waiting_for_steps(&self) -> Vec<Arc<str>> {
        if self.has_seen_step.load(Ordering::Relaxed) {
            return Vec::new();
        }
        let named = |name: &Arc<str>| {
            let mut rules = self.plan.rules.iter();
            rules.any(|rule| *rule.name == **name && rule.when.counts_by_step())
        };
        let untested = self.counters.untested_faults().into_iter().map(|untested| untested.rule);
        untested.filter(named).collect()
    }

    /// Forgets all calls so far, of one session or of all.
    pub fn forget_calls(&self, session: Option<&str>) {
        self.histories.forget_calls(session);
        self.steps.forget_calls(session);
        self.shared.forget_calls(session);
    }
}

#[cfg(test)]
#[path = "decider_tests.rs"]
mod tests;
