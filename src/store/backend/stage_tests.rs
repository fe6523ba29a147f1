//! Tests of what every back-end guarantees for a replacement.

use std::path::{Path, PathBuf};

use super::*;
use crate::{Recording, RecordingAppender, RunChoice, StoredEntry};
use loomrec_identity::IdentityRules;
use loomrec_recording::{Entry, EntryName};

/// A recording in each of the back-ends, with an entry in it.
fn each_backend() -> Vec<(tempfile::TempDir, PathBuf)> {
    let places = ["r.json", "r/"].into_iter().map(|name| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(name);
        record(&path, "a");
        (dir, path)
    });
    places.collect()
}

fn record(path: &Path, step: &str) {
    let mut recorder =
        RecordingAppender::open(path, &RunChoice::New, &IdentityRules::default()).unwrap();
    let entry = Entry { content: Some(step.to_owned()), ..Entry::default() };
    recorder.append(vec![(EntryName::step(step).unwrap(), entry)], true).unwrap();
    recorder.close().unwrap();
}

fn steps(path: &Path) -> Vec<String> {
    let recording = Recording::open(path).unwrap();
    let entries: Vec<StoredEntry> = recording.entries().map(Result::unwrap).collect();
    entries.iter().map(|stored| stored.name.to_string()).collect()
}

/// Counts the files, including those of the folder if it is one.
fn count_files(dir: &Path) -> usize {
    let found = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    let found = found.filter(|path| !path.ends_with(".gitignore"));
    found.map(|path| if path.is_dir() { count_files(&path) } else { 1 }).sum()
}

/// Stages the recording without its entry, calls `between`, and replaces it.
fn replace(path: &Path, between: impl FnOnce()) -> Option<ReplacedBase> {
    let paths = RecordingPaths::of(path).unwrap();
    let (disk, mut lock) = (Disk::real(), RecordingLock::new(&paths.lock, &Disk::real()));
    let mut base = paths.backend.snapshot(path).unwrap();
    let version = base.version().unwrap();
    let outline = base.outline(path).unwrap().unwrap();
    let mut plan = crate::merge::LogMerge::default();
    plan.changed.insert(0, Vec::new());
    let spool = tempfile::tempfile().unwrap();
    let source = RecordingSnapshot::rewriting(path, base, outline, spool, plan);
    let terms = StageTerms { disk: &disk, rules: None, meta: None, tag: "test" };
    let staged = paths.backend.stage(&source, terms).unwrap();
    between();
    let replaced =
        paths.backend.replace_compacted(&staged, &version, &paths, &mut lock, &disk).unwrap();
    staged.discard(&disk);
    replaced
}

#[test]
fn a_version_that_is_still_there_is_replaced_under_the_lock() {
    for (dir, path) in each_backend() {
        let replaced = replace(&path, || {}).unwrap();
        let paths = RecordingPaths::of(&path).unwrap();
        let other = std::fs::File::open(&paths.lock).unwrap();
        assert!(!lock::try_lock(&other).unwrap(), "{}: it is locked", path.display());
        drop(replaced);
        assert!(lock::try_lock(&other).unwrap());
        std::fs::remove_file(&paths.lock).unwrap();
        let left = usize::from(path.is_file());
        assert_eq!(count_files(dir.path()), left, "{}: nothing is left staged", path.display());
    }
}

#[test]
fn a_version_that_somebody_has_changed_is_not_replaced() {
    for (dir, path) in each_backend() {
        assert!(replace(&path, || record(&path, "b")).is_none(), "{}", path.display());
        assert_eq!(steps(&path), ["a", "b"], "{}: it is as it was", path.display());
        let paths = RecordingPaths::of(&path).unwrap();
        let _ = std::fs::remove_file(&paths.lock);
        let left = if path.is_dir() { 2 } else { 1 };
        assert_eq!(count_files(dir.path()), left, "{}: nothing is left staged", path.display());
    }
}

#[test]
fn a_recording_that_was_removed_is_not_replaced() {
    for (_dir, path) in each_backend() {
        let remove = || Recording::open(&path).unwrap().remove().unwrap();
        assert!(replace(&path, remove).is_none(), "{}", path.display());
        assert!(Recording::open(&path).is_err(), "{}: it stays removed", path.display());
    }
}
