//! The report for people: one line for each problem, in the style of compilers, with the remedy
//! below it.

use owo_colors::OwoColorize as _;

use super::verify_report::VerifyReport;
use loomrec_cli::terminal;
use loomrec_curation::verification::{Problem, Severity};

/// Formats the report of one file. With `quiet`, shows only errors.
pub(super) fn format_report(report: &VerifyReport, quiet: bool) -> String {
    let mut out = String::new();
    let label = terminal::printable_line(&report.label);
    for done in report.mended.iter().filter(|_| !quiet) {
        let key =
            done.key.as_deref().map(|key| format!("{}: ", shorten_key(key))).unwrap_or_default();
        let what = terminal::printable_line(&done.what);
        out.push_str(&format!("{label}: {}: {key}{what}\n", "fixed".green()));
    }
    for problem in &report.problems {
        if !quiet || problem.severity == Severity::Error {
            out.push_str(&problem_text(&label, problem));
        }
    }
    let told = report.problems.len();
    let all = report.errors + report.warnings + report.notes;
    if all > told && !quiet {
        out.push_str(&format!("{label}: and {} more\n", all - told));
    }
    if let Some((why, _)) = &report.unmended {
        out.push_str(&format!(
            "{label}: {}: {}\n",
            "error".red().bold(),
            terminal::printable_line(why)
        ));
    }
    if let Some(why) = &report.unreadable {
        out.push_str(&format!(
            "{label}: {}: {}\n",
            "error".red().bold(),
            terminal::printable_line(why)
        ));
    } else if !quiet {
        out.push_str(&format!("{label}: {}\n", sum_line(report)));
    }
    out
}

fn problem_text(label: &str, problem: &Problem) -> String {
    let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
    let severity = match problem.severity {
        Severity::Error => "error".red().bold().to_string(),
        Severity::Warning => "warning".yellow().bold().to_string(),
        Severity::Note => "note".cyan().to_string(),
    };
    let key = problem.key.as_deref().map(shorten_key).unwrap_or_default();
    let place = format!("{key} {}", terminal::printable_line(&problem.pointer));
    let place = match place.trim() {
        "" => String::new(),
        place => format!("{place}: "),
    };
    let text = terminal::printable_line(&problem.text);
    let mut out = format!("{label}{line}: {severity}: {place}{text} [{}]\n", problem.kind.as_str());
    if !problem.remedy.is_empty() {
        out.push_str(&format!("    {}\n", terminal::printable_line(&problem.remedy)));
    }
    out
}

/// Shortens a key: a hash to its first digits.
fn shorten_key(key: &str) -> String {
    let is_hash = key.get(..64).is_some_and(|head| head.bytes().all(|b| b.is_ascii_hexdigit()));
    let short = match (is_hash, key.get(..12), key.get(64..)) {
        (true, Some(head), Some(tail)) => format!("{head}{tail}"),
        _ => terminal::cut(key, 80).into_owned(),
    };
    terminal::printable_line(&short).into_owned()
}

fn sum_line(report: &VerifyReport) -> String {
    let count =
        |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
    let entries = count(report.entries, "call");
    match (report.errors, report.warnings) {
        (0, 0) => format!("{}, {entries}", "ok".green()),
        (0, warnings) => format!("{}, {entries}, {}", "ok".green(), count(warnings, "warning")),
        (errors, 0) => format!("{} in {entries}", count(errors, "error")),
        (errors, warnings) => {
            format!("{}, {} in {entries}", count(errors, "error"), count(warnings, "warning"))
        }
    }
}
