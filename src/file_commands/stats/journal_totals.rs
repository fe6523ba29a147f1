//! The totals of the calls in journals. Memory use does not grow with the number of calls: the
//! number of groups is limited, and times are counted in steps of two percent.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use serde_json::{Value, json};

use super::super::args::StatsArgs;
use super::super::journal::{JournalRow, read_rows};
use loomrec_cli::amount::format_milliseconds;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::Output;
use loomrec_cli::pricing::{known_sum, sum_words};
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::terminal::printable_line;

/// How many groups are counted separately. Further ones share one group.
const GROUPS: usize = 10_000;
/// How many words of a kind are counted separately.
const WORDS: usize = 200;
/// The name of the shared group or word.
const OTHER: &str = "(other)";
/// The ratio between one step of times and the one before.
const STEP: f64 = 1.02;
/// The percentiles that are shown.
const PERCENTILES: [u64; 3] = [50, 90, 99];

/// The sums of calls.
#[derive(Debug, Default)]
pub(super) struct JournalTotals {
    all: GroupSums,
    /// By upstream and model.
    groups: BTreeMap<(String, String), GroupSums>,
    outcomes: WordCounts,
    sources: WordCounts,
    mismatches: WordCounts,
    faults: WordCounts,
}

impl JournalTotals {
    /// Adds up the calls in journals.
    ///
    /// # Errors
    /// A flag that only recordings have; a file that cannot be read, or is not a journal.
    pub(super) fn read(args: &StatsArgs, output: &Output) -> Result<Self, CommandFailure> {
        let of_recordings = [
            ("--by", args.by.is_some()),
            ("--prices", args.prices.is_some()),
            ("--cache", args.cache),
        ];
        if let Some((flag, _)) = of_recordings.iter().find(|(_, is_given)| *is_given) {
            let text = format!("{flag} is for recordings: leave it out for journals");
            return Err(CommandFailure::usage(text));
        }
        let mut totals = Self::default();
        for file in &args.files {
            // Every row is read.
            let _continue = read_rows(file.as_path(), output, |row, _| {
                totals.add(row);
                Ok(ControlFlow::Continue(()))
            })?;
        }
        Ok(totals)
    }

    /// Adds a line, if it is a call.
    fn add(&mut self, call: &JournalRow) {
        if !call.is_call() {
            return;
        }
        let text = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
        let mut key = (text(&call.upstream), text(&call.model));
        if self.groups.len() >= GROUPS && !self.groups.contains_key(&key) {
            key = (OTHER.to_owned(), OTHER.to_owned());
        }
        self.all.add(call);
        self.groups.entry(key).or_default().add(call);
        self.outcomes.add(Some(call.outcome()));
        self.sources.add(Some(call.source().unwrap_or("none")));
        self.mismatches.add(call.miss_reason());
        self.faults.add(call.fault_type());
    }

    /// Formats the sums for people.
    pub(super) fn to_text(&self, width: Option<usize>) -> String {
        let mut table = Table::new(vec![
            TableColumn::left("UPSTREAM").shrinks_to(8),
            TableColumn::left("MODEL").shrinks_to(10),
            TableColumn::right("CALLS"),
            TableColumn::right("FAILED"),
            TableColumn::right("IN"),
            TableColumn::right("OUT"),
            TableColumn::right("COST"),
            TableColumn::right("P50"),
            TableColumn::right("P90").with_omission_turn(2),
            TableColumn::right("P99"),
            TableColumn::right("1ST BYTE").with_omission_turn(1),
        ]);
        for ((upstream, model), measure) in &self.groups {
            let mut cells =
                vec![printable_line(upstream).into_owned(), printable_line(model).into_owned()];
            cells.extend(measure.table_cells());
            table.add_row(measure.failed > 0, cells);
        }
        let mut out = String::new();
        if !self.groups.is_empty() {
            out.push_str(&table.to_text(width));
            out.push('\n');
        }
        out.push_str(&format!("{}\n", self.all.summary_line()));
        for (name, words) in
            [("answers", &self.sources), ("missed", &self.mismatches), ("faults", &self.faults)]
        {
            if !words.0.is_empty() {
                out.push_str(&format!("{name}: {}\n", printable_line(&words.to_text())));
            }
        }
        out
    }

    /// Returns the JSON for programs.
    pub(super) fn to_json_text(&self) -> String {
        let groups = self.groups.iter().map(|((upstream, model), measure)| {
            let mut group = json!({ "upstream": upstream, "model": model });
            if let (Value::Object(group), Value::Object(more)) = (&mut group, measure.to_json()) {
                group.extend(more);
            }
            group
        });
        let groups: Vec<Value> = groups.collect();
        let mut all = self.all.to_json();
        if let Value::Object(all) = &mut all {
            for (name, words) in [
                ("outcomes", &self.outcomes),
                ("sources", &self.sources),
                ("mismatches", &self.mismatches),
                ("faults", &self.faults),
            ] {
                all.insert(name.to_owned(), json!(words.0));
            }
            all.insert("groups".to_owned(), Value::Array(groups));
        }
        format!("{all:#}\n")
    }
}

/// Counts of words.
#[derive(Debug, Default)]
struct WordCounts(BTreeMap<String, u64>);

impl WordCounts {
    fn add(&mut self, word: Option<&str>) {
        let Some(word) = word else { return };
        let known = self.0.len() < WORDS || self.0.contains_key(word);
        *self.0.entry(if known { word } else { OTHER }.to_owned()).or_default() += 1;
    }

    fn to_text(&self) -> String {
        let words: Vec<String> =
            self.0.iter().map(|(word, count)| format!("{count} {word}")).collect();
        words.join(", ")
    }
}

/// The sums of a group of calls.
#[derive(Debug, Default)]
struct GroupSums {
    calls: u64,
    failed: u64,
    input: u64,
    output: u64,
    cost: f64,
    /// Recorded and served calls whose cost is unknown.
    unpriced: u64,
    total: TimeSteps,
    first_byte: TimeSteps,
}

impl GroupSums {
    /// Adds a call. The time of a failed call says nothing about the others, so it is not counted.
    fn add(&mut self, call: &JournalRow) {
        self.calls += 1;
        self.input = self.input.saturating_add(call.input_tokens.unwrap_or(0));
        self.output = self.output.saturating_add(call.output_tokens.unwrap_or(0));
        self.cost += call.cost_usd.unwrap_or(0.0);
        // Only recorded and served answers have counts of tokens, be they 0.
        let is_answered = call.input_tokens.is_some();
        self.unpriced += u64::from(is_answered && call.cost_usd.is_none());
        if call.has_failed() {
            self.failed += 1;
            return;
        }
        self.total.add(call.total_ms.or(call.head_ms));
        self.first_byte.add(call.first_byte_ms);
    }

    fn table_cells(&self) -> Vec<String> {
        let some = |count: u64| if count == 0 { "-".to_owned() } else { count.to_string() };
        let time = |at: Option<f64>| at.map_or_else(|| "-".to_owned(), format_milliseconds);
        let mut cells = vec![
            self.calls.to_string(),
            some(self.failed),
            self.input.to_string(),
            self.output.to_string(),
            sum_words(self.cost, self.unpriced),
        ];
        cells.extend(self.total.percentiles().map(time));
        cells.push(time(self.first_byte.percentiles()[0]));
        cells
    }

    fn summary_line(&self) -> String {
        let calls = if self.calls == 1 { "call" } else { "calls" };
        let failed = match self.failed {
            0 => String::new(),
            failed => format!(", {failed} failed"),
        };
        let (input, output) = (self.input, self.output);
        let cost = sum_words(self.cost, self.unpriced);
        format!("{} {calls}{failed} · {input} tokens in, {output} out · {cost}", self.calls)
    }

    fn to_json(&self) -> Value {
        json!({
            "calls": self.calls,
            "failed": self.failed,
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cost_usd": known_sum(self.cost, self.unpriced),
            "cost_not_known": self.unpriced,
            "total_ms": self.total.to_json(),
            "first_byte_ms": self.first_byte.to_json(),
        })
    }
}

/// A histogram of times in milliseconds.
#[derive(Debug, Default)]
struct TimeSteps {
    count: u64,
    steps: BTreeMap<i32, u64>,
}

impl TimeSteps {
    fn add(&mut self, ms: Option<f64>) {
        let Some(ms) = ms.filter(|ms| ms.is_finite()) else { return };
        // Times below a microsecond count as one microsecond.
        let step = (ms.max(0.001).ln() / STEP.ln()).round() as i32;
        self.count += 1;
        *self.steps.entry(step).or_default() += 1;
    }

    /// Returns the percentiles by nearest rank, accurate to one percent.
    fn percentiles(&self) -> [Option<f64>; 3] {
        PERCENTILES.map(|percent| {
            let rank = (u128::from(self.count) * u128::from(percent)).div_ceil(100);
            let mut seen = 0;
            let found = self.steps.iter().find(|(_, count)| {
                seen += u128::from(**count);
                seen >= rank
            });
            found.map(|(step, _)| (STEP.powi(*step) * 1000.0).round() / 1000.0)
        })
    }

    fn to_json(&self) -> Value {
        let [p50, p90, p99] = self.percentiles();
        json!({ "count": self.count, "p50": p50, "p90": p90, "p99": p99 })
    }
}

#[cfg(test)]
#[path = "journal_totals_tests.rs"]
mod tests;
