//! The `loomrec verify` command: everything that is wrong with recordings, and what to do about it.

mod file;
mod fix;
mod human;
mod json;
mod recording;
mod verify_report;

use super::args::{VerifyArgs, VerifyFix};
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output::print;
use loomrec_curation::verification::EntryChecker;
use loomrec_store::RecordingLocation;
use verify_report::VerifyReport;

/// Runs the command.
///
/// # Errors
/// A stdout that cannot be written. Problems of a file are a result, not an error.
pub fn run(args: &VerifyArgs) -> Result<u8, CommandFailure> {
    let checker = EntryChecker::new(None)
        .map_err(|error| CommandFailure::new(UNEXPECTED, format!("failed to {error}")))?;
    let mut code = 0;
    let mut json = json::VerifyDocument::default();
    for path in &args.files {
        let mut report = check_file(path, args, &checker);
        if args.strict {
            report.be_strict();
        }
        code = code.max(report.exit_code());
        let text = if args.json {
            json.file_text(&report)
        } else {
            human::format_report(&report, args.quiet)
        };
        print(&text)?;
    }
    if args.json {
        print(&json.closing_text(code))?;
    }
    Ok(code)
}

/// Checks one file. With `--fix`, checks it before and after the repair.
fn check_file(path: &RecordingLocation, args: &VerifyArgs, checker: &EntryChecker) -> VerifyReport {
    let before = recording::verify(path, checker);
    let Some(what) = args.fix else { return before };
    // What is in an object store was restored there.
    if before.unreadable.is_some() || path.remote_origin().is_some() {
        return before;
    }
    let outcome = fix::fix(path, &before, checker, what == VerifyFix::Rehash);
    match outcome {
        Ok(fixed) if fixed.done.is_empty() => before,
        Ok(fixed) => {
            let mut report =
                VerifyReport { mended: fixed.done, ..recording::verify(path, checker) };
            fixed.lost.into_iter().for_each(|problem| report.add(problem));
            report
        }
        Err(failure) => {
            let unmended = format!("nothing was fixed: {}", failure.message);
            VerifyReport { unmended: Some((unmended, failure.code)), ..before }
        }
    }
}
