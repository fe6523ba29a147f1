//! The report on one recording or file: its problems, and what was repaired.

use std::collections::BTreeSet;

use loomrec_cli::exit::{NO, RECORDING};
use loomrec_curation::verification::{Problem, Severity};
use loomrec_identity::IdentityRules;

/// One step of a repair.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MendStep {
    /// The key of the entry before the repair. `None` for the file as a whole.
    pub(super) key: Option<String>,
    /// What was done, in words.
    pub(super) what: String,
}

/// The problems of one recording or file.
#[derive(Debug, Default)]
pub(super) struct VerifyReport {
    /// The name of the recording for messages.
    pub(super) label: String,
    /// The number of entries.
    pub(super) entries: usize,
    /// The problems, in the order of the file.
    pub(super) problems: Vec<Problem>,
    /// The numbers of errors and warnings, including those that are not listed.
    pub(super) errors: usize,
    pub(super) warnings: usize,
    /// The number of notes.
    pub(super) notes: usize,
    /// Why it cannot be read as a recording at all.
    pub(super) unreadable: Option<String>,
    /// The steps of the repair.
    pub(super) mended: Vec<MendStep>,
    /// Why nothing could be repaired, and the exit code for that.
    pub(super) unmended: Option<(String, u8)>,
    /// How many entries and keys are not formatted as loomrec formats them.
    pub(super) foreign: usize,
    /// How many entries hold values that tell who recorded them, and the names of these.
    pub(super) personal: (usize, BTreeSet<&'static str>),
    /// Whether loomrec has written it.
    pub(super) loomrec: bool,
    /// The rules of its keys, if it states them.
    pub(super) rules: Option<IdentityRules>,
}

impl VerifyReport {
    /// Adds a problem, or only counts it if there are many already.
    pub(super) fn add(&mut self, problem: Problem) {
        /// The most problems that are listed for one recording.
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

    /// Adds the problems of a part, and counts those that the part does not list.
    pub(super) fn join(&mut self, part: Self) {
        let (errors, warnings) = (self.errors + part.errors, self.warnings + part.warnings);
        let notes = self.notes + part.notes;
        part.problems.into_iter().for_each(|problem| self.add(problem));
        (self.errors, self.warnings, self.notes) = (errors, warnings, notes);
        self.foreign += part.foreign;
        self.personal.0 += part.personal.0;
        self.personal.1.extend(part.personal.1);
    }

    /// Adds the names of the values of one entry that tell who recorded it.
    pub(super) fn add_personal(&mut self, names: &[&'static str]) {
        self.personal.0 += usize::from(!names.is_empty());
        self.personal.1.extend(names);
    }

    pub(super) fn be_strict(&mut self) {
        let wrong = |problem: &&mut Problem| problem.severity != Severity::Note;
        for problem in self.problems.iter_mut().filter(wrong) {
            problem.severity = Severity::Error;
        }
        self.errors += std::mem::take(&mut self.warnings);
    }

    pub(super) fn exit_code(&self) -> u8 {
        let unmended = self.unmended.as_ref().map_or(0, |(_, code)| *code);
        let found = match (&self.unreadable, self.errors) {
            (Some(_), _) => RECORDING,
            (None, 0) => 0,
            (None, _) => NO,
        };
        found.max(unmended)
    }
}
