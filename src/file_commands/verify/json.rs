//! The report for programs: a list of files, written as each is checked.

use serde_json::{Value, json};

use super::verify_report::VerifyReport;
use loomrec_cli::terminal;

/// The document while it is being written.
#[derive(Default)]
pub(super) struct VerifyDocument {
    files: usize,
}

impl VerifyDocument {
    /// Returns the text of one file.
    pub(super) fn file_text(&mut self, report: &VerifyReport) -> String {
        let before = if self.files == 0 { "{\"files\":[\n" } else { ",\n" };
        self.files += 1;
        format!("{before}{}", terminal::printable_json(&report_value(report).to_string()))
    }

    /// Returns the text after all files.
    pub(super) fn closing_text(&self, code: u8) -> String {
        format!("\n],\"ok\":{}}}\n", code == 0)
    }
}

fn report_value(report: &VerifyReport) -> Value {
    let problems: Vec<Value> = report
        .problems
        .iter()
        .map(|problem| {
            json!({
                "kind": problem.kind.as_str(),
                "severity": problem.severity.as_str(),
                "key": problem.key,
                "pointer": problem.pointer,
                "line": problem.line,
                "text": problem.text,
                "remedy": problem.remedy,
                "fixable": problem.mendable,
            })
        })
        .collect();
    let mended: Vec<Value> =
        report.mended.iter().map(|done| json!({ "key": done.key, "what": done.what })).collect();
    json!({
        "file": report.label,
        "entries": report.entries,
        "unreadable": report.unreadable,
        "errors": report.errors,
        "warnings": report.warnings,
        "problems": problems,
        "mended": mended,
        "unmended": report.unmended.as_ref().map(|(why, _)| why),
    })
}
