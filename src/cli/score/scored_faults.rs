//! Faults, and how well the program recovered from each, for people and for programs.

use serde_json::{Map, Value, json};

use super::journal::Incident;
use crate::cli::amount::{self, plural};
use crate::cli::table::{Table, TableColumn};
use crate::cli::terminal;
use crate::recovery::score::milliseconds;
use crate::recovery::{self, FaultScore, RecoveryBudget, RecoveryVerdict};

/// Faults, with the score of each.
#[derive(Debug)]
pub(in crate::cli) struct ScoredFaults {
    incidents: Vec<Incident>,
    pub(super) verdict: RecoveryVerdict,
}

impl ScoredFaults {
    /// Scores each fault against a budget.
    pub(in crate::cli) fn of(incidents: Vec<Incident>, budget: Option<&RecoveryBudget>) -> Self {
        let verdict = recovery::judge(incidents.iter().map(|incident| incident.marks), budget);
        Self { incidents, verdict }
    }

    /// Whether the program kept within the budget.
    pub(in crate::cli) fn passed(&self) -> bool {
        self.verdict.passed()
    }

    /// Returns the complaint about a missed budget.
    pub(in crate::cli) fn complaint(&self) -> String {
        let total = &self.verdict.total;
        match total.faults {
            0 => "no fault happened, so --recovery was not put to the test".to_owned(),
            faults => {
                let faults = plural(faults, "fault");
                format!("the program did not recover in time from {} of {faults}", total.missed)
            }
        }
    }

    /// Returns the JSON for programs.
    pub(in crate::cli) fn to_json(&self) -> Value {
        let faults: Vec<Value> =
            self.each().map(|(incident, score)| row(incident, score)).collect();
        json!({
            "passed": self.passed(),
            "budget": self.verdict.budget.map(|budget| budget.to_json()),
            "faults": faults,
            "total": self.verdict.total.to_json(),
        })
    }

    /// Formats the scores for people, no wider than `width` if possible.
    pub(in crate::cli) fn text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        if !self.incidents.is_empty() {
            text.push_str(&self.table().text(width));
            text.push('\n');
        }
        text.push_str(&self.words());
        for (incident, score) in self.each().filter(|(_, score)| !score.missed.is_empty()) {
            let what = terminal::line(&incident.words()).into_owned();
            text.push_str(&format!("  {what}: {}\n", reasons(score)));
        }
        text
    }

    /// Returns each fault with its score.
    pub(super) fn each(&self) -> impl Iterator<Item = (&Incident, &FaultScore)> {
        self.incidents.iter().zip(&self.verdict.scores)
    }

    fn table(&self) -> Table {
        let mut table = Table::new(vec![
            TableColumn::right("NO"),
            TableColumn::left("FAULT"),
            TableColumn::left("RULE").shrinks_to(12).goes(2),
            TableColumn::left("SOURCE").goes(1),
            TableColumn::left("CALL").shrinks_to(12),
            TableColumn::right("NOTICED"),
            TableColumn::left("BY").goes(3),
            TableColumn::right("RECOVERED"),
            TableColumn::right("HANG").goes(5),
            TableColumn::left("CLEAN").goes(4),
            TableColumn::left("RESULT"),
        ]);
        for (incident, score) in self.each() {
            table.add(!score.missed.is_empty(), self.cells(incident, score));
        }
        table
    }

    fn cells(&self, incident: &Incident, score: &FaultScore) -> Vec<String> {
        let nothing = || "-".to_owned();
        let text = |text: Option<&str>| terminal::line(text.unwrap_or("-")).into_owned();
        let time = |time| amount::milliseconds(milliseconds(time));
        let counted = score.counts.then_some(&score.report);
        let result = match (score.counts, self.verdict.budget) {
            (false, _) => "only late",
            (true, None) => "-",
            (true, Some(_)) if score.missed.is_empty() => "ok",
            (true, Some(_)) => "missed",
        };
        let clean = counted.map(|report| if report.clean_timeout { "yes" } else { "no" });
        vec![
            incident.id.to_string(),
            text(Some(&incident.kind)),
            text(incident.rule.as_deref()),
            text(incident.source.as_deref()),
            terminal::line(&incident.call_words()).into_owned(),
            counted.and_then(|report| report.time_to_detection).map_or_else(nothing, time),
            text(incident.by.as_deref().filter(|_| score.counts)),
            counted.and_then(|report| report.time_to_recovery).map_or_else(nothing, time),
            score.hang.map_or_else(nothing, time),
            clean.unwrap_or("-").to_owned(),
            result.to_owned(),
        ]
    }

    /// Returns the totals and the verdict.
    fn words(&self) -> String {
        let total = &self.verdict.total;
        let time = |time| amount::milliseconds(milliseconds(time));
        let longest = |longest: Option<_>| match longest {
            Some(longest) => format!(" (at most {})", time(longest)),
            None => String::new(),
        };
        let counted = match (total.faults, self.incidents.len() - total.faults) {
            (0, 0) => "no fault struck\n".to_owned(),
            (0, _) => "no fault struck that needs a recovery\n".to_owned(),
            (faults, _) => format!(
                "{} · {} noticed{} · {} recovered from{} · {} of hang\n",
                plural(faults, "fault"),
                total.detected,
                longest(total.time_to_detection),
                total.recovered,
                longest(total.time_to_recovery),
                time(total.user_visible_hang),
            ),
        };
        let verdict = match (self.verdict.budget, total.faults, total.missed) {
            (None, ..) => String::new(),
            (Some(_), 0, _) => "budget MISSED: no fault put it to the test\n".to_owned(),
            (Some(_), _, 0) => "budget kept\n".to_owned(),
            (Some(_), faults, missed) => {
                format!("budget MISSED by {missed} of {}:\n", plural(faults, "fault"))
            }
        };
        counted + &verdict
    }
}

/// Returns a fault for programs. All members are always present. Those of the report are null for a
/// fault that only delays.
fn row(incident: &Incident, score: &FaultScore) -> Value {
    let mut row: Map<String, Value> = incident.to_json();
    row.insert("only_delays".to_owned(), (!score.counts).into());
    if let Value::Object(report) = score.report.to_json() {
        let known = |value: Value| if score.counts { value } else { Value::Null };
        row.extend(report.into_iter().map(|(name, value)| (name, known(value))));
        row.insert("user_visible_hang_ms".to_owned(), json!(score.hang.map(milliseconds)));
    }
    let missed: Vec<String> = score.missed.iter().map(ToString::to_string).collect();
    row.insert("missed".to_owned(), missed.into());
    Value::Object(row)
}

/// Returns which parts of the budget a fault missed, in words.
pub(super) fn reasons(score: &FaultScore) -> String {
    score.missed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
