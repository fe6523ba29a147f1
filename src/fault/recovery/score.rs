//! Reports from observed faults, and verdicts from reports.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::budget::{DEFAULT_DETECTION, RecoveryBudget};

/// The observed times of one fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultObservation {
    /// When the fault struck.
    pub start: Duration,
    /// When the program noticed.
    pub detected: Option<Duration>,
    /// When the program had recovered.
    pub recovered: Option<Duration>,
    /// The longest time to notice.
    pub timeout_budget: Duration,
}

/// What an observation shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryReport {
    /// The time from the start until the program noticed.
    pub time_to_detection: Option<Duration>,
    /// The time from the start until the program had recovered.
    pub time_to_recovery: Option<Duration>,
    /// How long a user sees nothing happen: until the earlier of the two times, or the whole budget
    /// if there is neither.
    pub user_visible_hang: Duration,
    /// Whether the program recovered.
    pub recovered: bool,
    /// Whether the program noticed within the budget, both ends included.
    pub clean_timeout: bool,
}

impl FaultObservation {
    /// Makes the report. A time before the start counts as absent.
    pub fn to_report(&self) -> RecoveryReport {
        let since = |mark: Option<Duration>| mark.and_then(|mark| mark.checked_sub(self.start));
        let (time_to_detection, time_to_recovery) = (since(self.detected), since(self.recovered));
        let first = time_to_detection.into_iter().chain(time_to_recovery).min();
        let latest = self.start.saturating_add(self.timeout_budget);
        let detected = self.detected.filter(|_| time_to_detection.is_some());
        RecoveryReport {
            time_to_detection,
            time_to_recovery,
            user_visible_hang: first.unwrap_or(self.timeout_budget),
            recovered: time_to_recovery.is_some(),
            clean_timeout: detected.is_some_and(|detected| detected <= latest),
        }
    }
}

impl RecoveryReport {
    /// The report as JSON; times in milliseconds, rounded to tenths.
    pub fn to_json(&self) -> Value {
        json!({
            "time_to_detection_ms": self.time_to_detection.map(to_milliseconds),
            "time_to_recovery_ms": self.time_to_recovery.map(to_milliseconds),
            "user_visible_hang_ms": to_milliseconds(self.user_visible_hang),
            "recovered": self.recovered,
            "clean_timeout": self.clean_timeout,
        })
    }
}

/// The times of one fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultTimeline {
    /// When the fault struck.
    pub start: Duration,
    /// When the program noticed.
    pub detected: Option<Duration>,
    /// When the program had recovered.
    pub recovered: Option<Duration>,
    /// The longest time to notice this fault; `None` for that of the run's budget.
    pub timeout_budget: Option<Duration>,
    /// Whether the call got its true answer all the same, so that there is nothing to recover from.
    pub only_delays: bool,
}

/// How a fault exceeded the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetMiss {
    /// The program did not notice, though a clean timeout is required.
    Unnoticed,
    /// It took the first time to notice; the second is the limit, and a clean timeout is required.
    NoticedLate(Duration, Duration),
    /// The program did not recover.
    NotRecovered,
    /// It took the first time to recover; the second is the limit.
    RecoveredLate(Duration, Duration),
}

impl fmt::Display for BudgetMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = |f: &mut fmt::Formatter<'_>, what, took, most| {
            let (took, most) = (to_milliseconds(took), to_milliseconds(most));
            write!(f, "{what} after {took} ms, more than {most} ms")
        };
        match *self {
            Self::Unnoticed => f.write_str("never noticed"),
            Self::NoticedLate(took, most) => late(f, "noticed", took, most),
            Self::NotRecovered => f.write_str("not recovered"),
            Self::RecoveredLate(took, most) => late(f, "recovered", took, most),
        }
    }
}

/// The score of one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultScore {
    /// The report.
    pub report: RecoveryReport,
    /// How long a user saw nothing happen. `None` if the fault does not count, or if nothing ended
    /// it and there is no budget to set a limit.
    pub hang: Option<Duration>,
    /// Whether it counts. A fault that only delays is listed and does not count.
    pub counts: bool,
    /// How it exceeded the budget.
    pub missed: Vec<BudgetMiss>,
}

/// The total of all faults that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreTotal {
    /// How many.
    pub faults: usize,
    /// How many were noticed.
    pub detected: usize,
    /// How many were recovered from.
    pub recovered: usize,
    /// How many were noticed within the budget.
    pub clean_timeouts: usize,
    /// The longest time to notice.
    pub time_to_detection: Option<Duration>,
    /// The longest time to recover.
    pub time_to_recovery: Option<Duration>,
    /// The sum of the known times in which a user saw nothing happen.
    pub user_visible_hang: Duration,
    /// How many exceeded the budget.
    pub missed: usize,
}

/// The scores of all faults, in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryVerdict {
    /// The budget they were judged by.
    pub budget: Option<RecoveryBudget>,
    /// The scores.
    pub scores: Vec<FaultScore>,
    /// The total of those that count.
    pub total: ScoreTotal,
}

/// What came of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// Every fault that counts kept it.
    Kept,
    /// A fault missed it.
    Missed,
    /// No fault put it to the test.
    NotTested,
}

impl RecoveryOutcome {
    /// The word for receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Missed => "missed",
            Self::NotTested => "not_tested",
        }
    }
}

impl RecoveryVerdict {
    /// What came of the budget. `None` without one.
    pub fn budget_outcome(&self) -> Option<RecoveryOutcome> {
        self.budget?;
        Some(match (self.total.faults, self.total.missed) {
            (0, _) => RecoveryOutcome::NotTested,
            (_, 0) => RecoveryOutcome::Kept,
            (_, _) => RecoveryOutcome::Missed,
        })
    }

    /// Whether the budget was kept. Always true without a budget; false if no fault tested it.
    pub fn has_passed(&self) -> bool {
        matches!(self.budget_outcome(), None | Some(RecoveryOutcome::Kept))
    }
}

impl ScoreTotal {
    fn add(&mut self, score: &FaultScore) {
        let report = &score.report;
        self.faults += 1;
        self.detected += usize::from(report.time_to_detection.is_some());
        self.recovered += usize::from(report.recovered);
        self.clean_timeouts += usize::from(report.clean_timeout);
        self.missed += usize::from(!score.missed.is_empty());
        self.time_to_detection = self.time_to_detection.max(report.time_to_detection);
        self.time_to_recovery = self.time_to_recovery.max(report.time_to_recovery);
        let hang = score.hang.unwrap_or_default();
        self.user_visible_hang = self.user_visible_hang.saturating_add(hang);
    }

    /// The totals as JSON: counts, the longest times and the sum of the hangs, in milliseconds.
    pub fn to_json(&self) -> Value {
        json!({
            "faults": self.faults,
            "detected": self.detected,
            "recovered": self.recovered,
            "clean_timeout": self.clean_timeouts,
            "time_to_detection_ms": self.time_to_detection.map(to_milliseconds),
            "time_to_recovery_ms": self.time_to_recovery.map(to_milliseconds),
            "user_visible_hang_ms": to_milliseconds(self.user_visible_hang),
            "missed": self.missed,
        })
    }
}

/// Judges each fault by the budget. Any times, in any order, present
/// or not, give a verdict.
pub fn judge_faults(
    faults: impl IntoIterator<Item = FaultTimeline>,
    budget: Option<&RecoveryBudget>,
) -> RecoveryVerdict {
    let max_detection = budget.and_then(|budget| budget.max_detection);
    let of_run = max_detection.unwrap_or(DEFAULT_DETECTION);
    let mut total = ScoreTotal::default();
    let judged = |marks: FaultTimeline| {
        let FaultTimeline { start, detected, recovered, timeout_budget, only_delays } = marks;
        let is_limited = budget.is_some() || timeout_budget.is_some();
        let timeout_budget = timeout_budget.unwrap_or(of_run);
        let report = FaultObservation { start, detected, recovered, timeout_budget }.to_report();
        let missed = match budget.filter(|_| !only_delays) {
            Some(budget) => missed_limits(&report, budget, timeout_budget),
            None => Vec::new(),
        };
        let ended = report.recovered || report.time_to_detection.is_some();
        let known = !only_delays && (ended || is_limited);
        let hang = Some(report.user_visible_hang).filter(|_| known);
        let score = FaultScore { report, hang, counts: !only_delays, missed };
        if score.counts {
            total.add(&score);
        }
        score
    };
    let scores = faults.into_iter().map(judged).collect();
    RecoveryVerdict { budget: budget.copied(), scores, total }
}

fn missed_limits(
    report: &RecoveryReport,
    budget: &RecoveryBudget,
    timeout_budget: Duration,
) -> Vec<BudgetMiss> {
    let detection = match report.time_to_detection {
        _ if report.clean_timeout || !budget.require_clean_timeout => None,
        None => Some(BudgetMiss::Unnoticed),
        Some(took) => Some(BudgetMiss::NoticedLate(took, timeout_budget)),
    };
    let recovery = match (report.time_to_recovery, budget.max_recovery) {
        (None, _) => Some(BudgetMiss::NotRecovered),
        (Some(took), Some(most)) if took > most => Some(BudgetMiss::RecoveredLate(took, most)),
        (Some(_), _) => None,
    };
    detection.into_iter().chain(recovery).collect()
}

/// Milliseconds, rounded to tenths.
pub fn to_milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
