//! `loomrec verify`: everything that is wrong with recordings, and what to do about it.

mod file;
mod fix;
mod folder;
mod human;
mod json;
mod recording;

use std::io;
use std::path::Path;

use super::args::VerifyArgs;
use super::exit::{CommandFailure, NO, RECORDING, UNEXPECTED};
use super::output;
use crate::identity::IdentityRules;
use crate::verification::{EntryChecker, Problem, Severity};

/// Runs the command.
///
/// # Errors
/// A stdout that cannot be written. What is wrong with a file is a result.
pub(super) fn run(args: &VerifyArgs) -> Result<u8, CommandFailure> {
    let checker = EntryChecker::new(None)
        .map_err(|error| CommandFailure::new(UNEXPECTED, format!("failed to {error}")))?;
    let mut code = 0;
    let mut json = json::VerifyDocument::default();
    for path in &args.files {
        let mut report = check(path, args, &checker);
        if args.strict {
            report.be_strict();
        }
        code = code.max(report.code());
        let text = if args.json { json.file(&report) } else { human::file(&report, args.quiet) };
        write(&text)?;
    }
    if args.json {
        write(&json.end(code))?;
    }
    Ok(code)
}

fn write(text: &str) -> Result<(), CommandFailure> {
    let unwritten = |error: io::Error| {
        CommandFailure::new(UNEXPECTED, format!("failed to write to stdout: {error}"))
    };
    output::stdout(text).map_err(unwritten)
}

/// Looks at one file; with `--fix`, before and behind mending it.
fn check(path: &Path, args: &VerifyArgs, checker: &EntryChecker) -> Report {
    let before = recording::verify(path, checker);
    if !args.fix || before.unreadable.is_some() {
        return before;
    }
    let outcome = fix::fix(path, &before, checker, args.rehash);
    match outcome {
        Ok(fixed) if fixed.done.is_empty() => before,
        Ok(fixed) => {
            let mut report = Report { mended: fixed.done, ..recording::verify(path, checker) };
            fixed.lost.into_iter().for_each(|problem| report.add(problem));
            report
        }
        Err(failure) => {
            let unmended = format!("nothing was mended: {}", failure.message);
            Report { unmended: Some((unmended, failure.code)), ..before }
        }
    }
}

/// What was done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Done {
    /// The entry, as it was called; `None` for the file as a whole.
    key: Option<String>,
    /// What was done, in words.
    what: String,
}

/// What was found in one file.
#[derive(Debug, Default)]
struct Report {
    /// Its name for people.
    label: String,
    /// How many entries it has.
    entries: usize,
    /// What is wrong, in the file's order.
    problems: Vec<Problem>,
    /// How many errors and warnings there are, those that are not among them too.
    errors: usize,
    warnings: usize,
    /// How many notes.
    notes: usize,
    /// Why it cannot be read as a recording at all.
    unreadable: Option<String>,
    /// What was mended.
    mended: Vec<Done>,
    /// Why nothing could be mended, and the exit code of that.
    unmended: Option<(String, u8)>,
    /// How many entries and keys are not written as loomrec writes them.
    foreign: usize,
    /// Whether loomrec has written it.
    loomrec: bool,
    /// The rules its keys were made under, where it says them.
    rules: Option<IdentityRules>,
}

impl Report {
    /// Adds a problem, or counts it where there are many already.
    fn add(&mut self, problem: Problem) {
        /// So many are told of one file.
        const MOST: usize = 10_000;
        match problem.severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => self.notes += 1,
        }
        if self.problems.len() < MOST {
            self.problems.push(problem);
        }
    }

    /// Adds the problems of a part, and counts those that it does not tell.
    fn join(&mut self, part: Self) {
        let (errors, warnings) = (self.errors + part.errors, self.warnings + part.warnings);
        let notes = self.notes + part.notes;
        part.problems.into_iter().for_each(|problem| self.add(problem));
        (self.errors, self.warnings, self.notes) = (errors, warnings, notes);
        self.foreign += part.foreign;
    }

    fn be_strict(&mut self) {
        let wrong = |problem: &&mut Problem| problem.severity != Severity::Note;
        for problem in self.problems.iter_mut().filter(wrong) {
            problem.severity = Severity::Error;
        }
        self.errors += std::mem::take(&mut self.warnings);
    }

    fn code(&self) -> u8 {
        let unmended = self.unmended.as_ref().map_or(0, |(_, code)| *code);
        let found = match (&self.unreadable, self.errors) {
            (Some(_), _) => RECORDING,
            (None, 0) => 0,
            (None, _) => NO,
        };
        found.max(unmended)
    }
}
