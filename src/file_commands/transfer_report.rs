//! The report at the end of an import or an export: how much was transferred, what was left out and
//! why, and what was lost.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use loomrec_cli::terminal;
use loomrec_dialect::interchange::{ImportNote, SkipCause, SkippedItem};

/// How many items are reported individually. The rest is only counted.
const TOLD: usize = 1000;

/// How many of them are shown to people.
const SHOWN: usize = 10;

/// The sums of an import or an export.
#[derive(Debug, Default)]
pub(super) struct TransferTotals {
    /// Calls that were transferred.
    brought: usize,
    /// Items that were left out, with their file if there are several.
    left: Vec<SkippedItem>,
    left_count: usize,
    /// How many of these are calls that are lost.
    damaged: usize,
    /// Calls to hosts that belong to no upstream.
    hosts: BTreeMap<String, usize>,
    foreign: usize,
    /// Calls whose upstream was chosen by the form of their path: host and upstream.
    shaped: BTreeMap<(String, String), usize>,
    lost: BTreeMap<&'static str, usize>,
    /// Files that could not be read, with the reason.
    bad_files: Vec<String>,
    bad_file_count: usize,
    /// What was added to calls or left in them, by file.
    notes: BTreeMap<(ImportNote, String), usize>,
    note_count: usize,
}

impl TransferTotals {
    /// Counts a call that was transferred without these parts.
    pub(super) fn count_transferred(&mut self, lost: &[&'static str]) {
        self.brought += 1;
        for part in lost {
            *self.lost.entry(part).or_default() += 1;
        }
    }

    /// Counts a call whose upstream was chosen by the form of its path.
    pub(super) fn count_shaped(&mut self, host: String, upstream: &str) {
        let key = (host, upstream.to_owned());
        if self.shaped.len() < TOLD || self.shaped.contains_key(&key) {
            *self.shaped.entry(key).or_default() += 1;
        }
    }

    /// Notes an item that was left out.
    pub(super) fn note_left_out(&mut self, left: SkippedItem) {
        self.left_count += 1;
        self.damaged += usize::from(left.cause == SkipCause::Damaged);
        if self.left.len() < TOLD {
            self.left.push(left);
        }
    }

    /// Counts a call that was left out because its host belongs to no upstream.
    pub(super) fn count_foreign(&mut self, host: String) {
        self.foreign += 1;
        if self.hosts.len() < TOLD || self.hosts.contains_key(&host) {
            *self.hosts.entry(host).or_default() += 1;
        }
    }

    /// Notes a file that could not be read.
    pub(super) fn file_problem(&mut self, problem: String) {
        self.bad_file_count += 1;
        if self.bad_files.len() < TOLD {
            self.bad_files.push(problem);
        }
    }

    /// Whether a file could not be read.
    pub(super) fn has_file_problems(&self) -> bool {
        self.bad_file_count > 0
    }

    /// Counts what was added to a call of a file, or left in it.
    pub(super) fn count_note(&mut self, file: &str, note: ImportNote) {
        let key = (note, file.to_owned());
        self.note_count += usize::from(!self.notes.contains_key(&key));
        if self.notes.len() < TOLD || self.notes.contains_key(&key) {
            *self.notes.entry(key).or_default() += 1;
        }
    }

    /// Returns a line for each file that could not be read, and for each call that is lost.
    pub(super) fn problem_lines(&self) -> String {
        let damaged = self.left.iter().filter(|left| left.cause == SkipCause::Damaged);
        let damaged = damaged.map(|left| format!("{}: {}", left.place, left.reason));
        let mut lines: Vec<String> = self.bad_files.iter().cloned().chain(damaged).collect();
        let all = self.bad_file_count + self.damaged;
        if all > lines.len() {
            lines.push(format!("{} more", all - lines.len()));
        }
        let lines: Vec<_> =
            lines.iter().map(|line| terminal::printable_line(line).into_owned()).collect();
        lines.join("\n")
    }

    /// Returns how many calls were transferred.
    pub(super) fn transferred_count(&self) -> usize {
        self.brought
    }

    /// Returns how many calls are lost because their bodies could not be recovered exactly.
    pub(super) fn damaged_count(&self) -> usize {
        self.damaged
    }

    /// Returns the JSON for programs, with the members of `more`.
    pub(super) fn to_json(&self, out: &str, more: Map<String, Value>) -> String {
        let left = self.left.iter();
        let left = left.map(|left| {
            let damaged = left.cause == SkipCause::Damaged;
            json!({ "place": left.place, "reason": left.reason, "damaged": damaged })
        });
        let hosts = self.hosts.iter().map(|(host, calls)| json!({ "host": host, "calls": calls }));
        let shaped = self.shaped.iter().map(|((host, upstream), calls)| {
            json!({ "host": host, "upstream": upstream, "calls": calls })
        });
        let lost = self.lost.iter().map(|(what, calls)| json!({ "what": what, "calls": calls }));
        let mut value = json!({
            "output": out,
            "calls": self.brought,
            "left_out": left.collect::<Value>(),
            "left_out_count": self.left_count,
            "damaged_count": self.damaged,
            "other_hosts": hosts.collect::<Value>(),
            "other_hosts_count": self.foreign,
            "by_shape": shaped.collect::<Value>(),
            "lost": lost.collect::<Value>(),
            "bad_files": self.bad_files,
            "bad_files_count": self.bad_file_count,
            "assumed": self.notes_json(|note| matches!(note, ImportNote::Assumed(_))),
            "placeholders": self.notes_json(|note| !matches!(note, ImportNote::Assumed(_))),
        });
        if let Some(members) = value.as_object_mut() {
            members.extend(more);
        }
        format!("{}\n", terminal::printable_json(&format!("{value:#}")))
    }

    fn notes_json(&self, is_wanted: impl Fn(&ImportNote) -> bool) -> Value {
        let notes = self.notes.iter().filter(|((note, _), _)| is_wanted(note));
        let notes = notes.map(|((note, file), calls)| {
            let what = match note {
                ImportNote::Assumed(header) => header,
                ImportNote::StandIn(text) | ImportNote::Placeholder(text) => text.as_str(),
            };
            json!({ "what": what, "file": file, "calls": calls })
        });
        notes.collect()
    }

    /// Formats the report for people.
    pub(super) fn to_text(&self, out: &str) -> String {
        let mut text = format!("{} to {out}", format_calls(self.brought));
        let mut line = |line: String| {
            text.push_str("\n  ");
            text.push_str(&terminal::printable_line(&line));
        };
        for ((host, upstream), count) in self.shaped.iter().take(SHOWN) {
            line(format!(
                "{} to {host} taken for {upstream}, by the shape of the path; --upstream NAME=URL \
                 overrides that",
                format_calls(*count)
            ));
        }
        if self.foreign > 0 {
            let hosts: Vec<&str> = self.hosts.keys().take(SHOWN).map(String::as_str).collect();
            let more = if self.hosts.len() > SHOWN { ", …" } else { "" };
            line(format!(
                "left out: {} to other hosts ({}{more}); --all imports them, --upstream NAME=URL \
                 names their upstream",
                format_calls(self.foreign),
                hosts.join(", ")
            ));
        }
        // Each lost call is named.
        let (damaged, others): (Vec<&SkippedItem>, Vec<&SkippedItem>) =
            self.left.iter().partition(|left| left.cause == SkipCause::Damaged);
        let named = damaged.len() + others.len().min(SHOWN);
        for left in damaged.into_iter().chain(others.into_iter().take(SHOWN)) {
            line(format!("left out: {}: {}", left.place, left.reason));
        }
        if self.left_count > named {
            line(format!("left out: {} more; --json lists each", self.left_count - named));
        }
        for problem in &self.bad_files {
            line(format!("not imported: {problem}"));
        }
        if self.bad_file_count > self.bad_files.len() {
            line(format!("not imported: {} more files", self.bad_file_count - TOLD));
        }
        for ((note, file), count) in self.notes.iter().take(SHOWN) {
            line(note_line(note, file, *count));
        }
        if self.note_count > SHOWN {
            line(format!("{} more of these; --json lists each", self.note_count - SHOWN));
        }
        for (part, count) in &self.lost {
            line(format!("lost: {part} ({})", format_calls(*count)));
        }
        text
    }
}

fn note_line(note: &ImportNote, file: &str, count: usize) -> String {
    let file = if file.is_empty() { String::new() } else { format!(" in {file}") };
    let count = format_calls(count);
    match note {
        ImportNote::Assumed(header) => format!(
            "assumed{file}: {header}, which is missing there ({count}); --no-assume leaves it out"
        ),
        ImportNote::StandIn(text) => format!("stand-in for a placeholder{file}: {text} ({count})"),
        ImportNote::Placeholder(name) => format!(
            "placeholder left in an address{file}: <{name}> ({count}); --substitute {name}=VALUE \
             names what the program sends"
        ),
    }
}

fn format_calls(count: usize) -> String {
    if count == 1 { "1 call".to_owned() } else { format!("{count} calls") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn receipt_tells_what_came_and_what_did_not() {
        let mut transfer = TransferTotals::default();
        transfer.count_transferred(&["times"]);
        transfer.count_transferred(&[]);
        transfer.count_shaped("10.0.0.1:8000".to_owned(), "openai");
        transfer.count_foreign("example.com".to_owned());
        let left = SkippedItem::no_call("entry 3".to_owned(), "a\u{1b}[31m");
        transfer.note_left_out(left);
        let text = transfer.to_text("r.json");
        assert!(text.starts_with("2 calls to r.json\n"), "{text}");
        assert!(text.contains("1 call to 10.0.0.1:8000 taken for openai"), "{text}");
        assert!(text.contains("left out: entry 3: a\\u{1b}[31m"), "{text}");
        assert!(text.contains("1 call to other hosts (example.com)"), "{text}");
        assert!(text.ends_with("lost: times (1 call)"), "{text}");
        let value: Value = serde_json::from_str(&transfer.to_json("r.json", Map::new())).unwrap();
        assert_eq!(value["calls"], 2);
        assert_eq!(value["left_out"][0]["place"], "entry 3");
        assert_eq!(value["other_hosts"][0]["calls"], 1);
    }

    #[test]
    fn bad_files_and_assumptions_are_told_by_file() {
        let mut transfer = TransferTotals::default();
        transfer.file_problem("failed to read a.yaml: it is empty".to_owned());
        transfer.count_note("b.yaml", ImportNote::Assumed("a: b"));
        transfer.count_note("b.yaml", ImportNote::Assumed("a: b"));
        transfer.count_note("c.yaml", ImportNote::Placeholder("P".to_owned()));
        let text = transfer.to_text("r.json");
        assert!(text.contains("not imported: failed to read a.yaml: it is empty"), "{text}");
        assert!(text.contains("assumed in b.yaml: a: b, which is missing there (2 c"), "{text}");
        assert!(text.contains("<P> (1 call); --substitute P=VALUE"), "{text}");
        let value: Value = serde_json::from_str(&transfer.to_json("r.json", Map::new())).unwrap();
        assert_eq!(value["assumed"][0], json!({"what": "a: b", "file": "b.yaml", "calls": 2}));
        assert_eq!(value["bad_files_count"], 1);
    }

    #[test]
    fn what_is_told_one_by_one_has_an_end_and_the_count_has_none() {
        let mut transfer = TransferTotals::default();
        for number in 0..TOLD + 5 {
            let place = format!("entry {number}");
            transfer.note_left_out(SkippedItem::no_call(place, ""));
            transfer.count_foreign(format!("h{number}"));
        }
        assert_eq!((transfer.left.len(), transfer.hosts.len()), (TOLD, TOLD));
        assert_eq!((transfer.left_count, transfer.foreign), (TOLD + 5, TOLD + 5));
    }
}
