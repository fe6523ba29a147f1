//! Tests of `verify --fix`: mechanical problems are fixed, and nothing is guessed.

use serde_json::{Value, json};

use super::{edit, json_output, key, places, sample};
use crate::support::fleet::kill;
use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Scene, Upstream};

/// The fixes that `--fix` reports.
fn done(output: &Value) -> String {
    let mended = output["mended"].as_array().unwrap();
    mended.iter().map(|done| format!("{}\n", done["what"].as_str().unwrap())).collect()
}

#[test]
fn what_follows_from_the_answer_is_taken_from_it() {
    let scene = sample();
    let before = scene.text();
    edit(&scene, "\"Hello.\",\n    \"model\"", "\"Goodbye.\",\n    \"model\"");
    edit(&scene, "\"finish_reason\": \"end_turn\"", "\"finish_reason\": \"stop\"");
    edit(&scene, "\"prompt_tokens\": 9", "\"prompt_tokens\": 8");
    let fixed = json_output(&scene, &["--fix"], 0);
    assert!(done(&fixed).contains("took content"), "{fixed}");
    assert_eq!(scene.text(), before);
    assert_eq!(json_output(&scene, &["--fix", "--strict"], 0)["mended"], json!([]));
}

#[test]
fn an_entry_goes_under_its_own_hash() {
    let scene = sample();
    let before = scene.text();
    let hash = scene.takes()[0].0.clone();
    let other = "0".repeat(64);
    edit(&scene, &format!("\"{hash}\": {{"), &format!("\"{other}\": {{"));
    assert!(places(&json_output(&scene, &[], 1)).iter().any(|place| place.starts_with("key 0000")));
    json_output(&scene, &["--fix"], 0);
    let names: Vec<String> = scene.takes().into_iter().map(|(name, _)| name).collect();
    assert!(!names.contains(&other) && names.contains(&hash), "{names:?}");
    // The reverse: the hash in the entry is wrong, and key and request agree.
    scene.write(before.replacen(&format!("hash\": \"{hash}"), &format!("hash\": \"{other}"), 1));
    json_output(&scene, &["--fix"], 0);
    assert_eq!(scene.text(), before);
}

#[test]
fn a_changed_request_is_not_guessed_at() {
    let scene = sample();
    edit(&scene, "\"one\"", "\"another\"");
    let changed = scene.text();
    let output = json_output(&scene, &["--fix"], 1);
    assert_eq!(output["mended"], json!([]));
    assert_eq!(scene.text(), changed);
    let rehashed = json_output(&scene, &["--fix=rehash"], 0);
    assert!(done(&rehashed).contains("set request_hash"), "{rehashed}");
    let answer = &scene.replayed(&["--repeat", "last"], &[chat("another"), chat("one")], 0)[0];
    assert_eq!(answer.json()["choices"][0]["message"]["content"], "Hello.");
}

#[test]
fn a_credential_goes_and_the_request_is_found_all_the_same() {
    let scene = sample();
    edit(&scene, "\"one\"", &format!("\"the key {}\"", key()));
    edit(&scene, "\"Hello.\",\n    \"model\"", &format!("\"{}\",\n    \"model\"", key()));
    json_output(&scene, &["--fix=rehash"], 0);
    assert!(!scene.text().contains(&key()));
    let calls = [chat(&format!("the key {}", key()))];
    scene.replayed(&["--repeat", "last"], &calls, 0)[0].clone().expect(200);
}

#[test]
fn header_that_no_replay_sends_is_removed_by_its_name() {
    let scene = sample();
    let before = scene.text();
    let kind = "\"content-type\": \"application/json\"";
    let at = before.find("\"response\": {").unwrap();
    let more =
        before[at..].replacen(kind, &format!("{kind}, \"transfer-encoding\": \"chunked\""), 1);
    scene.write(format!("{}{more}", &before[..at]));
    let done = done(&json_output(&scene, &["--fix"], 0));
    assert!(done.contains("removed transfer-encoding from the headers"), "{done}");
    assert!(!done.contains("credentials"), "{done}");
    assert_eq!(scene.text(), before);
}

#[test]
fn takes_are_numbered_in_turn() {
    let scene = sample();
    let before = scene.text();
    let hash = scene.takes()[0].0.clone();
    edit(&scene, &format!("{hash}#2"), &format!("{hash}#4"));
    assert!(places(&json_output(&scene, &[], 0)).iter().any(|place| place.starts_with("key ")));
    assert!(done(&json_output(&scene, &["--fix"], 0)).contains("numbered"));
    assert_eq!(scene.text(), before);
}

#[test]
fn another_spelling_is_written_as_ours() {
    let scene = sample();
    let before = scene.text();
    let pretty = serde_json::to_string_pretty(&scene.json()).unwrap();
    scene.write(pretty.replace("\"content\": ", "\"content\" : "));
    assert!(places(&json_output(&scene, &[], 0)).contains(&"spelling - ".to_owned()));
    json_output(&scene, &["--fix", "--strict"], 0);
    assert_eq!(scene.text(), before);
}

#[test]
fn a_log_that_was_left_is_folded() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    scene.recorded(&upstream, &[chat("a")]);
    let server = scene.record(&upstream, &[]);
    server.call(&chat("b"));
    kill(&server);
    server.process.wait().expect(-9);
    // Replay refuses the recording, so it counts as an error.
    scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4);
    let left = json_output(&scene, &[], 1);
    assert_eq!((&left["entries"], &left["errors"]), (&json!(1), &json!(1)));
    assert!(places(&left).contains(&"leftover - ".to_owned()), "{left}");
    let remedy = left["problems"][0]["remedy"].as_str().unwrap();
    assert!(remedy.contains("loomrec verify --fix run.json"), "{left}");
    assert!(scene.hidden(".log").exists());
    let fixed = json_output(&scene, &["--fix", "--strict"], 0);
    assert_eq!(fixed["entries"], 2);
    assert!(done(&fixed).contains("log"), "{fixed}");
    assert!(!scene.hidden(".log").exists());
}

#[test]
fn nothing_is_mended_while_someone_records() {
    let scene = sample();
    edit(&scene, "\"Hello.\",\n    \"model\"", "\"Goodbye.\",\n    \"model\"");
    let edited = scene.text();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    let server = scene.record(&upstream, &[]);
    let busy = json_output(&scene, &["--fix"], 5);
    assert!(busy["unmended"].as_str().unwrap().contains("nothing was fixed"), "{busy}");
    assert_eq!(scene.text(), edited);
    server.stop();
}

#[test]
fn a_recording_without_calls_is_written_as_ours_too() {
    let scene = sample();
    let text = r#"{"_version":2,"_loomrec":{"format":"1.0","identity":{"version":1,"ignore":[]}}}"#;
    scene.write(text);
    done(&json_output(&scene, &["--fix"], 0));
    assert!(scene.text().contains("\"_version\": 2,\n"), "{}", scene.text());
    assert_eq!(json_output(&scene, &["--fix"], 0)["mended"], json!([]));
}
