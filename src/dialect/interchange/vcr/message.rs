//! Values that cassettes write in several ways: texts, headers, bodies.

use serde_json::Value;

use super::super::lenient::decode_base64;
use super::super::text_encoding::{TextEncoding, join_pieces};
use crate::yaml::node::{NoValue, ValueStyle, YamlNode, YamlScalar, text_members};
use crate::yaml::scalar::ScalarSchema;

/// The most bytes of the headers of one message. With aliases, a small file could repeat a header a
/// thousand times.
const HEADERS_LIMIT: usize = 1 << 20;

/// How the names of charsets begin in which ASCII has its own bytes.
const CHARSETS: [&str; 10] =
    ["iso-8859-", "windows-", "shift_jis", "euc-", "koi8", "gb", "big5", "cp", "ibm", "mac"];

/// Returns a number, a boolean or a text as it is written; empty for null.
///
/// # Errors
/// If it is a list or a map.
pub(super) fn node_text(node: YamlNode, what: &str) -> Result<String, String> {
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
pub(super) fn read_headers(node: YamlNode) -> Result<Vec<(String, String)>, String> {
    let (mut headers, mut size) = (Vec::new(), 0);
    if node.is_null() {
        return Ok(headers);
    }
    for (name, values) in text_members(node, "headers")? {
        let values = match values {
            YamlNode::List(values, _) => values,
            node if node.is_null() => Vec::new(),
            one => vec![one],
        };
        for value in values {
            let value = node_text(value, "a header's value")?;
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
    /// The file holds none. Whether there was one, the rest of the exchange says.
    #[default]
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

/// A body in a member or in an encoding that is not known.
const UNKNOWN_MEMBER: VcrBody =
    VcrBody::Unreadable("is not there, but a member of it that is not known");
const UNKNOWN_ENCODING: VcrBody = VcrBody::Unreadable("is in an encoding that is not known");

/// Members that bodies of LLM calls have, and no tool's description of a body.
const OF_CALLS: [&str; 6] = ["model", "messages", "contents", "choices", "candidates", "prompt"];

/// Whether a map is the JSON object that was sent, and not a description of it.
fn is_plain_object(node: &YamlNode) -> bool {
    let YamlNode::Map(members, _) = node else { return false };
    members.iter().any(
        |(key, _)| matches!(key, YamlNode::Scalar(key) if OF_CALLS.contains(&key.text.as_str())),
    )
}

impl VcrBody {
    /// Reads a body: `{string: …}` or `{base64_string: …}`, with a sibling `encoding`, which names
    /// a charset in Ruby's cassettes. Cassetter writes `{type: json, content: …}`.
    ///
    /// # Errors
    /// If the file is malformed. The error says what is wrong.
    pub(super) fn from_node(node: YamlNode) -> Result<Self, String> {
        match node {
            node if node.is_null() => return Ok(Self::None),
            YamlNode::Scalar(scalar) => return Ok(Self::from_scalar(scalar)),
            YamlNode::List(..) => return Ok(OBJECT),
            node if is_plain_object(&node) => {
                return Ok(Self::from_value(node, ScalarSchema::PyYaml));
            }
            YamlNode::Map(..) => {}
        }
        let (mut string, mut base64, mut content) = (Self::None, Self::None, None);
        let (mut encoding, mut kind) = (String::new(), String::new());
        let (mut has_known, mut has_unknown) = (false, false);
        for (name, node) in text_members(node, "a body")? {
            match name.as_str() {
                "string" => string = Self::from_node(node)?,
                "base64_string" => base64 = Self::from_base64(node)?,
                "encoding" => encoding = node_text(node, "`encoding`")?,
                "type" => kind = node_text(node, "`type`")?,
                "content" => content = Some(node),
                _ => {
                    has_unknown |= !node.is_null();
                    continue;
                }
            }
            has_known = true;
        }
        if !has_known {
            return Ok(OBJECT);
        }
        let string = if string.is_held() { string.decode_text(&encoding) } else { string };
        let content = match (kind.as_str(), content) {
            ("json", Some(content)) => Self::from_value(content, ScalarSchema::Core),
            ("text", Some(content)) if content.is_null() => Self::None,
            ("text", Some(YamlNode::Scalar(scalar))) => Self::from_scalar(scalar),
            ("none" | "", None) => Self::None,
            _ => OBJECT,
        };
        let body = string.or_only(base64).and_then(|body| body.or_only(content));
        Ok(match body {
            None => Self::Unreadable("occurs twice"),
            Some(body) if !body.is_held() && has_unknown => UNKNOWN_MEMBER,
            Some(body) => body,
        })
    }

    /// Whether the file holds anything of it.
    fn is_held(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bytes(bytes) => !bytes.is_empty(),
            Self::Json(_) | Self::Unreadable(_) => true,
        }
    }

    /// Returns this body, or another one if the file does not hold this.
    pub(super) fn or(self, other: Self) -> Self {
        if self.is_held() { self } else { other }
    }

    /// As [`Self::or`]; `None` if the file holds both.
    pub(super) fn or_only(self, other: Self) -> Option<Self> {
        match (self, other) {
            (why @ Self::Unreadable(_), _) => Some(why),
            (body, other) if !other.is_held() => Some(body),
            (body, other) => (!body.is_held()).then_some(other),
        }
    }

    /// Reads base64, in one text or in pieces.
    fn from_base64(node: YamlNode) -> Result<Self, String> {
        let nodes = match node {
            YamlNode::List(nodes, _) => nodes,
            one => vec![one],
        };
        let pieces = nodes.into_iter().map(|node| node_text(node, "`base64_string`"));
        let pieces: Vec<String> = pieces.collect::<Result<_, _>>()?;
        Ok(join_pieces(&pieces, Some(TextEncoding::Base64)).map_or(OBJECT, Self::Bytes))
    }

    /// Returns the bytes of a text with this `encoding`: the charset into which Ruby's VCR converts
    /// it, or how it stands for bytes.
    fn decode_text(self, encoding: &str) -> Self {
        let Self::Bytes(bytes) = self else { return self };
        let name = encoding.to_ascii_lowercase();
        let decode = |encoding: TextEncoding, bytes: Vec<u8>| {
            encoding.decode(&bytes).map_or(UNKNOWN_ENCODING, Self::Bytes)
        };
        match TextEncoding::from_name(&name) {
            // Ruby's name for bytes without a charset.
            _ if matches!(name.as_str(), "ascii-8bit" | "binary") => Self::Bytes(bytes),
            Some(encoding @ TextEncoding::Latin1) if std::str::from_utf8(&bytes).is_ok() => {
                decode(encoding, bytes)
            }
            Some(TextEncoding::Latin1) => Self::Bytes(bytes),
            Some(encoding) => decode(encoding, bytes),
            None if bytes.is_ascii() && CHARSETS.iter().any(|start| name.starts_with(start)) => {
                Self::Bytes(bytes)
            }
            None => UNKNOWN_ENCODING,
        }
    }

    /// Returns a body that the file holds as a value.
    pub(super) fn from_value(node: YamlNode, schema: ScalarSchema) -> Self {
        if node.is_null() {
            return Self::None;
        }
        node.into_value(schema).map_or_else(|why| Self::Unreadable(why.reason()), Self::Json)
    }

    fn from_scalar(scalar: YamlScalar) -> Self {
        match scalar.style {
            ValueStyle::Base64 => decode_base64(&scalar.text).map_or(OBJECT, Self::Bytes),
            ValueStyle::Foreign => OBJECT,
            ValueStyle::Ambiguous => Self::Unreadable(NoValue::Ambiguous.reason()),
            // A value without quotes that is no text.
            ValueStyle::Plain | ValueStyle::Tagged(_)
                if matches!(scalar.text.to_ascii_lowercase().as_str(), "true" | "false") =>
            {
                Self::None
            }
            _ => Self::Bytes(scalar.text.into_bytes()),
        }
    }
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
