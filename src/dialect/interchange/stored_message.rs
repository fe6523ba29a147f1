//! Parts of messages in files of JSON: headers in several forms, and bodies as texts or values.

use bytes::Bytes;
use serde_json::Value;

use super::text_encoding::{StatedBody, TextEncoding, decode_untagged, join_pieces};
use super::value_body::{stated_length, written_again};

/// Returns headers: an object with texts or lists of texts, a list of pairs, or a list in which
/// names and values alternate.
pub(super) fn stored_headers(value: Option<&Value>) -> Vec<(String, String)> {
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match value {
        Some(Value::Object(members)) => {
            let named = members.iter().flat_map(|(name, values)| match values {
                Value::Array(values) => {
                    values.iter().map(|value| (name.clone(), text(value))).collect()
                }
                value => vec![(name.clone(), text(value))],
            });
            named.collect()
        }
        Some(Value::Array(items)) if items.iter().all(Value::is_array) => {
            let pairs = items.iter().filter_map(|pair| Some((pair.get(0)?, pair.get(1)?)));
            pairs.map(|(name, value)| (text(name), text(value))).collect()
        }
        Some(Value::Array(items)) => {
            items.chunks_exact(2).map(|pair| (text(&pair[0]), text(&pair[1]))).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the value of a header, in any case.
pub(super) fn header_value<'a>(headers: &'a [(String, String)], wanted: &str) -> Option<&'a str> {
    let found = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
    found.map(|(_, value)| value.as_str())
}

/// Returns the bytes of a body: a text, a text of hex, a list of pieces in hex, or a JSON value.
///
/// # Errors
/// If the body cannot be understood. The reason reads after `its body`.
pub(super) fn stored_body(
    value: Option<&Value>,
    is_binary: bool,
    headers: &mut Vec<(String, String)>,
    lost: &mut Vec<&'static str>,
) -> Result<Bytes, &'static str> {
    let text = match value {
        None | Some(Value::Null) => return Ok(Bytes::new()),
        Some(Value::String(text)) => text,
        Some(Value::Array(items)) if !items.is_empty() && items.iter().all(Value::is_string) => {
            let pieces: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            let is_packed = is_binary || header_value(headers, "content-encoding").is_some();
            match join_pieces(&pieces, Some(TextEncoding::Hex)).filter(|_| is_packed) {
                Some(bytes) => return Ok(bytes.into()),
                None => return written_again(&Value::from(pieces), headers, lost),
            }
        }
        Some(value) => return written_again(value, headers, lost),
    };
    if is_binary {
        let decoded = join_pieces(&[text.as_str()], None);
        return decoded.map(Bytes::from).ok_or("is marked as binary, and neither hex nor base64");
    }
    let content_type = header_value(headers, "content-type").unwrap_or_default();
    let stated = StatedBody { content_type, length: stated_length(headers), size: None };
    let bytes = decode_untagged(text.as_bytes(), stated)?;
    Ok(bytes.map_or_else(|| Bytes::copy_from_slice(text.as_bytes()), Bytes::from))
}
