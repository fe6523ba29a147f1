//! A fault that was decided for a call, and what calls and entries declare.

use std::sync::Arc;

use super::call_key::CallKey;
use super::chaos::ChaosRates;
use super::entry_rule::EntryFaultRule;
use super::fault_source::FaultSource;
use super::kind::Fault;

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
    /// Where it is counted that it happens to this call.
    pub counted_in: CountedIn,
}

/// The calls among which the `times` of a fault are counted.
#[derive(Clone, Debug, PartialEq)]
pub enum CountedIn {
    /// Those of the call's key.
    Key,
    /// Those of this step.
    Step(CallKey),
    /// Those of this upstream, or of this session.
    Shared(CallKey),
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

impl DecidedFault {
    /// The name that its `times` are counted under. A rule, an entry and a header with the same name
    /// are counted separately.
    pub(super) fn counted_as(&self) -> Arc<str> {
        counted_as(self.source, &self.rule)
    }
}

/// The name that the `times` of a fault are counted under.
pub(super) fn counted_as(source: FaultSource, rule: &str) -> Arc<str> {
    Arc::from(format!("{} {rule}", source.as_str()))
}
