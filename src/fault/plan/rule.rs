//! A rule of a plan.

use super::condition::{CallFacts, RuleMatch};
use super::target::FaultTarget;
use crate::fault_source::FaultSource;
use crate::kind::{CountPer, Fault};

/// A rule: a fault, and the calls that get it.
#[derive(Clone, Debug, PartialEq)]
pub struct FaultRule {
    /// Its unique name. The default is its number and the type of its fault.
    pub name: String,
    /// Which calls it matches.
    pub when: RuleMatch,
    /// The fault that they get.
    pub fault: Fault,
    /// How often it happens at most, among the calls that `per` names.
    pub times: Option<u32>,
    /// Among which calls `times` is counted. By default those of a key.
    pub per: Option<CountPer>,
    /// The share of them that get it, from 0 to 1; all if `None`.
    pub probability: Option<f64>,
    /// What it strikes, if a suite declares it. Added to `when` once the upstreams are known.
    pub target: Option<FaultTarget>,
    /// Where it is declared: in a plan or by a flag.
    pub source: FaultSource,
}

impl FaultRule {
    /// Whether it matches the call, apart from the number of the call and of the attempt. A rule that
    /// does not name requests to a server of tools leaves the server responsive: of these requests, it
    /// matches calls of tools alone.
    pub(crate) fn matches(&self, call: &CallFacts<'_>) -> bool {
        let is_other = call.rpc.is_some_and(|method| !method.is_tool_call());
        (!is_other || self.when.names_requests()) && self.when.holds_but_for_numbers(call)
    }

    /// Whether its fault applies to connections before their first request.
    pub fn is_at_accept(&self) -> bool {
        self.when.only_connection() && self.fault.needs_no_request()
    }
}
