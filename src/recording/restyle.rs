//! Detects the style of a JSON body, and converts the body to the file's style, without building a
//! value.
//!
//! The results are exactly those of [`JsonStyle::detect`] and of writing its value. Bodies for
//! which this is not certain are left to those functions.

use super::json_style::{
    self, JsonSpacing, JsonStyle, write_closing_break, write_separator, write_string,
};
use loomrec_identity::{Json, JsonStr};

/// A body and its style.
pub(super) struct StyledBody<'a> {
    /// Members in their original order.
    value: Json<'a>,
    pub(super) style: JsonStyle,
}

impl<'a> StyledBody<'a> {
    /// Detects the style of a body; `None` if only [`JsonStyle::detect`] can tell.
    pub(super) fn detect(bytes: &'a [u8]) -> Option<Self> {
        if bytes.len() > json_style::JSON_LIMIT {
            return None;
        }
        let core = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let mut value = loomrec_identity::parse(core).ok()?;
        restore_order(&mut value, json_style::DEPTH_LIMIT).then_some(())?;
        let mut spelt = Vec::with_capacity(core.len() + 64);
        let style = json_style::likely_styles(bytes).find(|style| {
            spelt.clear();
            write_styled(&mut spelt, &value, *style, style.ascii, 0);
            spelt == core
        })?;
        Some(Self { value, style })
    }

    /// Writes the value in the recording file's style.
    pub(super) fn write_file(&self, out: &mut Vec<u8>, level: usize) {
        let style = JsonStyle { spacing: JsonSpacing::File, ascii: false, newline: false };
        write_styled(out, &self.value, style, self.style.ascii, level);
    }
}

/// Puts members in their original order. Returns `false` if the value nests deeper than `depth`, or
/// holds a number that the reader of values would write differently.
fn restore_order(value: &mut Json<'_>, depth: usize) -> bool {
    match value {
        Json::Number(digits) => !digits.bytes().any(|byte| matches!(byte, b'e' | b'E')),
        Json::Array(items) => {
            depth > 0 && items.iter_mut().all(|item| restore_order(item, depth - 1))
        }
        Json::Object(members) => {
            members.sort_unstable_by_key(|(name, _)| name.source_address());
            depth > 0 && members.iter_mut().all(|(_, item)| restore_order(item, depth - 1))
        }
        _ => true,
    }
}

/// Writes a value. `ascii` says whether strings in its source have ASCII escapes.
fn write_styled(out: &mut Vec<u8>, value: &Json<'_>, style: JsonStyle, ascii: bool, level: usize) {
    match value {
        Json::Null => out.extend_from_slice(b"null"),
        Json::Bool(true) => out.extend_from_slice(b"true"),
        Json::Bool(false) => out.extend_from_slice(b"false"),
        Json::Number(digits) => out.extend_from_slice(digits.as_bytes()),
        Json::String(text) => write_styled_string(out, *text, style, ascii),
        Json::Array(items) if items.is_empty() => out.extend_from_slice(b"[]"),
        Json::Object(members) if members.is_empty() => out.extend_from_slice(b"{}"),
        Json::Array(items) => {
            let style = match style.spacing {
                JsonSpacing::File if is_row(items) => {
                    JsonStyle { spacing: JsonSpacing::Spaced, ..style }
                }
                _ => style,
            };
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                write_separator(out, style, level + 1, index == 0);
                write_styled(out, item, style, ascii, level + 1);
            }
            write_closing_break(out, style, level);
            out.push(b']');
        }
        Json::Object(members) => {
            out.push(b'{');
            for (index, (name, item)) in members.iter().enumerate() {
                write_separator(out, style, level + 1, index == 0);
                write_styled_string(out, *name, style, ascii);
                out.extend_from_slice(if style.spacing == JsonSpacing::Compact {
                    b":"
                } else {
                    b": "
                });
                write_styled(out, item, style, ascii, level + 1);
            }
            write_closing_break(out, style, level);
            out.push(b'}');
        }
    }
}

/// Writes a string, copied from its source if the style would write it the same way.
fn write_styled_string(out: &mut Vec<u8>, text: JsonStr<'_>, style: JsonStyle, ascii: bool) {
    let (raw, escaped) = text.source();
    if style.ascii == ascii && is_spelt(raw, escaped, ascii) {
        out.push(b'"');
        out.extend_from_slice(raw.as_bytes());
        out.push(b'"');
    } else {
        write_string(out, &text.as_str(), style.ascii);
    }
}

/// Whether a style would write each character of a string as its source does.
fn is_spelt(raw: &str, escaped: bool, ascii: bool) -> bool {
    if ascii && !raw.bytes().all(|byte| byte < 0x7f) {
        return false;
    }
    let mut rest = raw.as_bytes();
    while escaped && let Some(at) = memchr::memchr(b'\\', rest) {
        let length = match rest.get(at + 1) {
            Some(b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f') => 2,
            Some(b'u') => match is_escaped_unit(rest.get(at + 2..at + 6), ascii) {
                true => 6,
                false => return false,
            },
            _ => return false,
        };
        rest = rest.get(at + length..).unwrap_or_default();
    }
    true
}

/// Whether a style writes a UTF-16 unit as these hex digits.
fn is_escaped_unit(digits: Option<&[u8]>, ascii: bool) -> bool {
    let unit = digits
        .filter(|digits| !digits.iter().any(u8::is_ascii_uppercase))
        .and_then(|digits| u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
    match unit {
        Some(0x08 | 0x09 | 0x0a | 0x0c | 0x0d) | None => false,
        Some(unit) => unit < 0x20 || (ascii && unit >= 0x7f),
    }
}

/// Whether the file keeps these items on one line. Same rule as in [`json_style`].
fn is_row(items: &[Json<'_>]) -> bool {
    let scalar = |item: &Json<'_>| !matches!(item, Json::Array(_) | Json::Object(_));
    if items.iter().all(|item| matches!(item, Json::Number(_))) {
        return true;
    }
    match items {
        [first, Json::Object(members)] => {
            let [(name, Json::String(_))] = members.as_slice() else { return false };
            scalar(first) && *name == "base64"
        }
        [first, second] => scalar(first) && scalar(second),
        _ => false,
    }
}

#[cfg(test)]
#[path = "restyle_tests.rs"]
mod tests;
