//! The check of one recording and its sidecar files.

use std::io::Read as _;

use super::file::{check_entries, unreadable_reason};
use super::verify_report::VerifyReport;
use loomrec_curation::verification::{EntryChecker, Problem, ProblemKind, Severity};
use loomrec_store::{InspectedFile, LeftoverFile, RecordingLocation, StoreError};

/// Returns everything that is wrong with a recording.
pub(super) fn verify(path: &RecordingLocation, checker: &EntryChecker) -> VerifyReport {
    let mut report = VerifyReport { label: path.display().to_string(), ..VerifyReport::default() };
    match check(path, checker, &mut report) {
        // Its recorder was killed when there was only a log.
        Err(StoreError::Missing { .. })
            if report_sidecar_files(path, &mut report).is_ok_and(|logs| logs > 0) => {}
        Err(error) => report.unreadable = Some(unreadable_reason(&error)),
        Ok(()) => {}
    }
    report.problems.sort_by_key(|problem| problem.line.unwrap_or(0));
    report
}

fn check(
    path: &RecordingLocation,
    checker: &EntryChecker,
    report: &mut VerifyReport,
) -> Result<(), StoreError> {
    let file = InspectedFile::open(path.as_path())?;
    report_sidecar_files(path, report)?;
    let mut layout = file.read_layout()?;
    check_entries(&file, &mut layout, checker, report)?;
    report.foreign += layout.foreign;
    report.loomrec = layout.loomrec;
    report.rules = layout.rules.take();
    report_rules(report);
    report_personal_values(report);
    report_spelling(report, has_windows_lines(path));
    Ok(())
}

/// How many bytes may be the first line of a recording.
const FIRST_LINE: u64 = 4096;

/// How many rules are named.
const NAMED: usize = 20;

/// Reports the rules that a replay uses besides the recorded requests.
fn report_rules(report: &mut VerifyReport) {
    let Some(rules) = &report.rules else { return };
    let mut found = Vec::new();
    let mut all = rules.rule_descriptions();
    if !all.is_empty() {
        let count = all.len();
        all.truncate(NAMED);
        let more = match count.saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let text = format!("rules of identity: {}{more}", all.join(", "));
        let at = "/_loomrec/identity";
        found.push(Problem::of_file(ProblemKind::Rules, Severity::Note, text).with_place(at, None));
    }
    if !report.loomrec && report.entries > 0 {
        let text = "it has no `_loomrec`: a replay without --strict gives its last take to every \
                    further call";
        let remedy = "replay it with --strict or --repeat error, or loomrec import it";
        found.push(
            Problem::of_file(ProblemKind::Rules, Severity::Warning, text).with_remedy(remedy),
        );
    }
    found.into_iter().for_each(|problem| report.add(problem));
}

/// Reports the values that tell who recorded the calls, and on which machine.
fn report_personal_values(report: &mut VerifyReport) {
    let (count @ 1.., names) = &report.personal else { return };
    let names: Vec<&str> = names.iter().copied().collect();
    let noun = if *count == 1 { "entry holds" } else { "entries hold" };
    let text = format!("{count} {noun} personal values of their run: {}", names.join(", "));
    let remedy = "loomrec show names them; --redact removes them from requests";
    let note = Problem::of_file(ProblemKind::Personal, Severity::Note, text);
    report.add(note.with_remedy(remedy));
}

/// Reports a loomrec recording that another program has rewritten, which makes large diffs.
fn report_spelling(report: &mut VerifyReport, has_windows_lines: bool) {
    let foreign = report.foreign;
    if !report.loomrec || foreign == 0 {
        return;
    }
    let (text, remedy) = match has_windows_lines {
        true => (
            "its lines end in CRLF".to_owned(),
            "--fix rewrites them; `eol=lf` in .gitattributes keeps git from changing them",
        ),
        false => (
            format!("{foreign} of its entries and keys are not written as loomrec writes them"),
            "--fix rewrites them, so that later diffs are small",
        ),
    };
    let problem = Problem::of_file(ProblemKind::Spelling, Severity::Warning, text);
    report.add(problem.with_remedy(remedy).mark_mendable());
}

/// Whether the first line of a file ends in CRLF.
fn has_windows_lines(path: &RecordingLocation) -> bool {
    let mut start = Vec::new();
    let opened = std::fs::File::open(path.as_path());
    let read = opened.and_then(|file| file.take(FIRST_LINE).read_to_end(&mut start));
    let mut lines = start.split_inclusive(|byte| *byte == b'\n');
    read.is_ok() && lines.next().is_some_and(|line| line.ends_with(b"\r\n"))
}

/// Reports the sidecar files of the recording. Returns the number of logs.
fn report_sidecar_files(
    path: &RecordingLocation,
    report: &mut VerifyReport,
) -> Result<usize, StoreError> {
    let found = loomrec_store::find_leftovers(path)?;
    found.iter().for_each(|leftover| report.add(sidecar_problem(path, leftover)));
    Ok(found.iter().filter(|leftover| matches!(leftover, LeftoverFile::Log { .. })).count())
}

/// Reports a sidecar file.
fn sidecar_problem(recording: &RecordingLocation, leftover: &LeftoverFile) -> Problem {
    let warning = |text| Problem::of_file(ProblemKind::Leftover, Severity::Warning, text);
    match leftover {
        LeftoverFile::Log { path, entries, is_abandoned } => {
            let noun = if *entries == 1 { "call" } else { "calls" };
            let text = format!("{} holds {entries} {noun} that the file lacks", path.display());
            if !is_abandoned {
                let remedy = "its recorder puts them into the file, at its end at the latest";
                return warning(text).with_remedy(remedy).mark_mendable();
            }
            let text = format!("{text}, and no recorder holds it: replay refuses the recording");
            let remedy = format!(
                "loomrec verify --fix {} puts them into the file; where they came with a \
                 repository, delete the log instead",
                recording.display()
            );
            Problem::of_file(ProblemKind::Leftover, Severity::Error, text)
                .with_remedy(remedy)
                .mark_mendable()
        }
        LeftoverFile::Torn { path, bytes } => {
            warning(format!("{} holds {bytes} bytes of calls that were cut", path.display()))
                .with_remedy("record those calls again, then delete it")
        }
        LeftoverFile::Waiting { path } => {
            warning(format!("{} holds changes that wait", path.display()))
                .with_remedy("accept or reject them, or delete it")
        }
    }
}
