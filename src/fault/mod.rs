//! Faults: what can go wrong with an answer, at which calls, and what is sent then.
//!
//! A [`Fault`] is read from JSON or from a line of text; a [`Plan`] says which calls
//! get which, [`Rates`] how often by chance, and `Decider` holds to it: the same plan and
//! seed give the same faults at the same calls, whatever the order in which calls of
//! other keys come. What a fault does is told here in bytes and waits, by nobody's
//! clock: `instead` makes what goes out in place of an answer, `rewrite` an answer
//! that says something else, `distort` a body that comes otherwise.

mod broken;
pub mod chaos;
pub mod decide;
mod distort;
mod error;
mod event;
mod field;
mod form;
mod instead;
pub mod kind;
mod message;
pub mod plan;
mod read;
mod rewrite;
mod roll;
mod text;
#[cfg(test)]
mod trial;
mod write;

pub use chaos::{Named, Rates};
pub use decide::{Count, Decided, Decider, Declared, Source, Standing, Turn};
pub use distort::{Distort, Step};
pub use error::FaultError;
pub use instead::{Instead, Made, instead};
pub use kind::{After, Fault, Garble, HttpError, Raise, ToolFault, Truncate};
pub use plan::{Body, CallFacts, Match, Plan, PlanError, Rule};
pub use rewrite::{NotApplicable, rewrite};

/// How a connection ends before its answer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// A close.
    Close,
    /// A TCP reset.
    Reset,
}
