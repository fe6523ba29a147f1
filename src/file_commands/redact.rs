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
use loomrec_recording::redact::{CallCredentials, Redactor};
use report::RedactReport;
use scanned_recording::ScannedRecording;

/// Runs the command.
///
/// # Errors
/// A pattern that is invalid (2); a recording that is missing, damaged or too new (4); one that
/// cannot be written, or that is being recorded into (5).
pub fn run(args: &RedactArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let redactor = serve_setup::create_redactor(&args.redact)?;
    let patterns = RecordedPatterns::from_patterns(&args.redact, &redactor);
    let mut reports = Vec::new();
    // All recordings are scanned before any is changed.
    let mut works = Vec::new();
    for path in &args.files {
        let recording = match args.apply {
            true => serve_setup::open_to_change(path, &output)?,
            false => serve_setup::open(path, &output)?,
        };
        works.push(ScannedRecording::from_recording(path, recording, &redactor, &patterns.kept)?);
    }
    for work in &works {
        let applied = args.apply && work.changes_something();
        if applied {
            work.write_redacted(&redactor)?;
        }
        reports.push(RedactReport::from_scan(work, applied));
    }
    patterns.secret.iter().for_each(|note| output.warning(note));
    serve_setup::ineffective_rules(&redactor).iter().for_each(|note| output.warning(note));
    match args.json {
        true => print(&terminal::printable_json(&format!("{:#}\n", report::to_json(&reports))))?,
        false => print(&report::format_reports(&reports, args))?,
    };
    Ok(if reports.iter().any(RedactReport::leaves_something) { NO } else { 0 })
}

/// The patterns of the command line.
struct RecordedPatterns {
    /// Those that the recordings get, so that later runs redact the same.
    kept: Vec<String>,
    /// Warnings about those that they do not get.
    secret: Vec<String>,
}

impl RecordedPatterns {
    /// Keeps the patterns, except those that hold what they redact.
    fn from_patterns(patterns: &[String], redactor: &Redactor) -> Self {
        let none = CallCredentials::default();
        let is_secret = |pattern: &&String| {
            let plain = pattern.replace(['\\', '^', '$'], "");
            [pattern.as_str(), &plain].iter().any(|text| redactor.redact_text(text, &none) != *text)
        };
        let (secret, kept): (Vec<_>, Vec<_>) = patterns.iter().partition(is_secret);
        let note = |pattern: &String| {
            format!(
                "--redact {pattern}: the pattern itself holds what it removes, so it is not written \
                 into the recording: record and replay need it, too"
            )
        };
        Self {
            kept: kept.into_iter().cloned().collect(),
            secret: secret.into_iter().map(note).collect(),
        }
    }
}
