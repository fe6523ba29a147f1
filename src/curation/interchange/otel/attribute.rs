//! Attributes: OTLP's list of pairs with typed values, or a plain object.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::super::lenient::decode_base64;
use super::super::text_encoding::{StatedBody, untagged};
use loomrec_recording::request_text::stored_text;

/// The media type of bodies in spans.
const JSON: &str = "application/json";

/// The most values of a list that is encoded in names: `a.0.b`, `a.1.b`.
const LONGEST: usize = 100_000;

/// The attributes of a span, by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct SpanAttributes(Map<String, Value>);

impl SpanAttributes {
    /// Reads attributes in either form.
    pub(super) fn of(value: Option<&Value>) -> Self {
        let mut out = Map::new();
        match value {
            Some(Value::Object(map)) => out.clone_from(map),
            Some(Value::Array(pairs)) => {
                for pair in pairs {
                    if let (Some(Value::String(key)), Some(value)) =
                        (pair.get("key"), pair.get("value"))
                    {
                        out.insert(key.clone(), plain(value));
                    }
                }
            }
            _ => {}
        }
        Self(out)
    }

    /// Returns the first of these that exists.
    pub(super) fn get(&self, names: &[&str]) -> Option<&Value> {
        names.iter().find_map(|name| self.0.get(*name)).filter(|value| !value.is_null())
    }

    /// Returns the first of these that is a text.
    pub(super) fn text(&self, names: &[&str]) -> Option<&str> {
        names.iter().find_map(|name| self.0.get(*name)?.as_str())
    }

    /// Returns the first of these that is a count.
    pub(super) fn count(&self, names: &[&str]) -> Option<u64> {
        names.iter().find_map(|name| number(self.0.get(*name)?))
    }

    /// Returns the first of these as JSON, even if it is written as a text.
    pub(super) fn json(&self, names: &[&str]) -> Option<Value> {
        match self.get(names)? {
            Value::String(text) => serde_json::from_str(text).ok(),
            value => Some(value.clone()),
        }
    }

    /// As [`Self::json`], but also if the text is in base64 or hex. Also returns the exact text.
    pub(super) fn body(&self, names: &[&str]) -> Option<(Value, String)> {
        match self.get(names)? {
            Value::String(text) => {
                let stated = StatedBody { content_type: JSON, ..StatedBody::default() };
                let decoded = untagged(text.as_bytes(), stated).ok()?;
                let plain = decoded.map(|bytes| stored_text(&bytes.into()));
                let text = match plain {
                    Some(plain) => String::from_utf8(plain.to_vec()).ok()?,
                    None => text.clone(),
                };
                serde_json::from_str(&text).ok().map(|value| (value, text))
            }
            value => Some((value.clone(), value.to_string())),
        }
    }

    /// Whether a text is what somebody wrote, and no JSON and no encoded text.
    pub(super) fn is_prose(text: &str) -> bool {
        let stated = StatedBody { content_type: JSON, ..StatedBody::default() };
        let is_structured = text.trim_start().starts_with(['{', '['])
            && serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
        !is_structured && untagged(text.as_bytes(), stated) == Ok(None)
    }

    /// Returns the list whose values are encoded in names with this prefix: `prefix.0.role`.
    pub(super) fn list(&self, prefix: &str) -> Vec<Value> {
        let mut tree = Value::Object(Map::new());
        for (name, value) in &self.0 {
            let Some(path) = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('.'))
            else {
                continue;
            };
            let path: Vec<&str> = path.split('.').collect();
            if path.len() <= 16 {
                put(&mut tree, &path, value);
            }
        }
        items(&tree)
    }
}

/// Puts a value at a path of names.
fn put(tree: &mut Value, path: &[&str], value: &Value) {
    let Value::Object(map) = tree else { return };
    match path {
        [] => {}
        [last] => drop(map.insert((*last).to_owned(), value.clone())),
        [first, rest @ ..] => {
            let inner = map.entry(*first).or_insert_with(|| Value::Object(Map::new()));
            put(inner, rest, value);
        }
    }
}

/// Returns the values of a list, or of an object whose names are numbers, in order.
pub(super) fn items(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(values) => values.clone(),
        Value::Object(map) => {
            let numbered: BTreeMap<usize, &Value> = map
                .iter()
                .filter_map(|(name, value)| Some((name.parse().ok()?, value)))
                .take(LONGEST)
                .collect();
            numbered.into_values().cloned().collect()
        }
        _ => Vec::new(),
    }
}

/// Returns a number, even if OTLP writes it as a text.
pub(super) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::String(digits) => digits.parse().ok(),
        Value::Number(number) => {
            number.as_u64().or_else(|| number.as_str().strip_suffix(".0")?.parse().ok())
        }
        _ => None,
    }
}

/// Returns a typed value without its type.
fn plain(value: &Value) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|map| map.iter().next()) else {
        return value.clone();
    };
    let values = || inner.get("values").and_then(Value::as_array).into_iter().flatten();
    match kind.as_str() {
        "intValue" | "int_value" => match inner {
            Value::String(digits) => digits.parse::<i64>().map_or(Value::Null, Value::from),
            number => number.clone(),
        },
        "arrayValue" | "array_value" => values().map(plain).collect(),
        "kvlistValue" | "kvlist_value" => {
            let pairs = values().filter_map(|pair| {
                Some((pair.get("key")?.as_str()?.to_owned(), plain(pair.get("value")?)))
            });
            Value::Object(pairs.collect())
        }
        "bytesValue" | "bytes_value" => {
            let bytes = inner.as_str().and_then(decode_base64);
            bytes.and_then(|bytes| String::from_utf8(bytes).ok()).map_or(Value::Null, Value::from)
        }
        _ => inner.clone(),
    }
}
