//! The turn of one call: its numbers, and the decision which fault it gets.

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use super::call_attempt::{CallAttempt, CallConclusion};
use super::call_history::{CallNumbers, HistoryShard};
use super::call_key::CallKey;
use super::chance::roll_number;
use super::chaos::ChaosRates;
use super::decided_fault::{CountedIn, DecidedFault, EntryFault, FaultDeclarations, counted_as};
use super::decider::FaultDecider;
use super::fault_counters::OtherNumber;
use super::fault_source::FaultSource;
use super::kind::{CountPer, Fault};
use super::plan::{CallFacts, FaultRule};

/// The turn of one call: until it is dropped, no other call of its key is decided.
#[derive(Debug)]
pub struct CallTurn<'a> {
    decider: &'a FaultDecider,
    histories: MutexGuard<'a, HistoryShard>,
    key: &'a CallKey,
    /// Which call of its key this is.
    pub of_key: CallNumbers,
    /// The key of the call's step.
    step: Option<CallKey>,
}

/// A fault, and the rule or entry that declares it.
#[derive(Clone, Copy)]
struct RuleUse<'a> {
    source: FaultSource,
    name: &'a Arc<str>,
    fault: &'a Fault,
}

impl FaultDecider {
    /// Begins the turn of the next call of this key.
    pub fn begin_turn<'a>(&'a self, key: &'a CallKey) -> CallTurn<'a> {
        let mut histories = self.histories.lock_shard(key);
        let of_key = histories.get_or_insert(key).count_call();
        CallTurn { decider: self, histories, key, of_key, step: None }
    }
}

impl CallTurn<'_> {
    /// Notes the step of the call, and counts the call in it.
    pub fn enter_step(&mut self, step: &str) -> CallNumbers {
        self.decider.has_seen_step.store(true, Ordering::Relaxed);
        let session = self.key.session().map(str::to_owned);
        let key = CallKey::Step { session, step: step.to_owned() };
        let numbers = self.decider.steps.lock_shard(&key).get_or_insert(&key).count_call();
        if let Some(history) = self.histories.find_history(self.key) {
            history.step = Some(key.clone());
        }
        self.step = Some(key);
        numbers
    }

    /// Returns the fault that this call gets, if any. The numbers of call and attempt in `facts`
    /// are those of this turn.
    pub fn decide_fault(
        &mut self,
        facts: &CallFacts<'_>,
        declared: FaultDeclarations<'_>,
    ) -> Option<DecidedFault> {
        let mut decided = None;
        if let Some(fault) = declared.header {
            let name = Arc::from(fault.name());
            let declared = RuleUse { source: FaultSource::Header, name: &name, fault };
            decided = self.apply_rule(declared, (None, None, None), false);
        }
        if let Some(entry) = declared.entry {
            decided = self.apply_entry(facts, entry, decided);
        }
        let decider = self.decider;
        // The fault of a connection does not apply to its calls as well.
        for rule in decider.plan.rules.iter().filter(|rule| !rule.is_at_accept()) {
            decided = self.apply_planned(facts, rule, decided);
        }
        decided.or_else(|| self.apply_chaos(declared))
    }

    /// Returns the fault of the entry, unless the call has one already.
    fn apply_entry(
        &mut self,
        facts: &CallFacts<'_>,
        EntryFault { name, rule, alone }: EntryFault<'_>,
        decided: Option<DecidedFault>,
    ) -> Option<DecidedFault> {
        let (source, name, fault) = (FaultSource::Entry, &Arc::from(name), &rule.fault);
        let counters = &self.decider.counters;
        let attempt = facts.of_step.unwrap_or(facts.of_key).attempt;
        if !rule.attempt.is_empty() && !rule.attempt.contains(&attempt) {
            let (wanted, latest) = (rule.attempt.clone(), attempt);
            counters.other_number(source, name, OtherNumber { what: "attempt", wanted, latest });
            return decided;
        }
        if decided.is_some() {
            counters.count_overruled(source, name);
            return decided;
        }
        self.apply_rule(RuleUse { source, name, fault }, (rule.call_limit(alone), None, None), true)
    }

    /// Returns the fault of a rule of the plan, unless the call has one already.
    fn apply_planned(
        &mut self,
        facts: &CallFacts<'_>,
        rule: &FaultRule,
        decided: Option<DecidedFault>,
    ) -> Option<DecidedFault> {
        if !rule.matches(facts) {
            return decided;
        }
        let (source, name) = (rule.source, &Arc::from(rule.name.as_str()));
        if let Some(other) = rule.when.other_number(facts) {
            self.decider.counters.other_number(source, name, other);
            return decided;
        }
        if decided.is_some() {
            self.decider.counters.count_overruled(source, name);
            return decided;
        }
        let limits = (rule.times, rule.probability, rule.per);
        let declared = RuleUse { source, name, fault: &rule.fault };
        self.apply_rule(declared, limits, rule.when.counts_by_step())
    }

    /// Returns a fault of chaos, if one is drawn.
    fn apply_chaos(&mut self, declared: FaultDeclarations<'_>) -> Option<DecidedFault> {
        let rates = [declared.header_rates, declared.entry_rates].into_iter().flatten();
        let over = |lower: ChaosRates, higher: &ChaosRates| higher.layered_over(&lower);
        let lowest = declared.run_time_rates.unwrap_or(&self.decider.plan.chaos);
        // The rates of the header come last, because they override all others.
        let rates = rates.rev().fold(lowest.clone(), over);
        let (key, call) = (self.key.chance_text(), self.of_key.call);
        let draw =
            |action: &str| roll_number(self.decider.seed, &format!("chaos {action}"), &key, call);
        let rolled = rates.roll_fault(draw)?;
        let (name, fault) = (Arc::from(rolled.action), &rolled.fault);
        let declared = RuleUse { source: FaultSource::Chaos, name: &name, fault };
        let decided = self.apply_rule(declared, (None, None, None), false)?;
        Some(DecidedFault { delay_ms: rolled.delay_ms, ..decided })
    }

    /// Returns the fault of a rule that matches, unless `times` is used up or the roll decides
    /// against it. `by_step` says whether `times` is counted by the step of the call, if it has one.
    fn apply_rule(
        &mut self,
        RuleUse { source, name: rule, fault }: RuleUse<'_>,
        (times, probability, per): (Option<u32>, Option<f64>, Option<CountPer>),
        by_step: bool,
    ) -> Option<DecidedFault> {
        let counters = &self.decider.counters;
        counters.count_matched(source, rule, fault);
        let (fault, times, own) = match fault {
            Fault::RecoverAfter { failures, per, fault } => {
                (&**fault, Some(times.map_or(*failures, |times| times.min(*failures))), *per)
            }
            other => (other, times, CountPer::Key),
        };
        let of_others = match per.unwrap_or(own) {
            CountPer::Upstream => self.key.of_upstream(),
            CountPer::Run => Some(self.key.of_session()),
            CountPer::Key => None,
        };
        let roll = roll_number(self.decider.seed, rule, &self.key.chance_text(), self.of_key.call);
        if probability.is_some_and(|rate| roll >= rate) {
            counters.count_spared(source, rule);
            return None;
        }
        let mut shared;
        let (history, counted_in) = match (of_others, self.step.as_ref().filter(|_| by_step)) {
            (Some(others), _) => {
                shared = self.decider.shared.lock_shard(&others);
                (shared.get_or_insert(&others), CountedIn::Shared(others))
            }
            (None, Some(step)) => {
                shared = self.decider.steps.lock_shard(step);
                (shared.find_history(step)?, CountedIn::Step(step.clone()))
            }
            (None, None) => (self.histories.find_history(self.key)?, CountedIn::Key),
        };
        let fires = history.fires.entry(counted_as(source, rule)).or_default();
        if times.is_some_and(|times| *fires >= times) {
            return None;
        }
        *fires = fires.saturating_add(1);
        let is_last = times == Some(*fires);
        let CallNumbers { call, attempt } = self.of_key;
        let (fault, rule) = (fault.clone(), Arc::clone(rule));
        Some(DecidedFault {
            fault,
            rule,
            source,
            call,
            attempt,
            delay_ms: 0,
            roll,
            is_last,
            counted_in,
        })
    }

    /// Returns the attempt that this call is.
    pub fn attempt(&self) -> CallAttempt {
        CallAttempt::new(self.of_key.attempt)
    }

    /// Takes account of how this call was concluded, before the next one of its key is decided.
    pub fn conclude_call(&mut self, attempt: &mut CallAttempt, conclusion: CallConclusion) {
        if let Some(change) = attempt.conclude_call(conclusion) {
            let history = self.histories.find_history(self.key);
            history.into_iter().for_each(|history| history.change_attempts(change));
            self.decider.change_step_attempts(self.step.as_ref(), change);
        }
    }
}
