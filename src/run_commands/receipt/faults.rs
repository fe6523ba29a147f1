//! The receipt's part about faults.

use serde_json::{Value, json};

use super::super::fault::HOW_TO_SEND;
use super::super::run_time_chaos;
use loomrec_fault::{ChaosChanges, FaultSource, FaultWarning, RuleCount, UntestedFault};
use loomrec_proxy::server::fault::FaultContext;

/// How many faults that never happened are named to people.
const NAMED: usize = 20;
/// How many of them are in the JSON.
const LISTED: usize = 256;

/// The receipt's part about faults.
#[derive(Debug)]
pub struct FaultReceipt {
    seed: u64,
    fired: u64,
    counts: Vec<(FaultSource, String, RuleCount)>,
    warnings: Vec<FaultWarning>,
    /// The rates that were set while the run went on.
    run_time: ChaosChanges,
    /// The faults that never happened.
    untested: Vec<UntestedFault>,
    /// Those of them that could not happen, because no call named a step.
    waiting_for_steps: Vec<String>,
}

impl FaultReceipt {
    /// Reads the results of `faults`. Returns `None` if no faults were declared.
    pub fn from_context(faults: &FaultContext) -> Option<Self> {
        let decider = faults.decider();
        let counts = decider.rule_counts().into_iter();
        let counts: Vec<_> =
            counts.map(|((source, name), count)| (source, name.to_string(), count)).collect();
        let run_time = faults.run_time().changes();
        let others = faults.warnings().into_iter();
        let mut warnings = decider.counters().warnings();
        warnings.extend(others.map(|(text, calls)| FaultWarning { text, calls }));
        let untested = decider.counters().untested_faults();
        let is_declared = !counts.is_empty()
            || !decider.is_idle()
            || run_time.count > 0
            || !untested.is_empty()
            || !warnings.is_empty();
        let waiting = decider.waiting_for_steps().into_iter();
        is_declared.then(|| Self {
            seed: decider.seed(),
            fired: decider.counters().total_fired(),
            counts,
            warnings,
            run_time,
            untested,
            waiting_for_steps: waiting.map(|name| name.to_string()).collect(),
        })
    }

    /// Returns the number of faults that happened.
    pub fn fired_count(&self) -> u64 {
        self.fired
    }

    /// Returns the complaint about faults that never happened: where each is declared, and why it
    /// did not happen. `None` if all did.
    pub fn unfired_complaint(&self) -> Option<String> {
        let named = self.untested.iter().take(NAMED).map(|untested| {
            let UntestedFault { source, rule, kind, why, .. } = untested;
            format!("{rule} ({}, {kind}): {why}", source.as_str())
        });
        let mut named: Vec<String> = named.collect();
        let more = self.untested.len() - named.len();
        if more > 0 {
            named.push(format!("and {more} more"));
        }
        (!named.is_empty()).then(|| {
            format!(
                "faults that were not tested, since they never happened (--allow-unfired permits \
                 that): {}",
                named.join("; ")
            )
        })
    }

    /// Returns what helps rules to apply that are for steps, if no call named a step.
    pub fn step_hint(&self) -> Option<String> {
        let names = self.waiting_for_steps.join(", ");
        (!names.is_empty())
            .then(|| format!("no call sent a step id, which {names} needs: send it {HOW_TO_SEND}"))
    }

    /// Returns it as JSON.
    pub fn to_json(&self) -> Value {
        let rule = |(source, name, count): &(FaultSource, String, RuleCount)| {
            json!({
                "rule": name,
                "source": source.as_str(),
                "matched": count.matched,
                "fired": count.fired,
            })
        };
        let untested = |untested: &UntestedFault| {
            json!({
                "rule": &*untested.rule,
                "source": untested.source.as_str(),
                "type": untested.kind,
                "matched": untested.matched,
                "why": untested.why,
            })
        };
        let warning =
            |FaultWarning { text, calls }: &FaultWarning| json!({ "text": text, "calls": calls });
        let listed = || self.untested.iter().take(LISTED);
        json!({
            "seed": self.seed,
            "fired": self.fired,
            "rules": self.counts.iter().map(rule).collect::<Vec<_>>(),
            "unfired": listed().map(|untested| &*untested.rule).collect::<Vec<_>>(),
            "not_tested": listed().map(untested).collect::<Vec<_>>(),
            "not_tested_count": self.untested.len(),
            "run_time_chaos": run_time_chaos::to_json(&self.run_time),
            "warnings": self.warnings.iter().map(warning).collect::<Vec<_>>(),
        })
    }

    /// Returns one line for each rule, for people.
    pub fn rule_lines(&self) -> Vec<String> {
        let rule = |(source, name, count): &(FaultSource, String, RuleCount)| {
            let (fired, matched) = (count.fired, count.matched);
            format!("fault {name} ({}): fired {fired} of {matched} matching calls", source.as_str())
        };
        let warning = |FaultWarning { text, calls }: &FaultWarning| {
            format!("warning: {text} (calls: {calls})")
        };
        let run_time = run_time_chaos::change_lines(&self.run_time);
        let rules = self.counts.iter().map(rule);
        rules.chain(run_time).chain(self.warnings.iter().map(warning)).collect()
    }
}
