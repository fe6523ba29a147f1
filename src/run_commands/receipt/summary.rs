//! The receipt as Markdown, for the page of a CI job.

use super::super::args::SUMMARY_BEGINNING;
use super::FaultReceipt;
use super::Receipt;
use loomrec_cli::markdown::{code_block, format_code};
use loomrec_cli::pricing::sum_words;
use loomrec_cli::terminal;
use loomrec_engine::replay::RecordingMismatchError;

/// The most mismatches that are shown.
const MISMATCHES: usize = 20;
/// The most differences that are shown of one mismatch.
const DIFFERENCES: usize = 8;

impl Receipt {
    /// Formats the receipt as Markdown: a table of counts, what is wrong, what to do, and what
    /// differs in each call that was missed.
    pub fn to_markdown(&self) -> String {
        let mut out =
            format!("{SUMMARY_BEGINNING}{}: {}\n\n", self.command, self.run_verdict().as_str());
        let (names, values): (Vec<&str>, Vec<String>) = self.count_columns().into_iter().unzip();
        out.push_str(&format!("| {} |\n", names.join(" | ")));
        out.push_str(&format!("|{}\n", "--:|".repeat(names.len())));
        out.push_str(&format!("| {} |\n", values.join(" | ")));
        for (title, lines) in [
            ("What is wrong", &self.complaints),
            ("What to do", &self.next),
            ("Notes", &self.notes),
        ] {
            if !lines.is_empty() {
                out.push_str(&format!("\n**{title}**\n\n"));
                lines.iter().for_each(|line| out.push_str(&format!("* {}\n", format_code(line))));
            }
        }
        let mismatches = &self.more.mismatches;
        for mismatch in mismatches.iter().take(MISMATCHES) {
            add_mismatch(&mut out, mismatch);
        }
        if mismatches.len() > MISMATCHES {
            out.push_str(&format!("\n… and {} more\n", mismatches.len() - MISMATCHES));
        }
        if !self.recordings.is_empty() {
            let names =
                self.recordings.iter().map(|(path, _)| format_code(&path.display().to_string()));
            out.push_str(&format!("\n{}\n", names.collect::<Vec<_>>().join(", ")));
        }
        out.push('\n');
        out
    }

    /// Returns the columns of the table, each with its value.
    fn count_columns(&self) -> Vec<(&'static str, String)> {
        let mut counts = Vec::new();
        let mut count = |name, number: u64, always: bool| {
            if always || number > 0 {
                counts.push((name, number.to_string()));
            }
        };
        let replays = self.unused.is_some();
        count("served", self.served, replays);
        count("recorded", self.recorded, self.command == "record");
        count("missed", self.missed, replays);
        count("of these drifted", self.drifted, false);
        count("unanswered", self.unanswered, false);
        count("refused", self.refused, false);
        count("refused as WebSocket", self.refused_upgrades, false);
        count("unreachable", self.unreachable, false);
        count("not kept", self.unkept, false);
        let fired = self.faults.as_ref().map_or(0, FaultReceipt::fired_count);
        count("faults fired", fired, self.faults.is_some());
        if let Some(unused) = &self.unused {
            counts.push(("takes unused", format!("{} of {}", unused.count, self.takes)));
        }
        counts.push(("upstream connections", self.upstream_connections.to_string()));
        if self.more.has_usage() {
            let (input, output) = (self.more.input_tokens, self.more.output_tokens);
            counts.push(("tokens in, out", format!("{input}, {output}")));
            let spent = if self.recorded > 0 { "spent" } else { "saved" };
            counts.push((spent, sum_words(self.more.cost_usd, self.more.unknown_costs)));
        }
        counts
    }
}

/// Adds a call that was missed, with what differs from the nearest recorded call.
fn add_mismatch(out: &mut String, mismatch: &RecordingMismatchError) {
    let call = format!("{} {} to {}", mismatch.method, mismatch.path, mismatch.upstream);
    out.push_str(&format!("\n**{}**: {}\n", mismatch.reason.as_str(), format_code(&call)));
    let Some(nearest) = &mismatch.nearest else { return };
    out.push_str(&format!("\nThe nearest recorded call is {}\n", format_code(&nearest.label())));
    let mut lines = String::new();
    for difference in nearest.differences.iter().take(DIFFERENCES) {
        let (recorded, now) = difference.shortened_values();
        let [place, recorded, now] =
            [&difference.place, &recorded, &now].map(|it| terminal::printable_line(it));
        lines.push_str(&format!("@@ {place} @@\n-{recorded}\n+{now}\n"));
    }
    if nearest.differences.len() > DIFFERENCES {
        let more = nearest.differences.len() - DIFFERENCES;
        lines.push_str(&format!("@@ and {more} more @@\n"));
    }
    if !lines.is_empty() {
        out.push_str(&format!("\n{}", code_block("diff", &lines)));
    }
}
