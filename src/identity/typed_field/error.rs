//! Why a field cannot be read, in typed parts, so that the caller can write a message of its own.

use crate::spelling::nearest_name;

/// Why a field cannot be read. Messages read after the name of the object that holds it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}{}{problem}", if place.is_empty() { "" } else { ": " })]
pub struct FieldError {
    /// The place: a pointer or a path from the root of what was read; empty for the root itself.
    pub place: String,
    /// The problem there.
    pub problem: FieldProblem,
}

/// The problem with a field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FieldProblem {
    /// The field is absent, of the wrong type or out of range.
    #[error("expected {expected}, not {found}")]
    Unexpected {
        /// What was expected.
        expected: String,
        /// What was found, in words.
        found: String,
    },
    /// The object cannot have a field of this name.
    #[error("unknown field of {owner}, {}{hint}", quoted_text(name))]
    UnknownField {
        /// The object, in words.
        owner: String,
        /// The field.
        name: String,
        /// The suggested field, and all known ones, in words.
        hint: String,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl FieldError {
    /// An error at `place`, in words.
    pub fn from_reason(place: impl Into<String>, why: impl Into<String>) -> Self {
        Self { place: place.into(), problem: FieldProblem::Other(why.into()) }
    }

    /// An error for a value at `place` that is not as expected.
    pub fn unexpected(place: impl Into<String>, expected: &str, found: impl Into<String>) -> Self {
        let (expected, found) = (expected.to_owned(), found.into());
        Self { place: place.into(), problem: FieldProblem::Unexpected { expected, found } }
    }

    /// An error for a field at `place` that is not among `known`, the fields of `owner`.
    pub fn unknown_field(place: String, owner: &str, name: &str, known: &[&str]) -> Self {
        let (owner, name, hint) =
            (owner.to_owned(), name.to_owned(), known_names_hint(name, known));
        Self { place, problem: FieldProblem::UnknownField { owner, name, hint } }
    }

    /// An error for a word at `place` that is not among `known`; `what` says what it should name.
    pub fn unknown_word(place: impl Into<String>, what: &str, word: &str, known: &[&str]) -> Self {
        Self::from_reason(
            place,
            format!("unknown {what} {}{}", quoted_text(word), known_names_hint(word, known)),
        )
    }

    /// The same error, with `place` prepended to its place.
    #[must_use]
    pub fn under(mut self, place: &str) -> Self {
        self.place.insert_str(0, place);
        self
    }
}

impl FieldProblem {
    /// The problem in words that follow the field's name: `must be a list, but is null`.
    pub fn requirement(&self) -> String {
        match self {
            Self::Unexpected { expected, found } => format!("must be {expected}, but is {found}"),
            Self::UnknownField { owner, hint, .. } => format!("is not a field of {owner}{hint}"),
            Self::Other(why) => format!("is refused: {why}"),
        }
    }
}

/// The suggested name, and all known ones.
fn known_names_hint(written: &str, known: &[&str]) -> String {
    let written = written.to_ascii_lowercase().replace('-', "_");
    let near = nearest_name(&written, known).or_else(|| with_part(&written, known));
    let meant = near.map_or_else(String::new, |near| format!(", did you mean {near:?}?"));
    match known {
        [] => format!("{meant}; none is known"),
        known => format!("{meant}; there are: {}", known.join(", ")),
    }
}

/// Returns the only known name of which a word is a part: `connection_reset` for `reset`.
fn with_part<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    let mut found = known.iter().filter(|name| name.split('_').any(|part| part == word));
    found.next().filter(|_| found.next().is_none()).copied()
}

/// A text in a message, cut if it is long.
pub fn quoted_text(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
