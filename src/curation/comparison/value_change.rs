//! How a difference is shown: both values on one line if they are short, otherwise the changed lines.

use serde_json::{Map, Value};

use super::text::{DiffLine, LineKind, LinePiece, changed_lines};
use super::{CallDifference, CallHalf};

/// The most characters of both values that are shown on one line.
const SHORT: usize = 60;

/// How a difference is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ValueChange {
    /// Both values, on one line.
    Short(String, String),
    /// The lines of both.
    Lines(Vec<DiffLine>),
}

impl ValueChange {
    /// Decides how the values of a difference are shown.
    pub fn from_difference(difference: &CallDifference) -> Self {
        let (old, new) = (difference.old.as_ref(), difference.new.as_ref());
        let (before, after) = (inline_value(old), inline_value(new));
        let is_text = |value: Option<&Value>| value.is_none_or(Value::is_string);
        let words = is_text(old) && is_text(new) && (before.contains(' ') || after.contains(' '));
        if before.chars().count() + after.chars().count() <= SHORT
            && !(words && old.is_some() && new.is_some())
        {
            return Self::Short(before, after);
        }
        Self::Lines(match (old, new) {
            (Some(old), Some(new)) => changed_lines(&value_text(old), &value_text(new)),
            (Some(old), None) => one_sided_lines(LineKind::Old, old),
            (None, Some(new)) => one_sided_lines(LineKind::New, new),
            (None, None) => Vec::new(),
        })
    }
}

/// Returns all lines of a value that only one side has.
fn one_sided_lines(kind: LineKind, value: &Value) -> Vec<DiffLine> {
    let text = value_text(value);
    // Long lines are cut in the same way as those of a changed text.
    let both =
        if kind == LineKind::Old { changed_lines(&text, "") } else { changed_lines("", &text) };
    let mut found: Vec<DiffLine> = both.into_iter().filter(|line| line.kind == kind).collect();
    for piece in found.iter_mut().flat_map(|line| &mut line.pieces) {
        piece.changed = false;
    }
    if found.is_empty() {
        let pieces = vec![LinePiece { changed: false, text: String::new() }];
        found.push(DiffLine { kind, pieces });
    }
    found
}

/// Returns a value as lines of text: a string unchanged, anything else as indented JSON.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}

/// Formats a JSON value on one line.
pub fn inline_value(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}

impl CallDifference {
    /// Returns the difference as JSON. A side without a value there is left out, as `null` is a
    /// value.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        let part = match self.part {
            CallHalf::Request => "request",
            CallHalf::Answer => "answer",
        };
        out.insert("part".into(), part.into());
        out.insert("place".into(), self.place.as_str().into());
        for (name, value) in [("a", &self.old), ("b", &self.new)] {
            if let Some(value) = value {
                out.insert(name.into(), value.clone());
            }
        }
        out.insert("counts".into(), self.counts.into());
        if let (Some(Value::String(_)), Some(Value::String(_)), ValueChange::Lines(lines)) =
            (&self.old, &self.new, ValueChange::from_difference(self))
        {
            out.insert("text".into(), lines.iter().map(signed_line).collect());
        }
        Value::Object(out)
    }
}

/// Returns a line with its sign.
fn signed_line(line: &DiffLine) -> Value {
    let sign = match line.kind {
        LineKind::Old => '-',
        LineKind::New => '+',
        LineKind::Same => ' ',
        LineKind::Gap => '@',
    };
    Value::from(format!("{sign}{}", line.whole_text()))
}
