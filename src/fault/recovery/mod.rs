//! Scores of how well a program recovers from faults: when it noticed, when its call was answered
//! well, and whether that is within a budget.
//!
//! [`FaultObservation::to_report`] is total: any times, in any order, present
//! or not, give a report. All times are durations on one clock.

pub mod budget;
pub mod marks;
pub mod means;
pub mod score;
pub mod work;

pub use budget::RecoveryBudget;
pub use marks::FaultMarks;
pub use means::RecoveryMeans;
pub use score::{
    BudgetMiss, FaultObservation, FaultScore, FaultTimeline, RecoveryOutcome, RecoveryReport,
    RecoveryVerdict, ScoreTotal, judge_faults,
};
pub use work::{WorkFacts, WorkIdentity};
