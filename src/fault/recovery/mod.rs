//! How well a program recovers from what goes wrong: from when a fault struck, when the
//! program noticed and when its call was answered well, to a report, and whether that
//! keeps within a budget.
//!
//! The rules are mcptest's. [`FaultObservation::report`] is total: any marks, in any order,
//! present or not, give a report. Times come in as what has passed on one clock.

pub mod budget;
pub mod score;

pub use budget::RecoveryBudget;
pub use score::{
    BudgetMiss, FaultObservation, FaultScore, FaultTimes, RecoveryReport, RecoveryVerdict,
    ScoreTotal, judge,
};
