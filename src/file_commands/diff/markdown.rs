//! The comparison for a comment on a pull request: a table, and collapsed details of each changed
//! call.

use super::call::{CallState, ComparedCall, shorten_line};
use super::total::DiffTotals;
use super::value::{ValueChange, uncounted_line, value_change};
use loomrec_cli::markdown::{code_block, escape_html, format_code};
use loomrec_cli::terminal;
use loomrec_curation::comparison::CallDifference;
use loomrec_curation::comparison::text::LineKind;

/// The most characters of a comment: GitHub refuses more than 65,536.
const LONGEST: usize = 60_000;
/// The most characters for the changes of a single call.
const LONGEST_CALL: usize = 20_000;
/// The most rows of the table.
const ROWS: usize = 100;

/// Collects the table and the details.
pub(super) struct MarkdownDiff {
    old: String,
    new: String,
    table: Vec<String>,
    details: String,
    left_out: usize,
    /// The number of calls whose changes earlier calls show.
    repeated: usize,
}

impl MarkdownDiff {
    pub(super) fn new(old: &str, new: &str) -> Self {
        let (table, details) = Default::default();
        let (old, new) = (old.to_owned(), new.to_owned());
        Self { old, new, table, details, left_out: 0, repeated: 0 }
    }

    pub(super) fn add(&mut self, call: &ComparedCall) {
        if call.only_repeats() {
            self.repeated += 1;
            return;
        }
        let what = match call.state {
            CallState::Same => return,
            CallState::Changed => "changed".to_owned(),
            CallState::OnlyOld => format!("only in {}", format_code(&self.old)),
            CallState::OnlyNew => format!("only in {}", format_code(&self.new)),
        };
        if self.table.len() <= ROWS {
            let summary = call.shown_summary();
            let answer = match call.state {
                CallState::Changed => differing_places(call),
                _ => summary.map_or_else(String::new, |summary| {
                    format_code(&shorten_line(&summary.answer, 60))
                }),
            };
            self.table.push(format!(
                "| {} | {} | {what} | {answer} |",
                format_code(&call.key_text()),
                format_code(call.call_description())
            ));
        } else {
            self.table.push(String::new());
        }
        if call.state != CallState::Changed {
            return;
        }
        let details = call_details(call);
        if self.details.len() + details.len() > LONGEST - ROWS * 200 {
            self.left_out += 1;
        } else {
            self.details.push_str(&details);
        }
    }

    pub(super) fn to_markdown(&self, total: &DiffTotals) -> String {
        let (old, new) = (format_code(&self.old), format_code(&self.new));
        let mut out = format!("### {old} → {new}\n\n{}\n", total.summary_line(&old, &new));
        if !self.table.is_empty() {
            out.push_str("\n| call | | | |\n|---|---|---|---|\n");
            for row in self.table.iter().take(ROWS) {
                out.push_str(&format!("{row}\n"));
            }
        }
        if self.table.len() > ROWS {
            out.push_str(&format!("\n… and {} more calls\n", self.table.len() - ROWS));
        }
        if self.repeated > 0 {
            let calls = if self.repeated == 1 { "call" } else { "calls" };
            let changed = "changed only as calls before them";
            out.push_str(&format!("\n{} more {calls} {changed}\n", self.repeated));
        }
        out.push_str(&self.details);
        if self.left_out > 0 {
            out.push_str(&format!(
                "\n{} more changed calls are not shown here: {} shows them\n",
                self.left_out,
                format_code(&format!("loomrec diff {} {}", self.old, self.new))
            ));
        }
        out
    }
}

/// Returns the places that differ, few enough for a table cell.
fn differing_places(call: &ComparedCall) -> String {
    let counted: Vec<&str> = call
        .differences
        .iter()
        .filter(|difference| difference.counts)
        .map(|difference| difference.place.as_str())
        .collect();
    let mut shown: Vec<String> =
        counted.iter().take(4).map(|place| format_code(&shorten_line(place, 60))).collect();
    if counted.len() > 4 {
        shown.push(format!("{} more", counted.len() - 4));
    }
    shown.join(", ")
}

/// Returns the collapsed details of what changed in a call.
fn call_details(call: &ComparedCall) -> String {
    let mut body = String::new();
    for difference in call.differences.iter().filter(|difference| difference.counts) {
        add_difference(&mut body, difference);
    }
    if call.repeated > 0 {
        body.push_str(&format!("@@ {} more as in calls before this one @@\n", call.repeated));
    }
    if let Some(values) = uncounted_line(call.differences.iter()) {
        body.push_str(&format!("@@ not counted @@\n {}\n", terminal::printable_line(&values)));
    }
    if body.chars().count() > LONGEST_CALL {
        body = body.chars().take(LONGEST_CALL).collect();
        body.push_str("\n… cut\n");
    }
    let title = escape_html(&format!("{} {}", call.key_text(), call.call_description()));
    let block = code_block("diff", &body);
    format!("\n<details><summary><code>{title}</code></summary>\n\n{block}\n</details>\n")
}

/// Adds one difference.
fn add_difference(body: &mut String, difference: &CallDifference) {
    body.push_str(&format!("@@ {} @@\n", terminal::printable_line(&difference.place)));
    match value_change(difference) {
        ValueChange::Short(old, new) => {
            body.push_str(&format!(
                "-{}\n+{}\n",
                terminal::printable_line(&old),
                terminal::printable_line(&new)
            ));
        }
        ValueChange::Lines(lines) => {
            for line in lines {
                let sign = match line.kind {
                    LineKind::Old => '-',
                    LineKind::New => '+',
                    LineKind::Same | LineKind::Gap => ' ',
                };
                body.push_str(&format!("{sign}{}\n", terminal::printable_line(&line.whole_text())));
            }
        }
    }
}
