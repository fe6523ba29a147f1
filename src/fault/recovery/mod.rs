//! Scores of how well a program recovers from faults: when it noticed, when its call was answered
//! well, and whether that is within a budget.
//!
//! The rules are mcptest's. [`FaultObservation::report`] is total: any times, in any order, present
//! or not, give a report. All times are durations on one clock.

pub mod budget;
pub mod score;

pub use budget::RecoveryBudget;
pub use score::{
    BudgetMiss, FaultObservation, FaultScore, FaultTimes, RecoveryReport, RecoveryVerdict,
    ScoreTotal, judge,
};
