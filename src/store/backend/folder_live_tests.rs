//! Folders that others change while they are opened, and changes that are interrupted.

use super::*;
use crate::disk::Disk;
use crate::disk::failing::{DiskFailure, Plan};
use crate::log::{self, fingerprint};
use crate::paths::RecordingPaths;
use crate::{Recording, compaction};
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::{Entry, EntryName, log_codec};

/// Writes a folder whose request has `takes` takes, all of which say `word`.
fn write(folder: &Path, takes: usize, word: &str) {
    let _ = fs::remove_dir_all(folder);
    fs::create_dir(folder).unwrap();
    let name = EntryName::Hash(RequestKey::parse(&"a".repeat(64)).unwrap());
    for key in (1..=takes).map(|take| name.take_key(take)) {
        let text = format!("{{\"{key}\": {{\"content\": \"{word}\"}}}}");
        fs::write(folder.join(format!("{key}.json")), text).unwrap();
    }
}

fn takes(split: &mut FolderSnapshot) -> usize {
    split.take_outline().map_or(0, |outline| outline.members().len())
}

#[test]
fn folder_that_changes_while_it_is_opened_is_seen_as_it_was_at_one_moment() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("r");
    for (before, after) in [(3, 5), (5, 3), (2, 2), (3, 0)] {
        write(&folder, before, "old");
        let mut rounds = 0;
        let split = FolderSnapshot::open_with(&folder, || {
            rounds += 1;
            if rounds == 1 {
                write(&folder, after, "newer");
            }
        });
        let mut split = split.unwrap();
        assert_eq!(takes(&mut split), after, "{before} became {after}");
        assert_eq!(split.state(), list(&folder).unwrap());
    }
}

#[test]
fn folder_that_others_never_leave_alone_is_an_error_with_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("r");
    let mut rounds = 0;
    let split = FolderSnapshot::open_with(&folder, || {
        rounds += 1;
        write(&folder, 2, &"x".repeat(rounds));
    });
    assert!(split.is_ok_and(|mut split| takes(&mut split) == 0), "nothing was there to be read");
    write(&folder, 1, "");
    let error = FolderSnapshot::open_with(&folder, || {
        rounds += 1;
        write(&folder, 2, &"x".repeat(rounds));
    });
    let error = error.unwrap_err().chain();
    assert!(error.contains("again and again") && error.contains("r:"), "{error}");
}

fn name() -> EntryName {
    EntryName::Hash(RequestKey::parse(&"a".repeat(64)).unwrap())
}

/// Returns the contents of the takes, in order.
fn words(path: &Path) -> Vec<String> {
    let recording = Recording::open_to_inspect(path).unwrap();
    recording.entries().map(|stored| stored.unwrap().entry.content.unwrap()).collect()
}

/// Writes a folder with these takes (number and time), and a log with takes of other times that is
/// to be compacted into it.
fn fold_that_shifts(path: &Path, filed: &[(usize, &str)], logged: &[&str]) -> RecordingPaths {
    let _ = fs::remove_dir_all(path);
    fs::create_dir(path).unwrap();
    for (take, time) in filed {
        let key = name().take_key(*take);
        let text =
            format!("{{\"{key}\": {{\"content\": \"{time}\", \"recorded_at\": \"{time}\"}}}}");
        fs::write(path.join(format!("{key}.json")), text).unwrap();
    }
    let mut frames = Vec::new();
    log::begin(&IdentityRules::default(), &Default::default(), &mut frames).unwrap();
    for time in logged {
        let entry = Entry {
            content: Some((*time).to_owned()),
            recorded_at: Some((*time).to_owned()),
            ..Entry::default()
        };
        let payload = log_codec::pack(&name(), false, &entry);
        log::frame(fingerprint(&name()), &payload, &mut frames).unwrap();
    }
    let paths = RecordingPaths::of(path).unwrap().with_state_folder();
    fs::write(&paths.folding, &frames).unwrap();
    paths
}

#[test]
fn fold_that_moves_takes_from_file_to_file_loses_none_wherever_it_dies() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("r/");
    let rules = IdentityRules::default();
    for (filed, logged) in [
        (&[(1, "1"), (2, "3"), (3, "5")][..], &["2", "4"][..]),
        (&[(1, "2"), (2, "4")], &["5", "1", "3"]),
        // The numbers have a gap, made by hand.
        (&[(1, "1"), (3, "2"), (4, "3")], &["4"]),
        (&[(2, "1"), (5, "4"), (6, "5")], &["3", "2"]),
    ] {
        let all: Vec<String> = (1..=filed.len() + logged.len()).map(|n| n.to_string()).collect();
        for at in 0.. {
            let paths = fold_that_shifts(&path, filed, logged);
            let plan = Plan::new(at, DiskFailure::Crash);
            let compacted = compaction::run(&paths, &Disk::failing(&plan), &rules, true, None);
            assert_eq!(words(&path), all, "seen after change {at} of {:?}", plan.done());
            compaction::run(&paths, &Disk::real(), &rules, true, None).unwrap();
            assert_eq!(words(&path), all, "compacted after change {at} of {:?}", plan.done());
            assert_eq!(list(&path).unwrap().len(), all.len());
            assert_eq!(fs::read_dir(&path).unwrap().count(), all.len(), "nothing else is left");
            if !plan.has_failed() {
                compacted.unwrap();
                assert!(at > 10, "{:?}", plan.done());
                break;
            }
        }
    }
}
