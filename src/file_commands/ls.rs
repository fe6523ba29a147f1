//! The `loomrec ls` command: one line for each take of a recording, and their sum.

mod row;

use std::collections::BTreeSet;
use std::io::{self, BufWriter, Write};

use super::args::{LogFormat, LsArgs};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::output::{Output, stdout_failure};
use loomrec_cli::pricing::{PriceSource, sum_words};
use loomrec_cli::table::{Table, TableColumn};
use loomrec_cli::{prices, serve_setup, terminal};
use loomrec_curation::inspection::LONGEST_QUESTION;
use loomrec_recording::RecordingMeta;
use loomrec_store::{Recording, RecordingLocation, StoreError};
pub(super) use row::{TakeRow, question_of};

/// How many rows are held in memory. For a longer listing, the recording is read twice: for the
/// widths of the columns, and for the lines.
const HELD: usize = 10_000;
/// How many of them if the questions are not shortened.
const HELD_WIDE: usize = 500;
/// How many columns a question takes at most where the width of the terminal is unknown.
pub(super) const QUESTION: usize = 60;

/// Runs the command.
///
/// # Errors
/// A recording that is missing, damaged or too new; an invalid price table; a stdout that cannot be
/// written.
pub fn run(args: &LsArgs) -> Result<u8, CommandFailure> {
    let recording =
        serve_setup::open_to_read(&args.file, &Output::new(LogFormat::Human, false, false))?;
    let table = prices::load_table(args.prices.as_deref())?;
    let pricing = PriceSource { table, anew: args.prices.is_some() };
    let mut out = BufWriter::new(anstream::stdout().lock());
    let listed = match args.json {
        true => write_json(&recording, &pricing, &mut out),
        false => {
            let (recording, pricing) = (&recording, &pricing);
            let (width, held, question) = match (args.full, terminal::width()) {
                (true, _) => (None, HELD_WIDE, LONGEST_QUESTION),
                (false, width) => (width, HELD, width.unwrap_or(QUESTION)),
            };
            let listing = TakeListing { recording, pricing, held, question };
            listing.write(&args.file, width, &mut out)
        }
    };
    match listed.and_then(|()| Ok(out.flush()?)) {
        Ok(()) => Ok(0),
        Err(ListingEnd::Read(error)) => Err(error.into()),
        // The reader has closed stdout.
        Err(ListingEnd::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => Ok(0),
        Err(ListingEnd::Write(error)) => Err(stdout_failure(error)),
    }
}

/// Why a listing ended early.
#[derive(Debug)]
enum ListingEnd {
    Read(StoreError),
    Write(io::Error),
}

impl From<StoreError> for ListingEnd {
    fn from(error: StoreError) -> Self {
        Self::Read(error)
    }
}

impl From<io::Error> for ListingEnd {
    fn from(error: io::Error) -> Self {
        Self::Write(error)
    }
}

/// Writes the listing for programs: an object for each take, each written as it is read.
fn write_json(
    recording: &Recording,
    pricing: &PriceSource,
    out: &mut dyn Write,
) -> Result<(), ListingEnd> {
    let mut entries = recording.entries();
    let mut before = "[\n  ";
    while let Some(stored) = entries.next() {
        let row = TakeRow::from_stored_entry(stored?, entries.take_count());
        let json = row.to_json(pricing.call_cost(&row.entry, row.model_name()));
        // A JSON string contains no raw line feed.
        let text = format!("{json:#}").replace('\n', "\n  ");
        write!(out, "{before}{}", terminal::printable_json(&text))?;
        before = ",\n  ";
    }
    out.write_all(if before.starts_with('[') { b"[]\n" } else { b"\n]\n" })?;
    Ok(())
}

/// The listing for people.
struct TakeListing<'a> {
    recording: &'a Recording,
    pricing: &'a PriceSource,
    /// How many rows are held in memory.
    held: usize,
    /// How many columns a question takes at most.
    question: usize,
}

impl TakeListing<'_> {
    /// Writes the listing, no wider than `width` if possible.
    fn write(
        &self,
        file: &RecordingLocation,
        width: Option<usize>,
        out: &mut dyn Write,
    ) -> Result<(), ListingEnd> {
        let (table, sum) = self.measured_table()?;
        if sum.calls == 0 {
            writeln!(out, "{}: an empty recording, no call was kept", file.display())?;
            return Ok(());
        }
        if sum.calls <= self.held {
            out.write_all(table.to_text(width).as_bytes())?;
        } else {
            let layout = table.layout(width);
            out.write_all(table.head_line(&layout).as_bytes())?;
            for stored in self.recording.entries() {
                let row = TakeRow::from_stored_entry(stored?, 0);
                let cells =
                    self.table_cells(&row, self.pricing.call_cost(&row.entry, row.model_name()));
                out.write_all(table.row_line(&layout, row.is_trouble(), &cells).as_bytes())?;
            }
            out.write_all(Table::foot_line(&layout).as_bytes())?;
        }
        out.write_all(summary_line(&sum, self.recording.meta()).as_bytes())?;
        Ok(())
    }

    fn table_cells(&self, row: &TakeRow, cost: Option<f64>) -> Vec<String> {
        let mut cells = row.table_cells(cost);
        cells.push(row.question_start(self.question).unwrap_or_else(|| "-".to_owned()));
        cells
    }

    /// Returns the table and the sum. The table has its rows if there are not too many.
    fn measured_table(&self) -> Result<(Table, TakeSum), StoreError> {
        let mut table = Table::new(table_columns());
        let mut sum = TakeSum::default();
        for stored in self.recording.entries() {
            let row = TakeRow::from_stored_entry(stored?, 0);
            let cost = self.pricing.call_cost(&row.entry, row.model_name());
            sum.add(&row, cost);
            let cells = self.table_cells(&row, cost);
            match sum.calls <= self.held {
                true => table.add_row(row.is_trouble(), cells),
                false => table.measure_row(&cells),
            }
        }
        Ok((table, sum))
    }
}

fn table_columns() -> Vec<TableColumn> {
    vec![
        TableColumn::left("KEY").shrinks_to(15),
        TableColumn::left("CALL").shrinks_to(12),
        TableColumn::left("MODEL").shrinks_to(12),
        TableColumn::right("IN"),
        TableColumn::right("OUT"),
        TableColumn::right("COST").with_omission_turn(3),
        TableColumn::left("MODE").with_omission_turn(4),
        TableColumn::right("TIME").with_omission_turn(2),
        TableColumn::left("STATUS"),
        TableColumn::left("END").shrinks_to(14).with_omission_turn(5),
        TableColumn::left("SESSION").shrinks_to(8).with_omission_turn(1),
        TableColumn::left("ASKS").shrinks_to(14),
    ]
}

/// The sum of all calls.
#[derive(Default)]
struct TakeSum {
    calls: usize,
    keys: usize,
    input: u64,
    output: u64,
    cost: f64,
    /// How many calls have an unknown cost.
    unknown: u64,
    /// How many calls hold values that tell who recorded them, and the names of these.
    personal: (usize, BTreeSet<&'static str>),
}

impl TakeSum {
    fn add(&mut self, row: &TakeRow, cost: Option<f64>) {
        let usage = row.entry.usage.unwrap_or_default();
        self.calls += 1;
        // The takes of a name are adjacent.
        self.keys += usize::from(row.take == 1);
        self.input = self.input.saturating_add(usage.prompt_tokens);
        self.output = self.output.saturating_add(usage.completion_tokens);
        self.cost += cost.unwrap_or(0.0);
        self.unknown += u64::from(cost.is_none());
        let names: Vec<&str> = row.entry.run_values.personal_names().collect();
        self.personal.0 += usize::from(!names.is_empty());
        self.personal.1.extend(names);
    }
}

/// Returns the last line: calls, tokens, cost, and the identity rules.
fn summary_line(sum: &TakeSum, meta: &RecordingMeta) -> String {
    let TakeSum { calls, keys, input, output, cost, unknown, ref personal } = *sum;
    let under = match keys {
        _ if keys == calls => String::new(),
        1 => " under 1 key".to_owned(),
        _ => format!(" under {keys} keys"),
    };
    let mut parts = vec![format!("{calls} {}{under}", if calls == 1 { "call" } else { "calls" })];
    parts.push(format!("{input} tokens in, {output} out"));
    parts.push(sum_words(cost, unknown));
    parts.push(key_parts(meta));
    if let (count @ 1.., names) = personal {
        let names: Vec<&str> = names.iter().copied().collect();
        parts.push(format!("{count} with personal values ({})", names.join(", ")));
    }
    format!("\n{}\n", parts.join(" · "))
}

/// Returns what makes up the keys.
fn key_parts(meta: &RecordingMeta) -> String {
    if !meta.is_loomrec() {
        return "not written by loomrec".to_owned();
    }
    let ignored = meta.rules().without_normalize().rule_descriptions();
    match ignored.is_empty() {
        true => "identity: the whole request".to_owned(),
        false => terminal::printable_line(&format!("identity: ignores {}", ignored.join(", ")))
            .into_owned(),
    }
}

#[cfg(test)]
#[path = "ls/tests.rs"]
mod tests;
