//! One field of a recorded entry: reads it as the type it must have, or says
//! where it stands, what was expected and what was found.

use serde_json::{Map, Number, Value};

/// A field of an entry that has the wrong type or an impossible value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{pointer} must be {expected}, but is {found}")]
pub struct EntryError {
    /// Where: a JSON pointer from the entry's own root.
    pub pointer: String,
    /// What would have been right.
    pub expected: &'static str,
    /// What stands there, in words; never the value itself, which may be long or
    /// secret.
    pub found: String,
}

/// An object inside an entry, and the pointer that leads to it.
#[derive(Clone, Copy)]
pub(super) struct EntryFields<'a> {
    map: &'a Map<String, Value>,
    at: &'a str,
}

impl<'a> EntryFields<'a> {
    pub(super) fn new(map: &'a Map<String, Value>, at: &'a str) -> Self {
        Self { map, at }
    }

    /// The value as an object's fields, or an error naming `at`.
    pub(super) fn of(value: &'a Value, at: &'a str) -> Result<Self, EntryError> {
        match value {
            Value::Object(map) => Ok(Self { map, at }),
            other => Err(wrong(at.to_owned(), "an object", other)),
        }
    }

    /// The field, where it is there at all; `null` counts.
    pub(super) fn present(self, name: &str) -> Option<&'a Value> {
        self.map.get(name)
    }

    /// The field, where it is there and not `null`.
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn pointer(self, name: &str) -> String {
        format!("{}/{name}", self.at)
    }

    pub(super) fn fail(self, name: &str, expected: &'static str) -> EntryError {
        match self.map.get(name) {
            Some(value) => wrong(self.pointer(name), expected, value),
            None => {
                EntryError { pointer: self.pointer(name), expected, found: "missing".to_owned() }
            }
        }
    }

    /// The error for a string that is none of those expected.
    pub(super) fn other_word(self, name: &str, expected: &'static str) -> EntryError {
        EntryError { pointer: self.pointer(name), expected, found: "another string".to_owned() }
    }

    pub(super) fn text(self, name: &str) -> Result<Option<String>, EntryError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.fail(name, "a string")),
        }
    }

    pub(super) fn number(self, name: &str) -> Result<Option<f64>, EntryError> {
        match self.get(name) {
            None => Ok(None),
            Some(value) => match value.as_f64().filter(|number| number.is_finite()) {
                Some(number) => Ok(Some(number)),
                None => Err(self.fail(name, "a number")),
            },
        }
    }

    pub(super) fn list(self, name: &str) -> Result<&'a [Value], EntryError> {
        match self.get(name) {
            None => Ok(&[]),
            Some(Value::Array(items)) => Ok(items),
            Some(_) => Err(self.fail(name, "a list")),
        }
    }
}

/// The error for a value of the wrong type.
pub(super) fn wrong(pointer: String, expected: &'static str, found: &Value) -> EntryError {
    EntryError { pointer, expected, found: describe(found) }
}

/// What a value is, in words, without its content.
pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "a boolean".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::String(_) => "a string".to_owned(),
        Value::Array(_) => "an array".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}

/// Milliseconds as they are written: rounded to a tenth.
pub(super) fn milliseconds(ms: f64) -> Value {
    decimal(rounded(ms))
}

/// Milliseconds as the file gives them back.
pub(super) fn rounded(ms: f64) -> f64 {
    finite((ms * 10.0).round() / 10.0)
}

/// A float as the file gives it back: 0.0 where it is not finite, since a
/// recording holds no NaN; negative zero would read as a change from run to run.
pub(super) fn finite(number: f64) -> f64 {
    if number == 0.0 || !number.is_finite() { 0.0 } else { number }
}

/// A float as a JSON number, such as [`finite`] makes it.
pub(super) fn decimal(number: f64) -> Value {
    Number::from_f64(finite(number)).map_or(Value::Null, Value::Number)
}
