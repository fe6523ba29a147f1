//! Tests of `stats`: the totals of the calls in recordings.

use std::process::Stdio;

use serde_json::{Value, json};

use crate::support::loomrec::command;
use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Call, Received, Scene, Upstream};

/// Answers chats and messages, complete or streamed; fails on request.
pub(crate) fn upstream() -> Upstream {
    Upstream::start(answer)
}

/// The answer of that upstream to one request.
pub(crate) fn answer(request: &Received) -> Answer {
    match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("Bonjour.")),
        _ if request.text().contains("\"stream\":true") => {
            Answer::events(&chat_events(&["Hel", "lo."]))
        }
        _ if request.text().contains("fail") => {
            Answer::json(429, "{\"error\":{\"message\":\"no\"}}")
        }
        _ => Answer::json(200, chat_answer("Hello.")),
    }
}

/// Five calls: a repeated one, a streamed one, one with a step, one that fails.
pub(crate) fn calls() -> Vec<Call> {
    vec![
        chat("hi"),
        chat("hi"),
        chat_streamed("hi"),
        message("hi").header("x-loomrec-step-id: greet"),
        chat("fail"),
    ]
}

/// The output of `stats --json` with more arguments.
fn json_output(scene: &Scene, more: &[&str]) -> Value {
    let args = [&["stats", "--json"], more].concat();
    serde_json::from_str(&scene.run(&args).expect(0).stdout).unwrap()
}

#[test]
fn calls_tokens_cost_and_times_are_told_by_upstream_and_model() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &calls());
    let text = regex::Regex::new(r#""latency_ms": [0-9.]+"#).unwrap();
    let text = text.replace_all(&scene.text(), r#""latency_ms": 1843.2"#).into_owned();
    let chunks = regex::Regex::new(r"(?m)^(\s*)\[[0-9.]+, ").unwrap();
    scene.write(chunks.replace_all(&text, "${1}[12.5, ").as_bytes());
    let ended = scene.run(&["stats", "run.json"]).expect(0);
    insta::assert_snapshot!("stats", ended.stdout);
    let output = json_output(&scene, &["run.json"]);
    insta::assert_snapshot!("stats_json", format!("{output:#}"));
    assert_eq!(scene.names(), ["run.json"]);
}

#[test]
fn a_recording_that_is_being_recorded_is_counted_as_far_as_it_is() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = scene.record(&upstream, &[]);
    for (done, call) in calls().iter().enumerate() {
        server.call(call);
        assert_eq!(json_output(&scene, &["run.json"])["all"]["calls"], done + 1);
    }
    server.stop().expect(0);
    assert_eq!(json_output(&scene, &["run.json"])["all"]["failed"], 1);
}

#[test]
fn several_recordings_are_summed_up_together() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &calls());
    std::fs::copy(scene.recording(), scene.path("copy.json")).unwrap();
    let both = json_output(&scene, &["run.json", "copy.json", "--by", "step"]);
    assert_eq!(both["recordings"], json!(["run.json", "copy.json"]));
    assert_eq!((&both["by"], &both["all"]["calls"]), (&json!(["step"]), &json!(10)));
    let steps: Vec<&Value> =
        both["groups"].as_array().unwrap().iter().map(|group| &group["step"]).collect();
    assert_eq!(steps, [&Value::Null, &json!("greet")]);
}

#[test]
fn exit_codes_are_those_of_ls() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &calls());
    scene.run(&["stats", "gone.json"]).expect(4).says(&["gone.json"]);
    std::fs::write(scene.path("bad.json"), "{").unwrap();
    scene.run(&["stats", "run.json", "bad.json"]).expect(4).says(&["bad.json"]);
    scene.run(&["stats"]).expect(2);
    scene.run(&["stats", "run.json", "--by", "colour"]).expect(2);
    std::fs::write(scene.path("prices.json"), r#"{"models": [{"names": ["m"]}]}"#).unwrap();
    let wrong = scene.run(&["stats", "run.json", "--prices", "prices.json"]).expect(2);
    wrong.says(&["--prices prices.json", "the price of m", "`input` must be a number"]);
    let (read, write) = std::io::pipe().unwrap();
    drop(read);
    let mut closed = command(scene.dir(), &["stats", "run.json"]);
    let output = closed.stdin(Stdio::null()).stdout(write).stderr(Stdio::piped()).output().unwrap();
    assert_eq!((output.status.code(), output.stderr.is_empty()), (Some(0), true));
}

#[test]
fn counts_of_tokens_that_no_sum_can_hold_end_no_command() {
    let scene = Scene::new();
    let names = ["prompt_tokens", "completion_tokens", "total_tokens"];
    let mut answer: Value = serde_json::from_str(&chat_answer("x")).unwrap();
    names.iter().for_each(|name| answer["usage"][name] = u64::MAX.into());
    let upstream = Upstream::always(Answer::json(200, answer.to_string()));
    let calls = [chat("hi"), chat("hi")];
    scene.recorded(&upstream, &calls);
    scene.replayed(&["--strict"], &calls, 0);
    let mut held = scene.json();
    for entry in held.as_object_mut().unwrap().values_mut().filter(|it| it.get("usage").is_some()) {
        for name in names.iter().chain(&["cached_tokens", "cache_write_tokens"]) {
            entry["usage"][name] = u64::MAX.into();
        }
    }
    scene.write(held.to_string());
    scene.run(&["stats", "run.json"]).expect(0);
    scene.run(&["stats", "run.json", "--cache"]).expect(0);
}

#[test]
fn costs_that_no_call_can_have_are_ignored_and_named() {
    let scene = Scene::new();
    scene.recorded(&upstream(), &[chat("hi"), chat("ho")]);
    let honest = json_output(&scene, &["run.json"])["all"]["cost_usd"].clone();
    for cost in [-5.0, 1e308] {
        let mut file = scene.json();
        let entries = file.as_object_mut().unwrap().values_mut();
        entries
            .filter(|entry| entry.get("usage").is_some())
            .for_each(|entry| entry["cost_usd"] = json!(cost));
        scene.write(file.to_string());
        let ended = scene.run(&["stats", "--json", "run.json"]).expect(0);
        let output: Value = serde_json::from_str(&ended.stdout).unwrap();
        assert_eq!(output["all"]["cost_usd"], honest, "by the prices of the model");
        let warning = "calls with a cost_usd that no call can have, which is ignored: 2";
        assert!(ended.stderr.contains(warning), "{}", ended.stderr);
        let verified = scene.run(&["verify", "run.json"]).stdout;
        assert!(verified.contains("`cost_usd` is no cost of a call"), "{verified}");
    }
}
