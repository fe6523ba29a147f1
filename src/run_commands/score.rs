//! `loomrec journal --recovery`: how well the program recovered from the faults in a journal, or in
//! marks of one's own, and whether that is within a budget.

pub(super) mod journal;
mod junit;
mod marks;
mod scored_faults;

use std::fmt::Display;
use std::path::Path;

use super::args::{JournalArgs, LogFormat};
use super::script;
use loomrec_cli::amount::format_count;
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::output::{Output, print};
use loomrec_cli::output_target::resolve_path;
use loomrec_cli::terminal;
use loomrec_dialect::suite::read_plan;
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_script as scripts;

use journal::Incident;
pub(super) use junit::write_junit;
use marks::ScoredInput;
pub(super) use scored_faults::ScoredFaults;

/// The most bytes of a budget.
const LARGEST_BUDGET: u64 = 1 << 20;

/// Runs the command. Returns 1 if the budget was missed.
///
/// # Errors
/// A budget that is invalid; a journal that cannot be read, or is not a journal; a result that
/// cannot be written.
pub fn run(args: &JournalArgs) -> Result<u8, CommandFailure> {
    let [journal] = args.files.as_slice() else {
        return Err(CommandFailure::usage("--recovery judges one journal: name just that one"));
    };
    let given = args.recovery.as_ref().and_then(Option::as_deref);
    let budget = given.map(recovery_budget).transpose()?;
    let file = given.and_then(budget_file);
    for taken in [Some(journal.as_path()), file].into_iter().flatten() {
        if args.junit.as_ref().is_some_and(|junit| resolve_path(junit) == resolve_path(taken)) {
            let name = taken.display();
            return Err(CommandFailure::usage(format!(
                "--junit would write over {name}: name another"
            )));
        }
    }
    let incidents = read_incidents(journal)?;
    let judged = ScoredFaults::from_incidents(incidents, budget.as_ref())
        .permitting_none(args.allow_unfired);
    if let Some(path) = &args.junit {
        write_junit(&judged, path)?;
    }
    print(&match args.json {
        true => terminal::printable_json(&format!("{:#}\n", judged.to_json())).into_owned(),
        false => judged.to_text(terminal::width()),
    })?;
    Ok(if judged.has_passed() { 0 } else { NO })
}

/// Reads the faults of a journal or of marks, and warns of what is left out.
fn read_incidents(path: &Path) -> Result<Vec<Incident>, CommandFailure> {
    let reading = match marks::read(path)? {
        ScoredInput::Marks(incidents) => return Ok(incidents),
        ScoredInput::Lines(reading) => reading,
        ScoredInput::Journal => journal::read(path)?,
    };
    let output = Output::new(LogFormat::Human, false, false);
    if reading.is_cut() {
        output.warning(&format!(
            "the last line of {} is cut off, and left out: the run did not end well",
            path.display()
        ));
    }
    let found = reading.finish();
    if found.strays > 0 {
        let lines = format_count(found.strays, "line");
        output.warning(&format!("{lines} left out: no call in this journal got that fault"));
    }
    if found.unfired > 0 {
        let faults = format_count(found.unfired, "fault");
        output.info(&format!("{faults} left out: planned for a call, but did not happen"));
    }
    Ok(found.incidents)
}

/// Reads `--recovery`: a budget on one line, or the file that holds it.
///
/// # Errors
/// A text that is not a budget; a file that cannot be read, or is not a budget.
pub(super) fn recovery_budget(text: &str) -> Result<RecoveryBudget, CommandFailure> {
    match budget_file(text) {
        Some(path) => read_budget(path),
        None => RecoveryBudget::parse(text)
            .map_err(|error| CommandFailure::usage(format!("--recovery {text}: {error}"))),
    }
}

/// Returns the file that a budget is in, by its extension.
fn budget_file(text: &str) -> Option<&Path> {
    let path = Path::new(text);
    let extension = path.extension()?.to_str()?;
    ["json", "yaml", "yml"].contains(&extension).then_some(path)
}

/// Reads a file as YAML if its extension says so, otherwise as JSON. The budget is the file itself, or
/// its member `recovery`.
fn read_budget(path: &Path) -> Result<RecoveryBudget, CommandFailure> {
    let wrong =
        |why: &dyn Display| CommandFailure::usage(format!("--recovery {}: {why}", path.display()));
    let text = loomrec_os::read_input(path, LARGEST_BUDGET).map_err(|error| wrong(&error))?;
    let value =
        scripts::parse_value(&text, script::file_notation(path)).map_err(|why| wrong(&why))?;
    // A suite, or its block `recovery` alone.
    let Some(block) = value.get("recovery") else {
        return RecoveryBudget::from_value(&value).map_err(|error| wrong(&error));
    };
    if value.as_object().is_some_and(|top| top.len() == 1) {
        let read = RecoveryBudget::from_value(block);
        return read.map_err(|error| wrong(&format_args!("/recovery: {error}")));
    }
    let plan = read_plan(&value).map_err(|error| wrong(&error))?;
    plan.recovery.ok_or_else(|| wrong(&"it has no budget"))
}

#[cfg(test)]
mod tests;
