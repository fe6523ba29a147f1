//! Bodies for people: JSON indented, long rows and texts cut with a note, what
//! is no text described.

use serde_json::Value;

use super::super::terminal;
use crate::identity;

/// Characters of a text that are shown; an image in base64 is far above it.
const TEXT: usize = 4000;
/// Numbers of a row that are shown; an embedding has hundreds.
const ROW: usize = 8;
/// Deeper values are shown on one line.
const DEPTH: usize = 64;

/// A body as indented lines, and what it is where that is not plain to see.
pub(super) fn body(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "(no body)".to_owned();
    }
    // Only JSON that means the same to everyone is laid out anew.
    if identity::parse(bytes).is_ok()
        && let Ok(value) = serde_json::from_slice::<Value>(bytes)
    {
        return json(&value);
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => terminal::block(&cut(text)).into_owned(),
        Err(_) => format!("({} bytes that are no text)", bytes.len()),
    }
}

/// A JSON value as indented lines.
pub(super) fn json(value: &Value) -> String {
    let mut out = String::new();
    write(&mut out, value, 0);
    out
}

/// The text, its middle left out where it is very long.
pub(super) fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= TEXT {
        return text.to_owned();
    }
    let kept: String = text.chars().take(TEXT / 2).collect();
    format!("{kept}… ({} more characters)", count - TEXT / 2)
}

fn write(out: &mut String, value: &Value, level: usize) {
    match value {
        Value::Array(items) if level >= DEPTH || is_row(items) => row(out, items),
        Value::Array(items) if !items.is_empty() => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                line(out, at == 0, level + 1);
                write(out, item, level + 1);
            }
            end(out, level, ']');
        }
        Value::Object(map) if !map.is_empty() && level < DEPTH => {
            out.push('{');
            for (at, (key, item)) in map.iter().enumerate() {
                line(out, at == 0, level + 1);
                out.push_str(&terminal::json(&Value::from(key.as_str()).to_string()));
                out.push_str(": ");
                write(out, item, level + 1);
            }
            end(out, level, '}');
        }
        Value::String(text) => {
            out.push_str(&terminal::json(&Value::from(cut(text)).to_string()));
        }
        other => out.push_str(&terminal::json(&other.to_string())),
    }
}

/// Whether an array stands on one line: numbers only, as in an embedding.
fn is_row(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(Value::is_number)
}

fn row(out: &mut String, items: &[Value]) {
    let shown: Vec<String> = items.iter().take(ROW).map(ToString::to_string).collect();
    out.push('[');
    out.push_str(&terminal::json(&shown.join(", ")));
    if items.len() > ROW {
        out.push_str(&format!(", … ({} more)", items.len() - ROW));
    }
    out.push(']');
}

fn line(out: &mut String, first: bool, level: usize) {
    out.push_str(if first { "\n" } else { ",\n" });
    out.push_str(&"  ".repeat(level));
}

fn end(out: &mut String, level: usize, bracket: char) {
    out.push('\n');
    out.push_str(&"  ".repeat(level));
    out.push(bracket);
}
