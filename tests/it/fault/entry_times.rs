//! Tests of how often, and at which attempts, the fault of an entry comes.

use serde_json::{Value, json};

use super::bad::refused;
use super::declare::{status, steps};
use super::stage::{Stage, step};
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Received, Scene, Upstream};

/// Replays one step with this entry, and returns the statuses of some calls of it.
fn replayed(entry: &Value, more: &[&str], calls: usize, code: i32) -> Vec<u16> {
    let stage = Stage::of(steps(&json!({ "_version": 2, "plan": entry })), more);
    let seen =
        (0..calls).map(|round| status(&stage, &step("plan", &"more ".repeat(round)))).collect();
    stage.end(code);
    seen
}

#[test]
fn a_fault_beside_an_answer_comes_as_often_as_its_entry_says() {
    let entry = |limits: Value| {
        let mut fault = json!({ "type": "http_error", "status_code": 503 });
        fault.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
        json!({ "content": "go on", "fault": fault })
    };
    for (limits, expected) in [
        (json!({ "times": "always" }), [503; 5]),
        (json!({ "times": 2 }), [503, 503, 200, 200, 200]),
        (json!({ "attempt": [1, 2] }), [503, 503, 200, 503, 503]),
        (json!({ "attempt": 1, "times": 2 }), [503, 200, 503, 200, 200]),
    ] {
        assert_eq!(replayed(&entry(limits.clone()), &[], 5, 0), expected, "{limits}");
    }
}

#[test]
fn a_fault_without_an_answer_comes_as_often_as_its_entry_says() {
    let drop = |times: Value| json!({ "type": "drop", "times": times });
    for (entry, expected, code) in [
        (json!({ "fault": drop(json!("always")) }), [500, 500, 500, 500], 0),
        (json!({ "fault": drop(json!(2)) }), [500, 500, 422, 422], 1),
        (json!([{ "fault": drop(json!(2)) }, { "content": "b" }]), [500, 500, 200, 200], 0),
        (json!([{ "fault": { "type": "drop" } }, { "content": "b" }]), [500, 200, 200, 200], 0),
        (json!([{ "fault": drop(json!("always")) }, { "content": "b" }]), [500; 4], 0),
    ] {
        assert_eq!(replayed(&entry, &[], 4, code), expected, "{entry}");
    }
}

#[test]
fn strict_replay_gives_no_more_than_was_recorded_however_often_a_fault_comes() {
    let scene = Scene::new();
    let upstream = Upstream::start(|_: &Received| Answer::json(200, chat_answer("All good.")));
    scene.recorded(&upstream, &[chat("hi")]).remove(0).expect(200);
    let declare = |fault: Value, with_answer: bool| {
        let mut recording = scene.json();
        for (name, entry) in recording.as_object_mut().unwrap() {
            if !name.starts_with('_') {
                entry["fault"] = fault.clone();
                if !with_answer {
                    entry
                        .as_object_mut()
                        .unwrap()
                        .retain(|field, _| !["content", "response"].contains(&field.as_str()));
                }
            }
        }
        let changed = Scene::new();
        changed.write(recording.to_string());
        changed
    };
    // The fault may pass for a success, so it uses up the only take.
    let partial = json!({ "type": "partial_response", "times": "always" });
    let stage = Stage::of(declare(partial, true), &["--strict"]);
    let seen = [200, 422].map(|expected| (status(&stage, &chat("hi")), expected));
    assert!(seen.iter().all(|(status, expected)| status == expected), "{seen:?}");
    stage.end(1);
    // The fault is an error, so the take is left for the attempt after it.
    let error = json!({ "type": "http_error", "times": 2 });
    let stage = Stage::of(declare(error, true), &["--strict"]);
    let seen: Vec<u16> = (0..4).map(|_| status(&stage, &chat("hi"))).collect();
    assert_eq!(seen, [500, 500, 200, 422]);
    stage.end(1);
    // Without an answer, words of the file's author are refused, with `times` and without.
    let words = json!({ "type": "partial_response", "content": "yes", "times": 1 });
    let said = refused(&declare(words, false), &["--strict"], 4).stderr;
    assert!(said.contains("answers any number of calls without an error"), "{said}");
}
