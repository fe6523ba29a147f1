//! From observations to reports, and from reports to a verdict.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use super::budget::RecoveryBudget;

/// How long a program may take to notice where no budget says: what SDKs wait for an
/// answer at the most when they are told nothing (OpenAI's and Anthropic's: ten minutes).
pub const UNSAID: Duration = Duration::from_secs(600);

/// What was seen of one fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FaultObservation {
    /// When it struck.
    pub start: Duration,
    /// When the program noticed: it left, or came again.
    pub detected: Option<Duration>,
    /// When the same call was answered well.
    pub recovered: Option<Duration>,
    /// How long it may take to notice.
    pub timeout_budget: Duration,
}

/// What that comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecoveryReport {
    /// From the start to the notice.
    pub time_to_detection: Option<Duration>,
    /// From the start to the good answer.
    pub time_to_recovery: Option<Duration>,
    /// For how long a user sees nothing happen: up to the earlier of the two, or the one
    /// there is, or the whole budget.
    pub user_visible_hang: Duration,
    /// Whether there was a good answer.
    pub recovered: bool,
    /// Whether it was noticed within the budget, both ends included.
    pub clean_timeout: bool,
}

impl FaultObservation {
    /// The report. A mark before the start did not happen.
    pub fn report(&self) -> RecoveryReport {
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
    /// For programs: mcptest's names; times in milliseconds, to the tenth.
    pub fn to_json(&self) -> Value {
        json!({
            "time_to_detection_ms": self.time_to_detection.map(milliseconds),
            "time_to_recovery_ms": self.time_to_recovery.map(milliseconds),
            "user_visible_hang_ms": milliseconds(self.user_visible_hang),
            "recovered": self.recovered,
            "clean_timeout": self.clean_timeout,
        })
    }
}

/// When what happened to one fault.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FaultTimes {
    /// When it struck.
    pub start: Duration,
    /// When the program noticed.
    pub detected: Option<Duration>,
    /// When the same call was answered well.
    pub recovered: Option<Duration>,
    /// Whether the call got its true answer all the same: nothing to recover from.
    pub only_delays: bool,
}

/// What a fault is found to have missed of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetMiss {
    /// Nobody noticed.
    Unnoticed,
    /// It took this long to notice, and more than this is too long.
    NoticedLate(Duration, Duration),
    /// No good answer came.
    NotRecovered,
    /// It took this long to recover, and more than this is too long.
    RecoveredLate(Duration, Duration),
    /// The program did not give up in time by itself.
    NoCleanTimeout,
}

impl fmt::Display for BudgetMiss {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let late = |f: &mut fmt::Formatter<'_>, what, took, most| {
            let (took, most) = (milliseconds(took), milliseconds(most));
            write!(f, "{what} after {took} ms, more than {most} ms")
        };
        match *self {
            Self::Unnoticed => f.write_str("never noticed"),
            Self::NoticedLate(took, most) => late(f, "noticed", took, most),
            Self::NotRecovered => f.write_str("not recovered"),
            Self::RecoveredLate(took, most) => late(f, "recovered", took, most),
            Self::NoCleanTimeout => f.write_str("no clean timeout"),
        }
    }
}

/// One fault, judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaultScore {
    /// What was seen of it.
    pub report: RecoveryReport,
    /// For how long a user saw nothing happen, where that is known: not where nothing
    /// ended it and no budget says when it was too long, nor where it does not count.
    pub hang: Option<Duration>,
    /// Whether it counts: one that only delays is listed, and no more.
    pub counts: bool,
    /// What it missed of the budget.
    pub missed: Vec<BudgetMiss>,
}

/// What all faults that count come to.
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
    /// How long a user saw nothing happen, in all, as far as it is known.
    pub user_visible_hang: Duration,
    /// How many missed something of the budget.
    pub missed: usize,
}

/// Every fault judged, in the order in which they were given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecoveryVerdict {
    /// What they were judged by.
    pub budget: Option<RecoveryBudget>,
    /// The faults.
    pub scores: Vec<FaultScore>,
    /// All that count.
    pub total: ScoreTotal,
}

impl RecoveryVerdict {
    /// Whether the budget was kept. One that there was no fault for was not put to the
    /// test; without a budget there is nothing to miss.
    pub fn passed(&self) -> bool {
        self.budget.is_none() || (self.total.faults > 0 && self.total.missed == 0)
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

    /// For programs: counts, the longest times and the sum of the hangs, in milliseconds.
    pub fn to_json(&self) -> Value {
        json!({
            "faults": self.faults,
            "detected": self.detected,
            "recovered": self.recovered,
            "clean_timeout": self.clean_timeouts,
            "time_to_detection_ms": self.time_to_detection.map(milliseconds),
            "time_to_recovery_ms": self.time_to_recovery.map(milliseconds),
            "user_visible_hang_ms": milliseconds(self.user_visible_hang),
            "missed": self.missed,
        })
    }
}

/// Judges what was seen of each fault by a budget.
pub fn judge(
    faults: impl IntoIterator<Item = FaultTimes>,
    budget: Option<&RecoveryBudget>,
) -> RecoveryVerdict {
    let timeout_budget = budget.map_or(UNSAID, |budget| budget.max_detection);
    let mut total = ScoreTotal::default();
    let judged = |marks: FaultTimes| {
        let FaultTimes { start, detected, recovered, only_delays } = marks;
        let report = FaultObservation { start, detected, recovered, timeout_budget }.report();
        let missed = match budget.filter(|_| !only_delays) {
            Some(budget) => missed(&report, budget),
            None => Vec::new(),
        };
        let ended = report.recovered || report.time_to_detection.is_some();
        let known = !only_delays && (ended || budget.is_some());
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

fn missed(report: &RecoveryReport, budget: &RecoveryBudget) -> Vec<BudgetMiss> {
    let detection = match report.time_to_detection {
        None => Some(BudgetMiss::Unnoticed),
        Some(took) => (took > budget.max_detection)
            .then_some(BudgetMiss::NoticedLate(took, budget.max_detection)),
    };
    let recovery = budget.max_recovery.and_then(|most| match report.time_to_recovery {
        None => Some(BudgetMiss::NotRecovered),
        Some(took) => (took > most).then_some(BudgetMiss::RecoveredLate(took, most)),
    });
    let timeout = budget.require_clean_timeout && !report.clean_timeout;
    [detection, recovery, timeout.then_some(BudgetMiss::NoCleanTimeout)]
        .into_iter()
        .flatten()
        .collect()
}

/// Milliseconds, to the tenth.
pub fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 10_000.0).round() / 10.0
}

#[cfg(test)]
#[path = "score_tests.rs"]
mod tests;
