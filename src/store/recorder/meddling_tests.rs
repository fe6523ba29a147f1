//! Other processes that change the files beside a recording while it is recorded.

use std::fs;
use std::io::Write as _;

use super::tests::{contents, entry, folder, open, step};
use super::*;
use crate::load_recording;

fn append(recorder: &mut RecordingAppender, name: &str) {
    let entry = Entry { recorded_at: Some(format!("2026-11-22T00:00:00Z {name}")), ..entry("x") };
    recorder.append_entries(vec![(step(name), entry)], true).unwrap();
}

fn names(path: &Path) -> Vec<String> {
    load_recording(path).unwrap().names().map(|(name, _)| name.to_string()).collect()
}

struct Scene {
    dir: tempfile::TempDir,
    path: PathBuf,
    log: PathBuf,
}

fn scene() -> Scene {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("f")).unwrap();
    let path = dir.path().join("f/r.json");
    let log = dir.path().join("f/.loomrec/r.json.log");
    Scene { dir, path, log }
}

#[test]
fn log_that_someone_removed_is_written_again_and_nothing_is_lost() {
    let scene = scene();
    let mut one = open(&scene.path);
    let mut two = open(&scene.path);
    append(&mut one, "a");
    append(&mut two, "b");
    fs::remove_file(&scene.log).unwrap();
    append(&mut two, "c");
    append(&mut one, "d");
    append(&mut two, "e");
    assert_eq!(names(&scene.path), ["a", "b", "c", "d", "e"]);
    let notes = [one.take_notes(), two.take_notes()].concat();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(matches!(notes[0], StoreEvent::Recovered { entries: 2, .. }));
    fs::remove_file(&scene.log).unwrap();
    one.close().unwrap();
    two.close().unwrap();
    assert_eq!(load_recording(&scene.path).unwrap().len(), 5);
}

#[test]
fn log_that_was_folded_is_not_taken_for_one_that_was_removed() {
    let scene = scene();
    let mut one = open(&scene.path);
    let mut two = open(&scene.path);
    for round in 0..3 {
        append(&mut one, &format!("one {round}"));
        append(&mut two, &format!("two {round}"));
        let job = two.start_compaction();
        two.compaction_done(job.run()).unwrap();
        append(&mut one, "again");
    }
    assert_eq!((one.take_notes(), two.take_notes()), (vec![], vec![]));
    assert_eq!(load_recording(&scene.path).unwrap().len(), 7);
}

#[test]
fn log_that_someone_cut_is_told_and_what_is_lost_counted() {
    let scene = scene();
    let mut one = open(&scene.path);
    append(&mut one, "a");
    let kept = fs::metadata(&scene.log).unwrap().len();
    append(&mut one, "b");
    append(&mut one, "c");
    // Within b's frame: what is left of it is set aside.
    fs::File::options().write(true).open(&scene.log).unwrap().set_len(kept + 9).unwrap();
    append(&mut one, "d");
    let notes = one.take_notes();
    assert!(notes.iter().any(|note| matches!(note, StoreEvent::Cut { .. })), "{notes:?}");
    assert!(
        notes.iter().any(|note| matches!(note, StoreEvent::Torn { bytes: 9, .. })),
        "{notes:?}"
    );
    let error = one.close().unwrap_err();
    assert!(matches!(error, StoreError::Gone { names: 2, .. }), "{error}");
    assert_eq!(names(&scene.path), ["a", "d"]);
}

#[test]
fn torn_tail_of_another_recorder_is_put_aside_before_anything_is_added() {
    let scene = scene();
    let mut one = open(&scene.path);
    append(&mut one, "a");
    let mut whole = Vec::new();
    log::write_frame(7, b"another recorder's entry", &mut whole).unwrap();
    for (name, cut) in [("b", 3), ("c", 40)] {
        let mut log = fs::File::options().append(true).open(&scene.log).unwrap();
        log.write_all(&whole[..cut]).unwrap();
        assert_eq!(names(&scene.path)[0], "a");
        append(&mut one, name);
    }
    assert_eq!(names(&scene.path), ["a", "b", "c"]);
    one.close().unwrap();
    let read = |n: usize| fs::read(scene.log.with_file_name(format!("r.json.log.torn-{n}")));
    assert_eq!((&*read(1).unwrap(), &*read(2).unwrap()), (&whole[..3], &whole[..40]));
    assert_eq!(one.take_notes().len(), 2);
}

#[test]
fn recording_resumes_when_its_folder_is_back() {
    let scene = scene();
    let (folder, away) = (scene.dir.path().join("f"), scene.dir.path().join("away"));
    let mut one = open(&scene.path);
    append(&mut one, "a");
    fs::rename(&folder, &away).unwrap();
    for _ in 0..2 {
        let error = one.append_entries(vec![(step("b"), entry("x"))], true).unwrap_err();
        let text = error.error_chain();
        assert!(
            text.contains("r.json") && text.contains("create its folder, which is missing"),
            "{text}"
        );
        assert_eq!(error.class(), crate::ErrorClass::NotKept);
    }
    fs::rename(&away, &folder).unwrap();
    append(&mut one, "c");
    assert_eq!(names(&scene.path), ["a", "c"]);
    assert_eq!(one.take_notes(), []);
}

#[test]
fn what_is_in_the_log_survives_a_folder_that_was_removed_and_made_again() {
    let scene = scene();
    let mut one = open(&scene.path);
    append(&mut one, "folded");
    let job = one.start_compaction();
    one.compaction_done(job.run()).unwrap();
    append(&mut one, "a");
    fs::remove_dir_all(scene.dir.path().join("f")).unwrap();
    one.append_entries(vec![(step("b"), entry("x"))], true).unwrap_err();
    fs::create_dir(scene.dir.path().join("f")).unwrap();
    append(&mut one, "c");
    // A second recorder finds the run that the first has made again.
    let mut two = open(&scene.path);
    two.append_entries(vec![(step("a"), entry("y"))], true).unwrap();
    drop(two);
    let error = one.close().unwrap_err();
    assert!(matches!(error, StoreError::Gone { names: 1, .. }), "{error}");
    assert_eq!(load_recording(&scene.path).unwrap().takes(&step("a")).len(), 2);
    assert_eq!(names(&scene.path), ["a", "c"]);
}

#[test]
fn recorders_go_on_together_when_their_lock_and_run_files_are_removed() {
    let scene = scene();
    let mut one = open(&scene.path);
    let mut two = open(&scene.path);
    append(&mut one, "a");
    append(&mut two, "a");
    for suffix in ["lock", "run"] {
        fs::remove_file(scene.log.with_file_name(format!("r.json.{suffix}"))).unwrap();
    }
    append(&mut one, "a2");
    append(&mut two, "a2");
    let mut three = open(&scene.path);
    append(&mut three, "a2");
    for mut recorder in [one, two, three] {
        recorder.close().unwrap();
    }
    assert_eq!(
        load_recording(&scene.path).unwrap().takes(&step("a2")).len(),
        1,
        "equal entries are one"
    );
    assert_eq!(names(&scene.path), ["a", "a2"]);
    assert_eq!(crate::state_folder::all_names(scene.path.parent().unwrap()), ["r.json"]);
}

#[test]
fn log_of_a_recorder_that_died_is_folded_before_a_new_run_begins() {
    let scene = scene();
    let mut one = open(&scene.path);
    append(&mut one, "a");
    append(&mut one, "b");
    // As after a crash: the log and the run exist, and nobody is alive.
    let crashed = scene.dir.path().join("crashed");
    fs::create_dir(&crashed).unwrap();
    for suffix in ["log", "run"] {
        let name = format!("r.json.{suffix}");
        fs::copy(scene.log.with_file_name(&name), crashed.join(&name)).unwrap();
    }
    let path = crashed.join("r.json");
    // The files are where an older loomrec kept them.
    let mut next = open(&path);
    assert!(path.exists());
    assert!(
        next.take_notes()
            .iter()
            .any(|note| matches!(note, StoreEvent::Compacted { entries: 2, .. }))
    );
    // A new run: its first take of a name replaces the earlier one.
    next.append_entries(vec![(step("a"), entry("new"))], true).unwrap();
    next.close().unwrap();
    assert_eq!(contents(&load_recording(&path).unwrap()), ["a=new", "b=x"]);
    assert_eq!(crate::state_folder::all_names(&crashed), ["r.json"]);
    assert!(!crashed.join("r.json.run").exists());
    assert_eq!(folder(&scene.dir), ["crashed", "f"]);
}

#[test]
fn log_of_a_newer_version_is_refused_and_left_alone() {
    let scene = scene();
    let mut bytes = Vec::new();
    log::write_frame(1, b"from the future", &mut bytes).unwrap();
    bytes[4] = 2;
    let sum = crc32fast::hash(&[&bytes[4..12], &bytes[16..]].concat());
    bytes[12..16].copy_from_slice(&sum.to_le_bytes());
    fs::create_dir(scene.log.parent().unwrap()).unwrap();
    fs::write(&scene.log, &bytes).unwrap();
    let error = RecordingAppender::open(&scene.path, &RunChoice::New, &IdentityRules::default())
        .unwrap_err();
    assert!(error.to_string().contains("r.json.log: a newer loomrec"), "{error}");
    assert_eq!(fs::read(&scene.log).unwrap(), bytes);
}

#[test]
fn lock_that_someone_sits_on_is_waited_for_once_in_full_and_then_shortly() {
    let scene = scene();
    let mut one = open(&scene.path);
    append(&mut one, "a");
    one.wait = Duration::from_millis(20);
    let mut lock = RecordingLock::new(&one.paths.lock, &Disk::real());
    let guard = lock.acquire(lock::WAIT).unwrap();
    let error = one.append_entries(vec![(step("b"), entry("x"))], true).unwrap_err();
    assert!(error.to_string().contains(&format!("pid {}", std::process::id())), "{error}");
    assert_eq!(one.wait, SHORT_WAIT);
    drop(guard);
    append(&mut one, "c");
    assert_eq!(one.wait, lock::WAIT);
}

#[test]
fn file_that_is_gone_before_its_fold_has_looked_at_it_is_missed() {
    let scene = scene();
    let mut one = open(&scene.path);
    append(&mut one, "folded");
    let done = one.start_compaction().run();
    fs::remove_file(&scene.path).unwrap();
    // A recorder that took this file for the one that it wrote would not notice the loss.
    assert!(done.replaced.as_ref().unwrap().written.is_some());
    one.compaction_done(done).unwrap();
    let error = one.close().unwrap_err();
    assert!(matches!(error, StoreError::Gone { names: 1, .. }), "{error}");
}
