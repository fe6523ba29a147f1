//! The comparison for programs: one JSON object, written call by call.

use serde_json::{Value, json};

use super::call::{CallState, CallSummary, ComparedCall};
use super::total::DiffTotals;
use loomrec_cli::terminal;
use loomrec_curation::comparison::CallDifference;

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
    pub(super) fn opening_text(&self) -> String {
        let label =
            |label: &str| terminal::printable_json(&Value::from(label).to_string()).into_owned();
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
            "differences": call.differences.iter().map(CallDifference::to_json).collect::<Vec<_>>(),
            "as_before": call.repeated,
        });
        let before = if std::mem::replace(&mut self.any, true) { ",\n    " } else { "\n    " };
        // A JSON string contains no raw line feed.
        let text = format!("{before}{}", format!("{value:#}").replace('\n', "\n    "));
        Some(terminal::printable_json(&text).into_owned())
    }

    /// Returns the end of the calls, and the totals.
    pub(super) fn closing_text(&self, total: &DiffTotals) -> String {
        let end = if self.any { "\n  ]" } else { "]" };
        let summary = format!("{:#}", total.to_json()).replace('\n', "\n  ");
        let same = total.is_same();
        format!("{end},\n  \"summary\": {summary},\n  \"same\": {same}\n}}\n")
    }
}

fn summary_json(summary: &CallSummary) -> Value {
    json!({ "key": summary.key, "call": summary.words })
}
