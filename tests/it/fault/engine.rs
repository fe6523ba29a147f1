//! Tests of faults in answers that no recording holds: a script's, the placeholder, a forwarded
//! one.

use serde_json::json;

use super::stage::{Stage, recorded, upstream};
use crate::support::shape::{chat, chat_answer, chat_streamed};
use crate::support::{Call, End, Scene, Server};

fn with(call: Call, fault: &str) -> Call {
    call.header(&format!("x-loomrec-fault: {fault}"))
}

#[test]
fn a_scripts_answers_meet_faults_too() {
    let scene = Scene::new();
    let words = ["one ", "two ", "three"].map(|text| json!({ "text": text }));
    let calls = json!({ "scripts": [words, words, words, words] });
    std::fs::write(scene.path("script.json"), calls.to_string()).unwrap();
    let server = Server::start(scene.dir(), &["replay", "--script", "script.json"]);
    // A fault in place of an answer does not advance the script.
    server.call(&with(chat("x"), "http_error:503")).expect(503);
    let cut = server.call(&with(chat_streamed("x"), "stream_truncate:2;raise=close"));
    assert_eq!((cut.end, cut.chunks.len()), (End::Closed, 2));
    let partial = server.call(&with(chat("x"), "partial_response")).expect(200).json();
    assert_eq!(partial["choices"][0]["finish_reason"], "length");
    assert_eq!(partial["choices"][0]["message"]["content"], "one two three");
    let error = server.call(&with(chat_streamed("x"), "stream_truncate:1;raise=error_event"));
    assert!(error.expect(200).text().contains("data: {\"error\""));
    let whole = server.call(&chat("x")).expect(200).json();
    assert_eq!(whole["choices"][0]["message"]["content"], "one two three");
    server.stop().expect(0);
}

#[test]
fn the_placeholder_meets_faults_too_and_no_miss_is_counted() {
    let stage = Stage::of(recorded(), &["--on-miss", "default"]);
    stage.call(&with(chat("unknown"), "http_error:503")).expect(503);
    let sliced = stage.call(&with(chat_streamed("unknown"), "slice:9")).expect(200);
    assert!(sliced.text().contains("Mock"), "{}", sliced.text());
    assert!(sliced.chunks.iter().all(|chunk| chunk.len() <= 9));
    assert_eq!(stage.silent(&with(chat("unknown"), "connection_reset")).end, End::Reset);
    let over = stage.end(0);
    assert_eq!(over.receipt["missed"], 0);
}

#[test]
fn a_forwarded_answer_meets_faults_too() {
    let upstream = upstream();
    let url = format!("openai={}", upstream.url());
    let stage = Stage::of(recorded(), &["--on-miss", "forward", "--upstream", &url]);
    stage.call(&with(chat("unknown"), "http_error:503")).expect(503);
    assert_eq!(upstream.requests(), 0);
    let mut client = stage.server.connect();
    client.send(&with(chat("unknown"), "stream_truncate;after_bytes=9;raise=close"));
    let body = chat_answer("something else");
    assert_eq!(client.head().length(), Some(body.len()));
    assert_eq!(client.everything(), (body.as_bytes()[..9].to_vec(), End::Closed));
    let malformed = stage.call(&with(chat("unknown"), "malformed")).expect(200);
    assert_eq!(malformed.text(), "{malformed json: <<<chaos>>>");
    assert_eq!(upstream.requests(), 2);
    stage.end(0);
}
