//! Calls that failed, and their effect on the takes of earlier runs.

use bytes::Bytes;

use super::tests::{contents, entry, open, step};
use super::*;
use crate::load_recording;
use loomrec_recording::{Chunk, ChunkLayout, RecordedResponse, ResponseEnd, ResponsePayload};

/// Returns a call that was answered with this status.
pub(super) fn answered(content: &str, status: u16, time: u32) -> Entry {
    let chunk = Chunk { at_ms: 1.0, data: Bytes::from_static(b"{}") };
    Entry {
        response: Some(RecordedResponse {
            status,
            reason: None,
            headers: Vec::new(),
            end: ResponseEnd::Complete,
            trailers: Vec::new(),
            payload: ResponsePayload::new(ChunkLayout::Whole, vec![chunk]),
        }),
        recorded_at: Some(format!("2026-01-01T00:00:{time:02}.000000Z")),
        ..entry(content)
    }
}

fn record(path: &Path, takes: &[(&str, u16, u32)], fold_between: bool) {
    let mut recorder = open(path);
    for (content, status, time) in takes {
        recorder
            .append_entries(vec![(step("a"), answered(content, *status, *time))], true)
            .unwrap();
        if fold_between {
            let job = recorder.start_compaction();
            recorder.compaction_done(job.run()).unwrap();
        }
    }
    recorder.close().unwrap();
}

fn held(path: &Path) -> Vec<String> {
    contents(&load_recording(path).unwrap())
}

fn at(dir: &tempfile::TempDir) -> PathBuf {
    dir.path().join("r.json")
}

#[test]
fn successful_take_gives_way_to_a_successful_one_only() {
    for compacts in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let path = at(&dir);
        record(&path, &[("good", 200, 1)], compacts);
        let before = std::fs::read(&path).unwrap();
        for status in [400, 401, 403, 429, 500, 503] {
            record(&path, &[("bad", status, 2), ("worse", status, 3)], compacts);
            assert_eq!(std::fs::read(&path).unwrap(), before, "{status}");
        }
        record(&path, &[("better", 200, 4)], compacts);
        assert_eq!(held(&path), ["a=better"]);
    }
}

#[test]
fn failed_takes_are_recorded_where_none_succeeded_and_replaced_by_the_next_run() {
    for compacts in [false, true] {
        let dir = tempfile::tempdir().unwrap();
        let path = at(&dir);
        record(&path, &[("no", 401, 1), ("no again", 401, 2)], compacts);
        assert_eq!(held(&path), ["a=no", "a#2=no again"]);
        record(&path, &[("still no", 401, 3)], compacts);
        assert_eq!(held(&path), ["a=still no", "a#2=no again"]);
        record(&path, &[("500", 500, 4), ("200", 200, 5), ("429", 429, 6)], compacts);
        assert_eq!(held(&path), ["a=500", "a#2=200", "a#3=429"]);
    }
}

#[test]
fn failure_and_the_retry_that_follows_replace_one_success() {
    let dir = tempfile::tempdir().unwrap();
    let path = at(&dir);
    record(&path, &[("old", 200, 1), ("old too", 200, 2)], false);
    record(&path, &[("500", 500, 3), ("200", 200, 4)], false);
    assert_eq!(held(&path), ["a=500", "a#2=200", "a#3=old too"]);
}

#[test]
fn takes_of_several_recorders_of_a_run_count_together() {
    let dir = tempfile::tempdir().unwrap();
    let path = at(&dir);
    record(&path, &[("old", 200, 1)], false);
    let (mut one, mut two) = (open(&path), open(&path));
    one.append_entries(vec![(step("a"), answered("500", 500, 2))], true).unwrap();
    assert_eq!(held(&path), ["a=old"], "nothing has taken its place yet");
    two.append_entries(vec![(step("a"), answered("200", 200, 3))], true).unwrap();
    one.append_entries(vec![(step("a"), answered("429", 429, 4))], true).unwrap();
    assert_eq!(held(&path), ["a=500", "a#2=200", "a#3=429"]);
    one.close().unwrap();
    two.close().unwrap();
    assert_eq!(held(&path), ["a=500", "a#2=200", "a#3=429"]);
}

#[test]
fn failures_of_a_recorder_that_died_leave_the_good_take() {
    let dir = tempfile::tempdir().unwrap();
    let path = at(&dir);
    record(&path, &[("good", 200, 1)], false);
    let mut recorder = open(&path);
    recorder.append_entries(vec![(step("a"), answered("401", 401, 2))], true).unwrap();
    let log = std::fs::read(dir.path().join(".loomrec/r.json.log")).unwrap();
    recorder.close().unwrap();
    // The log of a killed recorder: nobody holds it.
    std::fs::write(dir.path().join(".loomrec/r.json.log"), log).unwrap();
    assert_eq!(held(&path), ["a=good"]);
    record(&path, &[("better", 200, 3)], false);
    assert_eq!(held(&path), ["a=better"]);
}

#[test]
fn failure_replaces_a_success_when_that_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let path = at(&dir);
    record(&path, &[("good", 200, 1)], false);
    let mut recorder = open(&path);
    let encoder = recorder.encoder(true).keep_failures(true);
    let (name, entry) = (step("a"), answered("401", 401, 2));
    let frame = encoder.encode(&LogItem::new(name, entry, Arc::default())).unwrap();
    recorder.append_frames(&mut [frame]).unwrap();
    recorder.close().unwrap();
    assert_eq!(held(&path), ["a=401"]);
}

#[test]
fn failure_that_was_left_out_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = at(&dir);
    record(&path, &[("good", 200, 1)], false);
    let mut recorder = open(&path);
    recorder.append_entries(vec![(step("a"), answered("401", 401, 2))], true).unwrap();
    recorder.close().unwrap();
    let notes = recorder.take_notes();
    assert!(matches!(notes.as_slice(), [StoreEvent::Failures { calls: 1, .. }]), "{notes:?}");
}
