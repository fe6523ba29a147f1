//! Faults: what can go wrong with an answer, at which calls, and what is sent then.
//!
//! A [`Fault`] is read from JSON or from a line of text; a [`FaultPlan`] says which calls
//! get which, [`ChaosRates`] how often by chance, and `FaultDecider` holds to it: the same plan and
//! seed give the same faults at the same calls, whatever the order in which calls of
//! other keys come. What a fault does is told here in bytes and waits, by nobody's
//! clock: `instead` makes what goes out in place of an answer, `rewrite` an answer
//! that says something else, `distort` a body that comes otherwise.

mod body_transform;
mod broken_json;
mod broken_message;
mod call_fault;
mod call_history;
mod call_key;
mod chance;
pub mod chaos;
pub mod decider;
mod event;
mod field;
mod form;
pub mod kind;
pub mod plan;
mod read;
pub mod recovery;
mod rewrite;
mod synthetic_response;
#[cfg(test)]
mod test_calls;
mod text;
mod write;

pub use body_transform::{BodyStep, BodyTransform};
pub use call_fault::CallFault;
pub use call_key::CallKey;
pub use chaos::{ChaosRates, NamedFault};
pub use decider::{
    CallTurn, DecidedFault, EntryFault, FaultDecider, FaultDeclarations, FaultSource, RuleCount,
};
pub use kind::{Fault, FaultPoint, GarbleKind, HttpError, ToolFault, Truncation, TruncationEnd};
pub use plan::{CallFacts, FaultPlan, FaultRule, LazyBody, PlanError, RuleMatch};
pub use rewrite::{NotApplicable, rewrite};
pub use synthetic_response::{AnswerSubstitute, SyntheticResponse, substitute_for};

/// How a connection ends before its answer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionCut {
    /// A close.
    Close,
    /// A TCP reset.
    Reset,
}
