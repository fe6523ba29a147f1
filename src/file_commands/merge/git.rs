//! `loomrec merge --git`: merges the two sides of a recording in git, against their common base.
//!
//! The result goes into our side's file. In a conflict that no flag decides, our side's answer is
//! kept, and the exit code makes git mark the file.

use std::path::Path;

use serde_json::Map;

use super::report::{MergeReport, format_takes};
use super::side::{MergeSide, MergeSides, SideNames, conflict_choice, same_purpose};
use crate::args::{LogFormat, OnConflict};
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::output::Output;
use loomrec_cli::terminal;
use loomrec_curation::merge::{self, ConflictChoice};
use loomrec_identity::IdentityRules;
use loomrec_identity::printable::quote_word;
use loomrec_store::RecordingLocation;

/// The indexes of our side, their side and the base in `MergeSides`.
const OURS: usize = 0;
const THEIRS: usize = 1;
const BASE: usize = 2;

/// Merges as git asks: `files` are the base, ours, theirs, and the recording's name for messages.
/// Returns the exit code.
///
/// # Errors
/// Another number of files (2); rules that both sides have changed (1); a side that is
/// damaged or too new (4); our side cannot be written (5).
pub(super) fn run(
    files: &[RecordingLocation],
    on_conflict: OnConflict,
) -> Result<u8, CommandFailure> {
    let (base, ours, theirs, name) = match files {
        [base, ours, theirs] => (base, ours, theirs, ours),
        [base, ours, theirs, name] => (base, ours, theirs, name),
        _ => {
            return Err(CommandFailure::usage(
                "--git takes what git passes: loomrec merge --git %O %A %B %P",
            ));
        }
    };
    let output = Output::new(LogFormat::Human, false, false);
    let label = name.display().to_string();
    let named = |side: Result<MergeSide, CommandFailure>,
                 word: &str|
     -> Result<MergeSide, CommandFailure> {
        let label = format!("{label} ({word})");
        let told = |failure: CommandFailure| CommandFailure {
            message: format!("{label}: {}", failure.message),
            ..failure
        };
        Ok(side.map_err(told)?.with_label(label.clone()))
    };
    let opened = vec![
        named(MergeSide::open(ours, &output), "ours")?,
        named(MergeSide::open(theirs, &output), "theirs")?,
        named(MergeSide::open_base(base, &output), "base")?,
    ];
    same_purpose(&opened[..BASE])?;
    let rules = changed_rules(&label, &opened)?;
    let sides = MergeSides::new(opened, rules)?;
    let mut report = MergeReport::new(Path::new(&label), &sides);
    let names = merge_names(&sides, conflict_choice(on_conflict), &mut report)?;
    report.count_kept(&names);
    let (base, theirs) = match sides.is_empty(BASE) {
        true => (Map::new(), sides.meta(THEIRS).top_level_keys().clone()),
        false => {
            (sides.meta(BASE).top_level_keys().clone(), sides.meta(THEIRS).top_level_keys().clone())
        }
    };
    let (keys, conflicts) = merge::merge_keys(&base, sides.meta(OURS).top_level_keys(), &theirs);
    report.add_metadata_conflicts(conflicts);
    let named = |failure: CommandFailure| CommandFailure {
        message: format!("{label}: {}", failure.message),
        ..failure
    };
    sides.write(ours, &names, keys, true).map_err(named)?;
    report.written = true;
    let failed = on_conflict == OnConflict::Fail && report.has_conflicts();
    report_merge(&label, &report, failed, &output);
    Ok(if failed { NO } else { 0 })
}

/// Merges every name, call by call.
fn merge_names(
    sides: &MergeSides,
    prefer: ConflictChoice,
    report: &mut MergeReport,
) -> Result<SideNames, CommandFailure> {
    let mut names = sides.names_in(OURS).clone();
    let only_theirs = sides
        .names_in(THEIRS)
        .iter()
        .filter(|(name, _)| sides.names_in(OURS).takes_of(name).is_empty());
    for (name, _) in sides.names_in(OURS).iter().chain(only_theirs) {
        let of = |file: usize| sides.names_in(file).takes_of(name);
        let same = |a: &_, b: &_| sides.is_same_take(name, a, b);
        let merged = merge::merge_name(of(BASE), of(OURS), of(THEIRS), prefer, same)?;
        let any = || of(OURS).first().or(of(THEIRS).first());
        report.add_name(name, &merged, || sides.question_start(any()?));
        names.set_takes(name, merged.takes);
    }
    Ok(names)
}

/// Returns the rules of the side that changed them.
fn changed_rules(label: &str, sides: &[MergeSide]) -> Result<IdentityRules, CommandFailure> {
    let of = |side: usize| sides[side].meta().map(|meta| meta.rules().clone());
    let (ours, theirs, base) = (of(OURS), of(THEIRS), of(BASE));
    match (ours, theirs) {
        (ours, theirs) if ours == theirs => Ok(ours.unwrap_or_default()),
        (Some(ours), theirs) if theirs.is_none() || theirs == base => Ok(ours),
        (ours, Some(theirs)) if ours.is_none() || ours == base => Ok(theirs),
        _ => Err(CommandFailure::new(
            NO,
            format!(
                "{label}: both sides changed its --ignore rules (ours: {}; theirs: {}), and ours \
                 was left as it is; write both out (git show {}, {}) and merge \
                 them with loomrec merge --unite-rules",
                sides[OURS].rule_words(),
                sides[THEIRS].rule_words(),
                quote_word(&format!(":2:{label}")),
                quote_word(&format!(":3:{label}")),
            ),
        )),
    }
}

/// Prints the result.
fn report_merge(path: &str, report: &MergeReport, failed: bool, output: &Output) {
    let label = terminal::printable_line(path);
    let ((_, gone), (came, _)) = (report.take_counts(OURS), report.take_counts(THEIRS));
    let mut text = format!("loomrec: {label}: {} of theirs merged", format_takes(came));
    if gone > 0 {
        text.push_str(&format!(", {gone} of ours dropped"));
    }
    if let Some(names) = report.appended_names() {
        text.push_str(&format!(
            "\n  both sides added takes, which follow each other, ours first: {names}"
        ));
    }
    let is_all = report.has_conflicts() && came + gone == 0 && report.appended_names().is_none();
    if !is_all {
        output.info(&text);
    }
    if !report.has_conflicts() {
        return;
    }
    let conflicts = format!("{}{}", report.conflict_count(), report.conflict_lines());
    if !failed {
        return output.warning(&format!("{label}: decided as asked: {conflicts}"));
    }
    let path = terminal::printable_line(&path_word(path)).into_owned();
    output.error(&format!(
        "{label}: {conflicts}\n  the file has ours for now. Take it with: git add {path}\n  \
         take theirs with:        LOOMREC_ON_CONFLICT=last git checkout --merge {path} && \
         git add {path}\n  \
         keep both as takes with: LOOMREC_ON_CONFLICT=both git checkout --merge {path} && \
         git add {path}"
    ));
}

/// Returns a path from the top of the repository as a word of a git command, which may be given in
/// any folder of it.
fn path_word(path: &str) -> String {
    match quote_word(path) {
        plain if plain == path => format!(":/{path}"),
        _ => quote_word(&format!(":(top,literal){path}")),
    }
}
