//! Tests that a fault which never happened fails the run, wherever it is declared, and that one
//! which could not happen to a call is kept for the next.

use std::fmt::Write as _;

use loomrec_fault::Fault;
use serde_json::{Value, json};

use super::declare::steps;
use super::forms::{Form, Sample, forms};
use super::stage::{Over, Stage, step};
use crate::support::shape::chat;
use crate::support::{Call, Received, Scene, Upstream};

/// The places where a fault is declared before a run, with the word for each in the receipt.
const SOURCES: [&str; 4] = ["flag", "plan", "entry", "rule"];

/// A run with this fault in this place, whose calls get `answer`; `None` if that place cannot
/// declare it. `limit` is further members of the fault or the rule.
fn stage(source: &str, fault: &str, answer: Sample, limit: &Value, more: &[&str]) -> Option<Stage> {
    let limits = limit.as_object().unwrap();
    if source == "rule" {
        let scene = Scene::new();
        let mut when = limits.clone();
        // A rule of a script has no attempts.
        let user = when.remove("attempt").map_or("hi", |_| "nobody asks for this");
        let rule = json!({ "name": "r", "when": { "user": user }, "answer": answer.words()?,
            "fault": fault });
        let others = json!({ "answer": answer.words()? });
        let script = json!({ "rules": [rule, others] });
        std::fs::write(scene.path("script.json"), script.to_string()).unwrap();
        let args = [&["replay", "--script", "script.json", "--receipt", "receipt.json"], more];
        let server = crate::support::Server::start(scene.dir(), &args.concat());
        return Some(Stage { scene, server });
    }
    let recorded = Scene::new();
    let upstream = Upstream::start(move |_: &Received| answer.answer());
    recorded.recorded(&upstream, &[answer.call()]).remove(0).expect(200);
    let limit = limits.iter().fold(String::new(), |mut text, (name, value)| {
        write!(text, ";{name}={value}").unwrap();
        text
    });
    let (before, after) = fault.split_once(";fault=").unwrap_or((fault, ""));
    let after = if after.is_empty() { String::new() } else { format!(";fault={after}") };
    match source {
        "flag" => {
            let flag = format!("{before}{limit}{after}");
            Some(Stage::of(recorded, &[&["--fault", &flag], more].concat()))
        }
        "plan" => {
            let rule = json!({ "name": "r", "match": limits, "fault": fault });
            let plan = json!({ "rules": [rule] });
            std::fs::write(recorded.path("plan.json"), plan.to_string()).unwrap();
            Some(Stage::of(recorded, &[&["--faults", "plan.json"], more].concat()))
        }
        _ => {
            let mut declared = Fault::parse(fault).unwrap().to_json();
            declared.as_object_mut().unwrap().extend(limits.clone());
            Some(Stage::of(with_fault(&recorded, &declared), more))
        }
    }
}

/// The recording with this fault beside each of its answers.
fn with_fault(scene: &Scene, fault: &Value) -> Scene {
    let mut recording = scene.json();
    for (name, entry) in recording.as_object_mut().unwrap() {
        if !name.starts_with('_') {
            entry["fault"] = fault.clone();
        }
    }
    steps(&recording)
}

/// What the run says of its one fault that was not tested.
#[track_caller]
fn untested(over: &Over, of: &str) -> Value {
    assert_eq!(over.receipt["verdict"], "not tested", "{of}: {}", over.receipt);
    let all = over.receipt["faults"]["not_tested"].as_array().unwrap();
    let [one] = &all[..] else { panic!("{of}: {all:#?}") };
    let [complaint] = &over.receipt["complaints"].as_array().unwrap()[..] else {
        panic!("{of}: {}", over.receipt["complaints"]);
    };
    let complaint = complaint.as_str().unwrap();
    for word in ["rule", "source", "type", "why"] {
        let word = one[word].as_str().unwrap();
        assert!(complaint.contains(word), "{of}: {word:?} is not in {complaint:?}");
        assert!(over.finished.stderr.contains(word), "{of}: {word:?} is not printed");
    }
    one.clone()
}

#[test]
fn every_kind_of_fault_is_tried() {
    let said = Fault::parse("no_such_fault").unwrap_err().to_string();
    let (_, kinds) = said.split_once("there are: ").unwrap();
    let tried: Vec<&str> =
        forms().iter().map(|form| form.happens.0.split([':', ';']).next().unwrap()).collect();
    for kind in kinds.split(", ") {
        assert!(tried.contains(&kind), "{kind} is not tried: {kinds}");
    }
}

#[test]
fn a_fault_that_cannot_happen_is_not_tested_wherever_it_is_declared() {
    let mut tried = 0;
    for Form { cannot, .. } in forms() {
        let Some((fault, answer, why)) = cannot else { continue };
        for source in SOURCES {
            let of = format!("{source} {fault}");
            let Some(stage) = stage(source, fault, answer, &json!({}), &[]) else { continue };
            stage.call(&answer.call()).expect(200);
            let one = untested(&stage.end(1), &of);
            assert!(one["why"].as_str().unwrap().contains(why), "{of}: {one}");
            assert_eq!(one["type"], Fault::parse(fault).unwrap().name(), "{of}");
            let place = if source == "rule" { "entry" } else { source };
            assert_eq!(one["source"], place, "{of}");
            tried += 1;
        }
        let of = format!("header {fault}");
        let stage = stage("flag", "drop", answer, &json!({ "session": "other" }), &[]);
        let stage = stage.unwrap();
        stage.call(&answer.call().header(&format!("x-loomrec-fault: {fault}"))).expect(200);
        let over = stage.end(1);
        let all = over.receipt["faults"]["not_tested"].as_array().unwrap();
        assert!(all.iter().any(|one| one["source"] == "header"), "{of}: {all:#?}");
        tried += 1;
    }
    // Scripts have no words for an empty answer and for one that is no JSON.
    assert_eq!(tried, 15 * 5 - 4);
}

#[test]
fn a_fault_whose_calls_never_come_is_not_tested_wherever_it_is_declared() {
    for Form { happens: (fault, answer), .. } in forms() {
        for source in SOURCES {
            let of = format!("{source} {fault}");
            let never = json!({ "attempt": 7 });
            let Some(declared) = stage(source, fault, answer, &never, &[]) else { continue };
            declared.call(&answer.call()).expect(200);
            let one = untested(&declared.end(1), &of);
            let why = one["why"].as_str().unwrap();
            let expected = match source {
                "rule" => "no call got its answer",
                _ => "it is for attempt 7, and its calls came to attempt 1",
            };
            assert_eq!(why, expected, "{of}");
        }
    }
}

#[test]
fn a_fault_that_happens_is_tested_wherever_it_is_declared() {
    for Form { happens: (fault, answer), .. } in forms() {
        for source in SOURCES {
            let of = format!("{source} {fault}");
            let Some(stage) = stage(source, fault, answer, &json!({}), &[]) else { continue };
            let mut client = stage.server.connect();
            client.send(&answer.call().header("connection: close"));
            client.everything();
            let over = stage.end(0);
            assert_eq!(over.receipt["verdict"], "ok", "{of}");
            assert_eq!(over.receipt["faults"]["fired"], 1, "{of}");
            assert_eq!(over.receipt["faults"]["not_tested"], json!([]), "{of}");
        }
    }
}

#[test]
fn allow_unfired_permits_what_was_not_tested_wherever_it_is_declared() {
    for source in SOURCES {
        let (fault, more) = ("tool_call_fault", ["--allow-unfired"]);
        let stage = stage(source, fault, Sample::Text, &json!({}), &more).unwrap();
        stage.call(&Sample::Text.call()).expect(200);
        let over = stage.end(0);
        assert_eq!(over.receipt["verdict"], "ok", "{source}");
        assert_eq!(over.receipt["faults"]["not_tested_count"], 1, "{source}");
    }
}

#[test]
fn an_entry_whose_fault_no_call_asked_for_is_not_tested() {
    let scene = steps(&json!({ "_version": 2,
        "asked": { "content": "yes" },
        "never": { "content": "no", "fault": { "type": "http_error" } },
        "alone": { "fault": { "type": "drop", "times": "always" } } }));
    let stage = Stage::of(scene, &[]);
    stage.call(&step("asked", "hi")).expect(200);
    let over = stage.end(1);
    assert_eq!(over.receipt["verdict"], "not tested");
    assert_eq!(over.receipt["faults"]["unfired"], json!(["alone", "never"]));
    assert!(over.finished.stderr.contains("never (entry, http_error): no call got its answer"));
}

/// A recording of one question with these answers, in turn.
fn in_turn(answers: &[Sample]) -> Scene {
    let turns = answers.to_vec();
    let number = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::start(move |_: &Received| {
        let at = number.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        turns[at % turns.len()].answer()
    });
    let scene = Scene::new();
    let calls: Vec<Call> = answers.iter().map(|_| chat("hi")).collect();
    for answer in scene.recorded(&upstream, &calls) {
        answer.expect(200);
    }
    scene
}

#[test]
fn a_fault_that_could_not_happen_keeps_its_one_time_for_the_next_call() {
    use Sample::{Text, Tool};
    for args in [
        &["--fault", "tool_call_fault:unknown_tool;times=1"][..],
        &["--fault", "recover_after:1;fault=tool_call_fault:unknown_tool"],
    ] {
        let stage = Stage::of(in_turn(&[Text, Text, Tool, Tool]), args);
        let marks: Vec<bool> = (0..4)
            .map(|_| stage.call(&chat("hi")).expect(200).header("x-loomrec-fault").is_some())
            .collect();
        assert_eq!(marks, [false, false, true, false], "{args:?}");
        let over = stage.end(0);
        assert_eq!(over.receipt["faults"]["fired"], 1);
    }
}

#[test]
fn calls_at_the_same_time_keep_the_time_of_a_fault_for_the_one_that_can_have_it() {
    use Sample::{Text, Tool};
    for round in 0..10 {
        let scene = in_turn(&[Text, Text, Text, Tool]);
        let stage = Stage::of(scene, &["--fault", "tool_call_fault:unknown_tool;times=1"]);
        let marks = std::thread::scope(|scope| {
            let call = || stage.call(&chat("hi")).expect(200).text();
            let calls: Vec<_> = (0..4).map(|_| scope.spawn(call)).collect();
            let texts = calls.into_iter().map(|call| call.join().unwrap());
            texts.filter(|text| text.contains("weather_unknown")).count()
        });
        assert_eq!(marks, 1, "round {round}");
        assert_eq!(stage.end(0).receipt["faults"]["fired"], 1, "round {round}");
    }
}

#[test]
fn while_recording_a_fault_that_could_not_happen_keeps_its_one_time_too() {
    let number = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::start(move |_: &Received| {
        let sample = match number.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
            0 => Sample::Twelve,
            _ => Sample::Text,
        };
        sample.answer()
    });
    let stage = Stage::record(&upstream, &["--fault", "slice:15;times=1"]);
    stage.call(&chat("hi")).expect(200);
    stage.call(&chat("hi")).expect(200);
    let over = stage.end(0);
    assert_eq!(over.receipt["faults"]["rules"][0]["matched"], 2);
    assert_eq!(over.receipt["faults"]["fired"], 1);
    let warnings = over.warnings();
    assert!(warnings.contains("no chunk of the answer has more than 15 bytes"), "{warnings}");
}

#[test]
fn a_drawn_rate_that_could_not_happen_is_not_tested_and_one_that_was_not_drawn_is_no_matter() {
    let recorded = || in_turn(&[Sample::Text]);
    let stage = Stage::of(recorded(), &["--chaos", "1.0=tool_call_fault"]);
    stage.call(&chat("hi")).expect(200);
    let over = stage.end(1);
    assert_eq!(untested(&over, "chaos")["source"], "chaos");
    let stage = Stage::of(recorded(), &["--chaos", "0.0=tool_call_fault"]);
    stage.call(&chat("hi")).expect(200);
    stage.end(0);
}
