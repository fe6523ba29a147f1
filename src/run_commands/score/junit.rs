//! The verdict as JUnit XML, which CI systems show as tests.

use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use super::journal::Incident;
use super::scored_faults::{ScoredFaults, miss_reasons};
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::serve_setup;
use loomrec_fault::recovery::FaultScore;

/// The beginning of every report.
const BEGINNING: &[u8] =
    b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"loomrec\" ";

/// Writes the report to a file.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn write_junit(judged: &ScoredFaults, path: &Path) -> Result<(), CommandFailure> {
    let written = serve_setup::create_report(path, BEGINNING)?.write_all(report(judged).as_bytes());
    written.map_err(|error| {
        CommandFailure::new(UNEXPECTED, format!("failed to write {}: {error}", path.display()))
    })
}

/// Returns the report: a test case for each fault. If there is a budget that no fault put to the
/// test, there is an error in its place, or a skipped case if that is permitted.
pub(super) fn report(judged: &ScoredFaults) -> String {
    let mut cases: Vec<String> =
        judged.scored_incidents().map(|(incident, score)| test_case(incident, score)).collect();
    let total = judged.verdict.total;
    let failures = total.missed;
    let (mut errors, mut skipped) = (0, 0);
    if judged.is_untested() {
        // The program is not to blame: this is not a failure.
        let element = match judged.has_passed() {
            true => "skipped",
            false => "error",
        };
        let what = "no fault struck: nothing put the budget to the test";
        cases.push(format!(
            "    <testcase classname=\"recovery\" name=\"faults strike\" time=\"0.000\">\n      \
             <{element} message=\"{what}\"/>\n    </testcase>\n"
        ));
        *if judged.has_passed() { &mut skipped } else { &mut errors } += 1;
    }
    skipped += judged.scored_incidents().filter(|(_, score)| !score.counts).count();
    let counts = format!(
        "tests=\"{}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\"",
        cases.len()
    );
    let time = format_seconds(total.user_visible_hang);
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <testsuites name=\"loomrec\" {counts} time=\"{time}\">\n  \
         <testsuite name=\"recovery\" {counts} time=\"{time}\">\n{}  </testsuite>\n\
         </testsuites>\n",
        cases.concat()
    )
}

fn test_case(incident: &Incident, score: &FaultScore) -> String {
    let from = incident.rule.as_deref().or(incident.source.as_deref()).unwrap_or("recovery");
    let report = &score.report;
    let took = report.time_to_recovery.filter(|_| score.counts).or(score.hang);
    let open = format!(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
        escape_attribute(from),
        escape_attribute(&incident.fault_description()),
        format_seconds(took.unwrap_or_default())
    );
    let inside = match (score.counts, score.missed.is_empty()) {
        (true, true) => return format!("{open}/>\n"),
        (true, false) => {
            format!("<failure message=\"{}\"/>", escape_attribute(&miss_reasons(score)))
        }
        (false, _) => "<skipped message=\"the answer was only late\"/>".to_owned(),
    };
    format!("{open}>\n      {inside}\n    </testcase>\n")
}

fn format_seconds(time: Duration) -> String {
    format!("{:.3}", time.as_secs_f64())
}

/// Escapes text for an attribute. Characters that XML cannot represent are replaced.
fn escape_attribute(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\t' | '\n' | '\r' => out.push_str(&format!("&#{};", u32::from(character))),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escape_attribute;

    #[test]
    fn attributes_hold_any_text() {
        assert_eq!(
            escape_attribute("a<b>&\"'\n\u{1b}é\u{ffff}"),
            "a&lt;b&gt;&amp;&quot;&apos;&#10;\u{fffd}é\u{fffd}"
        );
    }
}
