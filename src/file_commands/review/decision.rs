//! `loomrec review --accept` and `--reject`: decisions about changes by key.

use std::collections::BTreeSet;

use super::super::args::{LogFormat, ReviewArgs};
use super::super::show::take_choice::{self, NoChoice};
use super::apply::Verdict;
use super::changes::ReviewDesk;
use super::report::{new_of_several, nothing_below, summary, with_changes};
use super::view::{review_command, short_take_key, typed_key};
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::output::{Output, print};
use loomrec_cli::terminal;
use loomrec_cli::terminal::quote_word;
use loomrec_recording::pending::ReplacedTake;
use loomrec_store::RecordingLocation;

/// How many changes an error message names.
const NAMED: usize = 10;

/// A decision about changes that was typed.
pub(super) struct TypedDecision<'a> {
    verdict: Verdict,
    /// The keys of the changes. Empty for all.
    keys: &'a [String],
    /// The file with the changes, if it is not the usual one.
    new: Option<&'a RecordingLocation>,
    /// Whether changes are accepted whose replaced takes have changed since.
    permits_conflicts: bool,
    /// Whether failed calls may replace takes that succeeded.
    permits_failures: bool,
}

impl<'a> TypedDecision<'a> {
    /// Returns the decision that the flags make. `None` if they make none.
    pub(super) fn from_flags(args: &'a ReviewArgs) -> Option<Self> {
        let accepted = args.accept.as_ref().map(|keys| (Verdict::Accept, keys));
        let (verdict, keys) =
            accepted.or(args.reject.as_ref().map(|keys| (Verdict::Reject, keys)))?;
        let is_reject = verdict == Verdict::Reject;
        Some(Self {
            verdict,
            keys,
            new: args.output.as_ref(),
            permits_conflicts: is_reject || args.force,
            permits_failures: is_reject || args.keep_failures,
        })
    }

    /// Applies the decision to the changes of each recording.
    ///
    /// # Errors
    /// A key that names no change (2); a conflict, or a failed call that would replace one that
    /// succeeded (1); files that cannot be used (4) or are in use (5).
    pub(super) fn apply(&self, named: &[RecordingLocation]) -> Result<u8, CommandFailure> {
        let output = Output::new(LogFormat::Human, false, false);
        match named {
            [] => {
                return Err(CommandFailure::usage(
                    "name the recording before the flag: loomrec review FILE --accept",
                ));
            }
            [file] if !file.names_folder() => return decide_changes(file, self, &output),
            _ if !self.keys.is_empty() => {
                let text = "a key names changes of one recording: name that file";
                return Err(CommandFailure::usage(text));
            }
            _ if self.new.is_some() => return Err(new_of_several()),
            _ => {}
        }
        let mut code = 0;
        for file in named {
            if !file.names_folder() {
                code = code.max(decide_if_possible(file, self, &output)?);
                continue;
            }
            let files = with_changes(file, &output)?;
            if files.is_empty() {
                print(&nothing_below(file))?;
            }
            for file in &files {
                code = code.max(decide_if_possible(file, self, &output)?);
            }
        }
        Ok(code)
    }
}

/// Decides about the changes of one of several recordings. What is wrong with one does not keep the
/// others from their changes.
fn decide_if_possible(
    file: &RecordingLocation,
    decision: &TypedDecision<'_>,
    output: &Output,
) -> Result<u8, CommandFailure> {
    decide_changes(file, decision, output).or_else(|failure| {
        output.warning(&failure.message);
        if failure.code == NO { Ok(NO) } else { Err(failure) }
    })
}

fn decide_changes(
    file: &RecordingLocation,
    decision: &TypedDecision<'_>,
    output: &Output,
) -> Result<u8, CommandFailure> {
    let Some(desk) = ReviewDesk::open(file, decision.new, output)? else {
        let file = file.display();
        let text = format!("nothing waits for a review of {file}");
        // Without keys, having nothing to decide is not an error.
        return match decision.keys.is_empty() {
            true => print(&format!("{}\n", terminal::printable_line(&text))),
            false => Err(CommandFailure::usage(text)),
        };
    };
    let mut meant = chosen_changes(&desk, decision.keys)?;
    let conflicts: Vec<usize> =
        meant.iter().copied().filter(|at| desk.standings[*at].is_conflict()).collect();
    if !decision.permits_conflicts && !conflicts.is_empty() {
        return Err(conflict_refusal(&desk, &conflicts));
    }
    let is_failure =
        |at: &usize| !decision.permits_failures && desk.replaces_success_by_failure(*at);
    let failed: Vec<usize> = meant.iter().copied().filter(is_failure).collect();
    meant.retain(|at| !is_failure(at));
    if meant.is_empty() && !failed.is_empty() {
        return Err(failure_refusal(&desk, &failed)?);
    }
    let mut verdicts = vec![None; desk.changes.len()];
    for at in meant {
        verdicts[at] = Some(decision.verdict);
    }
    let done = desk.apply_verdicts(&verdicts)?;
    let code = print(&summary(&desk, done))?;
    if failed.is_empty() { Ok(code) } else { Err(failure_refusal(&desk, &failed)?) }
}

/// Returns the refusal of failed calls that would replace takes that succeeded.
fn failure_refusal(desk: &ReviewDesk, failed: &[usize]) -> Result<CommandFailure, CommandFailure> {
    let (count, file) = (failed.len(), desk.file.display());
    let are = if count == 1 { "change is" } else { "changes are" };
    let text = format!(
        "{count} {are} not accepted: the new call failed, and the one recorded in {file} \
         succeeded. --keep-failures accepts it anyway, --reject drops it"
    );
    let mut lines = Vec::new();
    for &at in failed {
        lines.push(format!(
            "{}: {}",
            typed_key(desk, at),
            desk.read_entry(at)?.judge_answer().description()
        ));
    }
    Ok(refusal_with_changes(&text, &lines))
}

/// Returns the changes that the keys name. Without keys, returns all changes.
fn chosen_changes(desk: &ReviewDesk, keys: &[String]) -> Result<BTreeSet<usize>, CommandFailure> {
    if keys.is_empty() {
        return Ok(desk.open_changes().into_iter().collect());
    }
    let (waiting, recorded) = (desk.waiting_contents(), desk.recorded_contents());
    let mut meant = BTreeSet::new();
    for key in keys {
        let new = take_choice::choose(&waiting, Some(key));
        let mut found = match &new {
            Ok(choice) => {
                let takes = choice.named_takes(key);
                let is_meant = |take: &ReplacedTake| takes.has_take(&take.name, take.take);
                matching_changes(desk, |at| is_meant(&desk.changes[at].entry))
            }
            Err(_) => Vec::new(),
        };
        if found.is_empty()
            && let Ok(choice) = take_choice::choose(&recorded, Some(key))
        {
            let takes = choice.named_takes(key);
            found = matching_changes(desk, |at| {
                let replaced = desk.standings[at].replaced_index().map(|held| &desk.held[held]);
                let replaced = replaced.or(desk.changes[at].replaces.as_ref());
                replaced.is_some_and(|take| takes.has_take(&take.name, take.take))
            });
        }
        if found.is_empty() {
            let none = || NoChoice::Unknown { key: key.clone(), near: Vec::new() };
            return Err(unknown_key_failure(desk, &new.err().unwrap_or_else(none)));
        }
        meant.extend(found);
    }
    Ok(meant)
}

/// Returns the open changes that fulfil a condition.
fn matching_changes(desk: &ReviewDesk, is_such: impl Fn(usize) -> bool) -> Vec<usize> {
    desk.open_changes().into_iter().filter(|at| is_such(*at)).collect()
}

/// Returns the refusal of changes in conflict.
fn conflict_refusal(desk: &ReviewDesk, conflicts: &[usize]) -> CommandFailure {
    let many = if conflicts.len() == 1 { "1 change is" } else { "changes are" };
    let count = if conflicts.len() == 1 { String::new() } else { format!("{} ", conflicts.len()) };
    let file = desk.file.display();
    let text = format!(
        "{count}{many} in conflict: what was to be replaced in {file} has changed since, or is \
         gone; nothing was accepted. --force accepts them anyway, --reject drops them"
    );
    let lines = conflicts.iter().map(|at| {
        let replaced = desk.changes[*at].replaces.as_ref().map_or_else(String::new, short_take_key);
        format!("{} for {replaced}", typed_key(desk, *at))
    });
    refusal_with_changes(&text, &lines.collect::<Vec<_>>())
}

/// Returns a refusal that names the first of the changes.
fn refusal_with_changes(text: &str, changes: &[String]) -> CommandFailure {
    let mut text = terminal::printable_line(text).into_owned();
    for line in changes.iter().take(NAMED) {
        text.push_str(&format!("\n  {}", terminal::printable_line(line)));
    }
    if changes.len() > NAMED {
        text.push_str(&format!("\n  and {} more", changes.len() - NAMED));
    }
    CommandFailure::new(NO, text)
}

/// Returns the error for a key that names no change.
fn unknown_key_failure(desk: &ReviewDesk, error: &NoChoice) -> CommandFailure {
    let new = desk.new.display();
    let (text, keys): (String, &[String]) = match error {
        NoChoice::Empty | NoChoice::Needed { .. } => (format!("no change waits in {new}"), &[]),
        NoChoice::Ambiguous { key, keys } => {
            (format!("{key:?} means {} keys of {new}: add digits", keys.len()), keys)
        }
        NoChoice::Short { key } => (
            format!(
                "{key:?} is not a step id of {new}, and the beginning of a hash needs 4 digits"
            ),
            &[],
        ),
        NoChoice::Unknown { key, near } => {
            let what = if near.is_empty() { "" } else { "; near it" };
            (format!("no change {key:?} waits in {new}{what}"), near)
        }
    };
    let mut text = terminal::printable_line(&text).into_owned();
    for key in keys.iter().take(NAMED) {
        text.push_str(&format!("\n  {}", terminal::printable_line(&quote_word(key))));
    }
    text.push_str(&format!("\n  {} lists them", review_command(desk, "--list")));
    CommandFailure::usage(text)
}
