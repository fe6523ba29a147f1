//! `loomrec ls`: a line for each take of a recording, and their sum.

mod row;
mod table;

use std::path::Path;

use serde_json::Value;

use super::amount::dollars;
use super::args::LsArgs;
use super::exit::{Failure, UNEXPECTED};
use super::output::stdout;
use super::terminal;
use crate::recording::Cassette;
use crate::store;
pub(super) use row::{Row, end_words, media_type};
use table::{Column, Table};

/// Runs the command.
///
/// # Errors
/// A recording that is missing, damaged or too new; a stdout that cannot be written.
pub(super) fn run(args: &LsArgs) -> Result<u8, Failure> {
    let cassette = store::load(&args.file)?;
    let text =
        if args.json { json(&cassette) } else { text(&args.file, &cassette, terminal::width()) };
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
fn json(cassette: &Cassette) -> String {
    let rows: Vec<Value> = Row::all(cassette).map(|row| row.to_json()).collect();
    terminal::json(&format!("{:#}\n", Value::Array(rows))).into_owned()
}

/// The listing for people, no wider than `width` where that can be.
fn text(file: &Path, cassette: &Cassette, width: Option<usize>) -> String {
    if cassette.is_empty() {
        return format!("{}: an empty recording, no call was kept\n", file.display());
    }
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
    for row in Row::all(cassette) {
        table.add(row.is_trouble(), row.cells());
    }
    let mut text = table.text(width);
    text.push_str(&summary(cassette));
    text
}

/// The last line: calls, tokens, cost, and what the keys are made of.
fn summary(cassette: &Cassette) -> String {
    let (mut input, mut output, mut cost) = (0_u64, 0_u64, 0.0);
    for (_, _, entry) in cassette.entries() {
        let usage = entry.usage.unwrap_or_default();
        input = input.saturating_add(usage.prompt_tokens);
        output = output.saturating_add(usage.completion_tokens);
        cost += entry.cost_usd.unwrap_or(0.0);
    }
    let calls = cassette.len();
    let keys = cassette.names().count();
    let under = match keys {
        _ if keys == calls => String::new(),
        1 => " under 1 key".to_owned(),
        _ => format!(" under {keys} keys"),
    };
    let mut parts = vec![format!("{calls} {}{under}", if calls == 1 { "call" } else { "calls" })];
    parts.push(format!("{input} tokens in, {output} out"));
    parts.push(dollars(cost));
    parts.push(identity(cassette));
    format!("\n{}\n", parts.join(" · "))
}

/// What the keys are made of.
fn identity(cassette: &Cassette) -> String {
    if !cassette.is_loomrec() {
        return "not written by loomrec".to_owned();
    }
    let ignored: Vec<String> =
        cassette.meta().rules().ignore().iter().map(ToString::to_string).collect();
    match ignored.is_empty() {
        true => "identity: the whole request".to_owned(),
        false => terminal::line(&format!("identity: ignores {}", ignored.join(", "))).into_owned(),
    }
}

#[cfg(test)]
#[path = "ls/tests.rs"]
mod tests;
