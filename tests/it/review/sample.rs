//! A recording, and pending changes to it.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::support::shape::{chat, chat_answer, message, message_answer};
use crate::support::{Answer, Call, Scene, Upstream};

/// The additional text of the second answers.
pub(super) const MORE: &str = "It may snow as well.";

fn upstream(second: bool) -> Upstream {
    Upstream::start(move |request| {
        let more =
            if second { format!(" {MORE} \u{1b}]0;title\u{7}\u{1b}[2J") } else { String::new() };
        match request.target.as_str() {
            "/v1/messages" => Answer::json(200, message_answer(&format!("Bonjour.{more}"))),
            _ => Answer::json(200, chat_answer(&format!("Rain, alas.{more}"))),
        }
    })
}

fn greet() -> Call {
    message("hi").header("x-loomrec-step-id: greet")
}

/// A scene with `run.json` and `run.json.new`. Of its five takes, the first and `greet` are fetched
/// again, the last has another request, and there is a new call:
///
/// | change | is for |
/// |---|---|
/// | 0 | the first take, under its key |
/// | 1 | `greet`, the step |
/// | 2 | the last take, under another key |
/// | 3 | nothing: it is new |
pub(super) fn sample() -> Scene {
    let scene = Scene::new();
    let kept = chat("What is kept?");
    let old = [chat("Will it rain?"), greet(), kept.clone(), kept, chat("And then?")];
    let new = [chat("Will it rain?"), greet(), chat("And after that?"), chat("One more")];
    scene.recorded(&upstream(true), &new);
    let fresh: Value = scene.json();
    std::fs::remove_file(scene.recording()).unwrap();
    scene.recorded(&upstream(false), &old);
    let changes = [Some(0), Some(1), Some(4), None];
    let reasons = ["rerecorded", "rerecorded", "drifted", "unknown"];
    let mut out = Map::from_iter([head(&scene.json(), "review")]);
    for ((name, entry), (replaces, reason)) in entries(&fresh).zip(changes.into_iter().zip(reasons))
    {
        out.insert(name, pending(entry, reason, replaces.map(|at| takes(&scene)[at].clone())));
    }
    write(&scene.path("run.json.new"), &out);
    scene
}

/// The header of a pending file.
pub(super) fn head(of: &Value, waiting: &str) -> (String, Value) {
    let mut own = of["_loomrec"].clone();
    own["pending"] = json!(waiting);
    ("_loomrec".to_owned(), own)
}

/// The entries of a file, in order.
pub(super) fn entries(file: &Value) -> impl Iterator<Item = (String, Value)> {
    let all = file.as_object().unwrap().clone();
    all.into_iter().filter(|(name, _)| !name.starts_with('_'))
}

/// The takes of the recording: key and entry.
pub(super) fn takes(scene: &Scene) -> Vec<(String, Value)> {
    let one = |(name, entry): (String, Value)| match entry {
        Value::Array(mut turns) => (name, turns.remove(0)),
        entry => (name, entry),
    };
    entries(&scene.json()).map(one).collect()
}

/// A pending entry that replaces a take.
pub(super) fn pending(mut entry: Value, reason: &str, replaces: Option<(String, Value)>) -> Value {
    if let Value::Array(turns) = &mut entry {
        entry = turns.remove(0);
    }
    entry["pending"] = json!({ "reason": reason });
    if let Some((key, old)) = replaces {
        let (name, take) = match key.split_once('#') {
            Some((name, take)) => (name.to_owned(), take.parse::<u64>().unwrap()),
            None => (key, 1),
        };
        entry["pending"]["replaces"] = json!({
            "name": name, "take": take,
            "request_hash": old["request_hash"], "recorded_at": old["recorded_at"],
        });
    }
    entry
}

pub(super) fn write(path: &Path, file: &Map<String, Value>) {
    std::fs::write(path, format!("{:#}\n", Value::Object(file.clone()))).unwrap();
}

/// The keys of the pending changes, in order.
pub(super) fn keys(scene: &Scene) -> Vec<String> {
    let text = std::fs::read_to_string(scene.path("run.json.new")).unwrap();
    entries(&serde_json::from_str(&text).unwrap()).map(|(name, _)| name).collect()
}

/// The takes of the recording, one letter each: `.` if unchanged, `a` if accepted.
pub(super) fn accepted_letters(scene: &Scene) -> String {
    let letter = |(_, entry): &(String, Value)| {
        if entry["content"].as_str().unwrap().contains(MORE) { 'a' } else { '.' }
    };
    takes(scene).iter().map(letter).collect()
}

/// The exact text of each top-level member of a file, without the comma after it.
pub(super) fn texts(file: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    for line in file.lines().filter(|line| line.starts_with("  ")) {
        if line.starts_with("  \"") {
            out.push(String::new());
        }
        let last = out.last_mut().unwrap();
        last.push_str(line);
        last.push('\n');
    }
    out.iter().map(|text| text.trim_end().trim_end_matches(',').to_owned()).collect()
}

/// The pending file.
pub(super) fn new(scene: &Scene) -> Value {
    serde_json::from_str(&std::fs::read_to_string(scene.path("run.json.new")).unwrap()).unwrap()
}

/// Changes the pending file.
pub(super) fn rewrite(scene: &Scene, change: impl FnOnce(&mut Map<String, Value>)) {
    let mut file = new(scene).as_object().unwrap().clone();
    change(&mut file);
    write(&scene.path("run.json.new"), &file);
}

/// Asserts that no pending file is left in the folder.
#[track_caller]
pub(super) fn is_done(scene: &Scene) {
    let left: Vec<String> =
        scene.names().into_iter().filter(|name| name.starts_with("run.json.")).collect();
    assert!(left.iter().all(|name| !name.contains("new") && !name.contains("pending")), "{left:?}");
}
