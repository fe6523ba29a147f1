//! Whether a recording is what it says it is: its shape, its hashes, what its entries
//! sum up, and what must not stand in it.
//!
//! A [`FileLayout`] is made of a file as a whole, [`check`] at one entry's text; both give
//! [`Problem`]s. [`mend`] is an entry with what is mechanical put right: it never
//! guesses, and a second [`check`] says nothing more of what it has mended.

mod answer;
mod entropy;
mod entry;
mod entry_place;
mod field;
mod header;
mod layout;
mod pointer_place;
mod repair;
mod response_end;
mod secret;

pub use entry::{CheckedEntry, EntryChecker, check};
pub use entry_place::{EntryPlace, EntryPlaces};
pub use layout::LayoutReader;
pub use layout::{FileLayout, gaps};
pub use repair::{MendedEntry, mend};

use std::borrow::Cow;

/// How bad a problem is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// What the file declares, and a replay goes by: nothing is wrong with it.
    Note,
    /// Worth a look; the recording can be used as it is.
    Warning,
    /// The recording is not what it says it is, or holds what it must not.
    Error,
}

impl Severity {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// What a problem is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The version, the format or the rules of the file.
    Format,
    /// A value of the wrong type.
    Shape,
    /// A key that stands there twice.
    Duplicate,
    /// A key that is not the hash of its entry, or takes that are not numbered in turn.
    Key,
    /// A request that does not hash to what its entry says.
    Hash,
    /// What a replay goes by beside the recorded requests: rules, repeated takes.
    Rules,
    /// An entry that answers calls which cannot be checked against a request.
    Unchecked,
    /// A summary that says something else than the recorded answer.
    Answer,
    /// Chunks whose times fall, and times that cannot be.
    Time,
    /// A response header that no replay sends.
    Header,
    /// An answer that did not come to its end.
    End,
    /// A declared fault that cannot be read.
    Fault,
    /// A credential of a known shape.
    Secret,
    /// A text that looks like a credential.
    Entropy,
    /// A field that nobody knows.
    Field,
    /// A text that is not written as loomrec writes it.
    Spelling,
    /// A file that was left beside the recording.
    Leftover,
    /// A file in a recording's folder that is not called as its key is.
    Name,
}

impl ProblemKind {
    /// Its name, in lower case.
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
            Self::Fault => "fault",
            Self::Secret => "secret",
            Self::Entropy => "entropy",
            Self::Field => "field",
            Self::Spelling => "spelling",
            Self::Leftover => "leftover",
            Self::Name => "name",
        }
    }
}

/// Something that is wrong with a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What it is about.
    pub kind: ProblemKind,
    /// How bad it is.
    pub severity: Severity,
    /// The file it is in, where the recording is a folder of them.
    pub file: Option<String>,
    /// The entry it is in, as people call it (`plan`, `plan#2`, `HASH`); `None` for the
    /// file as a whole.
    pub key: Option<String>,
    /// Where: a JSON pointer from the entry's own root, or from the file's where it is
    /// in no entry; empty for the whole.
    pub pointer: String,
    /// The line in the file, counted from 1, where it is known.
    pub line: Option<usize>,
    /// What is wrong; never a secret.
    pub text: String,
    /// What helps.
    pub remedy: Cow<'static, str>,
    /// Whether [`mend`], or a compaction, puts it right.
    pub mendable: bool,
}

impl Problem {
    /// A problem of the file as a whole.
    pub fn of_file(kind: ProblemKind, severity: Severity, text: impl Into<String>) -> Self {
        Self {
            kind,
            severity,
            file: None,
            key: None,
            pointer: String::new(),
            line: None,
            text: text.into(),
            remedy: Cow::Borrowed(""),
            mendable: false,
        }
    }

    /// The same, with what helps.
    pub fn helped(self, remedy: impl Into<Cow<'static, str>>) -> Self {
        Self { remedy: remedy.into(), ..self }
    }

    /// The same, at a place.
    pub fn at(self, pointer: impl Into<String>, line: Option<usize>) -> Self {
        Self { pointer: pointer.into(), line, ..self }
    }

    /// The same, in this entry.
    pub fn within(self, key: impl Into<String>) -> Self {
        Self { key: Some(key.into()), ..self }
    }

    /// The same, in this file of the recording's folder.
    pub fn in_file(self, file: impl Into<String>) -> Self {
        Self { file: Some(file.into()), ..self }
    }

    /// The same, and it can be put right without a guess.
    pub fn mendable(self) -> Self {
        Self { mendable: true, ..self }
    }
}

#[cfg(test)]
mod tests;
