//! Layout of bodies for reading: JSON is indented, rows of numbers stay on one line, and what is
//! too long for a reader is cut.

use std::borrow::Cow;

use serde_json::Value;

/// Deeper values are shown on one line.
const DEPTH: usize = 64;

/// How a body is laid out.
#[derive(Clone, Copy, Debug)]
pub struct BodyLayout {
    /// The most bytes of a body that is laid out.
    pub body: usize,
    /// The most characters of a text that are shown.
    pub text: usize,
    /// The most numbers of a row that are shown.
    pub row: usize,
    /// Applied to JSON text before it is shown. It must not change the meaning.
    pub clean: fn(&str) -> Cow<'_, str>,
}

impl BodyLayout {
    /// Returns a body as indented lines; `None` if it is not JSON with an unambiguous meaning, or
    /// is too large to be laid out.
    pub fn lay_out_body(&self, bytes: &[u8]) -> Option<String> {
        if bytes.len() > self.body || loomrec_identity::parse(bytes).is_err() {
            return None;
        }
        Some(self.lay_out_json(&serde_json::from_slice(bytes).ok()?))
    }

    /// Returns a JSON value as indented lines.
    pub fn lay_out_json(&self, value: &Value) -> String {
        let mut out = String::new();
        self.write_value(&mut out, value, 0);
        out
    }

    /// Returns the text, cut at the end if it is very long.
    pub fn cut_text(&self, text: &str) -> String {
        let Some((at, _)) = text.char_indices().nth(self.text) else { return text.to_owned() };
        let count = self.text + text[at..].chars().count();
        let kept: String = text.chars().take(self.text / 2).collect();
        format!("{kept}… ({} more characters)", count - self.text / 2)
    }

    /// Adds a value whose members are indented by `level` steps.
    pub(super) fn write_value(&self, out: &mut String, value: &Value, level: usize) {
        match value {
            Value::Array(items) if level >= DEPTH || is_row(items) => self.write_row(out, items),
            Value::Array(items) if !items.is_empty() => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    begin_line(out, at == 0, level + 1);
                    self.write_value(out, item, level + 1);
                }
                close_bracket(out, level, ']');
            }
            Value::Object(map) if !map.is_empty() && level < DEPTH => {
                out.push('{');
                for (at, (key, item)) in map.iter().enumerate() {
                    begin_line(out, at == 0, level + 1);
                    out.push_str(&(self.clean)(&Value::from(key.as_str()).to_string()));
                    out.push_str(": ");
                    self.write_value(out, item, level + 1);
                }
                close_bracket(out, level, '}');
            }
            Value::String(text) => {
                out.push_str(&(self.clean)(&Value::from(self.cut_text(text)).to_string()));
            }
            other => out.push_str(&(self.clean)(&other.to_string())),
        }
    }

    fn write_row(&self, out: &mut String, items: &[Value]) {
        let shown: Vec<String> = items.iter().take(self.row).map(ToString::to_string).collect();
        out.push('[');
        out.push_str(&(self.clean)(&shown.join(", ")));
        if items.len() > self.row {
            out.push_str(&format!(", … ({} more)", items.len() - self.row));
        }
        out.push(']');
    }
}

/// Whether an array is written on one line: numbers only, as in an embedding.
fn is_row(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(Value::is_number)
}

/// Begins a line, after a comma unless it is the first.
pub(super) fn begin_line(out: &mut String, first: bool, level: usize) {
    out.push_str(if first { "\n" } else { ",\n" });
    out.push_str(&"  ".repeat(level));
}

/// Ends a list or an object on a line of its own.
pub(super) fn close_bracket(out: &mut String, level: usize, bracket: char) {
    out.push('\n');
    out.push_str(&"  ".repeat(level));
    out.push(bracket);
}
