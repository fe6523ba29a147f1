//! A plan: which calls get which fault, in a file of its own that leaves recordings
//! untouched.
//!
//! [`FaultPlan::parse`] reads one and refuses what it does not know, or what could never
//! apply. [`RuleMatch::holds`] says whether a rule is for a call; which of a rule's calls
//! get the fault (`times`, `probability`) is decided elsewhere.

mod body;
mod condition;

use serde_json::Value;

use super::chaos::ChaosRates;
use super::field::{count, fields_of, rate};
use super::kind::Fault;
use loomrec_identity::typed_field::{FieldError, quoted};

pub use body::{ExpectedValue, LazyBody};
pub use condition::{CallFacts, RuleMatch};

const PLAN: [&str; 3] = ["seed", "rules", "chaos"];
const RULE: [&str; 5] = ["name", "match", "fault", "times", "probability"];

/// Which calls get which fault.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaultPlan {
    /// What chance is drawn from; one is drawn for the run where none is given.
    pub seed: Option<u64>,
    /// In the order in which they are asked.
    pub rules: Vec<FaultRule>,
    /// For the calls that no rule is for.
    pub chaos: ChaosRates,
}

/// A fault, and the calls that get it.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    /// No other rule has it. One that was given none has its number and its fault's.
    pub name: String,
    /// The calls it is for.
    pub when: RuleMatch,
    /// What they get.
    pub fault: Fault,
    /// How often at most.
    pub times: Option<u32>,
    /// Of how many of them, from 0 to 1; all where it is not said.
    pub probability: Option<f64>,
}

impl FaultRule {
    /// Whether its fault befalls connections before anything was asked on them.
    pub fn is_at_accept(&self) -> bool {
        self.when.only_connection() && self.fault.needs_no_request()
    }
}

/// A plan that is none. Messages read after the plan's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Something in a rule.
    #[error("rule {number}{}: {problem}", Name(name.as_deref()))]
    Rule {
        /// Which, from 1.
        number: usize,
        /// Its name, where it has one.
        name: Option<String>,
        /// What; the pointer leads from the rule's own root.
        problem: Box<FieldError>,
    },
    /// Two rules of one name.
    #[error("rules {first} and {second} are both named {name:?}: rename one")]
    Twice {
        /// The name.
        name: String,
        /// The first of them, from 1.
        first: usize,
        /// The other.
        second: usize,
    },
    /// Nothing that could ever apply.
    #[error("it has neither rules nor chaos, so that it is for no call: add a rule to `rules`")]
    Empty,
    /// Something outside of the rules.
    #[error("{0}")]
    Whole(FieldError),
}

struct Name<'a>(Option<&'a str>);

impl std::fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            None => Ok(()),
            Some(name) => write!(f, " ({})", quoted(name)),
        }
    }
}

impl From<FieldError> for PlanError {
    fn from(error: FieldError) -> Self {
        Self::Whole(error)
    }
}

impl FaultPlan {
    /// The plan that `value` declares.
    ///
    /// # Errors
    /// An unknown field; a value of the wrong type or out of range; two rules of one
    /// name; a plan that is for no call.
    pub fn parse(value: &Value) -> Result<Self, PlanError> {
        let fields = fields_of(value, "a plan: an object with rules")?;
        fields.only("a plan", &PLAN)?;
        let seed = fields.whole("seed", 0..=u64::MAX, "a whole number from 0 to 2^64 - 1")?;
        let chaos = match fields.get("chaos") {
            Some(chaos) => ChaosRates::read(chaos).map_err(|error| error.under("/chaos"))?,
            None => ChaosRates::default(),
        };
        let rules = fields.list("rules", "a list of rules")?.unwrap_or_default().iter();
        let rules = rules.enumerate().map(|(at, value)| rule(at + 1, value));
        let rules = rules.collect::<Result<Vec<_>, _>>()?;
        for (at, rule) in rules.iter().enumerate() {
            if let Some(first) = rules[..at].iter().position(|other| other.name == rule.name) {
                let (name, first, second) = (rule.name.clone(), first + 1, at + 1);
                return Err(PlanError::Twice { name, first, second });
            }
        }
        if rules.is_empty() && chaos.is_empty() {
            return Err(PlanError::Empty);
        }
        Ok(Self { seed, rules, chaos })
    }
}

fn rule(number: usize, value: &Value) -> Result<FaultRule, PlanError> {
    let name = value.get("name").and_then(Value::as_str).map(str::to_owned);
    read_rule(number, value).map_err(|problem| PlanError::Rule {
        number,
        name,
        problem: Box::new(problem),
    })
}

fn read_rule(number: usize, value: &Value) -> Result<FaultRule, FieldError> {
    let fields = fields_of(value, "a rule: an object with a fault")?;
    fields.only("a rule", &RULE)?;
    let fault = match fields.get("fault") {
        Some(fault) => Fault::read(fault).map_err(|error| error.under("/fault"))?,
        None => return Err(FieldError::other("/fault", "a rule needs it: what its calls get")),
    };
    let when = match fields.get("match") {
        Some(when) => RuleMatch::read(when).map_err(|error| error.under("/match"))?,
        None => RuleMatch::default(),
    };
    let name = match fields.text("name")? {
        Some(name) if name.is_empty() || name.contains(char::is_control) => {
            return Err(fields.wrong("name", "some characters on one line"));
        }
        Some(name) => name,
        None => format!("rule {number} ({})", fault.name()),
    };
    let (times, probability) = (count(fields, "times", 1)?, rate(fields, "probability")?);
    Ok(FaultRule { name, when, fault, times, probability })
}

#[cfg(test)]
mod tests;
