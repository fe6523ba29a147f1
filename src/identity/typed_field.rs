//! The reader of typed fields. It takes the fields of a JSON object as the types they must have, or
//! fails with the place of a field, what was expected and what was found.

mod error;

use std::ops::RangeInclusive;

use serde_json::{Map, Value};

use super::json_pointer::pointer_token;

pub use error::{FieldError, FieldProblem, quoted_text};

/// Integers up to here are exact as floats.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// How a reader names places, treats `null` and shows wrong values.
#[derive(Clone, Copy, Debug)]
pub struct FieldStyle {
    /// How an error names a place.
    pub place: PlaceForm,
    /// What `null` means.
    pub null: NullRule,
    /// How much of a wrong value an error shows.
    pub shown: ShownValue,
}

/// How an error names a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceForm {
    /// As a JSON pointer: `/long/input`.
    Pointer,
    /// As names with dots between them: `long.input`.
    Path,
}

/// What `null` means in a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NullRule {
    /// The field is absent.
    Absent,
    /// The field holds a value like any other.
    Value,
}

/// How much of a wrong value an error shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShownValue {
    /// Its kind alone, because the value may be long or secret.
    Never,
    /// A number itself; of anything else, its kind.
    Number,
    /// Any value that is short.
    Always,
}

/// A field's value; `None` if the field is absent, an error if it is not as expected.
pub type FieldResult<T> = Result<Option<T>, FieldError>;

/// The fields of an object, and the object's place.
#[derive(Clone, Copy, Debug)]
pub struct FieldReader<'a> {
    map: &'a Map<String, Value>,
    place: &'a str,
    style: FieldStyle,
}

impl<'a> FieldReader<'a> {
    /// The fields of `map`, whose place is `place`; an empty place is the root.
    pub fn new(map: &'a Map<String, Value>, place: &'a str, style: FieldStyle) -> Self {
        Self { map, place, style }
    }

    /// The fields of `value`, whose place is `place`.
    ///
    /// # Errors
    /// If the value is no object. `expected` says what it should be.
    pub fn from_value(
        value: &'a Value,
        place: &'a str,
        expected: &str,
        style: FieldStyle,
    ) -> Result<Self, FieldError> {
        let wrong = || FieldError::unexpected(place, expected, style.shown.describe(value));
        Ok(Self { map: value.as_object().ok_or_else(wrong)?, place, style })
    }

    /// The field's value, under the rule for `null`.
    pub fn get(self, name: &str) -> Option<&'a Value> {
        self.value_or_null(name)
            .filter(|value| self.style.null == NullRule::Value || !value.is_null())
    }

    /// The field's value, `null` included.
    pub fn value_or_null(self, name: &str) -> Option<&'a Value> {
        self.map.get(name)
    }

    /// The place of a field.
    pub fn field_place(self, name: &str) -> String {
        match self.style.place {
            PlaceForm::Pointer => format!("{}{}", self.place, pointer_token(name)),
            PlaceForm::Path if self.place.is_empty() => name.to_owned(),
            PlaceForm::Path => format!("{}.{name}", self.place),
        }
    }

    /// The error of a field that is not as expected.
    pub fn wrong_value(self, name: &str, expected: &str) -> FieldError {
        let found = self.value_or_null(name).map(|value| self.style.shown.describe(value));
        let found = found.unwrap_or_else(|| "missing".to_owned());
        FieldError::unexpected(self.field_place(name), expected, found)
    }

    /// The error of a string that is not as expected. It does not show the string.
    pub fn other_string(self, name: &str, expected: &str) -> FieldError {
        FieldError::unexpected(self.field_place(name), expected, "another string")
    }

    /// Refuses fields that are not among `known`, the fields of `owner`.
    ///
    /// # Errors
    /// The first such field, with a suggestion of a known one.
    pub fn refuse_unknown(self, owner: &str, known: &[&str]) -> Result<(), FieldError> {
        let stray = self.map.keys().find(|name| !known.contains(&name.as_str()));
        let refuse = |name| FieldError::unknown_field(self.field_place(name), owner, name, known);
        stray.map_or(Ok(()), |name| Err(refuse(name)))
    }

    /// Converts a field with `read`. If that returns `None`, the error says what was `expected`.
    pub fn read_with<T>(
        self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> FieldResult<T> {
        let Some(value) = self.get(name) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| self.wrong_value(name, expected))
    }

    /// A string.
    pub fn read_text(self, name: &str) -> FieldResult<String> {
        self.read_with(name, "a string", |value| value.as_str().map(str::to_owned))
    }

    /// A flag: `true` or `false`.
    pub fn read_flag(self, name: &str) -> FieldResult<bool> {
        self.read_with(name, "true or false", Value::as_bool)
    }

    /// A whole number, however it is written: `3`, `3.0` or `3e0`.
    pub fn read_whole_number(
        self,
        name: &str,
        range: RangeInclusive<u64>,
        expected: &str,
    ) -> FieldResult<u64> {
        self.read_with(name, expected, |value| whole_number(value).filter(|n| range.contains(n)))
    }

    /// A whole number that is written without a fraction or an exponent: `3`.
    pub fn read_integer(
        self,
        name: &str,
        range: RangeInclusive<u64>,
        expected: &str,
    ) -> FieldResult<u64> {
        self.read_with(name, expected, |value| value.as_u64().filter(|n| range.contains(n)))
    }

    /// A number.
    pub fn read_number(
        self,
        name: &str,
        range: RangeInclusive<f64>,
        expected: &str,
    ) -> FieldResult<f64> {
        self.read_with(name, expected, |value| value.as_f64().filter(|n| range.contains(n)))
    }

    /// A list.
    pub fn read_list(self, name: &str, expected: &str) -> FieldResult<&'a [Value]> {
        self.read_with(name, expected, |value| value.as_array().map(Vec::as_slice))
    }

    /// An object.
    pub fn read_object(self, name: &str, expected: &str) -> FieldResult<&'a Map<String, Value>> {
        self.read_with(name, expected, Value::as_object)
    }

    /// Returns what a word in `known` stands for. The error for any other word suggests a known
    /// one, if the style shows strings.
    pub fn read_word<T: Copy>(self, name: &str, known: &[(&str, T)]) -> FieldResult<T> {
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let expected = format!("one of {}", words.join(", "));
        let Some(word) = self.read_with(name, &expected, Value::as_str)? else { return Ok(None) };
        match known.iter().find(|(known, _)| *known == word) {
            Some((_, meant)) => Ok(Some(*meant)),
            None if self.style.shown == ShownValue::Always => {
                Err(FieldError::unknown_word(self.field_place(name), "word", word, &words))
            }
            None => Err(self.other_string(name, &expected)),
        }
    }
}

impl ShownValue {
    /// Describes a wrong value in words.
    fn describe(self, value: &Value) -> String {
        match self {
            Self::Never => value_kind(value).to_owned(),
            Self::Number if !value.is_number() => value_kind(value).to_owned(),
            Self::Number | Self::Always => shown_value(value),
        }
    }
}

/// The kind of a value, without its content.
pub fn value_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// A value in a message: itself if it is short, else its kind.
pub fn shown_value(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) if number.as_str().len() <= 40 => number.to_string(),
        Value::Number(_) => "a number of many digits".to_owned(),
        Value::String(text) => quoted_text(text),
        Value::Array(_) | Value::Object(_) => value_kind(value).to_owned(),
    }
}

/// A whole number from 0, however it is written: `3`, `3.0` or `3e0`.
pub fn whole_number(value: &Value) -> Option<u64> {
    let number = value.as_number()?;
    let float = || number.as_f64().filter(|f| f.fract() == 0.0 && (0.0..=EXACT).contains(f));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole, not negative, and exact"
    )]
    number.as_u64().or_else(|| float().map(|float| float as u64))
}

#[cfg(test)]
mod tests;
