//! Tests of messages that were not recorded: each is a miss, which fails the run and names what
//! changed.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::{OTHER, REALTIME, record_conversation, recording, update, upstream};
use crate::support::Scene;
use crate::support::web_socket::{close, hear, open, say};

/// Every copy of a message with one word, number or name changed, or one member less, and the place of
/// the change.
pub(super) fn changed(value: &Value, place: &str) -> Vec<(String, Value)> {
    let mut out = Vec::new();
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let at = format!("{place}/{name}");
                let mut without = members.clone();
                without.shift_remove(name);
                out.push((at.clone(), without.clone().into()));
                without.insert(format!("{name}x"), member.clone());
                out.push((at.clone(), without.into()));
                for (at, member) in changed(member, &at) {
                    let mut with = members.clone();
                    with.insert(name.clone(), member);
                    out.push((at, with.into()));
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                for (at, item) in changed(item, &format!("{place}/{index}")) {
                    let mut with = items.clone();
                    with[index] = item;
                    out.push((at, with.into()));
                }
            }
        }
        Value::String(text) => {
            for (at, _) in text.match_indices(char::is_alphanumeric) {
                let mut other = text.clone();
                other.insert(at, 'x');
                out.push((place.to_owned(), other.into()));
            }
        }
        other => out.push((place.to_owned(), json!([other, 1]))),
    }
    out
}

#[test]
fn each_changed_word_number_and_name_of_a_message_is_a_miss_that_names_it() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, REALTIME);
    let mut all = changed(&update(), "");
    all.retain(|(place, _)| place != "/event_id");
    assert!(all.len() > 30, "{}", all.len());
    let server = scene.replay(&["--strict"]);
    for (place, message) in &all {
        let (mut socket, _) = open(&server, REALTIME, &[]).unwrap();
        hear(&mut socket);
        say(&mut socket, message);
        let error = hear(&mut socket);
        assert_eq!(
            (&error["type"], &error["error"]["code"]),
            (&"error".into(), &"recording_mismatch".into()),
            "{message}"
        );
        let why = error["error"]["message"].as_str().unwrap();
        assert!(why.contains(&format!("/messages/1{place}")), "{place} is not in {why}");
        let end = hear(&mut socket);
        assert_eq!(end["close"], 1008, "{message}");
    }
    server.stop().expect(1).says(&[&format!("{} missed", all.len())]);
}

#[test]
fn miss_is_in_the_receipt_and_the_journal_and_closes_with_a_reason() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, OTHER);
    let files = ["--strict", "--journal", "run.jsonl", "--receipt", "receipt.json"];
    let server = scene.replay(&files);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    hear(&mut socket);
    let mut other = update();
    other["session"]["instructions"] = "Be long.".into();
    say(&mut socket, &other);
    let end = hear(&mut socket);
    assert_eq!(end["close"], 1008);
    let reason = end["reason"].as_str().unwrap();
    assert!(
        reason.starts_with("RecordingMismatchError: drifted") && reason.len() <= 123,
        "{reason}"
    );
    server.stop().expect(1);
    let receipt: Value =
        serde_json::from_slice(&std::fs::read(scene.path("receipt.json")).unwrap()).unwrap();
    let miss = &receipt["mismatches"][0];
    let difference = &miss["nearest"]["differences"][0];
    assert_eq!(difference["pointer"], "/messages/1/session/instructions", "{receipt}");
    assert_eq!(
        (&difference["recorded"], &difference["now"]),
        (&"\"Be brief.\"".into(), &"\"Be long.\"".into())
    );
    let journal = std::fs::read_to_string(scene.path("run.jsonl")).unwrap();
    assert!(journal.contains("/messages/1/session/instructions"), "{journal}");
}

#[test]
fn bytes_further_messages_and_other_kinds_are_misses() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, OTHER);
    let server = scene.replay(&["--strict"]);
    let text = update().to_string();
    let turns: [&[Message]; 3] = [
        &[Message::text(text.clone()), Message::Binary(b"\x00\xfe".as_slice().into())],
        &[Message::Binary(text.clone().into())],
        &[
            Message::text(text),
            Message::Binary(b"\x00\xff".as_slice().into()),
            Message::text("more"),
        ],
    ];
    for turn in turns {
        let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
        for message in turn {
            socket.send(message.clone()).unwrap();
        }
        let end = std::iter::from_fn(|| Some(hear(&mut socket)))
            .find(|heard| heard.get("close").is_some());
        assert_eq!(end.unwrap()["close"], 1008, "{turn:?}");
    }
    server.stop().expect(1).says(&["3 missed"]);
}

#[test]
fn handshake_that_was_not_recorded_is_a_miss_that_the_sdk_shows() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, OTHER);
    let server = scene.replay(&["--strict"]);
    let (mut socket, _) = open(&server, REALTIME, &[]).unwrap();
    let error = hear(&mut socket);
    assert_eq!(error["error"]["type"], "RecordingMismatchError");
    assert!(error["error"]["message"].as_str().unwrap().contains("/v1/realtime"), "{error}");
    assert_eq!(hear(&mut socket)["close"], 1008);
    for path in ["/openai/v1/listen?model=other", "/openai/v1/speak?model=nova"] {
        let (status, body) = open(&server, path, &[]).unwrap_err();
        assert_eq!(status, 422);
        assert!(body.contains("RecordingMismatchError"), "{body}");
    }
    let (status, _) = open(&server, OTHER, &["sec-websocket-protocol: other"]).unwrap_err();
    assert_eq!(status, 422);
    server.stop().expect(1).says(&["4 missed"]);
}

#[test]
fn conversation_that_is_left_early_counts_as_unused() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, OTHER);
    for (flags, code) in [(&["--strict"][..], 0), (&["--strict", "--fail-unused"], 1)] {
        let server = scene.replay(flags);
        let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
        hear(&mut socket);
        say(&mut socket, &update());
        hear(&mut socket);
        close(&mut socket, 1000, "");
        server.stop().expect(code).says(&["sent 1 of 3 recorded messages"]);
    }
}

#[test]
fn rules_of_another_recording_do_not_hold_for_a_message() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, OTHER);
    std::fs::rename(scene.recording(), scene.path("exact.json")).unwrap();
    let path = "/openai/v1/speak?model=nova";
    let server = recording(&scene, &upstream, &["--ignore", "/session/instructions"]);
    let (mut socket, _) = open(&server, path, &[]).unwrap();
    hear(&mut socket);
    say(&mut socket, &update());
    hear(&mut socket);
    hear(&mut socket);
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "-r", "exact.json"]);
    let mut other = update();
    other["session"]["instructions"] = "Be long.".into();
    for (path, heard) in [(path, "type"), (OTHER, "close")] {
        let (mut socket, _) = open(&server, path, &[]).unwrap();
        hear(&mut socket);
        say(&mut socket, &other);
        assert!(hear(&mut socket).get(heard).is_some(), "{path}");
    }
    server.stop().expect(1).says(&["1 missed"]);
}
