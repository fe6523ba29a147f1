//! Tests of invalid faults: refused at the start, or per call, with place and remedy.

use serde_json::json;

use super::stage::{Stage, recorded, sample, step};
use crate::support::chance::Chance;
use crate::support::shape::chat;
use crate::support::{Call, Finished, Scene};

/// Starts a replay that must fail before it listens.
#[track_caller]
pub(super) fn refused(scene: &Scene, more: &[&str], code: i32) -> Finished {
    let args = scene.replay_args(&[&["--listen", "127.0.0.1:0"], more].concat());
    let ended = crate::support::run(scene.dir(), &args).expect(code);
    assert!(!ended.stderr.contains("loomrec listening"), "{more:?}: {}", ended.stderr);
    assert!(!ended.stderr.contains("panicked"), "{more:?}: {}", ended.stderr);
    ended
}

/// Invalid plans, and what their refusals must contain.
const PLANS: [(&str, &[&str]); 24] = [
    ("", &[]),
    ("null", &["a plan"]),
    ("[]", &["a plan"]),
    ("{}", &["add a rule"]),
    (r#"{"rules": []}"#, &["add a rule"]),
    (r#"{"rules": [], "chaos": {}}"#, &["add a rule"]),
    (r#"{"rules": {}}"#, &["/rules"]),
    (r#"{"rule": []}"#, &["rule", "did you mean \"rules\"?"]),
    (r#"{"rules": [{"fault": "drop"}], "rules": []}"#, &["twice"]),
    (r#"{"seed": -1, "rules": [{"fault": "drop"}]}"#, &["/seed"]),
    (r#"{"rules": [{"fault": "drop"}, {"match": {}}]}"#, &["rule 2", "/fault"]),
    (
        r#"{"rules": [{"fault": {"type": "http_eror"}}]}"#,
        &["rule 1", "did you mean \"http_error\"?"],
    ),
    (r#"{"rules": [{"fault": {"type": "timeout", "after_ns": 5}}]}"#, &["rule 1", "after_ms"]),
    (r#"{"rules": [{"fault": {"type": "timeout"}}]}"#, &["/fault/after_ms"]),
    (r#"{"rules": [{"fault": "timeout:-1"}]}"#, &["/fault/after_ms", "-1"]),
    (r#"{"rules": [{"fault": {"type": "http_error", "status_code": 200}}]}"#, &["400 to 599"]),
    (
        r#"{"rules": [{"name": "x", "fault": "drop", "probability": 1.5}]}"#,
        &["\"x\"", "/probability"],
    ),
    (r#"{"rules": [{"fault": "drop", "times": 0}]}"#, &["/times"]),
    (r#"{"rules": [{"fault": "drop", "when": {}}]}"#, &["when", "match"]),
    (r#"{"rules": [{"match": {"stepid": "x"}, "fault": "drop"}]}"#, &["did you mean \"step_id\"?"]),
    (r#"{"rules": [{"match": {"provider": "opnai"}, "fault": "drop"}]}"#, &["\"openai\""]),
    (
        r#"{"rules": [{"name": "x", "fault": "drop"}, {"name": "x", "fault": "drop"}]}"#,
        &["rename one"],
    ),
    (r#"{"chaos": {"drop": -0.1}}"#, &["/chaos/drop", "from 0 to 1"]),
    (r#"{"rules": [{"match": {"step_id": "plan"}, "fau"#, &["plain JSON"]),
];

#[test]
fn a_plan_that_cannot_be_is_refused_before_listening() {
    let scene = recorded();
    for (text, parts) in PLANS {
        std::fs::write(scene.path("plan.json"), text).unwrap();
        let said = refused(&scene, &["--faults", "plan.json"], 2).stderr;
        for part in ["plan.json"].iter().chain(parts) {
            assert!(said.contains(part), "{part:?} is not said of {text}: {said}");
        }
        let record = scene.record_args("http://127.0.0.1:9", &["--faults", "plan.json"]);
        crate::support::run(scene.dir(), &record).expect(2);
    }
    std::fs::write(scene.path("plan.yaml"), "rules:\n  - {fault: drop, tims: 2}\n").unwrap();
    refused(&scene, &["--faults", "plan.yaml"], 2).says(&["plan.yaml", "times"]);
    std::fs::write(scene.path("plan.yaml"), "rules: [\n").unwrap();
    refused(&scene, &["--faults", "plan.yaml"], 2).says(&["plan.yaml", "YAML"]);
    refused(&scene, &["--faults", "gone.json"], 2).says(&["gone.json"]);
    refused(&scene, &["--faults", "."], 2);
}

#[test]
fn a_plan_for_calls_that_no_recording_holds_is_refused() {
    let scene = Scene::new();
    scene.write(json!({ "_version": 2, "answer": { "content": "x" } }).to_string());
    let plan = |rules: &str| std::fs::write(scene.path("plan.json"), rules).unwrap();
    let args = ["--faults", "plan.json"];
    plan(r#"{"rules": [{"name": "r", "match": {"step_id": "anwser"}, "fault": "drop"}]}"#);
    refused(&scene, &args, 2).says(&["\"r\"", "\"anwser\"", "did you mean \"answer\"?"]);
    plan(r#"{"rules": [{"match": {"step_id": "elsewhere"}, "fault": "drop"}]}"#);
    refused(&scene, &args, 2).says(&["\"elsewhere\"", "there are: answer"]);
    plan(r#"{"rules": [{"match": {"request_hash": "abcdef"}, "fault": "drop"}]}"#);
    refused(&scene, &args, 2).says(&["abcdef", "loomrec ls"]);
    refused(&scene, &["--fault", "anwser=drop"], 2).says(&["did you mean \"answer\"?"]);
    // If an upstream may be called, the step may be any.
    plan(r#"{"rules": [{"match": {"step_id": "elsewhere"}, "fault": "drop"}]}"#);
    let stage = Stage::of(scene, &[&args[..], &["--on-miss", "default"]].concat());
    stage.call(&step("elsewhere", "x")).expect(500);
    stage.end(0);
}

#[test]
fn two_plans_with_a_rule_of_one_name_are_refused() {
    let scene = recorded();
    for name in ["a.json", "b.json"] {
        std::fs::write(scene.path(name), r#"{"rules": [{"name": "r", "fault": "drop"}]}"#).unwrap();
    }
    let said = refused(&scene, &["--faults", "a.json", "--faults", "b.json"], 2);
    said.says(&["b.json", "\"r\""]);
}

#[test]
fn flags_that_cannot_be_are_refused_before_listening() {
    let scene = recorded();
    for (args, parts) in [
        (["--fault", "http_eror:500"], ["http_eror", "did you mean \"http_error\"?"]),
        (["--fault", "timeout"], ["timeout", "after_ms"]),
        (["--fault", "=drop"], ["no step is named", ""]),
        (["--fault", "slow:5;delay=6"], ["delay", "delay_ms"]),
        (["--chaos", "1.5=drop"], ["--chaos", "0 to 1"]),
        (["--chaos", "NaN=drop"], ["--chaos", "0 to 1"]),
        (["--chaos", "half=malformed"], ["--chaos", "half"]),
        (["--chaos=-0.1=slow:1000", "-q"], ["--chaos", "0 to 1"]),
        (["--chaos", "drop"], ["--chaos", "RATE=FAULT"]),
        (["--chaos", "2=drop"], ["--chaos", "0 to 1"]),
        (["--chaos", "0.5=dorp"], ["dorp", "did you mean \"drop\"?"]),
        (["--seed", "seven"], ["--seed", "seven"]),
        (["--recovery", "max_detection=5"], ["--recovery", "max_detection_ms"]),
        (["--recovery", "require_clean_timeout"], ["--recovery", "max_detection_ms"]),
        (["--fault", "10%=drop"], ["10% is a rate", "drop;probability=10%"]),
        (["--fault", "10%"], ["10% is a rate, and names no fault", "as in `429;10%`"]),
        (["--fault", "reset:2"], ["reset", "did you mean \"connection_reset\"?"]),
        (["--fault", "truncate:2"], ["truncate", "did you mean \"stream_truncate\"?"]),
        (["--fault", "429;time=1"], ["did you mean \"times\"?", "probability"]),
        (["--chaos", "half%=drop"], ["--chaos", "from 0% to 100%"]),
        (["--chaos", "101%=drop"], ["--chaos", "0 to 1"]),
    ] {
        refused(&scene, &args, 2).says(&parts);
    }
}

#[test]
fn a_bad_fault_in_a_recording_is_refused_with_its_entry_and_field() {
    for (entry, parts) in [
        (json!({ "fault": { "type": "http_eror" } }), ["/fault/type", "http_error"]),
        (json!({ "fault": { "type": "timeout", "after_ns": 5 } }), ["/fault/after_ns", "after_ms"]),
        (json!({ "fault": { "after_ms": 5 } }), ["/fault/type", "a fault needs a type"]),
        (json!({ "fault": { "type": "timeout", "after_ms": "5" } }), ["/fault/after_ms", "\"5\""]),
        (
            json!({ "fault": { "type": "recover_after", "failures": 1 } }),
            ["recover_after", "answer"],
        ),
        (json!({ "fault": { "type": "tool_call_fault" } }), ["tool_call_fault", "tool"]),
        (json!({ "fault": { "type": "drop", "times": 0 } }), ["/fault/times", "\"always\""]),
        (json!({ "fault": { "type": "drop", "attempt": 1 } }), ["/fault/attempt", "an answer"]),
        (
            json!({ "content": "x", "fault": { "type": "drop", "attempt": "1" } }),
            ["/fault/attempt", "from 1"],
        ),
        (json!({ "fault": 5 }), ["/fault", "object"]),
        (json!({ "content": "x", "chaos": { "dropRate": 2 } }), ["/chaos/dropRate", "0 to 1"]),
        (json!({ "content": "x", "chaos": { "dropRat": 1 } }), ["dropRat", "dropRate"]),
    ] {
        let scene = Scene::new();
        scene
            .write(json!({ "_version": 2, "fine": { "content": "x" }, "plan": entry }).to_string());
        let said = refused(&scene, &[], 4).stderr;
        for part in ["run.json", "plan"].iter().chain(&parts) {
            assert!(said.contains(part), "{part:?} is not said of {entry}: {said}");
        }
    }
}

#[test]
fn a_header_that_cannot_be_is_refused_and_nothing_is_served() {
    let stage = Stage::replay(&["--fail-unused"]);
    let with = |line: &str| chat("complete").header(line);
    let bad = [
        "x-loomrec-fault: http_eror:500",
        "x-loomrec-fault: timeout",
        "x-loomrec-fault: {\"type\": 5}",
        "x-loomrec-fault: {\"type\"",
        "x-loomrec-fault: drop;now=1",
        "x-loomrec-fault: http_error:99",
        "x-loomrec-chaos-drop: 1.5",
        "x-loomrec-chaos-drop: often",
        "x-loomrec-chaos-dorp: 1",
        "x-loomrec-chaos-fault: 1=dorp",
        "x-loomrec-fault: caf\u{e9}",
    ];
    for line in bad {
        let answer = stage.call(&with(line)).expect(400);
        assert_eq!(answer.header("x-loomrec-error"), Some("BadFault"), "{line}");
        assert_eq!(answer.header("x-should-retry"), Some("false"), "{line}");
        let message = answer.json()["error"]["message"].as_str().unwrap().to_owned();
        let name = line.split(':').next().unwrap();
        assert!(message.contains(name), "{line}: {message}");
    }
    let twice = with("x-loomrec-fault: drop").header("x-loomrec-fault: connection_reset");
    assert!(stage.call(&twice).expect(400).text().contains("twice"));
    // In the format of the caller's provider, as any error.
    let message = sample("message").call.header("x-loomrec-fault: nothing");
    assert_eq!(stage.call(&message).expect(400).json()["type"], "error");
    let over = stage.end(1);
    assert_eq!(over.receipt["served"], 0);
    assert_eq!(over.receipt["refused"], bad.len() + 2);
    assert_eq!(over.receipt["unused"], over.receipt["takes"]);
}

#[test]
fn an_empty_header_declares_nothing() {
    let stage = Stage::replay(&[]);
    stage.call(&chat("complete").header("x-loomrec-fault: ")).expect(200);
    stage.end(0);
}

/// A text with some of its bytes changed, doubled or removed.
fn mutated(text: &str, chance: &mut Chance) -> Vec<u8> {
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=chance.below(3) {
        let at = chance.below(bytes.len());
        match chance.below(5) {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, b"\"{}[]:;,=.-0e \\\xff\x80"[chance.below(17)]),
            2 => bytes[at] ^= 1 << chance.below(8),
            3 => bytes.truncate(at + 1),
            _ => {
                let piece = bytes[at..bytes.len().min(at + 9)].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

#[test]
fn no_plan_makes_it_panic() {
    let plan = r#"{ "seed": 7, "chaos": { "drop": 0.5, "faults": [{ "rate": 1e-1, "fault": "slow:5" }] },
        "rules": [{ "name": "r", "match": { "call": [1, 2], "request_hash": "abcd",
            "body": { "/messages/0/content": { "contains": "é" }, "/a~1b": 1.5 } },
          "fault": { "type": "stream_truncate", "after_chunks": 3, "raise": "ConnectionError" },
          "times": 2, "probability": 0.5 },
        { "fault": { "type": "recover_after", "failures": 2, "fault": "http_error:429;headers={\"a\":1}" } }] }"#;
    let (scene, mut chance) = (recorded(), Chance::new());
    let mut refusals = 0;
    for round in 0..300 {
        let name = if round % 2 == 0 { "plan.json" } else { "plan.yaml" };
        let text = mutated(plan, &mut chance);
        std::fs::write(scene.path(name), &text).unwrap();
        let args = scene.replay_args(&["--faults", name, "--print-env"]);
        let ended = crate::support::run(scene.dir(), &args);
        let about = || format!("{}: {}", String::from_utf8_lossy(&text), ended.stderr);
        assert!([0, 2].contains(&ended.code) && !ended.stderr.contains("panicked"), "{}", about());
        assert!(ended.code == 0 || ended.stderr.contains(name), "{}", about());
        refusals += usize::from(ended.code == 2);
    }
    assert!(refusals > 100, "only {refusals} of 300 were refused");
}

#[test]
fn no_header_makes_it_panic() {
    let seeds = [
        "http_error:429;retry_after=2;headers={\"x-a\":[\"b\"]}",
        "{\"type\":\"http_error\",\"status_code\":503,\"body\":{\"a\":[1,2.50]}}",
        "stream_truncate:2;raise=clean_eof",
        "stream_truncate;after_bytes=40;raise=error_event;message=\"x;y\"",
        "slice:7",
        "wrong_length:-5",
        "stream_garble:1;how=reordered",
        "partial_response;content=half",
        "malformed_response;raw=<x>",
    ];
    let (stage, mut chance) = (Stage::replay(&["--repeat", "last"]), Chance::new());
    let names = ["chat", "chat stream", "gemini array", "converse stream"];
    for round in 0..300 {
        let fault: Vec<u8> = mutated(seeds[round % seeds.len()], &mut chance);
        let fault: Vec<u8> =
            fault.into_iter().filter(|byte| !matches!(byte, 0..=31 | 127)).collect();
        let call = &sample(names[round % names.len()]).call;
        let head =
            call.clone().header("connection: close").header("x-loomrec-fault: MUTATED").head();
        let (before, behind) = head.split_once("MUTATED").unwrap();
        let mut client = stage.server.connect();
        client.write([before.as_bytes(), &fault, behind.as_bytes(), call.body_bytes()].concat());
        let (answer, _) = client.everything();
        let about = || String::from_utf8_lossy(&fault).into_owned();
        assert!(answer.starts_with(b"HTTP/1.1 "), "no answer to {}", about());
    }
    stage.call(&Call::get("/__loomrec/health").header("host: localhost")).expect(200);
    let stderr = stage.server.stop().stderr;
    assert!(!stderr.contains("panicked"), "{stderr}");
}
