//! What was found in one file, and what was mended there.

use crate::cli::exit::{NO, RECORDING};
use crate::identity::IdentityRules;
use crate::verification::{Problem, Severity};

/// What was done to a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MendStep {
    /// The entry, as it was called; `None` for the file as a whole.
    pub(super) key: Option<String>,
    /// What was done, in words.
    pub(super) what: String,
}

/// What was found in one file.
#[derive(Debug, Default)]
pub(super) struct VerifyReport {
    /// Its name for people.
    pub(super) label: String,
    /// How many entries it has.
    pub(super) entries: usize,
    /// What is wrong, in the file's order.
    pub(super) problems: Vec<Problem>,
    /// How many errors and warnings there are, those that are not among them too.
    pub(super) errors: usize,
    pub(super) warnings: usize,
    /// How many notes.
    pub(super) notes: usize,
    /// Why it cannot be read as a recording at all.
    pub(super) unreadable: Option<String>,
    /// What was mended.
    pub(super) mended: Vec<MendStep>,
    /// Why nothing could be mended, and the exit code of that.
    pub(super) unmended: Option<(String, u8)>,
    /// How many entries and keys are not written as loomrec writes them.
    pub(super) foreign: usize,
    /// Whether loomrec has written it.
    pub(super) loomrec: bool,
    /// The rules its keys were made under, where it says them.
    pub(super) rules: Option<IdentityRules>,
}

impl VerifyReport {
    /// Adds a problem, or counts it where there are many already.
    pub(super) fn add(&mut self, problem: Problem) {
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
    pub(super) fn join(&mut self, part: Self) {
        let (errors, warnings) = (self.errors + part.errors, self.warnings + part.warnings);
        let notes = self.notes + part.notes;
        part.problems.into_iter().for_each(|problem| self.add(problem));
        (self.errors, self.warnings, self.notes) = (errors, warnings, notes);
        self.foreign += part.foreign;
    }

    pub(super) fn be_strict(&mut self) {
        let wrong = |problem: &&mut Problem| problem.severity != Severity::Note;
        for problem in self.problems.iter_mut().filter(wrong) {
            problem.severity = Severity::Error;
        }
        self.errors += std::mem::take(&mut self.warnings);
    }

    pub(super) fn code(&self) -> u8 {
        let unmended = self.unmended.as_ref().map_or(0, |(_, code)| *code);
        let found = match (&self.unreadable, self.errors) {
            (Some(_), _) => RECORDING,
            (None, 0) => 0,
            (None, _) => NO,
        };
        found.max(unmended)
    }
}
