//! How well a program recovers from what goes wrong: from when a fault struck, when the
//! program noticed and when its call was answered well, to a report, and whether that
//! keeps within a budget.
//!
//! The rules are mcptest's. [`Observation::report`] is total: any marks, in any order,
//! present or not, give a report. Times come in as what has passed on one clock.

pub mod budget;
pub mod score;

pub use budget::{Budget, BudgetError};
pub use score::{Marks, Miss, Observation, Report, Score, Total, Verdict, judge};
