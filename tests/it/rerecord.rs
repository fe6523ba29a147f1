//! Tests of `rerecord`: recorded requests are sent again, and the new answers are kept apart.

mod bad;
mod busy;
mod destination;
mod pending;
mod socket;
mod stop;
mod terminal;

use std::process::Command;

use serde_json::{Value, json};

use crate::support::loomrec::{command, finish};
use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, message, message_answer,
};
use crate::support::{Answer, Finished, Scene, Upstream};

const KEY: &str = "sk-rerecord-0123456789abcdefghijklmn";
const OTHER_KEY: &str = "another-key-0123456789";

/// `rerecord` with these flags, with the keys set and every upstream at `upstream`.
fn prepared(scene: &Scene, upstream: &Upstream, args: &[&str]) -> Command {
    let mut command = command(scene.dir(), &[&["rerecord"], args].concat());
    for name in ["openai", "anthropic"] {
        command.args(["--upstream".to_owned(), format!("{name}={}", upstream.url())]);
    }
    command.env("OPENAI_API_KEY", KEY).env("ANTHROPIC_API_KEY", OTHER_KEY);
    command
}

#[track_caller]
fn rerecord(scene: &Scene, upstream: &Upstream, args: &[&str], code: i32) -> Finished {
    finish(&mut prepared(scene, upstream, args), b"").expect(code)
}

/// An upstream that always answers with these words.
fn speaker(words: &'static str) -> Upstream {
    Upstream::start(move |request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer(words)),
        _ if request.text().contains("\"stream\":true") => {
            Answer::events(&chat_events(&[words, "!"]))
        }
        _ => Answer::json(200, chat_answer(words)),
    })
}

/// The entries of a file, by name; those of a list separately.
fn entries(scene: &Scene, file: &str) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(scene.path(file)).unwrap();
    let json: Value = serde_json::from_str(&text).unwrap();
    let mut found = Vec::new();
    for (name, entry) in json.as_object().unwrap() {
        match entry {
            _ if name.starts_with('_') => {}
            Value::Array(takes) => {
                found.extend(takes.iter().map(|take| (name.clone(), take.clone())))
            }
            one => found.push((name.clone(), one.clone())),
        }
    }
    found
}

fn json_of(finished: &Finished) -> Value {
    serde_json::from_str(&finished.stdout).unwrap_or_else(|error| panic!("{error}: {finished:?}"))
}

/// Recorded calls of different prompts.
fn several(count: usize) -> Scene {
    let scene = Scene::new();
    let calls: Vec<_> = (0..count).map(|n| chat(&format!("prompt {n}"))).collect();
    scene.recorded(&speaker("old"), &calls);
    scene
}

/// Four calls: two of the same, a streamed one with a step, one to Anthropic.
fn sample() -> (Scene, Vec<u8>) {
    let scene = Scene::new();
    let step = chat_streamed("go").header("x-loomrec-step-id: plan");
    let calls = [chat("hi"), chat("hi"), step, message("hello")];
    scene.recorded(&speaker("old"), &calls);
    let text = std::fs::read(scene.recording()).unwrap();
    (scene, text)
}

#[test]
fn every_call_is_sent_again_and_the_recording_stays_as_it_is() {
    let (scene, before) = sample();
    let upstream = speaker("new");
    let told = rerecord(&scene, &upstream, &["run.json", "--yes"], 0).says(&[
        "4 new answers",
        "4 say something else",
        "loomrec review run.json",
        "gpt-4o-mini",
    ]);
    assert_eq!(std::fs::read(scene.recording()).unwrap(), before);
    assert_eq!(scene.names(), ["run.json", "run.json.new"], "{}", told.stderr);
    let (old, new) = (entries(&scene, "run.json"), entries(&scene, "run.json.new"));
    assert_eq!(new.len(), 4);
    for (name, entry) in &new {
        assert_eq!(entry["pending"]["reason"], "rerecorded");
        let replaced = &entry["pending"]["replaces"];
        let (_, recorded) = old
            .iter()
            .find(|(_, entry)| entry["recorded_at"] == replaced["recorded_at"])
            .unwrap_or_else(|| panic!("{name}: {replaced}"));
        assert_eq!(recorded["request"], entry["request"]);
        assert_eq!(recorded["request_hash"], replaced["request_hash"]);
        assert_eq!(recorded["response"]["status"], entry["response"]["status"]);
        assert_ne!(recorded["recorded_at"], entry["recorded_at"]);
    }
    let takes: Vec<&Value> =
        new.iter().map(|(_, entry)| &entry["pending"]["replaces"]["take"]).collect();
    assert_eq!(takes.iter().filter(|take| ***take == json!(2)).count(), 1, "{takes:?}");
    let meta: Value =
        serde_json::from_str(&std::fs::read_to_string(scene.path("run.json.new")).unwrap())
            .unwrap();
    assert_eq!(meta["_loomrec"]["pending"], "review");
    let streamed = new.iter().find(|(name, _)| name == "plan").unwrap();
    assert_eq!(streamed.1["content"], "new!");
    assert!(streamed.1["response"]["chunks"].as_array().unwrap().len() > 2);
}

#[test]
fn keys_go_to_their_upstreams_and_into_no_file() {
    let (scene, _) = sample();
    // An upstream that sends back the key it received.
    let upstream = Upstream::start(|request| {
        let key = request.header("authorization").or(request.header("x-api-key")).unwrap();
        match request.target.as_str() {
            "/v1/messages" => Answer::json(200, message_answer(key)),
            _ => Answer::json(200, chat_answer(key)),
        }
    });
    let told = rerecord(&scene, &upstream, &["run.json", "--yes", "--json"], 0);
    for request in upstream.received() {
        let key = match request.target.as_str() {
            "/v1/messages" => request.header("x-api-key").map(str::to_owned),
            _ => request.header("authorization").map(str::to_owned),
        };
        let expected = if request.target == "/v1/messages" {
            OTHER_KEY.to_owned()
        } else {
            format!("Bearer {KEY}")
        };
        assert_eq!(key, Some(expected));
        assert_eq!(request.header("accept-encoding"), Some("identity"));
    }
    for key in [KEY, OTHER_KEY] {
        for (path, bytes) in scene.files() {
            assert!(!String::from_utf8_lossy(&bytes).contains(key), "{}", path.display());
        }
        assert!(!told.stdout.contains(key) && !told.stderr.contains(key));
    }
}

#[test]
fn same_command_again_asks_for_nothing_that_is_there() {
    let (scene, _) = sample();
    let upstream = speaker("new");
    let first = json_of(&rerecord(&scene, &upstream, &["run.json", "--yes", "--json", "plan"], 0));
    assert_eq!((&first["kept"], upstream.requests()), (&json!(1), 1));
    let rest = json_of(&rerecord(&scene, &upstream, &["run.json", "--yes", "--json"], 0));
    assert_eq!(
        (&rest["kept"], &rest["already_there"], upstream.requests()),
        (&json!(3), &json!(1), 4)
    );
    rerecord(&scene, &upstream, &["run.json"], 0).says(&["there is nothing to send"]);
    assert_eq!(upstream.requests(), 4);
    // What was rejected is sent again.
    scene.run(&["review", "run.json", "--reject", "plan"]).expect(0);
    let again = json_of(&rerecord(&scene, &upstream, &["run.json", "--yes", "--json"], 0));
    assert_eq!((&again["kept"], upstream.requests()), (&json!(1), 5));
    assert_eq!(entries(&scene, "run.json.new").len(), 4);
}

#[test]
fn same_answers_are_told_to_be_the_same() {
    let (scene, _) = sample();
    let told = rerecord(&scene, &speaker("old"), &["run.json", "--yes"], 0);
    told.says(&["4 same", "every new answer is the same as the recorded one"]);
}

#[test]
fn values_that_are_set_are_sent_and_kept_under_a_key_of_their_own() {
    let (scene, _) = sample();
    let upstream = speaker("new");
    let args = [
        "run.json",
        "plan",
        "--yes",
        "--set",
        "temperature=0",
        "--set",
        "/messages/0/content=other",
        "-o",
        "what.json",
    ];
    let told = rerecord(&scene, &upstream, &args, 0);
    told.says(&["in what.json: loomrec review run.json --output what.json\n"]);
    let sent: Value = serde_json::from_str(&upstream.received()[0].text()).unwrap();
    assert_eq!(
        (&sent["temperature"], &sent["messages"][0]["content"]),
        (&json!(0), &json!("other"))
    );
    let (name, entry) = entries(&scene, "what.json").remove(0);
    assert_eq!(name, "plan");
    assert_ne!(entry["request_hash"], entry["pending"]["replaces"]["request_hash"]);
    // Pending changes in the same place are not overwritten.
    let other = [&args[..3], &["-o", "what.json"]].concat();
    rerecord(&scene, &upstream, &other, 2)
        .says(&["in the place of plan", "loomrec review run.json -o what.json"]);
    assert_eq!(upstream.requests(), 1);
}

#[test]
fn plan_is_shown_and_nothing_is_sent_without_a_yes() {
    let (scene, _) = sample();
    let upstream = speaker("new");
    rerecord(&scene, &upstream, &["run.json"], 2).says(&["--yes", "4 calls", "about $0.00"]);
    let plan = rerecord(&scene, &upstream, &["run.json", "--dry-run"], 0).stdout;
    assert!(plan.contains("claude-sonnet-4-20250514") && plan.contains("--dry-run"), "{plan}");
    let plan = json_of(&rerecord(&scene, &upstream, &["run.json", "--dry-run", "--json"], 0));
    assert_eq!(
        (&plan["plan"]["calls"], &plan["plan"]["cost_not_known"]),
        (&json!(4), &json!(1)),
        "{plan}"
    );
    assert_eq!((upstream.requests(), scene.names()), (0, vec!["run.json".to_owned()]));
}

#[test]
fn keys_and_flags_choose_calls() {
    let (scene, _) = sample();
    let upstream = speaker("new");
    let hash = entries(&scene, "run.json")[0].0[..8].to_owned();
    for (args, calls) in [
        (&["plan", &hash][..], 3),
        (&[&format!("{hash}#2")], 1),
        (&["--model", "claude-sonnet-4-20250514"], 1),
    ] {
        let args = [&["run.json", "--dry-run", "--json"], args].concat();
        let plan = json_of(&rerecord(&scene, &upstream, &args, 0));
        assert_eq!(plan["plan"]["calls"], json!(calls), "{args:?}");
    }
    rerecord(&scene, &upstream, &["run.json", "nobody"], 1)
        .says(&["nobody: there is no such call"]);
}
