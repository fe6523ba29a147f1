//! The `loomrec noise` command: proposes the rules that make two recordings of the same run equal.
//!
//! Of both recordings, only the requests that differ are held in memory.

mod compared_calls;
mod report;

use super::args::{LogFormat, NoiseArgs};
use super::diff::{OpenedRecording, pair_recordings};
use compared_calls::ComparedCalls;
use loomrec_cli::exit::{CommandFailure, NO, UNEXPECTED};
use loomrec_cli::output::{Output, print};
use loomrec_cli::preset::{PRESETS, Preset};
use loomrec_cli::serve_setup;
use loomrec_cli::terminal;
use loomrec_cli::terminal::quote_word;
use loomrec_cli::waiting_recordings::is_there;
use loomrec_curation::noise::NoiseProposal;
use loomrec_engine::replay::{Matcher, ReplaySource, ReplayTerms};
use loomrec_identity::{IdentityRules, NormalizeRule};
use loomrec_recording::redact::Redactor;
use loomrec_recording::{PendingKind, RecordingMeta};
use loomrec_store::{Recording, RecordingChanges, RecordingLocation};
use report::NoiseReport;

/// Runs the command.
///
/// # Errors
/// Files that cannot be compared (2); a recording that is missing, damaged or too new (4); one that
/// cannot be written, or that is being recorded into (5).
pub fn run(args: &NoiseArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let other = compared_file(args)?;
    let open = if args.apply { serve_setup::open_to_change } else { serve_setup::open };
    let (old, new) = (open(&args.file, &output)?, serve_setup::open(&other, &output)?);
    serve_setup::refuse_waiting(&args.file, &old)?;
    let rules = old.meta().rules().clone();
    let is_missed = new.meta().waits_for() == Some(PendingKind::Answers);
    let old = OpenedRecording::from_recording(&args.file, old, &rules)?;
    let new = OpenedRecording::from_recording(&other, new, &rules)?;
    let pairs = pair_recordings(&old, &new, &rules)?;
    let mut compared = ComparedCalls::from_pairs(&old, &new, &pairs, &rules, is_missed)?;
    let known: Vec<NormalizeRule> = PRESETS.iter().flat_map(Preset::normalize_rules).collect();
    let mut proposal = NoiseProposal::from_pairs(&compared.pairs, &rules, &known);
    refuse_merges(&args.file, &compared, &mut proposal)?;
    proposal.unexplained.append(&mut compared.unpaired);
    let applies = args.apply && !proposal.rules.is_empty();
    if applies {
        write_rules(&old.recording, &rules, &proposal)?;
    }
    let redactor = Redactor::new(&[])
        .map_err(|error| CommandFailure::new(UNEXPECTED, format!("failed to {error}")))?;
    let report = NoiseReport {
        file: &old.label,
        other: &new.label,
        is_pending: args.pending,
        applied: applies,
        compared: &compared,
        proposal: &proposal,
        redactor: &redactor,
    };
    print(&match args.json {
        true => terminal::printable_json(&format!("{:#}\n", report.to_json())).into_owned(),
        false => report.to_text(),
    })?;
    Ok(if proposal.unexplained.is_empty() { 0 } else { NO })
}

/// Returns what the recording is compared with.
fn compared_file(args: &NoiseArgs) -> Result<RecordingLocation, CommandFailure> {
    let file = quote_word(&args.file.display().to_string());
    let other = args.other.clone().unwrap_or_else(|| args.file.pending_file());
    if args.pending && !is_there(&other) {
        return Err(serve_setup::nothing_pending(&args.file));
    }
    let real = |path: &RecordingLocation| std::fs::canonicalize(path.as_path()).ok();
    if real(&args.file).is_some_and(|path| real(&other) == Some(path)) {
        return Err(CommandFailure::usage(format!(
            "{file} is named twice: name another recording of the same run"
        )));
    }
    Ok(other)
}

/// Takes back each rule under which recorded calls with different answers would be one call.
fn refuse_merges(
    file: &RecordingLocation,
    compared: &ComparedCalls,
    proposal: &mut NoiseProposal,
) -> Result<(), CommandFailure> {
    if proposal.rules.is_empty() {
        return Ok(());
    }
    let conflicts = |proposal: &NoiseProposal, without: Option<usize>| {
        let rules = proposal.rules.iter().enumerate();
        let rules = rules.filter(|(at, _)| Some(*at) != without);
        let rules = rules.map(|(_, proposed)| proposed.rule.clone());
        let rules = IdentityRules::default().with_normalize(rules);
        let label = file.display().to_string();
        let source = ReplaySource { label, recording: Recording::open(file)? };
        let terms = ReplayTerms {
            rules: Some(&rules),
            run_values: Some(&compared.values),
            ..ReplayTerms::default()
        };
        let matcher = Matcher::new(vec![source], terms)?;
        Ok::<usize, CommandFailure>(matcher.unbound_pairs().count())
    };
    let none = NoiseProposal::default();
    let before = conflicts(&none, None)?;
    while !proposal.rules.is_empty() && conflicts(proposal, None)? > before {
        let mut best = (usize::MAX, 0);
        for at in 0..proposal.rules.len() {
            best = best.min((conflicts(proposal, Some(at))?, at));
        }
        proposal.refuse_merge(best.1);
    }
    Ok(())
}

/// Writes the rules into the recording. Rules for what clients make anew change no key.
fn write_rules(
    recording: &Recording,
    rules: &IdentityRules,
    proposal: &NoiseProposal,
) -> Result<(), CommandFailure> {
    let more = proposal.rules.iter().map(|proposed| proposed.rule.clone());
    let rules = rules.with_normalize(more);
    let (count, most) = (rules.normalize_rules().len(), RecordingMeta::MOST_RULES);
    if count > most {
        return Err(CommandFailure::usage(format!(
            "a recording can have {most} rules, and would have {count}"
        )));
    }
    let mut changes = RecordingChanges::new()?;
    changes.set_rules(rules);
    recording.rewrite(&changes)?;
    Ok(())
}
