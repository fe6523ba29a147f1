//! Tests of entries whose summary, which a reviewer reads, says other than their response.

use serde_json::{Value, json};

use super::{edited, recorded, replayed};
use crate::support::shape::chat;
use crate::support::{Answer, Scene, Upstream};

/// Changes the only entry of a recording.
fn changed(scene: &Scene, change: impl FnOnce(&mut Value)) {
    let key = scene.takes()[0].0.clone();
    edited(scene, |file| change(&mut file[&key]));
}

/// Expects that a strict replay refuses the recording, that `verify` names the field, and that the
/// others count the entry.
fn refused(scene: &Scene, field: &str) {
    let says = ["run.json", "shows another answer than it serves", "--allow-unchecked"];
    scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
    let verified = scene.run(&["verify", "run.json"]).expect(1);
    let said = format!("{}{}", verified.stdout, verified.stderr);
    assert!(said.contains(&format!("`{field}` is not what the recorded")), "{said}");
    let allowed = ["--strict", "--allow-unchecked"];
    let (ended, receipt) = replayed(scene, &allowed, &[], &[(chat("hi"), 200)]);
    ended.expect(0).says(&["1 answered by 1 entries that cannot be checked"]);
    assert_eq!(receipt["in_force"]["unchecked"], json!({"entries": 1, "calls": 1}));
}

#[test]
fn content_that_says_other_than_the_response_is_refused_under_strict_and_mended_by_verify() {
    let scene = recorded(&[]);
    changed(&scene, |entry| entry["content"] = json!("harmless"));
    refused(&scene, "content");
    scene.run(&["verify", "--fix", "run.json"]).expect(0);
    assert_eq!(scene.only_take()["content"], "x");
    let (ended, receipt) = replayed(&scene, &["--strict"], &[], &[(chat("hi"), 200)]);
    ended.expect(0);
    assert_eq!(receipt["in_force"]["unchecked"]["entries"], 0);
}

#[test]
fn each_field_of_a_summary_that_says_other_than_the_response_is_refused() {
    let call = json!([{"id": "c", "name": "f", "arguments": {"a": 1}}]);
    for (field, value) in [
        ("content", json!("xx")),
        ("content", json!("[REDACTED] is harmless")),
        ("tool_calls", call),
        ("finish_reason", json!("length")),
        ("model", json!("other-model")),
    ] {
        let scene = recorded(&[]);
        changed(&scene, |entry| entry[field] = value.clone());
        refused(&scene, field);
    }
}

#[test]
fn content_of_an_error_and_of_a_stream_is_compared_as_well() {
    let events = ["Do", " not", " delete"].map(|text| {
        let delta = json!({"choices": [{"index": 0, "delta": {"content": text}}]});
        format!("data: {delta}\n\n")
    });
    for answer in [
        Answer::json(400, json!({"error": {"message": "no"}}).to_string()),
        Answer::events(&events),
    ] {
        let (scene, upstream) = (Scene::new(), Upstream::always(answer));
        let server = scene.record(&upstream, &[]);
        server.call(&chat("hi"));
        server.stop();
        scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]);
        changed(&scene, |entry| entry["content"] = json!("Do delete"));
        let says = ["shows another answer than it serves"];
        scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4).says(&says);
        let verified = scene.run(&["verify", "run.json"]).expect(1);
        let said = format!("{}{}", verified.stdout, verified.stderr);
        assert!(said.contains("`content` is not what the recorded"), "{said}");
    }
}

#[test]
fn summary_without_a_field_says_nothing() {
    let scene = recorded(&[]);
    changed(&scene, |entry| {
        for field in ["content", "model", "finish_reason", "usage"] {
            entry.as_object_mut().unwrap().remove(field);
        }
    });
    let (ended, receipt) = replayed(&scene, &["--strict"], &[], &[(chat("hi"), 200)]);
    ended.expect(0);
    assert_eq!(receipt["in_force"]["unchecked"]["entries"], 0);
}
