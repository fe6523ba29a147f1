//! Tests of ids that a client makes anew in each run: rules rename them, and nothing else.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::shape::{chat, chat_answer, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

fn receipt(path: &Path) -> Value {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

const ONE: &str = "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b";
const OTHER: &str = "1190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b";

/// A call with an id that its client makes, at two places.
fn with_ids(turn: &str, prompt: &str) -> Call {
    let mut body = chat_body(prompt);
    body["metadata"] = json!({"turn": turn, "all": [{"id": format!("t_{turn}")}]});
    Call::post("/openai/v1/chat/completions", body.to_string())
}

#[test]
fn ids_that_a_client_makes_are_renamed_under_the_rules_of_the_recording() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("fine")));
    let rules = ["/metadata/turn: uuid", "/metadata/all/*/id: t_{{id}}", "/metadata/none: epoch"];
    let flags: Vec<&str> = rules.iter().flat_map(|rule| ["--normalize", rule]).collect();
    let server = scene.record(&upstream, &flags);
    server.call(&with_ids(ONE, "hi")).expect(200);
    server.stop().expect(0);
    let identity = &scene.json()["_loomrec"]["identity"];
    assert_eq!(identity["normalize"].as_array().unwrap().len(), 3);
    assert_eq!(identity["version"], 3);
    scene.run(&["verify", scene.name()]).expect(0);
    let server = scene.replay(&["--strict", "--receipt", "receipt.json"]);
    let answer = server.call(&with_ids(OTHER, "hi")).expect(200);
    assert_eq!(answer.header("x-loomrec-bound"), Some("id=1, uuid=1"));
    let ended = server.stop().expect(0);
    for part in [
        "1 served, 1 of them with this run's ids",
        "renamed if no recorded call is exactly the same: /metadata/all/*/id: t_{{id}} (",
        "no call needed the rules /metadata/none: epoch",
    ] {
        assert!(ended.stderr.contains(part), "{part}: {}", ended.stderr);
    }
    let rule = |rule: &str, calls: u64| json!({"rule": rule, "calls": calls});
    let needed = json!([rule(rules[1], 1), rule(rules[2], 0), rule(rules[0], 1)]);
    assert_eq!(receipt(&scene.path("receipt.json"))["bound"]["rules"], needed);
    // Two ids in the place of one, another prompt, and no id are other requests.
    let server = scene.replay(&["--strict"]);
    let text = String::from_utf8(with_ids(OTHER, "hi").body_bytes().to_vec()).unwrap();
    let text = text.replace(&format!("\"turn\":\"{OTHER}\""), "\"turn\":\"none\"");
    server.call(&Call::post("/openai/v1/chat/completions", text)).expect(422);
    let missed = server.call(&with_ids(OTHER, "ho")).expect(422).text();
    assert!(missed.contains("/messages/0/content") && !missed.contains(OTHER), "{missed}");
    server.stop().expect(1);
}

#[test]
fn rules_may_be_given_at_the_replay_alone() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("fine")));
    scene.recorded(
        &upstream,
        &[chat("<log>Chunk ID: 46e5bd\nWall time: 0.0051 seconds, 85 tokens")],
    );
    let other = chat("<log>Chunk ID: aa00ff\nWall time: 0.2 seconds, 85 tokens");
    let rules = [
        "--normalize",
        "user: <log>Chunk ID: {{hex6}}\\nWall",
        "--normalize",
        "user: <log>Chunk ID: {{any}}\\nWall time: {{duration}} seconds, ",
    ];
    for (flags, status) in [(&rules[..], 200), (&rules[..2], 422), (&[][..], 422)] {
        let server = scene.replay(&[&["--strict"], flags].concat());
        server.call(&other).expect(status);
        server.stop().expect(i32::from(status != 200));
    }
    for rule in ["/x uuid", "/x: a"] {
        let ended = scene.run(&["replay", "-r", scene.name(), "--normalize", rule]).expect(2);
        let part = format!("--normalize {rule}: failed to read");
        assert!(ended.stderr.contains(&part), "{}", ended.stderr);
    }
}

#[test]
fn rules_are_added_to_those_of_a_recording() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("fine")));
    scene.recorded(&upstream, &[with_ids(ONE, "hi"), chat("other")]);
    let server = scene.record(&upstream, &["--normalize", "/metadata/turn: uuid"]);
    server.call(&with_ids(ONE, "ho")).expect(200);
    server.stop().expect(0);
    let server = scene.record(&upstream, &["--normalize", "/metadata/all/*/id: t_{{uuid}}"]);
    server.call(&with_ids(ONE, "hu")).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&["--strict"]);
    for prompt in ["hi", "ho", "hu"] {
        server.call(&with_ids(OTHER, prompt)).expect(200);
    }
    server.stop().expect(0);
    scene.run(&["verify", scene.name()]).expect(0);
}

#[test]
fn two_calls_that_differ_only_in_their_ids_are_not_bound() {
    let scene = Scene::new();
    let answers = ["1", "2"].map(|text| Answer::json(200, chat_answer(text)));
    let upstream = Upstream::script(answers.into());
    let rules = ["/metadata/turn: uuid", "/metadata/all/*/id: t_{{uuid}}"];
    let flags: Vec<&str> = rules.iter().flat_map(|rule| ["--normalize", rule]).collect();
    let server = scene.record(&upstream, &flags);
    server.call(&with_ids(ONE, "hi")).expect(200);
    server.call(&with_ids(OTHER, "hi")).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&["--strict"]);
    server.call(&with_ids(ONE, "hi")).expect(200);
    server.call(&with_ids("2190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b", "hi")).expect(422);
    server.stop().expect(1).says(&["entries that answer only exactly the same call"]);
}

#[test]
fn rules_of_a_recording_that_reach_words_or_settings_are_refused_by_strict() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("fine")));
    let server = scene.record(&upstream, &["--normalize", "/metadata/turn: uuid"]);
    server.call(&chat("Wait for the database")).expect(200);
    server.stop().expect(0);
    let recorded = scene.json();
    let write = |rules: &[String]| {
        let mut changed = recorded.clone();
        changed["_loomrec"]["identity"]["normalize"] = json!(rules);
        fs::write(scene.recording(), changed.to_string()).unwrap();
    };
    for rule in [
        "/messages/*/content: W(…)",
        "/messages/*/content: duration",
        "/messages: uuid",
        "/max_tokens: port",
        "/temperature: pid",
        "/model: id",
        "user: Wait for {{count}} databases",
        "user: W{{any}}",
        "system: {{any}} {{day}}",
    ] {
        write(&[rule.to_owned()]);
        let ended = scene.run(&["replay", "--strict", "-r", scene.name(), "--", "true"]).expect(4);
        assert!(ended.stderr.contains("a rule of the recording is refused: "), "{}", ended.stderr);
        let shown = rule.split('{').next().unwrap();
        assert!(ended.stderr.contains(shown), "{rule}: {}", ended.stderr);
        let server = scene.replay(&[]);
        server.call(&chat("Wipe the database")).expect(422);
        server.stop().expect(1).says(&["a rule of the recording holds for nothing: "]);
    }
    let long = format!("system: Today{}{{{{day}}}}", "x".repeat(1 << 20));
    write(&[long]);
    let ended = scene.run(&["replay", "--strict", "-r", scene.name(), "--", "true"]).expect(4);
    assert!(ended.stderr.contains("at most 4096 are allowed"), "{}", &ended.stderr[..400]);
    assert!(ended.stderr.len() < 4000, "{}", ended.stderr.len());
    write(&(0..1000).map(|at| format!("/metadata/id{at}/id: uuid")).collect::<Vec<_>>());
    let ended = scene.run(&["replay", "--strict", "-r", scene.name(), "--", "true"]).expect(4);
    assert!(ended.stderr.contains("a list of at most 256 rules"), "{}", ended.stderr);
}
