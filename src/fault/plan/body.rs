//! The conditions that a rule sets for a call's body: a value at a place, or a text in it.

use std::sync::OnceLock;

use serde_json::{Value, json};

use loomrec_identity::{Json, JsonPointer};

/// A request's body, read as JSON when it is first needed.
#[derive(Debug)]
pub struct LazyBody<'a> {
    bytes: &'a [u8],
    /// The inner `None` says that the bytes are not plain JSON.
    json: OnceLock<Option<Json<'a>>>,
}

impl<'a> From<&'a [u8]> for LazyBody<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self { bytes, json: OnceLock::new() }
    }
}

impl<'a> LazyBody<'a> {
    /// The body, if it is plain JSON.
    fn parsed_json(&self) -> Option<&Json<'a>> {
        self.json.get_or_init(|| loomrec_identity::parse(self.bytes).ok()).as_ref()
    }
}

/// What a place in a body must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum ExpectedValue {
    /// This value; numbers are compared by value.
    Value(Value),
    /// This text, within a string at the place or in a value below it.
    Contains(String),
}

impl ExpectedValue {
    /// `{"contains": "…"}`, or any other value as itself.
    pub(super) fn from_value(value: &Value) -> Self {
        let object = value.as_object().filter(|object| object.len() == 1);
        match object.and_then(|object| object.get("contains")) {
            Some(Value::String(text)) => Self::Contains(text.clone()),
            _ => Self::Value(value.clone()),
        }
    }

    /// The value as it is declared.
    pub(super) fn to_json(&self) -> Value {
        match self {
            Self::Value(value) => value.clone(),
            Self::Contains(text) => json!({ "contains": text }),
        }
    }

    /// Whether this place of a body holds it; false if the body is not plain JSON.
    pub(super) fn holds_at(&self, place: &JsonPointer, body: &LazyBody<'_>) -> bool {
        let Some(found) = body.parsed_json().and_then(|json| json.value_at(place)) else {
            return false;
        };
        match self {
            Self::Value(value) => is_same_value(value, found),
            Self::Contains(text) => contains(found, text),
        }
    }
}

/// Whether a string, or any string within a value, contains `text`.
fn contains(found: &Json<'_>, text: &str) -> bool {
    match found {
        Json::String(string) => string.as_str().contains(text),
        Json::Array(items) => items.iter().any(|item| contains(item, text)),
        Json::Object(members) => members.iter().any(|(_, value)| contains(value, text)),
        _ => false,
    }
}

fn is_same_value(value: &Value, found: &Json<'_>) -> bool {
    match (value, found) {
        (Value::Null, Json::Null) => true,
        (Value::Bool(one), Json::Bool(other)) => one == other,
        (Value::Number(one), Json::Number(other)) => {
            ExactAmount::from_text(&one.to_string()) == ExactAmount::from_text(other)
        }
        (Value::String(one), Json::String(other)) => other.as_str() == one.as_str(),
        (Value::Array(list), Json::Array(items)) => {
            list.len() == items.len()
                && list.iter().zip(items).all(|(one, other)| is_same_value(one, other))
        }
        (Value::Object(map), Json::Object(members)) => {
            let is_there = |(key, value): (&String, &Value)| {
                found.get(key).is_some_and(|found| is_same_value(value, found))
            };
            map.len() == members.len() && map.iter().all(is_there)
        }
        _ => false,
    }
}

/// The exact value of a number: `1`, `1.0` and `10e-1` are equal.
#[derive(Debug, PartialEq, Eq)]
struct ExactAmount {
    negative: bool,
    /// The digits, without zeros at either end; empty for zero.
    digits: String,
    /// Where the decimal point is, counted from the first digit.
    point: i64,
}

impl ExactAmount {
    fn from_text(text: &str) -> Self {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits = format!("{whole}{fraction}");
        let significant = digits.trim_start_matches('0');
        let leading = signed_length(&digits) - signed_length(significant);
        let significant = significant.trim_end_matches('0');
        if significant.is_empty() {
            return Self { negative: false, digits: String::new(), point: 0 };
        }
        let point = signed_length(whole) - leading;
        Self {
            negative,
            digits: significant.to_owned(),
            point: point.saturating_add(parse_exponent(exponent)),
        }
    }
}

fn signed_length(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// An exponent; one that does not fit becomes the largest or smallest number.
fn parse_exponent(text: &str) -> i64 {
    let negative = text.starts_with('-');
    text.parse().unwrap_or(if negative { i64::MIN } else { i64::MAX })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(value: &Value, body: &str) -> bool {
        let place = JsonPointer::parse("/a").unwrap();
        ExpectedValue::from_value(value).holds_at(&place, &LazyBody::from(body.as_bytes()))
    }

    #[test]
    fn numbers_are_equal_when_they_are_worth_the_same() {
        for (one, other) in [
            ("1", "1.0"),
            ("1", "10e-1"),
            ("0.5", "5E-1"),
            ("1200", "1.2e+3"),
            ("0", "-0.0"),
            ("0", "0e99"),
            ("9007199254740993", "9007199254740993.00"),
        ] {
            let value: Value = serde_json::from_str(one).unwrap();
            assert!(found(&value, &format!("{{\"a\": {other}}}")), "{one} {other}");
        }
        for (one, other) in [
            ("1", "-1"),
            ("1", "10"),
            ("1", "\"1\""),
            ("0.1", "0.01"),
            ("9007199254740993", "9007199254740992"),
        ] {
            let value: Value = serde_json::from_str(one).unwrap();
            assert!(!found(&value, &format!("{{\"a\": {other}}}")), "{one} {other}");
        }
    }

    #[test]
    fn values_are_equal_whatever_the_order_of_their_members() {
        assert!(found(
            &json!({ "x": [1, null], "y": "é" }),
            r#"{"a":{"y":"\u00e9","x":[1.0,null]}}"#
        ));
        assert!(!found(&json!({ "x": 1 }), r#"{"a":{"x":1,"y":2}}"#));
        assert!(!found(&json!({ "x": 1, "y": 2 }), r#"{"a":{"x":1}}"#));
        assert!(!found(&json!([1]), r#"{"a":[1,2]}"#));
        assert!(found(&json!(true), r#"{"a":true}"#));
        assert!(!found(&Value::Null, r#"{"b":null}"#));
    }

    #[test]
    fn text_is_looked_for_within_what_stands_there() {
        let weather = json!({ "contains": "weather" });
        assert!(found(&weather, r#"{"a":"the weath\u0065r"}"#));
        assert!(found(&weather, r#"{"a":[{"type":"text","text":"weather?"}]}"#));
        assert!(!found(&weather, r#"{"a":{"weather":1},"b":"weather"}"#));
        // What only resembles it is compared like any other value.
        assert!(found(&json!({ "contains": 1 }), r#"{"a":{"contains":1}}"#));
        assert!(found(&json!({ "contains": "x", "y": 1 }), r#"{"a":{"contains":"x","y":1}}"#));
    }

    #[test]
    fn body_that_is_no_plain_json_holds_nothing() {
        for body in ["", "{", r#"{"a":1,"a":1}"#, "a=1"] {
            assert!(!found(&json!(1), body), "{body}");
        }
    }

    proptest! {
        #[test]
        fn number_is_worth_itself_however_it_is_written(
            mantissa in -9_999_i64..9_999,
            zeros in 0..9_usize,
        ) {
            let shifted = format!("{mantissa}{}e-{zeros}", "0".repeat(zeros));
            prop_assert_eq!(ExactAmount::from_text(&mantissa.to_string()), ExactAmount::from_text(&shifted));
            prop_assert_ne!(ExactAmount::from_text(&(mantissa + 1).to_string()), ExactAmount::from_text(&shifted));
        }
    }
}
