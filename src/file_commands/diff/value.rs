//! The presentation of a difference: both values on one line if they are short, otherwise the
//! changed lines.

use serde_json::Value;

use loomrec_cli::amount::{dollars, milliseconds};
use loomrec_curation::comparison::CallDifference;
use loomrec_curation::comparison::text::{DiffLine, LineKind, LinePiece, lines};

/// The most characters of both values that are shown on one line.
const SHORT: usize = 60;

/// How a difference is shown.
pub(super) enum ValueChange {
    /// Both values, on one line.
    Short(String, String),
    /// The lines of both.
    Lines(Vec<DiffLine>),
}

/// Decides how a difference is shown.
pub(super) fn change(difference: &CallDifference) -> ValueChange {
    let (old, new) = (difference.old.as_ref(), difference.new.as_ref());
    if let Some(short) = amounts(&difference.place, old, new) {
        return short;
    }
    let (before, after) = (inline(old), inline(new));
    let is_text = |value: Option<&Value>| value.is_none_or(Value::is_string);
    let words = is_text(old) && is_text(new) && (before.contains(' ') || after.contains(' '));
    if before.chars().count() + after.chars().count() <= SHORT
        && !(words && old.is_some() && new.is_some())
    {
        return ValueChange::Short(before, after);
    }
    ValueChange::Lines(match (old, new) {
        (Some(old), Some(new)) => lines(&text(old), &text(new)),
        (Some(old), None) => alone(LineKind::Old, old),
        (None, Some(new)) => alone(LineKind::New, new),
        (None, None) => Vec::new(),
    })
}

/// Formats the differences that do not count in one line. Returns `None` if there are none.
pub(super) fn uncounted<'d>(all: impl Iterator<Item = &'d CallDifference>) -> Option<String> {
    let values = all.filter(|difference| !difference.counts).map(|difference| {
        let (old, new) = match change(difference) {
            ValueChange::Short(old, new) => (old, new),
            ValueChange::Lines(_) => {
                (inline(difference.old.as_ref()), inline(difference.new.as_ref()))
            }
        };
        format!("{} {old} → {new}", name(difference))
    });
    let values: Vec<String> = values.collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Returns the place as it is shown below its heading.
pub(super) fn name(difference: &CallDifference) -> &str {
    difference.place.strip_prefix("answer/").unwrap_or(&difference.place)
}

/// Formats amounts, with their units.
fn amounts(place: &str, old: Option<&Value>, new: Option<&Value>) -> Option<ValueChange> {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let (old, new) = (number(old), number(new));
    if old.is_none() && new.is_none() {
        return None;
    }
    let written = |amount: fn(f64) -> String| {
        let amount_or_nothing =
            |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), amount);
        ValueChange::Short(amount_or_nothing(old), amount_or_nothing(new))
    };
    match place {
        "answer/cost_usd" => Some(written(dollars)),
        "answer/latency_ms" | "response/first_chunk_ms" => Some(written(milliseconds)),
        _ => None,
    }
}

/// Returns all lines of a value that only one side has.
fn alone(kind: LineKind, value: &Value) -> Vec<DiffLine> {
    let text = text(value);
    // Long lines are cut in the same way as those of a changed text.
    let both = if kind == LineKind::Old { lines(&text, "") } else { lines("", &text) };
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
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => format!("{other:#}"),
    }
}

/// Formats a JSON value on one line.
fn inline(value: Option<&Value>) -> String {
    value.map_or_else(|| "nothing".to_owned(), Value::to_string)
}
