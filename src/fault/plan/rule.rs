//! A rule of a plan.

use super::condition::RuleMatch;
use super::target::FaultTarget;
use crate::fault_source::FaultSource;
use crate::kind::Fault;

/// A rule: a fault, and the calls that get it.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    /// Its unique name. The default is its number and the type of its fault.
    pub name: String,
    /// Which calls it matches.
    pub when: RuleMatch,
    /// The fault that they get.
    pub fault: Fault,
    /// How often it happens per key, at most.
    pub times: Option<u32>,
    /// The share of them that get it, from 0 to 1; all if `None`.
    pub probability: Option<f64>,
    /// What it strikes, if a suite declares it. Added to `when` once the upstreams are known.
    pub target: Option<FaultTarget>,
    /// Where it is declared: in a plan or by a flag.
    pub source: FaultSource,
}

impl FaultRule {
    /// Whether its fault applies to connections before their first request.
    pub fn is_at_accept(&self) -> bool {
        self.when.only_connection() && self.fault.needs_no_request()
    }
}
