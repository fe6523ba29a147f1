//! Verification of recordings: their shape, their hashes, the summaries of their entries, and
//! content that must not be in them.
//!
//! A [`FileLayout`] is built from a whole file, and [`check_entry`] checks the text of one entry.
//! Both report [`Problem`]s. [`mend_entry`] makes the repairs of an entry that are mechanical. It
//! never guesses, and a second [`check_entry`] does not report what it has repaired.

mod answer;
mod entry;
mod entry_place;
mod field;
mod header;
mod layout;
mod pointer_place;
mod repair;
mod response_end;
mod secret;

pub use entry::{CheckedEntry, EntryChecker, check_entry};
pub use entry_place::{EntryPlace, EntryPlaces};
pub use layout::{FileLayout, LayoutReader};
pub use repair::{MendedEntry, mend_entry};

use std::borrow::Cow;

/// The severity of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Not a problem: something that the file declares and a replay follows.
    Note,
    /// Worth a look. The recording can be used as it is.
    Warning,
    /// The recording is inconsistent, or holds what it must not hold.
    Error,
}

impl Severity {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The subject of a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The version, the format or the rules of the file.
    Format,
    /// A value of the wrong type.
    Shape,
    /// A duplicate key.
    Duplicate,
    /// A key that is not the hash of its entry, or takes that are not numbered consecutively.
    Key,
    /// A request that does not hash to what its entry says.
    Hash,
    /// Settings that affect a replay apart from the recorded requests: rules, repeated takes.
    Rules,
    /// An entry that answers calls which cannot be checked against a request.
    Unchecked,
    /// A summary that differs from the recorded answer.
    Answer,
    /// Chunks with decreasing times, and impossible times.
    Time,
    /// A response header that a replay does not send.
    Header,
    /// An incomplete answer.
    End,
    /// An answer under a good status that is no success.
    Failed,
    /// An answer that was edited by hand.
    Edited,
    /// A declared fault that cannot be read.
    Fault,
    /// A credential of a known shape.
    Secret,
    /// Values that tell who recorded a call, and on which machine.
    Personal,
    /// An unknown field.
    Field,
    /// A text that is not written as loomrec writes it.
    Spelling,
    /// A file that was left next to the recording.
    Leftover,
}

impl ProblemKind {
    /// Returns its name, in lower case.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Shape => "shape",
            Self::Duplicate => "duplicate",
            Self::Key => "key",
            Self::Hash => "hash",
            Self::Rules => "rules",
            Self::Unchecked => "unchecked",
            Self::Answer => "answer",
            Self::Time => "time",
            Self::Header => "header",
            Self::End => "end",
            Self::Failed => "failed",
            Self::Edited => "edited",
            Self::Fault => "fault",
            Self::Secret => "secret",
            Self::Personal => "personal",
            Self::Field => "field",
            Self::Spelling => "spelling",
            Self::Leftover => "leftover",
        }
    }
}

/// A problem of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The subject of the problem.
    pub kind: ProblemKind,
    /// Its severity.
    pub severity: Severity,
    /// The label of its entry (`plan`, `plan#2`, `HASH`); `None` for the file as a whole.
    pub key: Option<String>,
    /// Its place: a JSON pointer from the root of the entry, or from the root of the file if it is
    /// in no entry. Empty for the whole.
    pub pointer: String,
    /// The line in the file, counted from 1, if it is known.
    pub line: Option<usize>,
    /// What is wrong. Never contains a secret.
    pub text: String,
    /// How to solve it.
    pub remedy: Cow<'static, str>,
    /// Whether [`mend_entry`], or a compaction, repairs it.
    pub mendable: bool,
}

impl Problem {
    /// Returns a problem of the file as a whole.
    pub fn of_file(kind: ProblemKind, severity: Severity, text: impl Into<String>) -> Self {
        Self {
            kind,
            severity,
            key: None,
            pointer: String::new(),
            line: None,
            text: text.into(),
            remedy: Cow::Borrowed(""),
            mendable: false,
        }
    }

    /// Returns the problem with a remedy.
    pub fn with_remedy(self, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// Returns the problem with a place.
    pub fn with_place(self, pointer: impl Into<String>, line: Option<usize>) -> Self {
        Self { pointer: pointer.into(), line, ..self }
    }

    /// Returns the problem for this entry.
    pub fn with_key(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// Returns the problem, marked as repairable without guessing.
    pub fn mark_mendable(self) -> Self {
        Self { mendable: true, ..self }
    }
}

#[cfg(test)]
mod tests;
