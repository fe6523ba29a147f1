use std::fs;

use super::*;

const A: NameFingerprint = 0xa;
const B: NameFingerprint = 0xb;

fn enter(path: &Path) -> RunSeat {
    RunSeat::enter(path, &Disk::real(), &RunChoice::New).unwrap()
}

fn log(inode: u64) -> FileId {
    FileId { device: 1, inode }
}

fn note(path: &Path, names: &[NameFingerprint], log: FileId) {
    note_rotation(path, &Disk::real(), names, log).unwrap();
}

#[test]
fn names_of_a_log_that_was_moved_are_known_to_all_in_the_run() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut one = enter(&path);
    note(&path, &[A], log(2));
    let mut two = enter(&path);
    note(&path, &[B], log(3));
    assert!(two.recorded_count(A) > 0 && two.recorded_count(B) == 0);
    for run in [&mut one, &mut two] {
        run.read_new_lines().unwrap();
        assert!(run.recorded_count(A) > 0 && run.recorded_count(B) > 0);
        assert_eq!(run.rotation_count(), 2);
        assert!(run.has_rotated(log(2), 0) && !run.has_rotated(log(2), 1));
    }
    assert!(!two.leave().unwrap());
    assert!(one.leave().unwrap());
    assert!(!path.exists());
    assert!(enter(&path).recorded_count(A) == 0);
}

#[test]
fn recorders_of_a_run_have_places_of_their_own_after_others_left() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let one = enter(&path);
    let two = enter(&path);
    assert_eq!((one.place_in_run(), two.place_in_run()), (0, 1));
    assert!(!one.leave().unwrap());
    assert_eq!(enter(&path).place_in_run(), 2);
    assert!(two.leave().unwrap());
    assert_eq!(enter(&path).place_in_run(), 0);
}

#[test]
fn line_that_was_cut_is_written_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut run = enter(&path);
    note(&path, &[A], log(2));
    let whole = fs::read(&path).unwrap();
    for cut in 13..whole.len() {
        fs::write(&path, &whole[..cut]).unwrap();
        note(&path, &[B], log(3));
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.ends_with("{\"rotated\":[1,3]}\n"), "{text}");
        let lines: Vec<_> = text.lines().skip(1).map(|line| read_line(line.as_bytes())).collect();
        assert!(lines.iter().all(Option::is_some), "cut at {cut}: {text}");
    }
    run.read_new_lines().unwrap();
}

#[test]
fn recorder_whose_run_was_removed_goes_on_in_a_new_one_with_its_names() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    let mut one = RunSeat::enter(&path, &Disk::real(), &RunChoice::Named("ci".into())).unwrap();
    note(&path, &[A, A], log(2));
    one.read_new_lines().unwrap();
    one.count_logged(B);
    fs::remove_file(&path).unwrap();
    one.rejoin_if_removed().unwrap();
    one.rejoin_if_removed().unwrap();
    assert_eq!((one.recorded_count(A), one.recorded_count(B)), (2, 1));
    // What is in the log is read from there.
    let two = enter(&path);
    assert_eq!((two.recorded_count(A), two.recorded_count(B)), (2, 0));
    assert_eq!(two.name.as_deref(), Some("ci"));
    assert!(is_live(&path).unwrap());
    assert!(!one.leave().unwrap() && two.leave().unwrap());
    assert!(path.exists() && !is_live(&path).unwrap());
}

#[test]
fn note_needs_no_run_and_makes_none() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    note(&path, &[A], log(2));
    assert!(!path.exists() && !is_live(&path).unwrap());
}

#[test]
fn planted_file_is_read_within_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    // Terabytes without a line are not a run, so one begins.
    File::create(&path).unwrap().set_len(1 << 40).unwrap();
    let run = enter(&path);
    assert_eq!((run.place_in_run(), run.name.as_deref()), (0, None));
    assert!(fs::metadata(&path).unwrap().len() < 1024);
    assert!(run.leave().unwrap());
    // A run of this name whose file is larger than any run's.
    fs::write(&path, "{\"run\":\"mine\"}\n").unwrap();
    File::options().write(true).open(&path).unwrap().set_len(LARGEST + 1).unwrap();
    let mine = RunChoice::Named("mine".to_owned());
    let error = RunSeat::enter(&path, &Disk::real(), &mine).unwrap_err();
    assert!(error.to_string().contains("larger than the file of any run"), "{error}");
}

#[test]
fn line_that_no_recorder_writes_is_passed_over() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("run");
    for length in [1, 255, 256, 257, 8191, 8192, 100_000] {
        let mut text =
            format!("{{\"run\":\"mine\"}}\n{A:032x}\n{}\n{B:032x}\n", "x".repeat(length));
        fs::write(&path, &text).unwrap();
        let mine = RunChoice::Named("mine".to_owned());
        let run = RunSeat::enter(&path, &Disk::real(), &mine).unwrap();
        assert!(run.recorded_count(A) > 0 && run.recorded_count(B) > 0, "{length}");
        text.push_str("{\"joined\":0}\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
        // A line that has no end was cut, and is overwritten.
        fs::write(&path, format!("{{\"run\":\"mine\"}}\n{A:032x}\n{}", "x".repeat(length)))
            .unwrap();
        drop(run);
        let run = RunSeat::enter(&path, &Disk::real(), &mine).unwrap();
        assert!(run.recorded_count(A) > 0, "{length}");
        let whole = format!("{{\"run\":\"mine\"}}\n{A:032x}\n{{\"joined\":0}}\n");
        assert_eq!(fs::read_to_string(&path).unwrap(), whole, "{length}");
    }
}
