//! Tests of faults in a recording: under `--strict` none of them is an answer that was not
//! recorded, and none serves a take twice.

use serde_json::{Value, json};

use super::{HI, edited, hi, recorded, replayed, written};
use crate::support::Scene;
use crate::support::shape::{chat, chat_answer};

/// A complete answer that was made up.
fn made_up() -> String {
    chat_answer("MADE UP").to_string()
}

fn fault_alone(fault: &Value) -> Scene {
    written(&json!({"_version": 2, "_loomrec": {"format": "1.0"}, HI: {"fault": fault}}))
}

#[test]
fn a_fault_that_answers_in_place_of_an_answer_is_refused_under_strict() {
    for fault in [
        json!({"type": "malformed_response", "raw": made_up()}),
        json!({"type": "malformed_response"}),
        json!({"type": "partial_response", "content": "MADE UP"}),
        json!({"type": "slow", "delay_ms": 1}),
        json!({"type": "stream_truncate", "after_chunks": 1000, "raise": "clean_eof"}),
        json!({"type": "wrong_length", "by": -1}),
    ] {
        let scene = fault_alone(&fault);
        let says = ["run.json", &HI[..12], "holds no answer", "`fault`", "--allow-unchecked"];
        scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
        let found = scene.run(&["verify", "--json", "run.json"]).expect(0).stdout;
        let found: Value = serde_json::from_str(&found).unwrap();
        let problems = found["files"][0]["problems"].as_array().unwrap();
        let is = |kind: &str, severity: &str| {
            problems.iter().any(|it| it["kind"] == kind && it["severity"] == severity)
        };
        assert!(is("unchecked", "warning") && is("fault", "note"), "{problems:?}");
        scene.run(&["verify", "--strict", "run.json"]).expect(1);
    }
    let entry = json!({"fault": {"type": "http_error"}, "chaos": {"malformed": 1}});
    let scene = written(&json!({"_version": 2, HI: entry}));
    scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4);
}

#[test]
fn a_fault_that_answers_is_told_where_it_is_allowed() {
    let scene = fault_alone(&json!({"type": "malformed_response", "raw": made_up()}));
    let (ended, receipt) =
        replayed(&scene, &["--strict", "--allow-unchecked"], &[], &[(hi(), 200)]);
    ended.expect(0).says(&[
        &format!("in force: faults of entries: {HI} (malformed_response)"),
        "entries that cannot be checked: 1",
    ]);
    assert_eq!(receipt["in_force"]["faults"]["entries"], 1);
}

#[test]
fn a_fault_that_is_an_error_stands_in_place_of_an_answer_under_strict() {
    for (fault, status) in
        [(json!({"type": "http_error", "status_code": 503}), 503), (json!({"type": "drop"}), 500)]
    {
        let scene = fault_alone(&fault);
        let calls = [(hi(), status), (hi(), status)];
        let (ended, receipt) = replayed(&scene, &["--strict"], &[], &calls);
        ended.expect(0).says(&["faults of entries: "]);
        let named = &receipt["in_force"]["faults"]["named"][0];
        assert_eq!((&named["entry"], &named["declared"]), (&json!(HI), &fault["type"]));
    }
}

#[test]
fn a_fault_beside_an_answer_gives_no_take_twice_under_strict() {
    let raw = json!({"type": "malformed_response", "raw": made_up()});
    let cut = json!({"type": "stream_truncate", "after_bytes": 5, "raise": "clean_eof"});
    for fault in [raw, json!({"type": "partial_response"}), cut] {
        let scene = recorded(&[]);
        let key = scene.takes()[0].0.clone();
        edited(&scene, |file| file[&key]["fault"] = fault.clone());
        let twice = [(chat("hi"), 200), (chat("hi"), 422)];
        let (ended, receipt) = replayed(&scene, &["--strict"], &[], &twice);
        ended.expect(1).says(&[&format!("faults of entries: {key} (")]);
        assert_eq!((&receipt["exhausted"], &receipt["unused"]), (&json!(1), &json!(0)));
        // Without --strict the next attempt gets the answer, as always.
        replayed(&scene, &[], &[], &[(chat("hi"), 200), (chat("hi"), 200)]).0.expect(0);
    }
    let scene = recorded(&[]);
    let key = scene.takes()[0].0.clone();
    edited(&scene, |file| file[&key]["chaos"] = json!({"malformed": 1}));
    replayed(&scene, &["--strict"], &[], &[(chat("hi"), 200), (chat("hi"), 422)]).0.expect(1);
}

#[test]
fn a_fault_that_is_an_error_leaves_the_take_to_the_next_attempt_under_strict() {
    let scene = recorded(&[]);
    let key = scene.takes()[0].0.clone();
    let busy = json!({"type": "http_error", "status_code": 503});
    let recover = json!({"type": "recover_after", "failures": 2, "fault": busy});
    edited(&scene, |file| file[&key]["fault"] = recover);
    let calls = [(chat("hi"), 503), (chat("hi"), 503), (chat("hi"), 200), (chat("hi"), 422)];
    replayed(&scene, &["--strict"], &[], &calls).0.expect(1);
}

#[test]
fn verify_notes_the_fault_of_an_entry() {
    let scene = recorded(&[]);
    let key = scene.takes()[0].0.clone();
    edited(&scene, |file| file[&key]["fault"] = json!({"type": "http_error"}));
    let said = scene.run(&["verify", "run.json"]).stdout;
    assert!(said.contains("a fault of the entry: http_error"), "{said}");
}

#[test]
fn a_fault_binds_its_client_to_nothing_but_the_answer() {
    let headers = json!({
        "Set-Cookie": "a=b", "alt-svc": "h2=\"evil.example:443\"", "x-note": "kept",
        "clear-site-data": "*", "connection": "upgrade",
    });
    let scene = fault_alone(&json!({"type": "http_error", "headers": headers}));
    let server = scene.replay(&["--strict"]);
    let answer = server.call(&hi()).expect(500);
    for name in ["set-cookie", "alt-svc", "clear-site-data", "connection"] {
        assert_eq!(answer.header(name), None, "{name}");
    }
    assert_eq!(answer.header("x-note"), Some("kept"));
    server.stop().expect(0);
}
