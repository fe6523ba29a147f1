//! Faults, and how well the program recovered from each, for people and for programs.

use serde_json::{Map, Value, json};

use super::journal::Incident;
use loomrec_cli::amount::{self, format_count};
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::terminal;
use loomrec_fault::recovery::score::to_milliseconds;
use loomrec_fault::recovery::{
    self, FaultScore, RecoveryBudget, RecoveryMeans, RecoveryOutcome, RecoveryVerdict,
};

/// Faults, with the score of each.
#[derive(Debug)]
pub(crate) struct ScoredFaults {
    incidents: Vec<Incident>,
    pub(super) verdict: RecoveryVerdict,
    /// Whether a budget that no fault put to the test passes.
    permits_none: bool,
}

impl ScoredFaults {
    /// Scores each fault against a budget.
    pub(crate) fn from_incidents(
        incidents: Vec<Incident>,
        budget: Option<&RecoveryBudget>,
    ) -> Self {
        let verdict =
            recovery::judge_faults(incidents.iter().map(|incident| incident.marks), budget);
        Self { incidents, verdict, permits_none: false }
    }

    /// Lets a budget pass that no fault put to the test, if `permitted`.
    pub(crate) fn permitting_none(self, permitted: bool) -> Self {
        Self { permits_none: permitted, ..self }
    }

    /// Whether no fault put the budget to the test.
    pub(crate) fn is_untested(&self) -> bool {
        self.verdict.budget_outcome() == Some(RecoveryOutcome::NotTested)
    }

    /// Whether the program kept within the budget, or may do without a test of it.
    pub(crate) fn has_passed(&self) -> bool {
        self.verdict.has_passed() || (self.permits_none && self.is_untested())
    }

    /// Returns the complaint about a missed budget.
    pub(crate) fn budget_complaint(&self) -> String {
        let total = &self.verdict.total;
        match total.faults {
            0 => "no fault happened that needs a recovery, so the budget was not put to the test \
                  (--allow-unfired permits that)"
                .to_owned(),
            faults => {
                let faults = format_count(faults, "fault");
                format!("the program did not recover in time from {} of {faults}", total.missed)
            }
        }
    }

    /// Returns the JSON for programs.
    pub(crate) fn to_json(&self) -> Value {
        let faults: Vec<Value> =
            self.scored_incidents().map(|(incident, score)| fault_json(incident, score)).collect();
        let mut total = self.verdict.total.to_json();
        let by_means = self.by_means().into_iter();
        total["recovered_by"] =
            by_means.map(|(means, faults)| (means.as_str().to_owned(), json!(faults))).collect();
        json!({
            "passed": self.has_passed(),
            "outcome": self.verdict.budget_outcome().map(RecoveryOutcome::as_str),
            "budget": self.verdict.budget.map(|budget| budget.to_json()),
            "faults": faults,
            "total": total,
        })
    }

    /// Formats the scores for people, no wider than `width` if possible.
    pub(crate) fn to_text(&self, width: Option<usize>) -> String {
        let mut text = String::new();
        if !self.incidents.is_empty() {
            text.push_str(&self.score_table().to_text(width));
            text.push('\n');
        }
        text.push_str(&self.verdict_line());
        for (incident, score) in
            self.scored_incidents().filter(|(_, score)| !score.missed.is_empty())
        {
            let what = terminal::printable_line(&incident.fault_description()).into_owned();
            text.push_str(&format!("  {what}: {}\n", miss_reasons(score)));
        }
        text
    }

    /// Returns each fault with its score.
    pub(super) fn scored_incidents(&self) -> impl Iterator<Item = (&Incident, &FaultScore)> {
        self.incidents.iter().zip(&self.verdict.scores)
    }

    fn score_table(&self) -> Table {
        let mut table = Table::new(vec![
            TableColumn::right("NO"),
            TableColumn::left("FAULT"),
            TableColumn::left("RULE").shrinks_to(12).with_omission_turn(2),
            TableColumn::left("SOURCE").with_omission_turn(1),
            TableColumn::left("CALL").shrinks_to(12),
            TableColumn::right("NOTICED"),
            TableColumn::left("BY").with_omission_turn(3),
            TableColumn::right("RECOVERED"),
            TableColumn::left("MEANS").with_omission_turn(6),
            TableColumn::right("HANG").with_omission_turn(5),
            TableColumn::left("CLEAN").with_omission_turn(4),
            TableColumn::left("RESULT"),
        ]);
        for (incident, score) in self.scored_incidents() {
            table.add_row(!score.missed.is_empty(), self.table_cells(incident, score));
        }
        table
    }

    fn table_cells(&self, incident: &Incident, score: &FaultScore) -> Vec<String> {
        let nothing = || "-".to_owned();
        let text = |text: Option<&str>| terminal::printable_line(text.unwrap_or("-")).into_owned();
        let time = |time| amount::format_milliseconds(to_milliseconds(time));
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
            terminal::printable_line(&incident.call_words()).into_owned(),
            counted.and_then(|report| report.time_to_detection).map_or_else(nothing, time),
            text(incident.by.as_deref().filter(|_| score.counts)),
            counted.and_then(|report| report.time_to_recovery).map_or_else(nothing, time),
            self.recovery_means(incident, score)
                .map_or_else(nothing, |means| describe_means(means).to_owned()),
            score.hang.map_or_else(nothing, time),
            clean.unwrap_or("-").to_owned(),
            result.to_owned(),
        ]
    }

    /// Returns by what means the program recovered from a fault that counts.
    fn recovery_means(&self, incident: &Incident, score: &FaultScore) -> Option<RecoveryMeans> {
        incident.means.filter(|_| score.counts && score.report.recovered)
    }

    /// Returns how many faults that count were recovered from by each means.
    fn by_means(&self) -> Vec<(RecoveryMeans, usize)> {
        let count = |means| {
            let scores = self
                .scored_incidents()
                .filter(|(one, score)| self.recovery_means(one, score) == Some(means));
            (means, scores.count())
        };
        RecoveryMeans::ALL.into_iter().map(count).collect()
    }

    /// Returns the totals and the verdict.
    fn verdict_line(&self) -> String {
        let total = &self.verdict.total;
        let time = |time| amount::format_milliseconds(to_milliseconds(time));
        let longest = |longest: Option<_>| match longest {
            Some(longest) => format!(" (at most {})", time(longest)),
            None => String::new(),
        };
        let others = self.by_means().into_iter().filter(|(means, faults)| {
            // The same call goes without saying.
            *means != RecoveryMeans::SameCall && *faults > 0
        });
        let others: String = others
            .map(|(means, faults)| format!(", {faults} by {}", describe_means(means)))
            .collect();
        let counted = match (total.faults, self.incidents.len() - total.faults) {
            (0, 0) => "no fault struck\n".to_owned(),
            (0, _) => "no fault struck that needs a recovery\n".to_owned(),
            (faults, _) => format!(
                "{} · {} noticed{} · {} recovered from{}{others} · {} of hang\n",
                format_count(faults, "fault"),
                total.detected,
                longest(total.time_to_detection),
                total.recovered,
                longest(total.time_to_recovery),
                time(total.user_visible_hang),
            ),
        };
        let verdict = match (self.verdict.budget, total.faults, total.missed) {
            (None, ..) => String::new(),
            (Some(_), 0, _) => "budget NOT TESTED: no fault put it to the test\n".to_owned(),
            (Some(_), _, 0) => "budget kept\n".to_owned(),
            (Some(_), faults, missed) => {
                format!("budget MISSED by {missed} of {}:\n", format_count(faults, "fault"))
            }
        };
        counted + &verdict
    }
}

/// Returns a fault for programs. All members are always present. Those of the report are null for a
/// fault that only delays.
fn fault_json(incident: &Incident, score: &FaultScore) -> Value {
    let mut row: Map<String, Value> = incident.to_json();
    row.insert("only_delays".to_owned(), (!score.counts).into());
    if let Value::Object(report) = score.report.to_json() {
        let known = |value: Value| if score.counts { value } else { Value::Null };
        row.extend(report.into_iter().map(|(name, value)| (name, known(value))));
        row.insert("user_visible_hang_ms".to_owned(), json!(score.hang.map(to_milliseconds)));
    }
    let missed: Vec<String> = score.missed.iter().map(ToString::to_string).collect();
    row.insert("missed".to_owned(), missed.into());
    Value::Object(row)
}

/// Returns the words for the means of a recovery.
fn describe_means(means: RecoveryMeans) -> &'static str {
    match means {
        RecoveryMeans::SameCall => "same call",
        RecoveryMeans::Fallback => "fallback",
        RecoveryMeans::OtherStep => "other step",
        RecoveryMeans::OtherSettings => "other settings",
        RecoveryMeans::CleanError => "clean error",
        RecoveryMeans::NextCall => "next call",
    }
}

/// Returns which parts of the budget a fault missed, in words.
pub(super) fn miss_reasons(score: &FaultScore) -> String {
    score.missed.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}
