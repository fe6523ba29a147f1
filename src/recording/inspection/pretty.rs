//! Lays out bodies for reading: JSON indented, rows of numbers on one line, what is no
//! text described; and cuts what is longer than its reader can use.

use std::borrow::Cow;

use serde_json::Value;

/// Deeper values are shown on one line.
const DEPTH: usize = 64;

/// How a body is laid out.
#[derive(Clone, Copy, Debug)]
pub struct BodyLayout {
    /// Bytes of a body that is laid out at all.
    pub body: usize,
    /// Characters of one text that are shown.
    pub text: usize,
    /// Numbers of one row that are shown.
    pub row: usize,
    /// What is done to JSON text before it is shown; it means the same afterwards.
    pub clean: fn(&str) -> Cow<'_, str>,
}

impl BodyLayout {
    /// A body as indented lines; `None` where it is not JSON that means the same to
    /// everyone, or is too large to be laid out.
    pub fn body(&self, bytes: &[u8]) -> Option<String> {
        if bytes.len() > self.body || loomrec_identity::parse(bytes).is_err() {
            return None;
        }
        Some(self.json(&serde_json::from_slice(bytes).ok()?))
    }

    /// A JSON value as indented lines.
    pub fn json(&self, value: &Value) -> String {
        let mut out = String::new();
        self.write(&mut out, value, 0);
        out
    }

    /// The text, its end left out where it is very long.
    pub fn cut(&self, text: &str) -> String {
        let Some((at, _)) = text.char_indices().nth(self.text) else { return text.to_owned() };
        let count = self.text + text[at..].chars().count();
        let kept: String = text.chars().take(self.text / 2).collect();
        format!("{kept}… ({} more characters)", count - self.text / 2)
    }

    fn write(&self, out: &mut String, value: &Value, level: usize) {
        match value {
            Value::Array(items) if level >= DEPTH || is_row(items) => self.row(out, items),
            Value::Array(items) if !items.is_empty() => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    line(out, at == 0, level + 1);
                    self.write(out, item, level + 1);
                }
                end(out, level, ']');
            }
            Value::Object(map) if !map.is_empty() && level < DEPTH => {
                out.push('{');
                for (at, (key, item)) in map.iter().enumerate() {
                    line(out, at == 0, level + 1);
                    out.push_str(&(self.clean)(&Value::from(key.as_str()).to_string()));
                    out.push_str(": ");
                    self.write(out, item, level + 1);
                }
                end(out, level, '}');
            }
            Value::String(text) => {
                out.push_str(&(self.clean)(&Value::from(self.cut(text)).to_string()));
            }
            other => out.push_str(&(self.clean)(&other.to_string())),
        }
    }

    fn row(&self, out: &mut String, items: &[Value]) {
        let shown: Vec<String> = items.iter().take(self.row).map(ToString::to_string).collect();
        out.push('[');
        out.push_str(&(self.clean)(&shown.join(", ")));
        if items.len() > self.row {
            out.push_str(&format!(", … ({} more)", items.len() - self.row));
        }
        out.push(']');
    }
}

/// Whether an array stands on one line: numbers only, as in an embedding.
fn is_row(items: &[Value]) -> bool {
    !items.is_empty() && items.iter().all(Value::is_number)
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
