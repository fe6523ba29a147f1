//! The last step of a compaction, while other processes change the recording.

use super::*;

/// Prepares a compaction that adds the step `b`, calls `between`, and commits it.
fn commit_after(folder: &Folder, between: impl FnOnce()) -> CommitOutcome {
    let log = folder.dir.path().join("moved.log");
    folder.log(&log, &[(step("b"), true, entry("2", "t2"))]);
    let (disk, log) = (Disk::real(), File::open(&log).unwrap());
    let next = prepare_compaction(&folder.paths, &disk, None, &log, &[]).unwrap();
    between();
    let mut lock = RecordingLock::new(&folder.paths.lock, &disk);
    let committed = commit_compaction(&folder.paths, &disk, &mut lock, &next).unwrap();
    next.staged.unwrap().discard(&disk);
    committed
}

#[test]
fn file_that_is_still_there_is_replaced() {
    let folder = Folder::with("{\"a\": {}}");
    assert!(matches!(commit_after(&folder, || {}), CommitOutcome::As(Some(_))));
    assert_eq!(view(&folder.path).into_keys().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(folder.names(), ["moved.log", "r.json", "r.json.lock"], "nothing is left staged");
}

#[test]
fn file_that_somebody_has_changed_is_not_replaced() {
    let folder = Folder::with("{\"a\": {}}");
    let change = || fs::write(&folder.path, "{\"c\": {}, \"d\": {}}").unwrap();
    assert!(matches!(commit_after(&folder, change), CommitOutcome::Stale));
    assert_eq!(view(&folder.path).into_keys().collect::<Vec<_>>(), ["c", "d"]);
    assert_eq!(folder.names(), ["moved.log", "r.json", "r.json.lock"], "nothing is left staged");
}

#[test]
fn recording_that_was_removed_is_not_replaced() {
    let folder = Folder::with("{\"a\": {}}");
    let remove = || Recording::open(&folder.path).unwrap().remove().unwrap();
    assert!(matches!(commit_after(&folder, remove), CommitOutcome::Stale));
    assert!(Recording::open(&folder.path).is_err(), "it stays removed");
}
