use std::io::Write as _;

use super::*;
use loomrec_telemetry::journal::JournalFile;

fn line(seq: u64) -> String {
    format!("{{\"v\":1,\"seq\":{seq},\"outcome\":\"served\"}}\n")
}

fn begun() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("j.jsonl");
    std::fs::write(&path, line(1)).unwrap();
    (folder, path)
}

/// Puts another file in the place of the journal, which one line begins.
fn replace(path: &Path, seq: u64) {
    std::fs::remove_file(path).unwrap();
    std::fs::write(path, line(seq)).unwrap();
}

#[test]
fn lines_are_found_once_however_many_look_for_them() {
    let (_folder, path) = begun();
    let journal = JournalIndex::open(&path).unwrap();
    for seq in 2..60 {
        replace(&path, seq);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| journal.read_new_lines());
            }
        });
        assert_eq!(journal.line_count() as u64, seq);
    }
}

#[test]
fn files_that_are_deleted_are_let_go() {
    let (_folder, path) = begun();
    let journal = JournalIndex::open(&path).unwrap();
    for seq in 2..40 {
        replace(&path, seq);
        journal.read_new_lines();
    }
    let lines = journal.lines.read().unwrap();
    let held = lines.files.iter().flatten().count();
    assert!(held <= DELETED + 2, "{held} are held open");
    drop(lines);
    assert!(journal.read_line(1).is_none() && journal.read_line(2).is_none());
    assert_eq!(journal.read_line(39).unwrap()["outcome"], "served");
    assert_eq!(journal.read_line(36).unwrap()["seq"], 36);
}

#[test]
fn line_that_grows_is_looked_through_once() {
    let (_folder, path) = begun();
    let journal = JournalIndex::open(&path).unwrap();
    let mut file = std::fs::OpenOptions::new().append(true).open(&path).unwrap();
    let (head, tail) = (line(2), "\"}\n");
    file.write_all(head.trim_end().strip_suffix("\"}").unwrap().as_bytes()).unwrap();
    journal.read_new_lines();
    let end = journal.lock_end();
    assert_eq!((end.at, end.seen), (line(1).len() as u64, std::fs::metadata(&path).unwrap().len()));
    drop(end);
    file.write_all(tail.as_bytes()).unwrap();
    journal.read_new_lines();
    assert_eq!(journal.read_line(2).unwrap()["outcome"], "served");
    std::fs::write(&path, line(1)).unwrap();
    journal.read_new_lines();
    assert_eq!(journal.line_count(), 3, "a file that was emptied is read anew");
}

#[test]
fn journal_that_has_no_line_yet_is_read_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.jsonl");
    drop(JournalFile::create(&path).unwrap());
    let journal = JournalIndex::open(&path).unwrap();
    std::fs::write(&path, line(1)).unwrap();
    journal.read_new_lines();
    assert_eq!(journal.line_count(), 1);
}
