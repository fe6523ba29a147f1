//! The missed requests of all recordings in a folder, as a test framework keeps one for each test: they
//! are planned and confirmed together, and sent one recording after the other.

use std::path::Path;

use super::collect::CollectedCalls;
use super::confirmation::confirm;
use super::origin::OriginFiles;
use super::recording_run::RerecordRun;
use crate::args::RerecordArgs;
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::output::{Output, print};
use loomrec_cli::terminal::{self, quote_word};
use loomrec_cli::waiting_recordings::{WAITING, find_below};
use loomrec_store::RecordingLocation;

/// Sends what replays of the recordings in a folder have missed.
///
/// # Errors
/// A flag that is for one recording; a file that cannot be used. Nothing is sent then.
pub(super) async fn run(
    args: &RerecordArgs,
    folder: &RecordingLocation,
    output: &Output,
) -> Result<u8, CommandFailure> {
    refuse_flags(args, folder)?;
    let mut runs = Vec::new();
    for file in find_below(folder.as_path(), &WAITING[1..], output)? {
        let run = RerecordRun::prepare(args, OriginFiles::kept_beside(file), output)?;
        runs.push(run);
    }
    if runs.is_empty() {
        output.info(&format!(
            "no requests that a replay has missed are kept in {}",
            quoted_folder(folder)
        ));
        return Ok(0);
    }
    let mut all = CollectedCalls::default();
    runs.iter().for_each(|run| all.add_plan(&run.collected));
    let total = runs.iter().map(|run| run.total).sum();
    let is_sendable = runs.iter().all(|run| run.collected.unsendable.is_empty());
    let mut code = if is_sendable { 0 } else { NO };
    if args.dry_run {
        print(&all.dry_run_text())?;
        return Ok(code);
    }
    if total > 0 {
        confirm(args, &all, total, output)?;
    }
    for run in &mut runs {
        if run.total == 0 {
            code = code.max(run.show_plan(args, output)?);
            continue;
        }
        let end = run.send_all(args, output).await?;
        code = code.max(end.code);
        if end.is_stopped {
            break;
        }
    }
    output.info(&format!("all of them: loomrec review {}", quoted_folder(folder)));
    Ok(code)
}

/// Refuses flags that are for one recording.
fn refuse_flags(args: &RerecordArgs, folder: &RecordingLocation) -> Result<(), CommandFailure> {
    let is_kept = args.pending.as_ref().is_some_and(Option::is_none);
    let given = [
        ("KEY", !args.keys.is_empty()),
        ("--output", args.output.is_some()),
        ("--pending FILE", args.pending.is_some() && !is_kept),
        ("--drifted", args.drifted.is_some()),
        ("--json", args.json),
    ];
    if let Some((flag, _)) = given.into_iter().find(|(_, is_given)| *is_given) {
        let text =
            format!("{flag} is for one recording: name a file, not {}", quoted_folder(folder));
        return Err(CommandFailure::usage(text));
    }
    match is_kept {
        true => Ok(()),
        false => Err(CommandFailure::usage(format!(
            "{folder} is a folder: `loomrec rerecord {folder} --pending` sends what replays of its \
             recordings have missed",
            folder = quoted_folder(folder)
        ))),
    }
}

fn quoted_folder(folder: &RecordingLocation) -> String {
    let folder: &Path = folder.as_path();
    terminal::printable_line(&quote_word(&folder.display().to_string())).into_owned()
}
