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
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call_history::{CallHistories, CallHistory, CallNumbers, HistoryShard};
use super::call_key::CallKey;
use super::chance::roll;
use super::chaos::ChaosRates;
use super::entry_rule::EntryFaultRule;
use super::fault_source::FaultSource;
use super::kind::{CountPer, Fault};
use super::plan::{CallFacts, FaultPlan, FaultRule};

/// A fault that a call gets.
#[derive(Clone, Debug, PartialEq)]
pub struct DecidedFault {
    /// The fault itself; for [`Fault::RecoverAfter`], the fault within it.
    pub fault: Fault,
    /// The name it is counted under: that of the rule, the entry or the chaos action.
    pub rule: Arc<str>,
    /// Where it was declared.
    pub source: FaultSource,
    /// Which call of its key this is, from 1.
    pub call: u64,
    /// Which attempt since the key was last answered well, from 1.
    pub attempt: u64,
    /// For how many milliseconds the call waits before the fault happens, if the fault itself is
    /// not the delay.
    pub delay_ms: u64,
    /// A number from 0 to below 1 for this rule and call, for what the fault leaves to chance.
    pub roll: f64,
    /// Whether the rule has happened as often as its `times` says.
    pub is_last: bool,
}

/// The faults that a call itself and the entry that would answer it declare.
#[derive(Clone, Copy, Debug, Default)]
pub struct FaultDeclarations<'a> {
    /// The fault in a header.
    pub header: Option<&'a Fault>,
    /// The rates in headers.
    pub header_rates: Option<&'a ChaosRates>,
    /// The fault of the entry.
    pub entry: Option<EntryFault<'a>>,
    /// The rates of the entry.
    pub entry_rates: Option<&'a ChaosRates>,
    /// The rates that were set for the call while the run goes on, in place of the plan's.
    pub run_time_rates: Option<&'a ChaosRates>,
}

/// The fault of an entry.
#[derive(Clone, Copy, Debug)]
pub struct EntryFault<'a> {
    /// The entry's name.
    pub name: &'a str,
    /// The fault, and which calls get it.
    pub rule: &'a EntryFaultRule,
    /// Whether the entry has this fault in place of an answer.
    pub alone: bool,
}

/// Decides which calls get a fault, and remembers what it decided.
#[derive(Debug)]
pub struct FaultDecider {
    plan: FaultPlan,
    seed: u64,
    histories: CallHistories,
    /// The histories of steps. Their locks are taken after those of `histories`.
    steps: CallHistories,
    /// The histories of upstreams. As those of steps, they are locked last.
    upstreams: CallHistories,
    counts: Mutex<BTreeMap<(FaultSource, Arc<str>), RuleCount>>,
    /// Whether any call named a step.
    has_seen_step: AtomicBool,
}

/// How often a rule matched, and how often its fault happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RuleCount {
    /// How many calls it matched.
    pub matched: u64,
    /// How many calls got its fault.
    pub fired: u64,
}

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
    /// Creates a decider for `plan`, with `seed` for what it leaves to chance.
    pub fn new(plan: FaultPlan, seed: u64) -> Self {
        let named =
            |rule: &FaultRule| ((rule.source, Arc::from(rule.name.as_str())), RuleCount::default());
        let counts = Mutex::new(plan.rules.iter().map(named).collect());
        let (histories, steps) = (CallHistories::default(), CallHistories::default());
        let upstreams = CallHistories::default();
        let has_seen_step = AtomicBool::new(false);
        Self { plan, seed, histories, steps, upstreams, counts, has_seen_step }
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

    /// Begins the turn of the next call of this key.
    pub fn turn<'a>(&'a self, key: &'a CallKey) -> CallTurn<'a> {
        let mut histories = self.histories.lock(key);
        let of_key = histories.history(key).count();
        CallTurn { decider: self, histories, key, of_key, step: None }
    }

    /// Notes that a call of this key was answered well: its next call is a first attempt.
    pub fn reset_attempts(&self, key: &CallKey) {
        let mut histories = self.histories.lock(key);
        let Some(history) = histories.known(key) else { return };
        history.reset_attempts();
        self.change_step(history.step.as_ref(), CallHistory::reset_attempts);
    }

    /// Changes the history of a step, if the call is in one.
    fn change_step(&self, step: Option<&CallKey>, change: impl FnOnce(&mut CallHistory)) {
        if let Some(step) = step
            && let Some(history) = self.steps.lock(step).known(step)
        {
            change(history);
        }
    }

    /// Takes back [`FaultDecider::reset_attempts`]: the client did not get the answer of this
    /// attempt after all.
    pub fn restore_attempts(&self, key: &CallKey, attempt: u64) {
        let mut histories = self.histories.lock(key);
        let Some(history) = histories.known(key) else { return };
        history.attempts = history.attempts.max(attempt);
        self.change_step(history.step.as_ref(), CallHistory::restore_attempts);
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
        self.count(rule.source, &name, |count| count.matched += 1);
        let roll = roll(self.seed, &name, &CallKey::Connection.chance_text(), number);
        if rule.probability.is_some_and(|rate| roll >= rate) {
            return None;
        }
        // All connections share one history, because their requests are not known yet.
        let mut histories = self.histories.lock(&CallKey::Connection);
        let history = histories.history(&CallKey::Connection);
        let fires = history.fires.entry(Arc::clone(&name)).or_default();
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
        })
    }

    /// Counts a fault that has happened.
    pub fn fired(&self, decided: &DecidedFault) {
        self.count(decided.source, &decided.rule, |count| count.fired += 1);
    }

    /// The counts of every rule of the plan, and of every other declaration that matched a call.
    pub fn counts(&self) -> BTreeMap<(FaultSource, Arc<str>), RuleCount> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The rules of the plan and of flags whose faults never happened.
    pub fn unfired(&self) -> Vec<Arc<str>> {
        let counts = self.counts();
        let never =
            counts.iter().filter(|((source, _), count)| source.is_planned() && count.fired == 0);
        never.map(|((_, name), _)| Arc::clone(name)).collect()
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
        self.unfired().into_iter().filter(named).collect()
    }

    /// Forgets all calls so far, of one session or of all.
    pub fn reset(&self, session: Option<&str>) {
        self.histories.forget(session);
        self.steps.forget(session);
        self.upstreams.forget(session);
    }

    fn count(&self, source: FaultSource, rule: &Arc<str>, change: impl FnOnce(&mut RuleCount)) {
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        change(counts.entry((source, Arc::clone(rule))).or_default());
    }
}

impl CallTurn<'_> {
    /// Notes the step of the call, and counts the call in it.
    pub fn enter_step(&mut self, step: &str) -> CallNumbers {
        self.decider.has_seen_step.store(true, Ordering::Relaxed);
        let session = self.key.session().map(str::to_owned);
        let key = CallKey::Step { session, step: step.to_owned() };
        let numbers = self.decider.steps.lock(&key).history(&key).count();
        if let Some(history) = self.histories.known(self.key) {
            history.step = Some(key.clone());
        }
        self.step = Some(key);
        numbers
    }

    /// Returns the fault that this call gets, if any. The numbers of call and attempt in `facts`
    /// are those of this turn.
    pub fn decide(
        &mut self,
        facts: &CallFacts<'_>,
        declared: FaultDeclarations<'_>,
    ) -> Option<DecidedFault> {
        if let Some(fault) = declared.header {
            let name = Arc::from(fault.name());
            let declared = RuleUse { source: FaultSource::Header, name: &name, fault };
            if let Some(decided) = self.apply_rule(declared, (None, None), false) {
                return Some(decided);
            }
        }
        let numbers = facts.of_step.unwrap_or(facts.of_key);
        if let Some(EntryFault { name, rule, alone }) = declared.entry
            && (rule.attempt.is_empty() || rule.attempt.contains(&numbers.attempt))
        {
            let (name, fault) = (&Arc::from(name), &rule.fault);
            let declared = RuleUse { source: FaultSource::Entry, name, fault };
            let decided = self.apply_rule(declared, (rule.limit(alone), None), true);
            if decided.is_some() {
                return decided;
            }
        }
        let decider = self.decider;
        // The fault of a connection does not apply to its calls as well.
        let rules = decider.plan.rules.iter().filter(|rule| !rule.is_at_accept());
        for rule in rules.filter(|rule| rule.when.holds(facts)) {
            let limits = (rule.times, rule.probability);
            let name = Arc::from(rule.name.as_str());
            let declared = RuleUse { source: rule.source, name: &name, fault: &rule.fault };
            let decided = self.apply_rule(declared, limits, rule.when.counts_by_step());
            if decided.is_some() {
                return decided;
            }
        }
        let rates = [declared.header_rates, declared.entry_rates].into_iter().flatten();
        let over = |lower: ChaosRates, higher: &ChaosRates| higher.layered_over(&lower);
        let lowest = declared.run_time_rates.unwrap_or(&decider.plan.chaos);
        // The rates of the header come last, because they override all others.
        let rates = rates.rev().fold(lowest.clone(), over);
        let (key, call) = (self.key.chance_text(), self.of_key.call);
        let draw = |action: &str| roll(decider.seed, &format!("chaos {action}"), &key, call);
        let rolled = rates.roll(draw)?;
        let (name, fault) = (Arc::from(rolled.action), &rolled.fault);
        let declared = RuleUse { source: FaultSource::Chaos, name: &name, fault };
        let decided = self.apply_rule(declared, (None, None), false)?;
        Some(DecidedFault { delay_ms: rolled.delay_ms, ..decided })
    }

    /// Returns the fault of a rule that matches, unless `times` is used up or the roll decides
    /// against it. `by_step` says whether `times` is counted by the step of the call, if it has one.
    fn apply_rule(
        &mut self,
        RuleUse { source, name: rule, fault }: RuleUse<'_>,
        (times, probability): (Option<u32>, Option<f64>),
        by_step: bool,
    ) -> Option<DecidedFault> {
        self.decider.count(source, rule, |count| count.matched += 1);
        let (fault, times, per) = match fault {
            Fault::RecoverAfter { failures, per, fault } => {
                (&**fault, Some(times.map_or(*failures, |times| times.min(*failures))), *per)
            }
            other => (other, times, CountPer::Key),
        };
        let of_upstream = match per {
            CountPer::Upstream => self.key.of_upstream(),
            CountPer::Key => None,
        };
        let roll = roll(self.decider.seed, rule, &self.key.chance_text(), self.of_key.call);
        if probability.is_some_and(|rate| roll >= rate) {
            return None;
        }
        let mut shared;
        let history = match (&of_upstream, self.step.as_ref().filter(|_| by_step)) {
            (Some(upstream), _) => {
                shared = self.decider.upstreams.lock(upstream);
                shared.history(upstream)
            }
            (None, Some(step)) => {
                shared = self.decider.steps.lock(step);
                shared.known(step)?
            }
            (None, None) => self.histories.known(self.key)?,
        };
        // A rule, an entry and a header with the same name are counted separately.
        let name = Arc::from(format!("{} {rule}", source.as_str()));
        let fires = history.fires.entry(name).or_default();
        if times.is_some_and(|times| *fires >= times) {
            return None;
        }
        *fires = fires.saturating_add(1);
        let is_last = times == Some(*fires);
        let CallNumbers { call, attempt } = self.of_key;
        let (fault, rule) = (fault.clone(), Arc::clone(rule));
        Some(DecidedFault { fault, rule, source, call, attempt, delay_ms: 0, roll, is_last })
    }

    /// Notes that this call is answered well: the next one of its key is a first attempt.
    pub fn reset_attempts(&mut self) {
        self.histories.known(self.key).into_iter().for_each(CallHistory::reset_attempts);
        self.decider.change_step(self.step.as_ref(), CallHistory::reset_attempts);
    }
}

#[cfg(test)]
#[path = "decider_tests.rs"]
mod tests;
