//! The check of a recording that is a folder: each of its files alone, on all cores, and then what
//! can only be seen across files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::file::{entries, on_all_cores, unreadable};
use super::verify_report::VerifyReport;
use loomrec_curation::verification::{EntryChecker, Problem, ProblemKind, Severity, gaps};
use loomrec_identity::IdentityRules;
use loomrec_recording::PendingKind;
use loomrec_store::{InspectedFile, StoreError};

/// The result for one file.
#[derive(Default)]
struct CheckedFile {
    /// The problems of the file alone.
    report: VerifyReport,
    /// Its keys, with their lines.
    keys: Vec<(String, usize)>,
    /// The rules of its key, and what its entry waits for, if the file says so.
    own: Option<(IdentityRules, Option<PendingKind>)>,
}

/// Checks the files of a folder.
pub(super) fn check(files: &[PathBuf], checker: &EntryChecker, report: &mut VerifyReport) {
    let mut parts = on_all_cores(files, |path| part(path, checker));
    let label = |at: usize| files[at].display().to_string();
    let mut unread = 0;
    for (at, part) in parts.iter_mut().enumerate() {
        let own = std::mem::take(&mut part.report);
        unread += usize::from(own.unreadable.is_some());
        report.entries += own.entries;
        report.foreign += if own.loomrec { own.foreign } else { 0 };
        report.loomrec |= own.loomrec;
        report.personal.0 += own.personal.0;
        report.personal.1.extend(own.personal.1);
        if let Some(why) = own.unreadable {
            report
                .add(Problem::of_file(ProblemKind::Shape, Severity::Error, why).in_file(label(at)));
        }
        own.problems.into_iter().for_each(|problem| report.add(problem.in_file(label(at))));
    }
    let own = |part: &CheckedFile| part.own.as_ref().map(|(rules, _)| rules.clone());
    report.rules = parts.iter().find_map(own);
    twice(&parts, label).into_iter().for_each(|problem| report.add(problem));
    disagreeing(&parts, label).into_iter().for_each(|problem| report.add(problem));
    let of = |(at, part): (usize, &CheckedFile)| vec![at; part.keys.len()];
    let stand_in: Vec<usize> = parts.iter().enumerate().flat_map(of).collect();
    let keys = parts.iter().flat_map(|part| &part.keys);
    for (key, gap) in gaps(keys.map(|(key, line)| (key.as_str(), *line))) {
        report.add(gap.in_file(label(stand_in[key])));
    }
    if unread > 0 {
        report.unreadable = Some(format!(
            "{unread} of its {} files cannot be read, and without them it cannot be used",
            files.len()
        ));
    }
}

/// Checks one file.
fn part(path: &Path, checker: &EntryChecker) -> CheckedFile {
    let mut part = CheckedFile::default();
    if let Err(error) = read(path, checker, &mut part) {
        part.report.unreadable = Some(match error {
            // The path is shown beside it.
            StoreError::Format { problem, .. } => problem.to_string(),
            error => unreadable(&error),
        });
    }
    part
}

fn read(path: &Path, checker: &EntryChecker, part: &mut CheckedFile) -> Result<(), StoreError> {
    let file = InspectedFile::open_part(path)?;
    let mut layout = file.part()?;
    entries(&file, &mut layout, checker, &mut part.report)?;
    part.report.foreign += layout.foreign;
    part.report.loomrec = layout.loomrec;
    part.own = layout.rules.take().map(|rules| (rules, layout.waits_for));
    part.keys = layout.keys().collect();
    match part.keys.as_slice() {
        [(key, _)] => part.report.problems.extend(misnamed(path, key)),
        keys => {
            let text = format!(
                "a file in a recording's folder holds one entry, and this one holds {}",
                keys.len()
            );
            let problem = Problem::of_file(ProblemKind::Shape, Severity::Error, text);
            part.report.problems.push(problem.helped(
                "move it away; loomrec convert makes a folder of a recording with several",
            ));
        }
    }
    Ok(())
}

/// Reports a file whose name does not fit its key.
fn misnamed(path: &Path, key: &str) -> Option<Problem> {
    let name = loomrec_store::misnamed(path, key)?;
    let text = format!("the file is not called as its key is: {name}");
    let problem = Problem::of_file(ProblemKind::Name, Severity::Warning, text).within(key);
    Some(problem.helped("--fix renames it").mendable())
}

/// Reports keys that are in several files.
fn twice(parts: &[CheckedFile], label: impl Fn(usize) -> String) -> Vec<Problem> {
    let (mut first, mut found) = (HashMap::new(), Vec::new());
    for (at, part) in parts.iter().enumerate() {
        for (key, line) in &part.keys {
            let known = *first.entry(key).or_insert(at);
            if known != at {
                let text = format!("the key is in {} too", label(known));
                let problem = Problem::of_file(ProblemKind::Duplicate, Severity::Error, text)
                    .at("", Some(*line))
                    .within(key.as_str())
                    .in_file(label(at));
                found.push(problem.helped("remove one of the two: only one could be replayed"));
            }
        }
    }
    found
}

/// Reports files whose metadata differs from that of the first one.
fn disagreeing(parts: &[CheckedFile], label: impl Fn(usize) -> String) -> Vec<Problem> {
    let mut all = parts.iter().enumerate().filter_map(|(at, part)| Some((at, part.own.as_ref()?)));
    let Some((first, own)) = all.next() else { return Vec::new() };
    all.filter(|(_, other)| *other != own)
        .map(|(at, _)| {
            let text = format!(
                "its `_loomrec` does not agree with that of {}, on the rules of --ignore or on \
                 what is pending",
                label(first)
            );
            let problem =
                Problem::of_file(ProblemKind::Format, Severity::Error, text).in_file(label(at));
            problem.helped("restore it from an older copy, or move it away")
        })
        .collect()
}
