//! One field of what is declared: reads it as the type it must have, or says where it
//! stands, what was found and what was expected.

use std::ops::RangeInclusive;

use serde_json::{Map, Number, Value};

use super::error::{FaultError, quoted, token, told, unknown};

/// The longest wait, in milliseconds: a day.
pub(super) const LONGEST_MS: u64 = 86_400_000;
/// The most bytes of anything.
pub(super) const MOST_BYTES: u64 = 1 << 40;
/// Integers up to here are exact as floats.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// An object's fields. A field that is `null` counts as absent, as others write it.
#[derive(Clone, Copy)]
pub(super) struct FaultFields<'a> {
    map: &'a Map<String, Value>,
}

impl<'a> FaultFields<'a> {
    /// The fields of `value`, which is `what`.
    pub(super) fn of(value: &'a Value, what: &str) -> Result<Self, FaultError> {
        match value {
            Value::Object(map) => Ok(Self { map }),
            other => Err(FaultError::at("", format!("expected {what}, not {}", told(other)))),
        }
    }

    /// Refuses a field that is none of `known`.
    pub(super) fn only(self, what: &str, known: &[&str]) -> Result<(), FaultError> {
        match self.map.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => {
                let what = format!("field of {what},");
                Err(FaultError::at(token(name), unknown(&what, name, known)))
            }
        }
    }

    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.map.get(name).filter(|value| !value.is_null())
    }

    /// The one of these fields that is given. More than one contradict each other.
    pub(super) fn one_of(self, names: &[&'static str]) -> Result<Option<&'static str>, FaultError> {
        let mut given = names.iter().copied().filter(|name| self.get(name).is_some());
        match (given.next(), given.next()) {
            (Some(one), Some(other)) => {
                let why = format!("it stands beside {one}: give one of them");
                Err(FaultError::at(token(other), why))
            }
            (one, _) => Ok(one),
        }
    }

    /// The error of a field that holds something else.
    pub(super) fn wrong(self, name: &str, expected: &str) -> FaultError {
        let found = self.get(name).map_or_else(|| "nothing".to_owned(), told);
        FaultError::at(token(name), format!("expected {expected}, not {found}"))
    }

    pub(super) fn text(self, name: &str) -> Result<Option<String>, FaultError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => Err(self.wrong(name, "a string")),
        }
    }

    pub(super) fn flag(self, name: &str) -> Result<Option<bool>, FaultError> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    pub(super) fn whole(
        self,
        name: &str,
        range: RangeInclusive<u64>,
        what: &str,
    ) -> Result<Option<u64>, FaultError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_number().and_then(whole).filter(|number| range.contains(number)) {
            Some(number) => Ok(Some(number)),
            None => Err(self.wrong(name, what)),
        }
    }

    /// A count that fits where things are counted.
    pub(super) fn count(self, name: &str, least: u32) -> Result<Option<u32>, FaultError> {
        let what = format!("a whole number from {least} to {}", u32::MAX);
        let found = self.whole(name, u64::from(least)..=u64::from(u32::MAX), &what)?;
        Ok(found.and_then(|count| u32::try_from(count).ok()))
    }

    /// A number of bytes.
    pub(super) fn bytes(self, name: &str, least: u64) -> Result<Option<u64>, FaultError> {
        let what = format!("a whole number of bytes, from {least} to 2^40");
        self.whole(name, least..=MOST_BYTES, &what)
    }

    /// Milliseconds.
    pub(super) fn wait(self, name: &str) -> Result<Option<u64>, FaultError> {
        self.whole(name, 0..=LONGEST_MS, "whole milliseconds, from 0 to 86400000 (a day)")
    }

    pub(super) fn number(
        self,
        name: &str,
        range: RangeInclusive<f64>,
        what: &str,
    ) -> Result<Option<f64>, FaultError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        match value.as_f64().filter(|number| range.contains(number)) {
            // There is no reason to tell negative zero from zero.
            Some(number) => Ok(Some(number + 0.0)),
            None => Err(self.wrong(name, what)),
        }
    }

    /// How often of all times something happens.
    pub(super) fn rate(self, name: &str) -> Result<Option<f64>, FaultError> {
        self.number(name, 0.0..=1.0, "a rate, from 0 to 1")
    }

    /// What a word stands for.
    pub(super) fn word<T: Copy>(
        self,
        name: &str,
        known: &[(&str, T)],
    ) -> Result<Option<T>, FaultError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        let words: Vec<&str> = known.iter().map(|(word, _)| *word).collect();
        let Some(found) = value.as_str() else {
            return Err(self.wrong(name, &format!("one of {}", words.join(", "))));
        };
        match known.iter().find(|(word, _)| *word == found) {
            Some((_, meant)) => Ok(Some(*meant)),
            None => Err(FaultError::at(token(name), unknown("word", found, &words))),
        }
    }

    /// Headers: a value, or a list of values, for each name.
    pub(super) fn headers(self, name: &str) -> Result<Vec<(String, String)>, FaultError> {
        let map = match self.get(name) {
            None => return Ok(Vec::new()),
            Some(Value::Object(map)) => map,
            Some(_) => return Err(self.wrong(name, "an object of headers")),
        };
        let mut headers = Vec::new();
        for (header, value) in map {
            let place = || format!("{}{}", token(name), token(header));
            if http::HeaderName::from_bytes(header.as_bytes()).is_err() {
                let why = format!("{} cannot be the name of a header", quoted(header));
                return Err(FaultError::at(place(), why));
            }
            let values = match value {
                Value::Array(values) => values.as_slice(),
                one => std::slice::from_ref(one),
            };
            for value in values {
                let text = header_value(value).ok_or_else(|| {
                    let expected = "expected a header's value: a string on one line, or a number";
                    FaultError::at(place(), format!("{expected}, not {}", told(value)))
                })?;
                headers.push((header.clone(), text));
            }
        }
        Ok(headers)
    }
}

/// A header's value, where it can be one.
fn header_value(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    };
    http::HeaderValue::from_str(&text).is_ok().then_some(text)
}

/// A whole number from 0, however it is written: `3`, `3.0` or `3e0`.
pub(super) fn whole(number: &Number) -> Option<u64> {
    let float = || number.as_f64().filter(|f| f.fract() == 0.0 && (0.0..=EXACT).contains(f));
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is whole, not negative, and exact"
    )]
    number.as_u64().or_else(|| float().map(|float| float as u64))
}
