//! Tests of calls that loomrec reads and never answers: they fail the run.

use std::io::Write as _;
use std::time::Instant;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::support::gate::PATIENCE;
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Call, Gate, Scene, Server, Upstream};

/// The calls in the journal, once there are `count`.
fn journal(server: &Server, count: usize) -> Vec<Value> {
    let until = Instant::now() + PATIENCE;
    loop {
        let journal = server.call(&Call::get("/__loomrec/journal")).expect(200).json();
        let calls = journal["calls"].as_array().unwrap().clone();
        if calls.len() >= count {
            return calls;
        }
        assert!(Instant::now() < until, "{journal}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

/// An answer that comes once the gate is open.
fn late(gate: &Gate) -> Answer {
    let body = chat_answer("late");
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    Answer::default().wait(gate).bytes(head + &body)
}

/// A recording of a streamed chat whose compressed answer takes a while to become a whole one.
fn recorded_stream(words: usize) -> Scene {
    let scene = Scene::new();
    let upstream = Upstream::start(|_| Answer::events(&chat_events(&["a", "b"])));
    scene.recorded(&upstream, &[chat_streamed("hi")]);
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(chat_events(&vec!["word "; words]).concat().as_bytes()).unwrap();
    let mut held = scene.json();
    let name = scene.takes()[0].0.clone();
    let response = held[&name]["response"].as_object_mut().unwrap();
    response.remove("chunks");
    response.insert("base64".to_owned(), STANDARD.encode(encoder.finish().unwrap()).into());
    response["headers"]["content-encoding"] = json!("gzip");
    scene.write(serde_json::to_string_pretty(&held).unwrap());
    scene
}

#[test]
fn a_client_that_gives_up_before_replay_has_an_answer_fails_the_run() {
    let scene = recorded_stream(40_000);
    let server = scene.replay(&[]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    drop(client);
    let calls = journal(&server, 1);
    assert_eq!(
        (&calls[0]["outcome"], &calls[0]["end"]),
        (&json!("unanswered"), &json!("client_left"))
    );
    server.stop().expect(1).says(&["failed", "1 never answered", "got no answer from loomrec: 1"]);
}

#[test]
fn a_run_that_ends_before_replay_has_an_answer_fails() {
    let scene = recorded_stream(200_000);
    let file = scene.path("journal.ndjson");
    let mut server = scene.replay(&["--journal", file.to_str().unwrap()]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    // By the time many other calls are answered, this one has been read.
    for _ in 0..100 {
        server.call(&Call::get("/__loomrec/live")).expect(200);
    }
    server.process.signal("INT");
    server.process.wait_for("waiting for 1 answer");
    server.process.signal("TERM");
    server.process.wait().expect(1).says(&["failed", "got no answer from loomrec: 1"]);
    let journal = std::fs::read_to_string(&file).unwrap();
    assert!(journal.contains("\"unanswered\""), "{journal}");
}

#[test]
fn a_client_that_leaves_while_the_upstream_works_does_not_fail_the_run() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream = Upstream::always(late(&gate));
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    upstream.wait_for(1);
    drop(client);
    gate.open();
    journal(&server, 1);
    server.stop().expect(0);
}
