//! The result of a merge, for people and for programs.

use std::path::Path;

use serde_json::{Value, json};

use super::side::{MergeSides, SideNames};
use loomrec_cli::short_key::short_key;
use loomrec_cli::terminal;
use loomrec_curation::merge::{MergeConflict, MergedName};
use loomrec_recording::EntryName;

/// How many conflicts are shown to people.
const NAMED: usize = 20;

/// A conflict, as it is reported.
struct ReportedConflict {
    /// The name of the call, or of a member of the metadata.
    key: String,
    /// The same for people.
    short: String,
    kind: &'static str,
    /// The beginning of what the call asks.
    asks: Option<String>,
}

/// The result of a merge.
pub(super) struct MergeReport {
    output: String,
    /// The recordings, with the number of takes that each has, and the number of those that were
    /// kept.
    files: Vec<(String, usize, usize)>,
    takes: usize,
    conflicts: Vec<ReportedConflict>,
    appended: Vec<String>,
    /// Whether the result was written.
    pub(super) written: bool,
}

impl MergeReport {
    /// Creates the report of a merge into `output` that has not begun.
    pub(super) fn new(output: &Path, sides: &MergeSides) -> Self {
        let files =
            sides.label_counts().map(|(label, takes)| (label.to_owned(), takes, 0)).collect();
        let (conflicts, appended) = Default::default();
        let output = output.display().to_string();
        Self { output, files, takes: 0, conflicts, appended, written: false }
    }

    /// Adds the result for a name. `asks` returns what its call asks.
    pub(super) fn add_name(
        &mut self,
        name: &EntryName,
        merged: &MergedName,
        asks: impl Fn() -> Option<String>,
    ) {
        for conflict in &merged.conflicts {
            let kind = match conflict {
                MergeConflict::Changed => "changed",
                MergeConflict::RemovedByFirst => "removed_by_first",
                MergeConflict::RemovedByLast => "removed_by_last",
            };
            let (key, short) = (name.to_string(), short_key(name, 1));
            self.conflicts.push(ReportedConflict { key, short, kind, asks: asks() });
        }
        if merged.appended {
            self.appended.push(name.to_string());
        }
    }

    /// Adds metadata members that differ.
    pub(super) fn add_metadata_conflicts(&mut self, names: Vec<String>) {
        self.conflicts.extend(names.into_iter().map(|key| {
            let short = terminal::printable_line(&key).into_owned();
            ReportedConflict { key, short, kind: "metadata", asks: None }
        }));
    }

    /// Counts the kept takes by their recording.
    pub(super) fn count_kept(&mut self, names: &SideNames) {
        for take in names.iter().flat_map(|(_, takes)| takes) {
            self.takes += 1;
            if let Some((_, _, kept)) = self.files.get_mut(take.at.file) {
                *kept += 1;
            }
        }
    }

    /// Whether there is a conflict.
    pub(super) fn has_conflicts(&self) -> bool {
        !self.conflicts.is_empty()
    }

    /// Returns how many takes of this recording were kept, and how many were not.
    pub(super) fn take_counts(&self, file: usize) -> (usize, usize) {
        self.files.get(file).map_or((0, 0), |(_, all, kept)| (*kept, all - kept))
    }

    /// Formats the conflicts, one on each line.
    pub(super) fn conflict_lines(&self) -> String {
        let word = |kind: &str| match kind {
            "changed" => "answered differently by both",
            "removed_by_first" => "removed by ours, changed by theirs",
            "removed_by_last" => "changed by ours, removed by theirs",
            _ => "metadata that differs",
        };
        let mut text = String::new();
        for conflict in self.conflicts.iter().take(NAMED) {
            text.push_str(&format!("\n  {}: {}", conflict.short, word(conflict.kind)));
            if let Some(asks) = &conflict.asks {
                text.push_str(&format!(": {asks}"));
            }
        }
        let more = self.conflicts.len().saturating_sub(NAMED);
        if more > 0 {
            text.push_str(&format!("\n  … and {more} more"));
        }
        text
    }

    /// Returns the names under which both sides have added takes, which now follow each other.
    pub(super) fn appended_names(&self) -> Option<String> {
        let names: Vec<&str> = self.appended.iter().take(NAMED).map(String::as_str).collect();
        let more = if self.appended.len() > NAMED { ", …" } else { "" };
        (!names.is_empty())
            .then(|| terminal::printable_line(&format!("{}{more}", names.join(", "))).into())
    }

    /// Formats the number of conflicts.
    pub(super) fn conflict_count(&self) -> String {
        match self.conflicts.len() {
            1 => "1 conflict".to_owned(),
            many => format!("{many} conflicts"),
        }
    }

    /// Formats the result for people.
    pub(super) fn to_text(&self) -> String {
        let output = terminal::printable_line(&self.output);
        let mut text = match self.written {
            true => format!("{output}: {}", format_takes(self.takes)),
            false => format!("{output}: {}", self.conflict_count()),
        };
        if self.written {
            for (label, all, kept) in &self.files {
                text.push_str(&format!(
                    "\n  {kept} of {all} from {}",
                    terminal::printable_line(label)
                ));
            }
        }
        if self.has_conflicts() {
            if self.written {
                text.push_str(&format!("\n{}, decided as asked:", self.conflict_count()));
            }
            text.push_str(&self.conflict_lines());
        }
        text
    }

    /// Returns the JSON for programs.
    pub(super) fn to_json(&self) -> Value {
        let file = |(path, takes, kept): &(String, usize, usize)| json!({ "path": path, "takes": takes, "kept": kept });
        let conflict = |conflict: &ReportedConflict| json!({ "key": conflict.key, "kind": conflict.kind, "asks": conflict.asks });
        json!({
            "output": self.output,
            "written": self.written,
            "takes": self.takes,
            "recordings": self.files.iter().map(file).collect::<Vec<_>>(),
            "conflicts": self.conflicts.iter().map(conflict).collect::<Vec<_>>(),
        })
    }
}

/// Formats a number of takes.
pub(super) fn format_takes(takes: usize) -> String {
    if takes == 1 { "1 take".to_owned() } else { format!("{takes} takes") }
}
