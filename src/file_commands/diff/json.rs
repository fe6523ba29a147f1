//! The comparison for programs: one JSON object, written call by call.

use serde_json::{Map, Value, json};

use super::call::{CallState, CallSummary, ComparedCall};
use super::total::DiffTotals;
use super::value::{ValueChange, change};
use loomrec_cli::terminal;
use loomrec_curation::comparison::text::LineKind;
use loomrec_curation::comparison::{CallDifference, CallHalf};

/// Writes the object.
pub(super) struct JsonDiff {
    old: String,
    new: String,
    any: bool,
}

impl JsonDiff {
    pub(super) fn new(old: &str, new: &str) -> Self {
        Self { old: old.to_owned(), new: new.to_owned(), any: false }
    }

    /// Returns the recordings, and the beginning of the calls.
    pub(super) fn head(&self) -> String {
        let label = |label: &str| terminal::json(&Value::from(label).to_string()).into_owned();
        let (old, new) = (label(&self.old), label(&self.new));
        format!("{{\n  \"a\": {old},\n  \"b\": {new},\n  \"calls\": [")
    }

    /// Returns a call if anything in it differs.
    pub(super) fn call(&mut self, call: &ComparedCall) -> Option<String> {
        if call.state == CallState::Same && call.differences.is_empty() {
            return None;
        }
        let state = match call.state {
            CallState::Same => "same",
            CallState::Changed => "changed",
            CallState::OnlyOld => "only_a",
            CallState::OnlyNew => "only_b",
        };
        let value = json!({
            "state": state,
            "a": call.old.as_ref().map(summary_json),
            "b": call.new.as_ref().map(summary_json),
            "matched_by": call.by.map(|by| by.as_str()),
            "differences": call.differences.iter().map(difference).collect::<Vec<_>>(),
            "as_before": call.repeated,
        });
        let before = if std::mem::replace(&mut self.any, true) { ",\n    " } else { "\n    " };
        // A JSON string contains no raw line feed.
        let text = format!("{before}{}", format!("{value:#}").replace('\n', "\n    "));
        Some(terminal::json(&text).into_owned())
    }

    /// Returns the end of the calls, and the totals.
    pub(super) fn end(&self, total: &DiffTotals) -> String {
        let end = if self.any { "\n  ]" } else { "]" };
        let summary = format!("{:#}", total.to_json()).replace('\n', "\n  ");
        let same = total.is_same();
        format!("{end},\n  \"summary\": {summary},\n  \"same\": {same}\n}}\n")
    }
}

fn summary_json(summary: &CallSummary) -> Value {
    json!({ "key": summary.key, "call": summary.words })
}

/// Returns a difference as JSON. A side without a value there is left out, as `null` is a value.
fn difference(difference: &CallDifference) -> Value {
    let mut out = Map::new();
    let part = match difference.part {
        CallHalf::Request => "request",
        CallHalf::Answer => "answer",
    };
    out.insert("part".into(), part.into());
    out.insert("place".into(), difference.place.as_str().into());
    for (name, value) in [("a", &difference.old), ("b", &difference.new)] {
        if let Some(value) = value {
            out.insert(name.into(), value.clone());
        }
    }
    out.insert("counts".into(), difference.counts.into());
    if let (Some(Value::String(_)), Some(Value::String(_)), ValueChange::Lines(lines)) =
        (&difference.old, &difference.new, change(difference))
    {
        let signed = |line: loomrec_curation::comparison::text::DiffLine| {
            let sign = match line.kind {
                LineKind::Old => '-',
                LineKind::New => '+',
                LineKind::Same => ' ',
                LineKind::Gap => '@',
            };
            Value::from(format!("{sign}{}", line.text()))
        };
        out.insert("text".into(), lines.into_iter().map(signed).collect());
    }
    Value::Object(out)
}
