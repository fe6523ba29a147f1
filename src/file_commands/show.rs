//! The `loomrec show` command: one entry of a recording in full, or all of them as text.

pub(super) mod contents;
mod damage;
mod earlier_take;
mod page;
mod pretty;
pub(super) mod review;
mod sent;
pub(super) mod take_choice;
mod timeline;

use serde_json::{Map, Value};

use super::args::{LogFormat, ShowArgs};
use super::ls::{self, TakeRow};
use contents::{ListedEntry, RecordingContents};
use earlier_take::{ContinuedTake, ContinuedTakes};
use loomrec_cli::exit::{CommandFailure, NO, UNEXPECTED, USAGE};
use loomrec_cli::output::{Output, print, stdout_failure};
use loomrec_cli::result_output::ResultOutput;
use loomrec_cli::{serve_setup, terminal};
use loomrec_identity::IdentityRules;
use loomrec_recording::redact::Redactor;
use loomrec_store::{Recording, RecordingLocation, StoredEntry};
use take_choice::{Choice, NoChoice};

/// How many keys an error names.
const NAMED: usize = 10;

/// Runs the command.
///
/// # Errors
/// A recording that is missing, damaged or too new (4); a key that is not in it (1); a key that
/// matches several entries, or that is required and missing (2).
pub fn run(args: &ShowArgs) -> Result<u8, CommandFailure> {
    let recording =
        serve_setup::open_to_read(&args.file, &Output::new(LogFormat::Human, false, false))?;
    if args.key.is_none() && !args.json {
        return print_for_review(&recording, args.full);
    }
    let is_full = args.full || args.json;
    let (row, earlier) = pick_take(&args.file, &recording, args.key.as_deref(), is_full)?;
    let outside_key = outside_key(&row, recording.meta().rules());
    print(&match args.json {
        true => entry_json(&row, &outside_key),
        false => page::format_take(&row, &outside_key, earlier.as_ref(), terminal::width()),
    })
}

/// Prints every take as text for comparison; unless it `is_full`, without what a take before it
/// shows.
fn print_for_review(recording: &Recording, is_full: bool) -> Result<u8, CommandFailure> {
    let redactor = create_redactor()?;
    let mut out = ResultOutput::open();
    let takes = match is_full {
        true => None,
        false => Some(ContinuedTakes::from_recording(recording)?),
    };
    for (at, stored) in recording.entries().enumerate() {
        let row = TakeRow::from_stored_entry(stored?, 0);
        let earlier =
            takes.as_ref().map(|takes| takes.read_earlier(recording, at, &row)).transpose()?;
        let text = review::text_in_list(&row, &redactor, earlier.flatten().as_ref());
        if !out.write(&text).map_err(stdout_failure)? {
            break;
        }
    }
    out.finish().map_err(stdout_failure)?;
    Ok(0)
}

/// Creates the redactor that removes likely secrets from the output.
fn create_redactor() -> Result<Redactor, CommandFailure> {
    Redactor::new(&[])
        .map_err(|error| CommandFailure::new(UNEXPECTED, format!("failed to {error}")))
}

/// Returns the take that the key names and, unless all of it is shown, the take that it continues.
fn pick_take(
    file: &RecordingLocation,
    recording: &Recording,
    key: Option<&str>,
    is_full: bool,
) -> Result<(TakeRow, Option<ContinuedTake>), CommandFailure> {
    let contents = RecordingContents::from_recording(recording)?;
    let Choice { named, take } = choose_take("show", file, recording, &contents, key)?;
    let standing = take.checked_sub(1).and_then(|at| named.takes.get(at));
    let standing = standing.ok_or_else(|| no_such_take(file, named, take))?;
    let (name, place, takes) = (named.name.clone(), standing.place, named.takes.len());
    let entry = recording.read_entry(&place)?;
    let row = TakeRow::from_stored_entry(StoredEntry { name, take, entry, place }, takes);
    let earlier = if is_full { None } else { ContinuedTake::find_for_row(recording, &row)? };
    Ok((row, earlier))
}

/// Returns the error for the number of a take that a name does not have.
pub(super) fn no_such_take(
    file: &RecordingLocation,
    named: &ListedEntry,
    take: usize,
) -> CommandFailure {
    let takes = named.takes.len();
    let are = if takes == 1 { "is 1 take" } else { "are takes 1 to" };
    let count = if takes == 1 { String::new() } else { format!(" {takes}") };
    let key = named.name.take_key(take);
    let text = format!("there is no {key} in {}: there {are}{count} of it", file.display());
    CommandFailure::new(NO, terminal::printable_line(&text))
}

/// Returns the take that the key of a command's line names.
///
/// # Errors
/// A key that is not in the recording (1); one that matches several entries, or that is required and
/// missing (2).
pub(super) fn choose_take<'a>(
    command: &str,
    file: &RecordingLocation,
    recording: &Recording,
    contents: &'a RecordingContents,
    key: Option<&str>,
) -> Result<Choice<'a>, CommandFailure> {
    take_choice::choose(contents, key).map_err(|error| {
        let question = |key: &str, columns| key_question(recording, contents, key, columns);
        choice_failure(command, file, &error, question)
    })
}

/// Returns the beginning of what the take of a key asks, in at most this many columns.
fn key_question(
    recording: &Recording,
    contents: &RecordingContents,
    key: &str,
    columns: usize,
) -> Option<String> {
    let Choice { named, take } = take_choice::choose(contents, Some(key)).ok()?;
    let place = named.takes.get(take.checked_sub(1)?)?.place;
    ls::question_of(&recording.read_entry(&place).ok()?, columns)
}

/// Returns the error for a key that names no entry. `question` returns what a key asks, in at most
/// so many columns.
fn choice_failure(
    command: &str,
    file: &RecordingLocation,
    error: &NoChoice,
    question: impl Fn(&str, usize) -> Option<String>,
) -> CommandFailure {
    let shown = file.display();
    let (code, text, keys) = match error {
        NoChoice::Empty => {
            (NO, format!("{shown} is an empty recording: there is nothing to {command}"), &[][..])
        }
        NoChoice::Needed { keys } => {
            let count = keys.len();
            (USAGE, format!("{shown} holds {count} keys: say which one to {command}"), &keys[..])
        }
        NoChoice::Ambiguous { key, keys } => {
            (USAGE, format!("{key:?} means {} keys of {shown}: add digits", keys.len()), &keys[..])
        }
        NoChoice::Short { key } => (
            USAGE,
            format!(
                "{key:?} is not a step id of {shown}, and the beginning of a hash needs 4 digits"
            ),
            &[][..],
        ),
        NoChoice::Unknown { key, near } => {
            let what = if near.is_empty() { "" } else { "; near it" };
            (NO, format!("there is no {key:?} in {shown}{what}"), &near[..])
        }
    };
    let mut text = terminal::printable_line(&text).into_owned();
    let line = |key: &String| {
        format!(
            "  loomrec {command} {shown} {}",
            terminal::printable_line(&terminal::quote_word(key))
        )
    };
    let commands: Vec<String> = keys.iter().take(NAMED).map(line).collect();
    let widest = commands.iter().map(|command| terminal::column_count(command)).max().unwrap_or(0);
    let room = terminal::width().map_or(ls::QUESTION, |width| width.saturating_sub(widest + 4));
    for (command, key) in commands.iter().zip(keys) {
        let padding = terminal::padding(command, widest);
        text.push_str(&match question(key, room) {
            Some(asks) => format!("\n{command}{padding}  # {asks}"),
            None => format!("\n{command}"),
        });
    }
    if keys.len() > NAMED || keys.is_empty() {
        let more = keys.len().saturating_sub(NAMED);
        let more = if more > 0 { format!("{more} more: ") } else { String::new() };
        text.push_str(&format!("\n  {more}loomrec ls {shown} lists them"));
    }
    CommandFailure::new(code, text)
}

/// Returns the names of the request's headers that are not part of its key.
fn outside_key(row: &TakeRow, rules: &IdentityRules) -> Vec<String> {
    let call = row.call.as_ref();
    call.map(|call| row.entry.headers_outside_key(call, rules)).unwrap_or_default()
}

/// Formats the entry for programs: as in the file, with its key and position.
fn entry_json(row: &TakeRow, outside_key: &[String]) -> String {
    let mut out = Map::new();
    out.insert("key".into(), row.take_key().into());
    out.insert("take".into(), row.take.into());
    out.insert("takes".into(), row.takes.into());
    if !outside_key.is_empty() {
        out.insert("headers_not_in_key".into(), outside_key.into());
    }
    let personal: Vec<&str> = row.entry.run_values.personal_names().collect();
    if !personal.is_empty() {
        out.insert("personal_values".into(), personal.into());
    }
    if let Value::Object(entry) = row.entry.to_json() {
        for (name, value) in entry {
            // Unknown fields of the entry with one of these names are dropped.
            out.entry(name).or_insert(value);
        }
    }
    terminal::printable_json(&format!("{:#}\n", Value::Object(out))).into_owned()
}

#[cfg(test)]
#[path = "show/tests.rs"]
mod tests;
