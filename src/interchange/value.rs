//! Values of JSON or YAML, as a JSON text can say them.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// A value; `None` where it holds a number that JSON cannot say (an infinity).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parsed(pub(super) Option<Value>);

impl<'de> Deserialize<'de> for Parsed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ParsedVisitor).map(Self)
    }
}

struct ParsedVisitor;

impl<'de> Visitor<'de> for ParsedVisitor {
    type Value = Option<Value>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
        Ok(Some(text.into()))
    }

    fn visit_string<E>(self, text: String) -> Result<Self::Value, E> {
        Ok(Some(text.into()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Some(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Number::from_f64(value).map(Value::Number))
    }

    fn visit_unit<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Value::Null))
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(Some(Value::Null))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut items = Some(Vec::new());
        while let Some(Parsed(item)) = seq.next_element()? {
            items = items.zip(item).map(|(mut items, item)| {
                items.push(item);
                items
            });
        }
        Ok(items.map(Value::Array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Some(Map::new());
        while let Some(Parsed(key)) = map.next_key()? {
            let key = key.map(|key| match key {
                Value::String(text) => text,
                other => other.to_string(),
            });
            // How `serde_json` hands on a number of arbitrary precision.
            if key.as_deref() == Some("$serde_json::private::Number") {
                let digits = map.next_value::<String>()?;
                return Ok(serde_json::from_str(&digits).ok());
            }
            let Parsed(item) = map.next_value()?;
            members = members.zip(key.zip(item)).map(|(mut members, (key, item))| {
                members.insert(key, item);
                members
            });
        }
        Ok(members.map(Value::Object))
    }
}
