//! The repair of mechanical problems: entries are fixed, and the recording is rewritten if anything
//! changed.

use std::collections::{BTreeMap, BTreeSet};

use super::verify_report::{MendStep, VerifyReport};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::store_note::store_note;
use loomrec_curation::verification::{EntryChecker, Problem, ProblemKind, Severity, mend_entry};
use loomrec_recording::EntryName;
use loomrec_store::{
    Recording, RecordingChanges, RecordingLocation, StoreEvent, TakeChange, TakeRef,
};

/// The decision about one entry.
struct EntryPlan {
    old: EntryName,
    new: EntryName,
    place: TakeRef,
    /// Whether the content is fixed, not only moved or rewritten.
    mended: bool,
}

/// The result of a repair.
#[derive(Debug, Default)]
pub(super) struct FixReport {
    pub(super) done: Vec<MendStep>,
    /// What is lost of the log that was merged.
    pub(super) lost: Vec<Problem>,
}

/// Repairs a file. Returns what was done.
///
/// # Errors
/// A file with an entry that cannot be read, or a file that cannot be written.
pub(super) fn fix(
    path: &RecordingLocation,
    before: &VerifyReport,
    checker: &EntryChecker,
    rehash: bool,
) -> Result<FixReport, CommandFailure> {
    let recording = Recording::open_merged(path)?;
    let whole = |what: String| MendStep { key: None, what };
    let mut done: Vec<MendStep> =
        recording.opening_events().iter().map(|note| whole(store_note(note))).collect();
    let lost = recording.opening_events().iter().filter(|note| note.entries_set_aside() > 0);
    let lost: Vec<Problem> = lost.map(set_aside).collect();
    let checker = checker.with_rules(Some(recording.meta().rules().clone()));
    let (plans, mut mended) = plan_entries(&recording, &checker, rehash)?;
    done.append(&mut mended);
    let mut names: BTreeSet<EntryName> = BTreeSet::new();
    for plan in plans.iter().filter(|plan| plan.mended || plan.old != plan.new) {
        names.extend([plan.old.clone(), plan.new.clone()]);
    }
    done.extend(add_misnumbered(before, &plans, &mut names).into_iter().map(whole));
    let respelt = recording.meta().is_loomrec()
        && before.problems.iter().any(|problem| problem.kind == ProblemKind::Spelling);
    if respelt {
        names.extend(plans.iter().map(|plan| plan.new.clone()));
        done.push(whole("wrote its entries as loomrec writes them".to_owned()));
    }
    let mut changes = take_changes(&recording, &checker, &plans, &names, (rehash, respelt))?;
    if respelt && plans.is_empty() {
        // Otherwise nothing of it would be rewritten.
        changes.set_rules(recording.meta().rules().clone());
    }
    recording.rewrite(&changes)?;
    Ok(FixReport { done, lost })
}

/// Describes entries of a log that could not be merged.
fn set_aside(note: &StoreEvent) -> Problem {
    let problem = Problem::of_file(ProblemKind::Leftover, Severity::Error, store_note(note));
    problem.with_remedy("record those calls again, then delete it")
}

/// Returns the decision about each entry, and what is done to it.
fn plan_entries(
    recording: &Recording,
    checker: &EntryChecker,
    rehash: bool,
) -> Result<(Vec<EntryPlan>, Vec<MendStep>), CommandFailure> {
    let (mut plans, mut done) = (Vec::new(), Vec::new());
    for stored in recording.entries() {
        let stored = stored?;
        let mended = mend_entry(&stored.name, &stored.entry, checker, rehash);
        let key = stored.name.take_key(stored.take);
        let mut plan = EntryPlan {
            old: stored.name.clone(),
            new: stored.name,
            place: stored.place,
            mended: mended.is_some(),
        };
        if let Some(mended) = mended {
            plan.new = mended.name;
            done.extend(
                mended.done.into_iter().map(|what| MendStep { key: Some(key.clone()), what }),
            );
        }
        plans.push(plan);
    }
    Ok((plans, done))
}

/// Adds the names whose takes are not numbered consecutively: takes get their numbers when a name
/// is written.
fn add_misnumbered(
    before: &VerifyReport,
    plans: &[EntryPlan],
    names: &mut BTreeSet<EntryName>,
) -> Vec<String> {
    let gaps = before.problems.iter().filter(|problem| problem.kind == ProblemKind::Key);
    let gaps: BTreeSet<EntryName> = gaps
        .filter(|problem| problem.mendable && !problem.pointer.is_empty())
        .filter_map(|problem| problem.key.as_deref().map(|key| EntryName::of_key(key).0))
        .filter(|name| plans.iter().any(|plan| plan.old == *name))
        .collect();
    let done = gaps.iter().map(|name| format!("renumbered the takes of {name}")).collect();
    names.extend(gaps);
    done
}

/// Returns the changes to the takes of these names.
fn take_changes(
    recording: &Recording,
    checker: &EntryChecker,
    plans: &[EntryPlan],
    names: &BTreeSet<EntryName>,
    (rehash, respelt): (bool, bool),
) -> Result<RecordingChanges, CommandFailure> {
    let mut changes = RecordingChanges::new()?;
    let mut takes: BTreeMap<&EntryName, Vec<&EntryPlan>> = BTreeMap::new();
    let mut order: Vec<&EntryName> = Vec::new();
    for plan in plans.iter().filter(|plan| names.contains(&plan.new)) {
        let group = takes.entry(&plan.new).or_default();
        if group.is_empty() {
            order.push(&plan.new);
        }
        group.push(plan);
    }
    let stood: BTreeSet<&EntryName> = plans.iter().map(|plan| &plan.old).collect();
    let mut gone: BTreeSet<&EntryName> =
        names.iter().filter(|name| stood.contains(name) && !takes.contains_key(name)).collect();
    for name in order {
        let Some(takes) = takes.get(name) else { continue };
        let from = takes
            .first()
            .map(|plan| &plan.old)
            .filter(|old| !stood.contains(name) && gone.remove(old));
        match from {
            Some(old) => changes.rename_takes(old.clone(), name.clone(), Vec::new())?,
            None => changes.set_takes(name.clone(), Vec::new())?,
        }
        for plan in takes {
            if !plan.mended && !respelt {
                changes.push(name, TakeChange::Place(plan.place))?;
                continue;
            }
            let entry = recording.read_entry(&plan.place)?;
            let mended = mend_entry(&plan.old, &entry, checker, rehash);
            let entry = mended.map_or(entry, |mended| mended.entry);
            changes.push(name, TakeChange::Entry(Box::new(entry)))?;
        }
    }
    for name in gone {
        changes.set_takes(name.clone(), Vec::new())?;
    }
    Ok(changes)
}
