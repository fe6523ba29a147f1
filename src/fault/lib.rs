//! Faults: what can go wrong with an answer, which calls it happens to, and what is sent then.
//!
//! A [`Fault`] is read from JSON or from a line of text. A [`FaultPlan`] says which calls get which
//! fault, and [`ChaosRates`] how often faults happen by chance. `FaultDecider` decides by them: the
//! same plan and seed give the same faults at the same calls, in whatever order calls of other keys
//! come. The effect of a fault is expressed in bytes and waits, without a clock:
//! `synthetic_response` makes what is sent in place of an answer, `rewrite` changes what an answer
//! says, and `body_transform` changes how a body is sent.

mod body_transform;
mod broken_json;
mod broken_message;
mod call_attempt;
mod call_fault;
mod call_history;
mod call_key;
mod call_turn;
mod chance;
pub mod chaos;
mod decided_fault;
pub mod decider;
mod entry_rule;
mod event;
mod fault_counters;
mod fault_source;
mod field;
mod form;
pub mod kind;
mod message_transform;
mod obstacle;
pub mod plan;
mod read;
pub mod recovery;
mod rewrite;
mod run_time_chaos;
mod synthetic_response;
#[cfg(test)]
mod test_calls;
mod text;
mod tool_fault;
mod truncation;
mod write;

pub use body_transform::{BodyStep, BodyTransform};
pub use call_attempt::{CallAttempt, CallConclusion};
pub use call_fault::CallFault;
pub use call_history::CallNumbers;
pub use call_key::CallKey;
pub use call_turn::CallTurn;
pub use chaos::{ChaosForm, ChaosRates, FormedRate, NamedFault, RolledChaos};
pub use decided_fault::{CountedIn, DecidedFault, EntryFault, FaultDeclarations};
pub use decider::FaultDecider;
pub use entry_rule::{EntryFaultRule, FaultTimes};
pub use fault_counters::{
    DeclaredFaultName, FaultCounters, FaultWarning, RuleCount, UntestedFault,
};
pub use fault_source::FaultSource;
pub use kind::{CountPer, Fault, GarbleKind, HttpError};
pub use message_transform::{MessageStep, MessageTransform, ServerMessage};
pub use obstacle::{FaultObstacle, PlaceUnit};
pub use plan::{CallFacts, FaultPlan, FaultRule, FaultTarget, LazyBody, PlanError, RuleMatch};
pub use rewrite::{NotApplicable, rewrite_answer};
pub use run_time_chaos::{ChaosChange, ChaosChanges, ChaosScope, RunTimeChaos, TooManyScopes};
pub use synthetic_response::{AnswerSubstitute, SyntheticResponse, substitute_for};
pub use tool_fault::{ToolCallChange, ToolFault, ToolReplacement, ToolResultMode};
pub use truncation::{FaultPoint, SocketClose, Truncation, TruncationEnd};

/// The header of a call that declares its fault, and of an answer that names it.
pub const FAULT_HEADER: &str = "x-loomrec-fault";

/// How a connection ends before its answer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionCut {
    /// A close.
    Close,
    /// A TCP reset.
    Reset,
}
