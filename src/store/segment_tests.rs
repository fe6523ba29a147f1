use std::fs;

use super::*;
use crate::{RecordingAppender, RunChoice};
use loomrec_recording::EntryName;

fn appender(path: &Path) -> RecordingAppender {
    let rules = IdentityRules::default();
    let mut appender = RecordingAppender::open(path, &RunChoice::New, &rules).unwrap();
    appender.leave_log();
    appender
}

fn keep(appender: &mut RecordingAppender, number: u32) {
    let entry = Entry {
        content: Some(number.to_string()),
        recorded_at: Some(format!("2026-01-01T00:00:{number:02}.000000Z")),
        ..Entry::default()
    };
    appender.append_entries(vec![(EntryName::from_step_id("a").unwrap(), entry)], true).unwrap();
}

fn contents(path: &Path) -> Vec<String> {
    let segment = SegmentFile::open(File::open(path).unwrap(), path).unwrap();
    assert!(!segment.is_damaged());
    assert_eq!(segment.rules(), Some(&IdentityRules::default()));
    segment.entries(path).map(|entry| entry.unwrap().1.content.unwrap()).collect()
}

#[test]
fn log_is_cut_while_it_is_recorded_into_and_after_that() {
    let dir = tempfile::tempdir().unwrap();
    let recording = dir.path().join("r.json");
    let segment = |number: u32| dir.path().join(number.to_string());
    let location = RecordingLocation::from(&recording);
    let mut recorder = appender(&recording);
    assert!(cut_segment(&location, &segment(1)).unwrap().is_none());
    keep(&mut recorder, 1);
    keep(&mut recorder, 2);
    assert!(cut_segment(&location, &segment(1)).unwrap().is_some());
    assert!(cut_segment(&location, &segment(2)).unwrap().is_none());
    keep(&mut recorder, 3);
    recorder.close().unwrap();
    assert!(!recording.exists());
    assert!(cut_segment(&location, &segment(2)).unwrap().is_some());
    assert_eq!(contents(&segment(1)), ["1", "2"]);
    assert_eq!(contents(&segment(2)), ["3"]);
    let left: Vec<_> = crate::state_folder::all_names(dir.path())
        .into_iter()
        .filter(|name| name.starts_with("r.json") && !name.ends_with(".lock"))
        .collect();
    assert_eq!(left, Vec::<String>::new());
}

#[test]
fn damaged_frame_is_set_aside_and_the_others_are_cut() {
    let dir = tempfile::tempdir().unwrap();
    let (recording, segment) = (dir.path().join("r.json"), dir.path().join("1"));
    let mut recorder = appender(&recording);
    (1..=3).for_each(|number| keep(&mut recorder, number));
    drop(recorder);
    let log = dir.path().join(".loomrec/r.json.log");
    let mut bytes = fs::read(&log).unwrap();
    let scanned = log::scan_frames(&File::open(&log).unwrap()).unwrap();
    bytes[scanned.frames[1].at as usize + 40] ^= 1;
    // A call that was being written when the recorder was killed.
    bytes.extend_from_within(..20);
    fs::write(&log, &bytes).unwrap();
    let notes = cut_segment(&RecordingLocation::from(&recording), &segment).unwrap().unwrap();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert_eq!(contents(&segment), ["1", "3"]);
}
