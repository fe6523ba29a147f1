//! Why something said of faults cannot be: where it stands, what was found, what was
//! expected, and the word that may have been meant.

use std::fmt::{self, Display};

use serde_json::Value;

use loomrec_identity::spelling::nearest;

/// A fault, a rule or a rate that is none. Messages read after the name of what holds
/// it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{why}", Place(pointer))]
pub struct FaultError {
    /// Where: a JSON pointer from the root of what was read; empty for the whole.
    pub pointer: String,
    /// What was found there and what was expected.
    pub why: String,
}

struct Place<'a>(&'a str);

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            "" => Ok(()),
            pointer => write!(f, "{pointer}: "),
        }
    }
}

impl FaultError {
    /// Something wrong at `pointer`.
    pub(super) fn at(pointer: impl Into<String>, why: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), why: why.into() }
    }

    /// The same, told from what stands around it: `pointer` leads there.
    pub fn under(mut self, pointer: &str) -> Self {
        self.pointer.insert_str(0, pointer);
        self
    }
}

/// A member of an object, as part of a pointer.
pub(super) fn token(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// That a word is none of those there are, with the one that may have been meant.
pub(super) fn unknown(what: &str, found: &str, known: &[&str]) -> String {
    let list = match known {
        [] => "there is none".to_owned(),
        known => format!("there are: {}", known.join(", ")),
    };
    format!("unknown {what} {}{}; {list}", quoted(found), hint(found, known))
}

/// A hint to the word that was meant.
fn hint(found: &str, known: &[&str]) -> String {
    let written = found.to_ascii_lowercase().replace('-', "_");
    nearest(&written, known).map_or_else(String::new, |near| format!(", did you mean {near:?}?"))
}

/// A value in a message: itself where it is short, else what it is.
pub(super) fn told(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if number.to_string().len() <= 40 => number.to_string(),
        Value::Number(_) => "a number of many digits".to_owned(),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// A text in a message, cut where it is long.
pub(super) fn quoted(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{:?}…", &text[..end]),
        None => format!("{text:?}"),
    }
}
