//! The `loomrec stats` command: sums of the calls in recordings or journals, by upstream and model.
//!
//! Entries and lines are read one after the other. Only the times of each are kept.

mod cache;
mod cache_report;
mod journal_totals;
mod measure;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::args::{LogFormat, StatsArgs, StatsBy};
use super::ls::TakeRow;
use cache_report::CacheReport;
use journal_totals::JournalTotals;
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::journal_lines::is_journal;
use loomrec_cli::output::{Output, print};
use loomrec_cli::pricing::PriceSource;
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::{prices, serve_setup, terminal};
use loomrec_recording::cost::PriceTable;
use loomrec_store::{Recording, RecordingLocation, StoreError};
use measure::{CallSample, GroupStats};

/// Runs the command.
///
/// # Errors
/// A recording or journal that is missing, damaged or too new; both kinds of files; an invalid price
/// table; a stdout that cannot be written.
pub fn run(args: &StatsArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    if are_journals(&args.files)? {
        let totals = JournalTotals::read(args, &output)?;
        return print(&match args.json {
            true => totals.to_json_text(),
            false => totals.to_text(terminal::width()),
        });
    }
    let table = prices::load_table(args.prices.as_deref())?;
    if args.cache {
        return report_cache(args, &table, &output);
    }
    let mut stats = CallStats::new(args.by, PriceSource { table, anew: args.prices.is_some() });
    for file in &args.files {
        stats.add_recording(&serve_setup::open_to_read(file, &output)?)?;
    }
    if stats.impossible_costs > 0 {
        output.warning(&format!(
            "calls with a cost_usd that no call can have, which is ignored: {}; `loomrec verify` \
             names them",
            stats.impossible_costs
        ));
    }
    print(&match args.json {
        true => stats.to_json_text(&args.files),
        false => stats.to_text(&args.files, terminal::width()),
    })
}

/// Whether all files are journals.
///
/// # Errors
/// Only some are.
fn are_journals(files: &[RecordingLocation]) -> Result<bool, CommandFailure> {
    let is_journal = |file: &&RecordingLocation| is_journal(file.as_path());
    let (journals, others): (Vec<_>, Vec<_>) = files.iter().partition(is_journal);
    match (journals.first(), others.first()) {
        (Some(journal), Some(other)) => Err(CommandFailure::usage(format!(
            "{} is a journal and {} is not: give journals or recordings",
            journal.display(),
            other.display()
        ))),
        (journal, _) => Ok(journal.is_some()),
    }
}

/// Reports how the conversations of the recordings used the prompt cache.
fn report_cache(
    args: &StatsArgs,
    table: &PriceTable,
    output: &Output,
) -> Result<u8, CommandFailure> {
    let mut report = CacheReport::default();
    for file in &args.files {
        let recording = serve_setup::open_to_read(file, output)?;
        report.add(file, cache::read_conversations(&recording, table)?);
    }
    print(&match args.json {
        true => report.to_json_text(),
        false => report.to_text(terminal::width()),
    })?;
    Ok(if args.check && report.has_change() { NO } else { 0 })
}

/// The sums of the calls in recordings.
struct CallStats {
    by: Option<StatsBy>,
    pricing: PriceSource,
    /// The groups, by the values that their calls share, one for each of [`CallStats::group_names`].
    groups: BTreeMap<Vec<Option<String>>, GroupStats>,
    all: GroupStats,
    /// Models without a price, with the number of calls that they answered.
    unpriced: BTreeMap<String, u64>,
    /// Calls with a recorded cost that no call can have.
    impossible_costs: u64,
}

impl CallStats {
    fn new(by: Option<StatsBy>, pricing: PriceSource) -> Self {
        let (groups, all, unpriced, impossible_costs) = Default::default();
        Self { by, pricing, groups, all, unpriced, impossible_costs }
    }

    /// Returns the names of the values by which calls are grouped.
    fn group_names(&self) -> &'static [&'static str] {
        match self.by {
            None => &["upstream", "model"],
            Some(StatsBy::Model) => &["model"],
            Some(StatsBy::Upstream) => &["upstream"],
            Some(StatsBy::Step) => &["step"],
            Some(StatsBy::Session) => &["session"],
        }
    }

    /// Adds every call of a recording.
    fn add_recording(&mut self, recording: &Recording) -> Result<(), StoreError> {
        for stored in recording.entries() {
            self.add_row(&TakeRow::from_stored_entry(stored?, 0));
        }
        Ok(())
    }

    fn add_row(&mut self, row: &TakeRow) {
        let sample = self.call_sample(row);
        let is_priced = || self.pricing.table.has_call_price(&row.entry, row.model_name());
        if sample.cost.is_none() && !is_priced() {
            let model = row.model_name().unwrap_or("a call that names no model");
            *self.unpriced.entry(model.to_owned()).or_default() += 1;
        }
        let entry = &row.entry;
        self.impossible_costs += u64::from(entry.has_impossible_cost());
        let value = |name: &&str| match *name {
            "upstream" => entry.upstream.as_deref().or(entry.provider.as_deref()),
            "model" => row.model_name(),
            "step" => row.name.step_id(),
            _ => entry.session.as_deref(),
        };
        let group = self.group_names().iter().map(|name| value(name).map(str::to_owned)).collect();
        self.groups.entry(group).or_default().add(&sample);
        self.all.add(&sample);
    }

    fn call_sample(&self, row: &TakeRow) -> CallSample {
        let entry = &row.entry;
        let streamed = row.is_streamed() == Some(true);
        let first =
            entry.answer_chunks().and_then(|chunks| chunks.first()).map(|chunk| chunk.at_ms);
        CallSample {
            failed: row.is_trouble(),
            streamed,
            usage: entry.usage.unwrap_or_default(),
            cost: self.pricing.call_cost(&row.entry, row.model_name()),
            latency: entry.latency_ms,
            first_chunk: first.filter(|_| streamed),
        }
    }

    /// Returns the sums for programs.
    fn to_json_text(&self, files: &[RecordingLocation]) -> String {
        let names = self.group_names();
        let group = |(values, measure): (&Vec<Option<String>>, &GroupStats)| {
            let named =
                names.iter().zip(values).map(|(name, value)| ((*name).to_owned(), json!(value)));
            let mut group: Map<String, Value> = named.collect();
            if let Value::Object(measure) = measure.to_json() {
                group.extend(measure);
            }
            Value::Object(group)
        };
        let out = json!({
            "recordings": files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>(),
            "by": names,
            "groups": self.groups.iter().map(group).collect::<Vec<_>>(),
            "all": self.all.to_json(),
            "unpriced_models": self.unpriced,
        });
        terminal::printable_json(&format!("{out:#}\n")).into_owned()
    }

    /// Formats the sums for people, no wider than `width` if possible.
    fn to_text(&self, files: &[RecordingLocation], width: Option<usize>) -> String {
        if self.all.calls == 0 {
            return match files {
                [file] => format!("{}: an empty recording, no call was kept\n", file.display()),
                _ => "empty recordings, no call was kept\n".to_owned(),
            };
        }
        let mut table = Table::new(self.table_columns());
        for (values, measure) in &self.groups {
            let value = |value: &Option<String>| {
                terminal::printable_line(value.as_deref().unwrap_or("-")).into_owned()
            };
            let cells = values.iter().map(value).chain(measure.table_cells()).collect();
            table.add_row(measure.failed == measure.calls, cells);
        }
        if self.groups.len() > 1 {
            let mut name = vec!["all".to_owned()];
            name.resize(self.group_names().len(), String::new());
            table.add_row(false, name.into_iter().chain(self.all.table_cells()).collect());
        }
        let mut text = format!("{}\n{}", table.to_text(width), self.all.summary_line());
        if files.len() > 1 {
            text.push_str(&format!(" · {} recordings", files.len()));
        }
        text.push('\n');
        for (model, calls) in &self.unpriced {
            text.push_str(&format!(
                "no price is known for {} (calls: {calls}): its cost is unknown; see --prices\n",
                terminal::printable_line(model)
            ));
        }
        text
    }

    fn table_columns(&self) -> Vec<TableColumn> {
        let name = |name: &&'static str| match *name {
            "upstream" => TableColumn::left("UPSTREAM").shrinks_to(9),
            "model" => TableColumn::left("MODEL").shrinks_to(12),
            "step" => TableColumn::left("STEP").shrinks_to(12),
            _ => TableColumn::left("SESSION").shrinks_to(12),
        };
        let mut columns: Vec<TableColumn> = self.group_names().iter().map(name).collect();
        columns.extend([
            TableColumn::right("CALLS"),
            TableColumn::right("FAILED"),
            TableColumn::right("IN"),
            TableColumn::right("OUT"),
            TableColumn::right("CACHED").with_omission_turn(5),
            TableColumn::right("REASONING").with_omission_turn(4),
            TableColumn::right("COST"),
            TableColumn::right("P50").with_omission_turn(8),
            TableColumn::right("P90").with_omission_turn(2),
            TableColumn::right("P99").with_omission_turn(7),
            TableColumn::right("FIRST P50").with_omission_turn(6),
            TableColumn::right("FIRST P90").with_omission_turn(1),
            TableColumn::right("FIRST P99").with_omission_turn(3),
        ]);
        columns
    }
}

#[cfg(test)]
#[path = "stats/tests.rs"]
mod tests;
