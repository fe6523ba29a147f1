//! Values that cassettes write in several ways: texts, headers, bodies.

use serde_json::Value;

use super::super::lenient::decode_base64;
use crate::yaml::node::{NoValue, ValueStyle, YamlNode, YamlScalar, members};
use crate::yaml::scalar::ScalarSchema;

/// The most bytes of the headers of one message. With aliases, a small file could repeat a header a
/// thousand times.
const HEADERS_LIMIT: usize = 1 << 20;

/// Returns a number, a boolean or a text as it is written; empty for null.
///
/// # Errors
/// If it is a list or a map.
pub(super) fn text(node: YamlNode, what: &str) -> Result<String, String> {
    match node {
        node if node.is_null() => Ok(String::new()),
        YamlNode::Scalar(scalar) => Ok(scalar.into_text()),
        YamlNode::List(..) | YamlNode::Map(..) => Err(format!("expected {what} as a text")),
    }
}

impl YamlScalar {
    /// Returns the text. Some clients write headers as bytes, which are decoded.
    fn into_text(self) -> String {
        let bytes = (self.style == ValueStyle::Base64).then(|| decode_base64(&self.text)).flatten();
        match bytes {
            Some(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            None => self.text,
        }
    }
}

/// Reads headers: a map from names to a value or a list of values.
///
/// # Errors
/// If the headers are malformed. The error says what is wrong.
pub(super) fn headers(node: YamlNode) -> Result<Vec<(String, String)>, String> {
    let (mut headers, mut size) = (Vec::new(), 0);
    if node.is_null() {
        return Ok(headers);
    }
    for (name, values) in members(node, "headers")? {
        let values = match values {
            YamlNode::List(values, _) => values,
            node if node.is_null() => Vec::new(),
            one => vec![one],
        };
        for value in values {
            let value = text(value, "a header's value")?;
            size += name.len() + value.len();
            if size > HEADERS_LIMIT {
                return Err("the headers of one message are over 1 MiB".to_owned());
            }
            headers.push((name.clone(), value));
        }
    }
    Ok(headers)
}

/// A body, in any of the forms in cassettes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum VcrBody {
    /// It is not mentioned.
    #[default]
    Absent,
    /// There is no body.
    None,
    /// Its bytes.
    Bytes(Vec<u8>),
    /// Its JSON value.
    Json(Value),
    /// It cannot be understood. The reason reads after `its body`.
    Unreadable(&'static str),
}

/// An object that only the writing program knew.
const OBJECT: VcrBody = VcrBody::Unreadable(NoValue::Foreign.reason());

impl VcrBody {
    /// Reads a body: `{string: …}` or `{base64_string: …}`; a sibling `encoding` says nothing about
    /// the bytes. Cassetter writes `{type: json, content: …}`.
    ///
    /// # Errors
    /// If the file is malformed. The error says what is wrong.
    pub(super) fn from_node(node: YamlNode) -> Result<Self, String> {
        match node {
            node if node.is_null() => return Ok(Self::None),
            YamlNode::Scalar(scalar) => return Ok(Self::from_scalar(scalar)),
            YamlNode::List(..) => return Ok(OBJECT),
            YamlNode::Map(..) => {}
        }
        let (mut found, mut kind, mut content) = (None, None, None);
        for (name, node) in members(node, "a body")? {
            match name.as_str() {
                "string" => found = Some(Self::from_node(node)?),
                "base64_string" => {
                    let text = text(node, "`base64_string`")?;
                    found = Some(decode_base64(&text).map_or(OBJECT, Self::Bytes));
                }
                "type" => kind = Some(node),
                "content" => content = Some(node),
                _ => {}
            }
        }
        if let Some(found) = found {
            return Ok(found);
        }
        let kind = kind.map(|kind| text(kind, "`type`")).transpose()?;
        Ok(match (kind.as_deref(), content) {
            (Some("json"), Some(content)) => Self::from_value(content, ScalarSchema::Core),
            (Some("text"), Some(YamlNode::Scalar(scalar))) => Self::from_scalar(scalar),
            (Some("none"), None) => Self::None,
            _ => OBJECT,
        })
    }

    /// Returns a body that the file holds as a value.
    pub(super) fn from_value(node: YamlNode, schema: ScalarSchema) -> Self {
        node.into_value(schema).map_or_else(|why| Self::Unreadable(why.reason()), Self::Json)
    }

    fn from_scalar(scalar: YamlScalar) -> Self {
        match scalar.style {
            ValueStyle::Base64 => decode_base64(&scalar.text).map_or(OBJECT, Self::Bytes),
            ValueStyle::Foreign => OBJECT,
            ValueStyle::Ambiguous => Self::Unreadable(NoValue::Ambiguous.reason()),
            _ => Self::Bytes(scalar.text.into_bytes()),
        }
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
