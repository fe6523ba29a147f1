//! A value of a cassette as it is written, before its meaning is known: the same scalar without
//! quotes is a number in one place and a text in another.

use std::collections::HashMap;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use super::scalar::{self, ScalarSchema, UnrepresentableNumber};

/// A value of a cassette.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum YamlNode {
    /// A scalar.
    Scalar(YamlScalar),
    /// A list.
    List(Vec<YamlNode>, CollectionShape),
    /// A map, in order.
    Map(Vec<(YamlNode, YamlNode)>, CollectionShape),
}

/// A scalar and its style.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct YamlScalar {
    pub(crate) text: String,
    pub(crate) style: ValueStyle,
}

/// The style of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueStyle {
    /// Without quotes and tag.
    Plain,
    /// With quotes, as a block, or with the tag of a text.
    Text,
    /// A JSON number.
    Number,
    /// With the tag of a number, of a boolean or of null.
    Tagged(CoreType),
    /// With the tag `!!binary`.
    Base64,
    /// With a tag that only the writing program knew.
    Foreign,
    /// With a line break of YAML 1.1 that is an ordinary character in YAML 1.2. Its meaning depends
    /// on the tool that wrote it.
    Ambiguous,
}

/// The type that a tag names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CoreType {
    Null,
    Bool,
    Int,
    Float,
}

/// Whether a list or map has a special tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CollectionShape {
    /// It is a plain list or map.
    Usual,
    /// Its tag names a class of Python that is a text; the text is in the list.
    PythonText,
    /// Its tag names an object that only the writing program knew.
    Foreign,
}

/// Why a value has no JSON equivalent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoValue {
    Number,
    Repeated,
    Foreign,
    Ambiguous,
}

impl NoValue {
    /// Returns the reason in a few words. Reads after `its body`.
    pub(crate) const fn reason(self) -> &'static str {
        match self {
            Self::Number => "holds a number that JSON cannot represent",
            Self::Repeated => "holds two members of one name",
            Self::Foreign => "is an object of a type that only its program knows",
            Self::Ambiguous => {
                "holds a text with U+0085, U+2028 or U+2029, which YAML 1.1 and 1.2 read in two \
                 ways (write that text in double quotes, and the character as \\u2028)"
            }
        }
    }
}

impl From<UnrepresentableNumber> for NoValue {
    fn from(_: UnrepresentableNumber) -> Self {
        Self::Number
    }
}

impl YamlNode {
    /// Returns a text in quotes.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::scalar(text, ValueStyle::Text)
    }

    pub(crate) fn scalar(text: impl Into<String>, style: ValueStyle) -> Self {
        Self::Scalar(YamlScalar { text: text.into(), style })
    }

    /// Returns a null.
    pub(crate) fn null() -> Self {
        Self::scalar("", ValueStyle::Plain)
    }

    /// Whether it is null.
    pub(crate) fn is_null(&self) -> bool {
        let Self::Scalar(scalar) = self else { return false };
        match scalar.style {
            ValueStyle::Plain => scalar::is_null(&scalar.text),
            ValueStyle::Tagged(CoreType::Null) => true,
            _ => false,
        }
    }

    /// Converts it to a JSON value.
    ///
    /// # Errors
    /// [`NoValue`] if JSON has no equivalent.
    pub(crate) fn into_value(self, schema: ScalarSchema) -> Result<Value, NoValue> {
        match self {
            Self::Scalar(scalar) => scalar.into_value(schema),
            Self::List(items, CollectionShape::Usual) => {
                let items = items.into_iter().map(|item| item.into_value(schema));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            Self::Map(members, CollectionShape::Usual) => {
                let mut map = Map::with_capacity(members.len());
                for (key, value) in members {
                    let key = match key {
                        // A person who writes `on:` means a name.
                        Self::Scalar(key) if schema == ScalarSchema::HandWritten => key.text.into(),
                        key => key.into_value(schema)?,
                    };
                    let key = match key {
                        Value::String(text) => text,
                        Value::Array(_) | Value::Object(_) => return Err(NoValue::Foreign),
                        // As Python's `json` writes a key that is not a text.
                        other => other.to_string(),
                    };
                    if map.insert(key, value.into_value(schema)?).is_some() {
                        return Err(NoValue::Repeated);
                    }
                }
                Ok(Value::Object(map))
            }
            Self::List(..) | Self::Map(..) => Err(NoValue::Foreign),
        }
    }

    /// Returns the text of an object of Python that is one: a list of a single text, or a map with
    /// it in `args`. Other values stay as they are.
    pub(crate) fn with_python_text(self) -> Self {
        let items = match &self {
            Self::List(items, CollectionShape::PythonText) => items,
            Self::Map(members, CollectionShape::PythonText) => {
                let is_args = |key: &Self| matches!(key, Self::Scalar(key) if key.text == "args");
                match members.iter().find(|(key, _)| is_args(key)) {
                    Some((_, Self::List(items, _))) => items,
                    _ => return self,
                }
            }
            _ => return self,
        };
        match items.as_slice() {
            [Self::Scalar(one)] => Self::Scalar(one.clone()),
            _ => self,
        }
    }
}

impl YamlScalar {
    fn into_value(self, schema: ScalarSchema) -> Result<Value, NoValue> {
        match self.style {
            ValueStyle::Text => Ok(self.text.into()),
            ValueStyle::Plain => Ok(scalar::resolve_value(&self.text, schema)?),
            ValueStyle::Number => serde_json::from_str(&self.text).map_err(|_| NoValue::Number),
            ValueStyle::Tagged(kind) => {
                let value = scalar::resolve_value(&self.text, schema)?;
                let fits = match kind {
                    CoreType::Null => value.is_null(),
                    CoreType::Bool => value.is_boolean(),
                    CoreType::Int | CoreType::Float => value.is_number(),
                };
                if fits { Ok(value) } else { Err(NoValue::Foreign) }
            }
            ValueStyle::Base64 | ValueStyle::Foreign => Err(NoValue::Foreign),
            ValueStyle::Ambiguous => Err(NoValue::Ambiguous),
        }
    }
}

/// Returns the members of a map whose keys are texts. Of a key that occurs twice, the last value
/// counts, as for PyYAML and Ruby.
///
/// # Errors
/// If `what` is not a map, or a key is not a text. The error says which.
pub(crate) fn text_members(node: YamlNode, what: &str) -> Result<Vec<(String, YamlNode)>, String> {
    let YamlNode::Map(members, _) = node else { return Err(format!("expected {what} as a map")) };
    let mut places: HashMap<String, usize> = HashMap::with_capacity(members.len());
    let mut named: Vec<(String, YamlNode)> = Vec::with_capacity(members.len());
    for (name, value) in members {
        let YamlNode::Scalar(YamlScalar { text: name, .. }) = name else {
            return Err(format!("a name in {what} is not text"));
        };
        match places.get(&name).and_then(|place| named.get_mut(*place)) {
            Some(known) => known.1 = value,
            None => {
                places.insert(name.clone(), named.len());
                named.push((name, value));
            }
        }
    }
    Ok(named)
}

impl<'de> Deserialize<'de> for YamlNode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

/// Reads a JSON cassette.
struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = YamlNode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_str<E>(self, text: &str) -> Result<YamlNode, E> {
        Ok(YamlNode::text(text))
    }

    fn visit_string<E>(self, text: String) -> Result<YamlNode, E> {
        Ok(YamlNode::text(text))
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlNode, E> {
        Ok(YamlNode::scalar(value.to_string(), ValueStyle::Plain))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlNode, E> {
        Ok(YamlNode::scalar(value.to_string(), ValueStyle::Number))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlNode, E> {
        Ok(YamlNode::scalar(value.to_string(), ValueStyle::Number))
    }

    fn visit_unit<E>(self) -> Result<YamlNode, E> {
        Ok(YamlNode::null())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<YamlNode, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(YamlNode::List(items, CollectionShape::Usual))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<YamlNode, A::Error> {
        let mut members = Vec::new();
        while let Some(key) = map.next_key::<String>()? {
            // This is how `serde_json` passes on a number of arbitrary precision.
            if key == "$serde_json::private::Number" {
                return Ok(YamlNode::scalar(map.next_value::<String>()?, ValueStyle::Number));
            }
            members.push((YamlNode::text(key), map.next_value()?));
        }
        Ok(YamlNode::Map(members, CollectionShape::Usual))
    }
}
