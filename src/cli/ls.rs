//! `loomrec ls`: a line for each take of a recording, and their sum.

mod row;

use std::path::Path;

use serde_json::Value;

use super::amount::dollars;
use super::args::{LogFormat, LsArgs};
use super::exit::{Failure, UNEXPECTED};
use super::output::{Output, stdout};
use super::table::{Column, Table};
use super::{setup, terminal};
use crate::recording::{Entry, Meta};
use crate::store::{Recording, StoreError};
pub(super) use row::{Row, end_words, media_type};

/// Runs the command.
///
/// # Errors
/// A recording that is missing, damaged or too new; a stdout that cannot be written.
pub(super) fn run(args: &LsArgs) -> Result<u8, Failure> {
    let recording = setup::look(&args.file, &Output::new(LogFormat::Human, false, false))?;
    let text = match args.json {
        true => json(&recording)?,
        false => text(&args.file, &recording, terminal::width())?,
    };
    print(&text)
}

/// Writes a result.
///
/// # Errors
/// A stdout that cannot be written.
pub(super) fn print(text: &str) -> Result<u8, Failure> {
    stdout(text)
        .map(|()| 0)
        .map_err(|error| Failure::new(UNEXPECTED, format!("failed to write to stdout: {error}")))
}

/// The listing for programs: an object for each take.
fn json(recording: &Recording) -> Result<String, StoreError> {
    let mut out = String::from("[");
    let (mut name, mut takes) = (None, Vec::new());
    for stored in recording.entries() {
        let row = Row::of(stored?, 0);
        // The takes of a name stand together; how many there are is known behind them.
        if name.as_ref() != Some(&row.name) {
            write_takes(&mut out, &mut takes);
            name = Some(row.name.clone());
        }
        takes.push(row.to_json());
    }
    write_takes(&mut out, &mut takes);
    out.push_str(if out.len() > 1 { "\n]\n" } else { "]\n" });
    Ok(terminal::json(&out).into_owned())
}

/// Writes the rows of one name, laid out as members of the list.
fn write_takes(out: &mut String, rows: &mut Vec<Value>) {
    let takes = rows.len();
    for mut row in rows.drain(..) {
        row["takes"] = takes.into();
        out.push_str(if out.len() > 1 { ",\n  " } else { "\n  " });
        // No line feed stands in the text of a string.
        out.push_str(&format!("{row:#}").replace('\n', "\n  "));
    }
}

/// The listing for people, no wider than `width` where that can be.
fn text(file: &Path, recording: &Recording, width: Option<usize>) -> Result<String, StoreError> {
    let mut table = Table::new(vec![
        Column::left("KEY").shrinks_to(15),
        Column::left("CALL").shrinks_to(12),
        Column::left("MODEL").shrinks_to(12),
        Column::right("IN"),
        Column::right("OUT"),
        Column::right("COST").goes(3),
        Column::left("MODE").goes(4),
        Column::right("TIME").goes(2),
        Column::left("STATUS"),
        Column::left("END").shrinks_to(14),
        Column::left("SESSION").shrinks_to(8).goes(1),
    ]);
    let mut sum = Sum::default();
    let mut last = None;
    for stored in recording.entries() {
        let row = Row::of(stored?, 0);
        sum.add(&row.entry);
        table.add(row.is_trouble(), row.cells());
        if last.as_ref() != Some(&row.name) {
            sum.keys += 1;
            last = Some(row.name);
        }
    }
    if sum.calls == 0 {
        return Ok(format!("{}: an empty recording, no call was kept\n", file.display()));
    }
    let mut text = table.text(width);
    text.push_str(&summary(&sum, recording.meta()));
    Ok(text)
}

/// What all calls come to.
#[derive(Default)]
struct Sum {
    calls: usize,
    keys: usize,
    input: u64,
    output: u64,
    cost: f64,
}

impl Sum {
    fn add(&mut self, entry: &Entry) {
        let usage = entry.usage.unwrap_or_default();
        self.calls += 1;
        self.input = self.input.saturating_add(usage.prompt_tokens);
        self.output = self.output.saturating_add(usage.completion_tokens);
        self.cost += entry.cost_usd.unwrap_or(0.0);
    }
}

/// The last line: calls, tokens, cost, and what the keys are made of.
fn summary(sum: &Sum, meta: &Meta) -> String {
    let Sum { calls, keys, input, output, cost } = *sum;
    let under = match keys {
        _ if keys == calls => String::new(),
        1 => " under 1 key".to_owned(),
        _ => format!(" under {keys} keys"),
    };
    let mut parts = vec![format!("{calls} {}{under}", if calls == 1 { "call" } else { "calls" })];
    parts.push(format!("{input} tokens in, {output} out"));
    parts.push(dollars(cost));
    parts.push(identity(meta));
    format!("\n{}\n", parts.join(" · "))
}

/// What the keys are made of.
fn identity(meta: &Meta) -> String {
    if !meta.is_loomrec() {
        return "not written by loomrec".to_owned();
    }
    let ignored: Vec<String> = meta.rules().ignore().iter().map(ToString::to_string).collect();
    match ignored.is_empty() {
        true => "identity: the whole request".to_owned(),
        false => terminal::line(&format!("identity: ignores {}", ignored.join(", "))).into_owned(),
    }
}

#[cfg(test)]
#[path = "ls/tests.rs"]
mod tests;
