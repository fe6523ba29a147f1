//! The report of what was, or would be, removed from recordings, for people and for programs. The
//! removed values are never shown.

use serde_json::{Value, json};

use super::scanned_recording::ScannedRecording;
use crate::args::RedactArgs;
use loomrec_cli::terminal;
use loomrec_recording::EntryName;
use loomrec_recording::redact::EntryPart;

/// The result for one recording.
pub(super) struct RedactReport {
    path: String,
    applied: bool,
    meta: bool,
    /// The patterns that it gets.
    patterns: Vec<String>,
    takes: usize,
    changed: Vec<ChangedTake>,
    left: Vec<(String, String)>,
    merged: Vec<(String, usize)>,
    beside: Vec<String>,
}

/// A take that changes.
struct ChangedTake {
    /// Its key, without what is removed from it.
    key: String,
    places: Vec<&'static str>,
    rekeyed: bool,
}

impl RedactReport {
    /// Creates the report of a scanned recording.
    pub(super) fn from_scan(work: &ScannedRecording, applied: bool) -> Self {
        let mut report = Self {
            path: work.path.display().to_string(),
            applied,
            meta: work.meta.is_some(),
            patterns: work.new_patterns(),
            takes: work.takes.len(),
            changed: Vec::new(),
            left: Vec::new(),
            merged: Vec::new(),
            beside: work.beside.clone(),
        };
        for take in &work.takes {
            // A step id may contain what is to be removed. A hash cannot.
            let shown = match &take.was {
                EntryName::Hash(_) => &take.was,
                EntryName::Step(_) => &take.name,
            };
            let key = shown.take_key(take.number);
            if !take.changed.is_empty() {
                let places: Vec<_> = take.changed.iter().map(|part| part.as_str()).collect();
                let rekeyed = take.was != take.name || take.changed.contains(&EntryPart::Request);
                report.changed.push(ChangedTake { key: key.clone(), places, rekeyed });
            }
            report.left.extend(take.left.map(|why| (key, why.to_string())));
        }
        let merged = work.merged_names().into_iter();
        report.merged = merged.map(|(name, old)| (name.to_string(), old.len())).collect();
        report
    }

    fn changes_something(&self) -> bool {
        self.meta || !self.patterns.is_empty() || !self.changed.is_empty()
    }

    /// Whether something could not be removed.
    pub(super) fn leaves_something(&self) -> bool {
        !self.left.is_empty()
    }

    fn to_text(&self) -> String {
        let path = terminal::printable_line(&self.path);
        let mut text = String::new();
        for ChangedTake { key, places, .. } in &self.changed {
            text.push_str(&format!(
                "{path}: {}: {}\n",
                terminal::printable_line(key),
                places.join(", ")
            ));
        }
        if self.meta {
            text.push_str(&format!("{path}: metadata\n"));
        }
        for pattern in &self.patterns {
            let pattern = terminal::printable_line(pattern);
            text.push_str(&format!("{path}: its rules: redact {pattern}\n"));
        }
        for (name, count) in &self.merged {
            let name = terminal::printable_line(name);
            text.push_str(&format!(
                "{path}: {count} keys become one, and their takes follow each other: {name}\n"
            ));
        }
        for (key, why) in &self.left {
            let key = terminal::printable_line(key);
            text.push_str(&format!(
                "{path}: {key}: NOT removed: {why}; prune the entry, or record it again with the \
                 same --redact\n"
            ));
        }
        for name in &self.beside {
            let name = terminal::printable_line(name);
            text.push_str(&format!("{path}: {name} belongs to it and was not searched\n"));
        }
        let rekeyed = self.changed.iter().filter(|change| change.rekeyed).count();
        let (changed, takes) = (self.changed.len(), self.takes);
        let left = self.left.len();
        text.push_str(&match (changed, self.meta, self.applied) {
            (0, false, _) if left > 0 => {
                format!("{path}: nothing changed; {left} of {takes} takes are not clean\n")
            }
            (0, false, _) => format!("{path}: clean, {takes} takes\n"),
            (_, _, true) => {
                format!("{path}: {changed} of {takes} takes redacted, {rekeyed} with a new key\n")
            }
            (_, _, false) => format!(
                "{path}: {changed} of {takes} takes would be redacted, {rekeyed} with a new key\n"
            ),
        });
        text
    }

    fn to_json(&self) -> Value {
        let changed = |change: &ChangedTake| {
            let ChangedTake { key, places, rekeyed } = change;
            json!({ "key": key, "places": places, "rekeyed": rekeyed })
        };
        let merged = |(key, count): &(String, usize)| json!({ "key": key, "keys": count });
        let left = |(key, why): &(String, String)| json!({ "key": key, "why": why });
        json!({
            "path": self.path,
            "applied": self.applied,
            "takes": self.takes,
            "changed": self.changed.iter().map(changed).collect::<Vec<_>>(),
            "metadata": self.meta,
            "patterns": self.patterns,
            "merged": self.merged.iter().map(merged).collect::<Vec<_>>(),
            "left": self.left.iter().map(left).collect::<Vec<_>>(),
            "beside": self.beside,
        })
    }
}

/// Formats the reports for people.
pub(super) fn format_reports(reports: &[RedactReport], args: &RedactArgs) -> String {
    let mut text: String = reports.iter().map(RedactReport::to_text).collect();
    let changes = reports.iter().any(RedactReport::changes_something);
    if changes && !args.apply {
        text.push_str("nothing is changed without --apply\n");
    }
    text
}

/// Returns the JSON for programs.
pub(super) fn to_json(reports: &[RedactReport]) -> Value {
    json!({ "recordings": reports.iter().map(RedactReport::to_json).collect::<Vec<_>>() })
}
