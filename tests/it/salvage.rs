//! Tests of `salvage`: the readable parts of damaged recordings and logs go into a new one.

use serde_json::{Value, json};

use crate::support::fleet::kill;
use crate::support::shape::{chat, chat_answer, chat_streamed};
use crate::support::{Answer, Call, Scene, Upstream};

const PROMPTS: [&str; 5] = ["zero", "one", "two", "three", "four"];

fn upstream() -> Upstream {
    Upstream::always(Answer::json(200, chat_answer("Hello.")))
}

/// A recording of five calls, one of them a step.
fn sample() -> Scene {
    let scene = Scene::new();
    let mut calls: Vec<Call> = PROMPTS.iter().map(|prompt| chat(prompt)).collect();
    calls[2] = chat("two").header("x-loomrec-step-id: two");
    scene.recorded(&upstream(), &calls);
    scene
}

/// The output of `salvage --json`.
#[track_caller]
fn json_output(scene: &Scene, file: &str, code: i32) -> Value {
    let ended = scene.run(&["salvage", file, "-o", "out.json", "--json", "--force"]).expect(code);
    serde_json::from_str(&ended.stdout).unwrap()
}

fn entries(text: &str) -> Vec<(String, Value)> {
    let value: Value = serde_json::from_str(text).unwrap();
    let members = value.as_object().unwrap().clone().into_iter();
    members.filter(|(name, _)| !name.starts_with('_')).collect()
}

fn out(scene: &Scene) -> String {
    std::fs::read_to_string(scene.path("out.json")).unwrap()
}

#[test]
fn a_whole_recording_comes_out_as_it_was() {
    let scene = sample();
    let output = json_output(&scene, "run.json", 0);
    assert_eq!((&output["saved"], &output["lost"]), (&json!(5), &json!([])));
    assert_eq!(out(&scene), scene.text());
}

#[test]
fn a_cut_recording_loses_what_is_behind_the_cut() {
    let scene = sample();
    let (text, whole) = (scene.text(), scene.takes());
    let at = text.rfind("\"request\"").unwrap();
    scene.write(&text[..at]);
    let hurt = scene.text();
    let output = json_output(&scene, "run.json", 1);
    assert_eq!(output["saved"], 4);
    assert_eq!(output["lost"][0]["key"], json!(whole[4].0));
    assert_eq!(scene.text(), hurt);
    assert_eq!(entries(&out(&scene)), whole[..4]);
    std::fs::copy(scene.path("out.json"), scene.recording()).unwrap();
    scene.run(&["verify", "--strict", "run.json"]).expect(0);
    scene.replayed(&[], &[chat("three")], 0)[0].clone().expect(200);
}

#[test]
fn bytes_that_were_overwritten_cost_their_entry_alone() {
    let scene = sample();
    let (text, whole) = (scene.text(), scene.takes());
    let at = text.find("\"two\": {").unwrap() + 100;
    let mut hurt = text.into_bytes();
    hurt[at..at + 64].fill(0);
    scene.write(&hurt);
    let output = json_output(&scene, "run.json", 1);
    assert_eq!((&output["saved"], &output["lost"][0]["key"]), (&json!(4), &json!("two")));
    let line = output["lost"][0]["line"].as_u64().unwrap() as usize;
    let shown = String::from_utf8_lossy(&hurt).lines().nth(line - 1).unwrap().to_owned();
    assert!(shown.contains("\"two\""), "{shown}");
    let left: Vec<_> = whole.into_iter().filter(|(name, _)| name != "two").collect();
    assert_eq!(entries(&out(&scene)), left);
}

/// A recording that was killed before its log was compacted.
fn logged() -> Option<Scene> {
    let scene = Scene::new();
    let upstream = upstream();
    let server = scene.record(&upstream, &[]);
    for prompt in PROMPTS {
        server.call(&chat(prompt));
    }
    server.call(&chat_streamed("x"));
    kill(&server);
    server.process.wait().expect(-9);
    scene.hidden(".log").exists().then_some(scene)
}

#[test]
fn a_log_is_read_around_its_damage() {
    let Some(scene) = (0..9).find_map(|_| logged()) else { panic!("each log was folded") };
    let whole = std::fs::read(scene.hidden(".log")).unwrap();
    let log_output = json_output(&scene, ".loomrec/run.json.log", 0);
    assert_eq!((&log_output["saved"], &log_output["form"]), (&json!(6), &json!("log")));
    assert!(scene.hidden(".log").exists() && !scene.recording().exists());
    let before = entries(&out(&scene));
    // The frame of the third call, in its middle and in its head.
    let marks: Vec<usize> =
        (0..whole.len() - 4).filter(|at| whole[*at..].starts_with(b"\x8bLR\n")).collect();
    for (at, name) in [(marks[3] + 400, "torn.log.torn-1"), (marks[3] + 9, "moved")] {
        let mut hurt = whole.clone();
        hurt[at] ^= 0xff;
        std::fs::write(scene.path(name), &hurt).unwrap();
        let output = json_output(&scene, name, 1);
        assert_eq!(output["saved"], 5, "{output}");
        assert_eq!(output["lost"][0]["at"], json!(marks[3]), "{output}");
        assert_eq!(output["lost"][0]["key"], json!(before[2].0), "{output}");
        let left: Vec<_> = before.iter().filter(|entry| **entry != before[2]).cloned().collect();
        assert_eq!(entries(&out(&scene)), left);
    }
    std::fs::write(scene.path("cut.log"), &whole[..whole.len() - 10]).unwrap();
    assert_eq!(json_output(&scene, "cut.log", 1)["saved"], 5);
}

#[test]
fn the_source_and_what_is_there_are_never_written_over() {
    let scene = sample();
    let before = scene.text();
    scene.run(&["salvage", "run.json", "-o", "run.json"]).expect(2);
    scene.run(&["salvage", "run.json", "-o", "./run.json", "--force"]).expect(2);
    std::fs::hard_link(scene.recording(), scene.path("same.json")).unwrap();
    std::fs::write(scene.path("there.json"), "mine").unwrap();
    scene.run(&["salvage", "run.json", "-o", "there.json"]).expect(2).says(&["there.json"]);
    assert_eq!(std::fs::read_to_string(scene.path("there.json")).unwrap(), "mine");
    assert_eq!(scene.text(), before);
    let mode = std::os::unix::fs::PermissionsExt::mode;
    scene.run(&["salvage", "run.json", "-o", "new.json"]).expect(0);
    let made = std::fs::metadata(scene.path("new.json")).unwrap().permissions();
    assert_eq!(mode(&made) & 0o777, 0o600);
}

#[test]
fn where_nothing_is_left_nothing_is_made() {
    let large = vec![0_u8; 3 << 20];
    let deep = format!("{{\"a\": {}", "[".repeat(100_000));
    for bytes in [&b""[..], b"hello", b"{", b"[]", &large, deep.as_bytes(), b"\x8bLR\n1234"] {
        let scene = Scene::new();
        scene.write(bytes);
        let ended = scene.run(&["salvage", "run.json", "-o", "out.json"]).expect(4);
        assert!(ended.stderr.contains("run.json") && !ended.stderr.contains("panicked"));
        assert!(!scene.path("out.json").exists());
    }
    let scene = Scene::new();
    scene.run(&["salvage", "gone.json", "-o", "out.json"]).expect(4).says(&["gone.json"]);
}

#[test]
fn a_lost_beginning_is_told_and_makes_no_recording_of_another_tools() {
    let scene = sample();
    let (text, whole) = (scene.text(), scene.takes());
    let second = text.find(&format!("\n  \"{}\"", whole[1].0)).unwrap();
    scene.write(&text[second..]);
    let output = json_output(&scene, "run.json", 1);
    assert_eq!(output["saved"], 4);
    let whys: Vec<&str> = output["lost"]
        .as_array()
        .unwrap()
        .iter()
        .map(|lost| lost["why"].as_str().unwrap())
        .collect();
    assert!(whys.iter().any(|why| why.contains("its beginning is lost")), "{whys:?}");
    assert!(whys.iter().any(|why| why.contains("no `_loomrec`")), "{whys:?}");
    // An AgentLoom file repeats its last answer.
    let args = ["replay", "-r", "out.json"];
    let server = crate::support::loomrec::Server::start(scene.dir(), &args);
    server.call(&chat("one")).expect(200);
    server.call(&chat("one")).expect(422);
    server.stop().expect(1);
}

#[test]
fn another_tools_recording_stays_another_tools() {
    let scene = Scene::new();
    scene.write(r#"{"_version": 2, "plan": {"content": "x", "model": "m"}}"#);
    assert_eq!(json_output(&scene, "run.json", 0)["lost"], json!([]));
    assert!(!out(&scene).contains("_loomrec"));
}
