//! The `loomrec redact` command: removes credentials, and what rules match, from existing
//! recordings.
//!
//! Each entry is scanned, and only the decision about it is kept in memory. Entries that change are
//! read and redacted again when they are written.

mod report;
mod scanned_recording;

use super::args::{LogFormat, RedactArgs};
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::output::{Output, print};
use loomrec_cli::{serve_setup, terminal};
use loomrec_recording::redact::Redactor;
use report::RedactReport;
use scanned_recording::ScannedRecording;

/// Runs the command.
///
/// # Errors
/// A pattern that is invalid (2); a recording that is missing, damaged or too new (4); one that
/// cannot be written, or that is being recorded into (5).
pub fn run(args: &RedactArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let redactor = Redactor::new(&args.redact)
        .map_err(|error| CommandFailure::usage(format!("--redact: failed to {error}")))?;
    let mut reports = Vec::new();
    // All recordings are scanned before any is changed.
    let mut works = Vec::new();
    for path in &args.files {
        let recording = match args.apply {
            true => serve_setup::open_to_change(path, &output)?,
            false => serve_setup::open(path, &output)?,
        };
        works.push(ScannedRecording::of(path, recording, &redactor)?);
    }
    for work in &works {
        let applied = args.apply && work.changes_something();
        if applied {
            work.apply(&redactor)?;
        }
        reports.push(RedactReport::of(work, applied));
    }
    serve_setup::ineffective_rules(&redactor).iter().for_each(|note| output.warning(note));
    match args.json {
        true => print(&terminal::json(&format!("{:#}\n", report::to_json(&reports))))?,
        false => print(&report::text(&reports, args))?,
    };
    Ok(if reports.iter().any(RedactReport::leaves_something) { NO } else { 0 })
}
