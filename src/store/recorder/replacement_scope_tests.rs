//! Which takes of earlier runs a call replaces: those of its scope.

use super::failed_call_tests::answered;
use super::tests::{call, compact, open, step};
use super::*;
use crate::load_recording;
use loomrec_identity::RequestKey;
use loomrec_recording::RecordedRequest;

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
        let in_scope = |(content, session, upstream): &(&str, Option<&str>, Option<&str>)| {
            let upstream = upstream.map(str::to_owned);
            Entry { upstream, ..call(content, *session, None) }
        };
        self.record_entries(name, calls.iter().map(in_scope).collect());
    }

    /// Records a run.
    fn record_entries(&mut self, name: &EntryName, entries: Vec<Entry>) {
        let mut recorder = open(&self.dir.path().join("r.json"));
        for entry in entries {
            self.time += 1;
            let recorded_at = Some(format!("2026-01-01T00:00:{:02}Z", self.time));
            let entry = Entry { recorded_at, ..entry };
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
    }
}

/// An upstream, a mount, and whether the answer is streamed.
type ChatPlace = (&'static str, &'static str, bool);

/// Returns a call of the same request, or of another prompt.
fn chat(content: &str, (upstream, mount, streamed): ChatPlace, prompt: &str) -> Entry {
    let request = RecordedRequest {
        method: "POST".to_owned(),
        path: format!("{mount}/v1/chat/completions"),
        body: format!("{{\"stream\": {streamed}}}").into(),
        ..RecordedRequest::default()
    };
    let upstream = Some(upstream.to_owned());
    Entry { upstream, request: Some(request), ..call(content, None, Some(prompt)) }
}

/// Returns such a call that failed.
fn failed(content: &str, place: ChatPlace) -> Entry {
    let response = answered(content, 429, 0).response;
    Entry { response, ..chat(content, place, "a") }
}

const FIRST: ChatPlace = ("gw", "/openai", false);
const OTHERS: [ChatPlace; 3] =
    [("gw", "/groq", false), ("gw", "/openai", true), ("other", "/openai", false)];

#[test]
fn takes_of_another_mount_delivery_or_upstream_stay_as_they_are() {
    for (name, other) in [hash(), step("s")].iter().flat_map(|name| OTHERS.map(|to| (name, to))) {
        for compacts in [false, true] {
            let said = |content: &str, place| chat(content, place, "a");
            let mut recording = TimedRecording::new(compacts);
            recording.record_entries(name, vec![said("a", FIRST), said("b", other)]);
            recording.record_entries(name, vec![failed("429", other)]);
            assert_eq!(recording.held(), ["a", "b"], "{name} {other:?}");
            recording.record_entries(name, vec![said("A", FIRST), failed("429", other)]);
            assert_eq!(recording.held(), ["A", "b"], "{name} {other:?}");
            recording.record_entries(name, vec![said("B", other)]);
            assert_eq!(recording.held(), ["A", "B"], "{name} {other:?}");
            recording.record_entries(name, vec![said("B2", other), said("c", other)]);
            assert_eq!(recording.held(), ["A", "B2", "c"], "{name} {other:?}");
        }
    }
}

#[test]
fn changed_prompt_of_a_step_replaces_the_take_of_its_own_place() {
    for other in OTHERS {
        for compacts in [false, true] {
            let mut recording = TimedRecording::new(compacts);
            let name = step("s");
            recording.record_entries(&name, vec![chat("a", FIRST, "a"), chat("b", other, "b")]);
            recording.record_entries(&name, vec![chat("B", other, "c")]);
            assert_eq!(recording.held(), ["a", "B"], "{other:?}");
            recording.record_entries(&name, vec![chat("A", FIRST, "c")]);
            assert_eq!(recording.held(), ["A", "B"], "{other:?}");
        }
    }
}

#[test]
fn take_without_a_request_is_of_each_place_and_own_takes_stay() {
    for compacts in [false, true] {
        let mut recording = TimedRecording::new(compacts);
        let streamed = OTHERS[1];
        recording.record(&hash(), &[("x", None, None), ("y", None, None)]);
        let calls = [("a", FIRST), ("b", streamed), ("b2", streamed)];
        let calls = calls.map(|(content, place)| chat(content, place, "c"));
        recording.record_entries(&hash(), calls.into());
        let held = recording.held();
        assert!(["a", "b", "b2"].iter().all(|own| held.iter().any(|held| held == own)), "{held:?}");
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
