//! Fault plans: which calls get which fault, in a separate file that leaves recordings unchanged.
//!
//! [`FaultPlan::parse`] reads a plan, [`FaultPlan::parse_with`] one that may also hold [`PlanBlocks`] of
//! another notation. They refuse unknown fields, and plans that could never apply.
//! [`RuleMatch::holds`] says whether a rule matches a call; the decider decides which of these
//! calls get the fault (`times`, `probability`).

mod body;
mod condition;
mod flag_rule;
mod rule;
mod target;

use serde_json::Value;

use super::chaos::ChaosRates;
use super::fault_source::FaultSource;
use super::field::{fields_of, read_count, read_rate};
use super::kind::{CountPer, Fault};
use super::recovery::RecoveryBudget;
use loomrec_identity::typed_field::{FieldError, FieldReader, quoted_text};

pub use body::{ExpectedValue, LazyBody};
pub use condition::{CallFacts, RuleMatch};
pub use rule::FaultRule;
pub use target::FaultTarget;

const PLAN: [&str; 3] = ["seed", "rules", "chaos"];
const RECOVERY: &str = "recovery";
const RULE: [&str; 6] = ["name", "match", "fault", "times", "per", "probability"];

/// A plan: which calls get which fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// The seed of chance; if `None`, the run draws one.
    pub seed: Option<u64>,
    /// The rules, in the order in which they are tried.
    pub rules: Vec<FaultRule>,
    /// The rates for calls that no rule gives a fault.
    pub chaos: ChaosRates,
    /// How soon a program has to recover from the faults.
    pub recovery: Option<RecoveryBudget>,
}

/// The blocks of a plan in another notation, and how they are read.
#[derive(Clone, Copy, Debug)]
pub struct PlanBlocks {
    /// The names of the blocks that are read. The first holds the faults.
    pub names: &'static [&'static str],
    /// The names of the blocks that are not read. They are known only beside faults.
    pub unread: &'static [&'static str],
    /// Reads the faults, as rules.
    pub rules: fn(FieldReader<'_>) -> Result<Vec<FaultRule>, FieldError>,
    /// Reads the budget of the whole plan.
    pub budget: fn(FieldReader<'_>) -> Result<Option<RecoveryBudget>, FieldError>,
}

impl PlanBlocks {
    /// No such blocks.
    const NONE: Self =
        Self { names: &[], unread: &[], rules: |_| Ok(Vec::new()), budget: own_budget };
}

/// Reads the block `recovery`.
fn own_budget(fields: FieldReader<'_>) -> Result<Option<RecoveryBudget>, FieldError> {
    let read = |value| {
        RecoveryBudget::from_value(value).map_err(|error| {
            FieldError::from_reason(fields.field_place(RECOVERY), error.to_string())
        })
    };
    fields.get(RECOVERY).map(read).transpose()
}

/// Why a plan is invalid. Messages read after the plan's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// A problem in a rule.
    #[error("rule {number}{}: {problem}", RuleName(name.as_deref()))]
    Rule {
        /// The number of the rule, from 1.
        number: usize,
        /// Its name, if it has one.
        name: Option<String>,
        /// The problem; its pointer starts at the rule.
        problem: Box<FieldError>,
    },
    /// Two rules have one name.
    #[error("rules {first} and {second} are both named {name:?}: rename one")]
    Twice {
        /// The name.
        name: String,
        /// The number of the first of them, from 1.
        first: usize,
        /// The number of the second.
        second: usize,
    },
    /// The plan could never apply.
    #[error("it has neither rules nor chaos, so it applies to no call: add a rule to `rules`")]
    Empty,
    /// A problem outside of the rules.
    #[error("{0}")]
    Whole(FieldError),
}

struct RuleName<'a>(Option<&'a str>);

impl std::fmt::Display for RuleName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(name) => write!(f, " ({})", quoted_text(name)),
        }
    }
}

impl From<FieldError> for PlanError {
    fn from(error: FieldError) -> Self {
        Self::Whole(error)
    }
}

impl FaultPlan {
    /// Reads the plan that `value` declares.
    ///
    /// # Errors
    /// If there is an unknown field, a value of the wrong type or out of range, or two rules of one
    /// name, or if the plan could never apply.
    pub fn parse(value: &Value) -> Result<Self, PlanError> {
        Self::parse_with(value, &PlanBlocks::NONE)
    }

    /// Reads a plan that may also hold the blocks of another notation.
    ///
    /// # Errors
    /// Those of [`Self::parse`], and those of the blocks.
    pub fn parse_with(value: &Value, blocks: &PlanBlocks) -> Result<Self, PlanError> {
        let fields = fields_of(value, "a plan: an object with rules")?;
        let has_faults = blocks.names.first().is_some_and(|name| fields.get(name).is_some());
        let others = if has_faults { blocks.unread } else { &[] };
        fields
            .refuse_unknown("a plan", &[&PLAN[..], blocks.names, &[RECOVERY], others].concat())?;
        let seed =
            fields.read_whole_number("seed", 0..=u64::MAX, "a whole number from 0 to 2^64 - 1")?;
        let chaos = match fields.get("chaos") {
            Some(chaos) => ChaosRates::from_value(chaos).map_err(|error| error.under("/chaos"))?,
            None => ChaosRates::default(),
        };
        let rules = fields.read_list("rules", "a list of rules")?.unwrap_or_default().iter();
        let rules = rules.enumerate().map(|(at, value)| read_numbered_rule(at + 1, value));
        let mut rules = rules.collect::<Result<Vec<_>, _>>()?;
        rules.extend((blocks.rules)(fields)?);
        let recovery = (blocks.budget)(fields)?;
        for (at, rule) in rules.iter().enumerate() {
            if let Some(first) = rules[..at].iter().position(|other| other.name == rule.name) {
                let (name, first, second) = (rule.name.clone(), first + 1, at + 1);
                return Err(PlanError::Twice { name, first, second });
            }
        }
        if rules.is_empty() && chaos.is_empty() && recovery.is_none() && !has_faults {
            return Err(PlanError::Empty);
        }
        Ok(Self { seed, rules, chaos, recovery })
    }
}

fn read_numbered_rule(number: usize, value: &Value) -> Result<FaultRule, PlanError> {
    let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
    read_rule(number, value).map_err(|problem| PlanError::Rule {
        number,
        name,
        problem: Box::new(problem),
    })
}

fn read_rule(number: usize, value: &Value) -> Result<FaultRule, FieldError> {
    let fields = fields_of(value, "a rule: an object with a fault")?;
    fields.refuse_unknown("a rule", &RULE)?;
    let fault = match fields.get("fault") {
        Some(fault) => Fault::from_value(fault).map_err(|error| error.under("/fault"))?,
        None => {
            return Err(FieldError::from_reason(
                "/fault",
                "a rule needs it: the fault that its calls get",
            ));
        }
    };
    let when = match fields.get("match") {
        Some(when) => RuleMatch::from_value(when).map_err(|error| error.under("/match"))?,
        None => RuleMatch::default(),
    };
    let name = match fields.read_text("name")? {
        Some(name) if name.is_empty() || name.contains(char::is_control) => {
            return Err(fields.wrong_value("name", "some characters on one line"));
        }
        Some(name) => name,
        None => format!("rule {number} ({})", fault.name()),
    };
    let (times, probability) = (read_count(fields, "times", 1)?, read_rate(fields, "probability")?);
    let (per, target) = (fields.read_word("per", &CountPer::WORDS)?, None);
    Ok(FaultRule { name, when, fault, times, per, probability, target, source: FaultSource::Plan })
}

#[cfg(test)]
mod tests;
