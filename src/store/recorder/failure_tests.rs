//! Storage that fails at each change, one after the other.

use super::tests::{contents, entry, folder, step};
use super::*;
use crate::disk::failing::{DiskFailure, Plan};
use crate::load_recording;

/// Returns an entry with a time, as all recorded entries have one: it is stored once, however often
/// it is written.
fn timed(n: usize) -> Entry {
    Entry { recorded_at: Some(format!("2026-11-22T00:00:00.{n:06}Z")), ..entry(&n.to_string()) }
}

/// The outcome of a run on storage that may fail.
#[derive(Debug, Default)]
struct Outcome {
    /// The entries that were acknowledged as stored.
    acknowledged: Vec<String>,
    /// The entries that were rejected.
    refused: Vec<String>,
    /// Every error.
    errors: Vec<StoreError>,
}

impl Outcome {
    fn note<T>(&mut self, result: Result<T, StoreError>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }
}

/// Opens, appends, compacts and closes, going on after errors as the writer does.
fn run(plan: &Plan, path: &Path) -> Outcome {
    let mut outcome = Outcome::default();
    let rules = IdentityRules::default();
    let opened = RecordingAppender::open_on(Disk::failing(plan), path, &RunChoice::New, &rules);
    let Some(mut recorder) = outcome.note(opened) else { return outcome };
    for (index, names) in [&["a", "b"][..], &["c"], &["a", "d"], &["e"]].iter().enumerate() {
        let batch: Vec<_> = names
            .iter()
            .zip(index * 10..)
            .map(|(name, number)| (step(name), timed(number)))
            .collect();
        let words = batch
            .iter()
            .map(|(name, entry)| format!("{name}={}", entry.content.as_deref().unwrap()))
            .collect::<Vec<_>>();
        match outcome.note(recorder.append_entries(batch, true)) {
            Some(()) => outcome.acknowledged.extend(words),
            None => outcome.refused.extend(words),
        }
        if index == 1 {
            let job = recorder.start_compaction();
            let compacted = recorder.compaction_done(job.run());
            outcome.note(compacted);
        }
    }
    outcome.note(recorder.close());
    outcome
}

/// Writes a recording that existed before, with an earlier take to be replaced.
fn earlier(path: &Path) {
    let mut recorder =
        RecordingAppender::open(path, &RunChoice::New, &IdentityRules::default()).unwrap();
    recorder.append_entries(vec![(step("z"), timed(900)), (step("a"), timed(901))], true).unwrap();
    recorder.close().unwrap();
}

/// Checks what a later command finds: each acknowledged exchange once, and nothing half.
fn check(path: &Path, outcome: &Outcome, at: &str) {
    let word = |(name, _, entry): (&EntryName, usize, &Entry)| {
        format!("{name}={}", entry.content.as_deref().unwrap())
    };
    let mut kept: Vec<String> = load_recording(path).unwrap().entries().map(word).collect();
    let all = kept.len();
    kept.sort();
    kept.dedup();
    assert_eq!(kept.len(), all, "something stands twice {at}: {kept:?}");
    for word in &outcome.acknowledged {
        assert!(kept.contains(word), "{word} is lost {at}: {kept:?}, {outcome:?}");
    }
    assert!(kept.contains(&"z=900".to_owned()), "{at}: {kept:?}");
    for word in &kept {
        let known = [&outcome.acknowledged[..], &outcome.refused].concat().contains(word)
            || word == "z=900"
            || word == "a=901";
        assert!(known, "{word} was never recorded {at}");
    }
    // The first take of this run replaces the earlier one.
    if outcome.acknowledged.iter().any(|word| word.starts_with("a=")) {
        assert!(!kept.contains(&"a=901".to_owned()), "{at}: {kept:?}");
    }
}

fn fail_everywhere(how: DiskFailure) {
    let mut at = 0;
    loop {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("r.json");
        earlier(&path);
        let plan = Plan::new(at, how);
        let outcome = run(&plan, &path);
        let where_ = format!("at change {at} ({how:?}) of {:?}", plan.done());
        if !plan.has_failed() {
            assert!(at > 8, "{where_}");
            assert!(outcome.errors.is_empty(), "{where_}: {outcome:?}");
            check(&path, &outcome, &where_);
            return;
        }
        if how != DiskFailure::Crash {
            // One failure causes at most one error, and the rest goes on.
            assert!(outcome.errors.len() <= 1, "{where_}: {outcome:?}");
        }
        check(&path, &outcome, &where_);
        let again = RecordingAppender::open(&path, &RunChoice::New, &IdentityRules::default());
        again.unwrap().close().unwrap();
        check(&path, &outcome, &where_);
        let left: Vec<_> =
            folder(&dir).into_iter().filter(|name| !name.contains(".log.torn-")).collect();
        assert_eq!(left, ["r.json"], "{where_}");
        at += 1;
    }
}

#[test]
fn nothing_acknowledged_is_lost_when_any_one_change_fails() {
    fail_everywhere(DiskFailure::Error);
}

#[test]
fn nothing_acknowledged_is_lost_when_any_one_write_is_short() {
    fail_everywhere(DiskFailure::Short);
}

#[test]
fn nothing_acknowledged_is_lost_when_the_process_dies_at_any_change() {
    fail_everywhere(DiskFailure::Crash);
}

#[test]
fn full_disk_is_named_with_its_remedy_and_recording_resumes_when_there_is_space() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let plan = Plan::counting();
    let rules = IdentityRules::default();
    let mut recorder =
        RecordingAppender::open_on(Disk::failing(&plan), &path, &RunChoice::New, &rules).unwrap();
    recorder.append_entries(vec![(step("a"), timed(1))], true).unwrap();
    plan.fail_now(DiskFailure::Full);
    let mut texts = Vec::new();
    for number in 2..5 {
        let error = recorder.append_entries(vec![(step("b"), timed(number))], true).unwrap_err();
        texts.push(error.error_chain());
    }
    assert!(texts.iter().all(|text| *text == texts[0]), "one reason, one text: {texts:?}");
    assert!(texts[0].contains("r.json.log") && texts[0].contains("space"), "{}", texts[0]);
    plan.heal();
    recorder.append_entries(vec![(step("c"), timed(9))], true).unwrap();
    assert_eq!(contents(&load_recording(&path).unwrap()), ["a=1", "c=9"]);
    recorder.close().unwrap();
    assert_eq!(recorder.take_notes(), []);
    assert_eq!(folder(&dir), ["r.json"]);
}

#[test]
fn fold_that_fails_leaves_everything_in_the_log_and_is_done_later() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r.json");
    let plan = Plan::counting();
    let rules = IdentityRules::default();
    let mut recorder =
        RecordingAppender::open_on(Disk::failing(&plan), &path, &RunChoice::New, &rules).unwrap();
    recorder.append_entries(vec![(step("a"), timed(1))], true).unwrap();
    plan.fail_now(DiskFailure::Full);
    let job = recorder.start_compaction();
    let error = recorder.compaction_done(job.run()).unwrap_err();
    assert_eq!(error.class(), crate::ErrorClass::NotKept);
    assert!(recorder.compaction_due().is_some());
    assert_eq!(contents(&load_recording(&path).unwrap()), ["a=1"]);
    plan.heal();
    recorder.append_entries(vec![(step("b"), timed(2))], true).unwrap();
    recorder.close().unwrap();
    assert_eq!(contents(&load_recording(&path).unwrap()), ["a=1", "b=2"]);
    assert_eq!(folder(&dir), ["r.json"]);
}
