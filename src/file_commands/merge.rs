//! The `loomrec merge` command: merges several recordings into one, call by call.

mod git;
mod report;
mod side;

use super::args::{LogFormat, MergeArgs, OnConflict};
use loomrec_cli::exit::{CommandFailure, NO, USAGE};
use loomrec_cli::output::{Output, print};
use loomrec_cli::{output_target, terminal};
use loomrec_curation::merge::{self, ConflictChoice};
use loomrec_identity::IdentityRules;
use report::MergeReport;
use side::{MergeSide, MergeSides, SideNames, conflict_choice, same_purpose};

/// Runs the command.
///
/// # Errors
/// Rules that differ, or an output that exists (2); a recording that is missing, damaged or too new
/// (4); an output that cannot be written, or that is being recorded into (5).
pub fn run(args: &MergeArgs) -> Result<u8, CommandFailure> {
    if args.files.len() < 2 {
        return Err(CommandFailure::usage(
            "name at least two recordings: loomrec merge -o OUT FILE FILE; or the URL of one in an \
             object store, without -o, to merge what its recorders have uploaded",
        ));
    }
    if args.git {
        return git::run(&args.files, args.on_conflict);
    }
    let Some(target) = &args.output else {
        return Err(CommandFailure::usage("name the recording to write: -o OUT"));
    };
    let output = Output::new(LogFormat::Human, false, false);
    let opened: Result<Vec<MergeSide>, CommandFailure> = args
        .files
        .iter()
        .map(|path| match output_target::is_same_file(path.as_path(), target.as_path()) {
            true => MergeSide::open_to_change(path, &output),
            false => MergeSide::open(path, &output),
        })
        .collect();
    let opened = opened?;
    let rules = merged_rules(&opened, args.unite_rules)?;
    same_purpose(&opened)?;
    let sides = MergeSides::new(opened, rules)?;
    let mut report = MergeReport::new(target.as_path(), &sides);
    let mut names = sides.names_in(0).clone();
    let mut meta = sides.meta(0).top_level_keys().clone();
    for file in 1..args.files.len() {
        names = merge_names(&sides, names, file, conflict_choice(args.on_conflict), &mut report)?;
        let (merged, conflicts) =
            merge::merge_keys(&serde_json::Map::new(), &meta, sides.meta(file).top_level_keys());
        report.add_metadata_conflicts(conflicts);
        meta = merged;
    }
    report.count_kept(&names);
    let failed = args.on_conflict == OnConflict::Fail && report.has_conflicts();
    if !failed {
        let over = args.force
            || args
                .files
                .iter()
                .any(|file| output_target::is_same_file(file.as_path(), target.as_path()));
        sides.write(target, &names, meta, over)?;
        report.written = true;
    }
    if args.json {
        print(&terminal::printable_json(&format!("{:#}\n", report.to_json())))?;
    }
    match failed {
        true => output.error(&format!(
            "{}\nnothing was written; --on-conflict first, last or both decides",
            report.to_text()
        )),
        false if !args.json => output.info(&report.to_text()),
        false => {}
    }
    Ok(if failed { NO } else { 0 })
}

/// Merges the names of the first recordings with those of another one.
fn merge_names(
    sides: &MergeSides,
    mut names: SideNames,
    file: usize,
    prefer: ConflictChoice,
    report: &mut MergeReport,
) -> Result<SideNames, CommandFailure> {
    for (name, takes) in sides.names_in(file).iter() {
        let ours = names.takes_of(name);
        let merged =
            merge::merge_name(&[], ours, takes, prefer, |a, b| sides.is_same_take(name, a, b))?;
        report.add_name(name, &merged, || sides.question_start(ours.first().or(takes.first())?));
        names.set_takes(name, merged.takes);
    }
    Ok(names)
}

/// Returns the rules for the keys of all recordings.
fn merged_rules(sides: &[MergeSide], unite: bool) -> Result<IdentityRules, CommandFailure> {
    let mut rules = IdentityRules::default();
    let mut first: Option<&MergeSide> = None;
    for side in sides {
        let Some(meta) = side.meta() else { continue };
        rules = rules.united_with(meta.rules());
        match first {
            Some(other) if side.rule_words() != other.rule_words() && !unite => {
                return Err(CommandFailure::new(
                    USAGE,
                    format!(
                        "{} and {} were recorded under different --ignore rules ({}; {}): \
                         --unite-rules recomputes all keys under all of them",
                        other.label(),
                        side.label(),
                        other.rule_words(),
                        side.rule_words(),
                    ),
                ));
            }
            _ => first = first.or(Some(side)),
        }
    }
    Ok(rules)
}
