//! Which takes of earlier runs a call replaces: those of its session and its upstream.

use super::tests::{call, compact, open, step};
use super::*;
use crate::load_recording;
use loomrec_identity::RequestKey;

/// A recording whose calls come one second after the other.
struct TimedRecording {
    dir: tempfile::TempDir,
    compacts: bool,
    time: u32,
}

impl TimedRecording {
    fn new(compacts: bool) -> Self {
        Self { dir: tempfile::tempdir().unwrap(), compacts, time: 0 }
    }

    /// Records a run of calls: what each holds, its session and its upstream.
    fn record(&mut self, name: &EntryName, calls: &[(&str, Option<&str>, Option<&str>)]) {
        let mut recorder = open(&self.dir.path().join("r.json"));
        for (content, session, upstream) in calls {
            self.time += 1;
            let recorded_at = Some(format!("2026-01-01T00:00:{:02}Z", self.time));
            let upstream = upstream.map(str::to_owned);
            let entry = Entry { recorded_at, upstream, ..call(content, *session, None) };
            recorder.append_entries(vec![(name.clone(), entry)], true).unwrap();
            if self.compacts {
                compact(&mut recorder).unwrap();
            }
        }
        recorder.close().unwrap();
    }

    fn held(&self) -> Vec<String> {
        let recording = load_recording(self.dir.path().join("r.json")).unwrap();
        recording.entries().map(|(_, _, entry)| entry.content.clone().unwrap()).collect()
    }
}

fn hash() -> EntryName {
    EntryName::Hash(RequestKey::parse(&"c".repeat(64)).unwrap())
}

#[test]
fn takes_of_other_upstreams_stay_and_one_without_is_of_each() {
    let (one, two) = (Some("one"), Some("two"));
    for compacts in [false, true] {
        let mut recording = TimedRecording::new(compacts);
        recording.record(&hash(), &[("a", None, one), ("b", None, two)]);
        recording.record(&hash(), &[("c", None, Some("three"))]);
        assert_eq!(recording.held(), ["a", "b", "c"]);
        recording.record(&hash(), &[("B", None, two)]);
        recording.record(&hash(), &[("A", None, one)]);
        assert_eq!(recording.held(), ["A", "B", "c"]);
        let mut recording = TimedRecording::new(compacts);
        recording.record(&hash(), &[("x", None, None)]);
        recording.record(&hash(), &[("X", None, one)]);
        assert_eq!(recording.held(), ["X"]);
        // A step is the same one wherever it is sent.
        let mut recording = TimedRecording::new(compacts);
        recording.record(&step("s"), &[("a", None, one)]);
        recording.record(&step("s"), &[("b", None, two)]);
        assert_eq!(recording.held(), ["b"]);
    }
}

#[test]
fn takes_of_other_sessions_stay_and_those_not_reached_too() {
    let (one, two) = (Some("one"), Some("two"));
    let in_session = |calls: &[(&'static str, Option<&'static str>)]| -> Vec<_> {
        calls.iter().map(|(content, session)| (*content, *session, None)).collect()
    };
    for compacts in [false, true] {
        let mut recording = TimedRecording::new(compacts);
        let calls = [("a", one), ("b", two), ("c", None), ("d", one), ("e", None), ("f", None)];
        recording.record(&hash(), &in_session(&calls));
        recording.record(&hash(), &in_session(&[("D", one)]));
        assert_eq!(recording.held(), ["D", "b", "c", "d", "e", "f"]);
        let calls = [("C", None), ("E", None), ("B", two), ("new", two)];
        recording.record(&hash(), &in_session(&calls));
        assert_eq!(recording.held(), ["D", "B", "C", "d", "E", "f", "new"]);
    }
}
