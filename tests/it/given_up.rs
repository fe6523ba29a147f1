//! Clients that leave before the end of their answer: what is recorded of that, and what a replay
//! gives.

mod timelines;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::support::gate::PATIENCE;
use crate::support::shape::{chat, chat_answer, chat_events, chat_streamed};
use crate::support::{Answer, Client, End, Gate, Scene, Server, Upstream};

/// How long a client of these tests waits for an answer that does not come.
const LIMIT: Duration = Duration::from_millis(400);

/// What a chat answer says.
fn said(answer: &Value) -> String {
    answer["choices"][0]["message"]["content"].as_str().unwrap_or_default().to_owned()
}

/// Waits until the server has noticed that the client of this port has left: it closes its end.
fn wait_until_left(server: &Server, port: u16) {
    let ends = [server.address.port(), port].map(|port| format!(":{port:04X}"));
    let is_open = |line: &str| {
        let mut words = line.split_whitespace().skip(1);
        let mut is_end = |end: &str| words.next().is_some_and(|word| word.ends_with(end));
        // The state 09 is that of an end that waits for the last confirmation.
        is_end(&ends[0]) && is_end(&ends[1]) && words.next() != Some("09")
    };
    let until = Instant::now() + PATIENCE;
    while std::fs::read_to_string("/proc/net/tcp").unwrap().lines().any(is_open) {
        assert!(Instant::now() < until, "the server does not notice that its client has left");
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Leaves, and waits until the server has noticed.
pub(crate) fn leave(server: &Server, client: Client) {
    let port = client.port();
    drop(client);
    wait_until_left(server, port);
}

/// Sends a call and leaves without reading anything.
fn give_up(server: &Server, prompt: &str) {
    server.connect().send(&chat(prompt));
}

/// An upstream whose first answer comes late, when the gate is opened.
fn late_then_prompt(gate: &Gate) -> Upstream {
    Upstream::script(vec![
        Answer::default().wait(gate).bytes(whole("A, which nobody got")),
        Answer::raw(whole("B")),
    ])
}

/// The bytes of a complete answer.
fn whole(text: &str) -> Vec<u8> {
    let body = chat_answer(text);
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
    format!("{head}content-length: {}\r\n\r\n{body}", body.len()).into_bytes()
}

/// Records a call that its client gives up, and its retry, which is answered.
fn record_a_retry(scene: &Scene, more: &[&str]) -> Value {
    let gate = Gate::new();
    let upstream = late_then_prompt(&gate);
    let server = scene.record(&upstream, more);
    let mut first = server.connect();
    first.send(&chat("hi"));
    upstream.wait_for(1);
    leave(&server, first);
    assert_eq!(said(&server.call(&chat("hi")).json()), "B");
    gate.open();
    server.stop().expect(0);
    let receipt = scene.path("run.receipt");
    std::fs::read(receipt).map_or(Value::Null, |text| serde_json::from_slice(&text).unwrap())
}

#[test]
fn answer_that_no_client_got_is_served_after_those_that_clients_got() {
    let scene = Scene::new();
    let receipt = record_a_retry(&scene, &["--receipt", "run.receipt"]);
    assert_eq!((&receipt["recorded"], &receipt["given_up"]), (&json!(2), &json!(1)));
    let takes = scene.takes();
    assert_eq!(takes.len(), 2);
    assert_eq!(takes[0].1["client_left"].get("bytes"), None, "{}", scene.text());
    assert!(takes[0].1["client_left"]["ms"].is_number());
    assert_eq!(takes[1].1.get("client_left"), None);

    // The program gets B, and has no use for the other answer.
    let replay = scene.replay(&["--strict", "--fail-unused", "--receipt", "replay.receipt"]);
    assert_eq!(said(&replay.call(&chat("hi")).json()), "B");
    replay.stop().expect(0);
    let receipt = std::fs::read(scene.path("replay.receipt")).unwrap();
    let receipt: Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!((&receipt["unused"], &receipt["undelivered"]), (&json!(0), &json!(1)));

    let listed: Value = serde_json::from_str(&scene.run(&["ls", "run.json", "--json"]).stdout)
        .unwrap_or_else(|_| panic!("{}", scene.run(&["ls", "run.json", "--json"]).stdout));
    let listed = listed.get("entries").cloned().unwrap_or(listed);
    assert_eq!(listed[0]["client_left"]["bytes"], Value::Null);
    assert!(listed[0]["client_left"].is_object() && listed[1]["client_left"].is_null());
    let shown = scene.run(&["ls", "run.json"]).stdout;
    assert!(shown.contains("given up"), "{shown}");
    scene.run(&["verify", "--strict", "run.json"]).expect(0);
}

#[test]
fn program_that_gives_its_first_try_up_again_gets_the_recorded_answer() {
    let scene = Scene::new();
    record_a_retry(&scene, &[]);
    for _ in 0..5 {
        let replay = scene.replay(&["--strict", "--fail-unused"]);
        give_up(&replay, "hi");
        assert_eq!(said(&replay.call(&chat("hi")).json()), "B");
        replay.stop().expect(0);
    }
}

#[test]
fn call_that_waits_for_an_answer_that_no_client_got_is_a_miss() {
    let scene = Scene::new();
    record_a_retry(&scene, &[]);
    let replay = scene.replay(&["--strict"]);
    assert_eq!(said(&replay.call(&chat("hi")).json()), "B");
    // A further call that leaves, as the recorded one did, is no miss.
    let mut other = replay.connect();
    other.send(&chat("hi"));
    assert!(other.is_quiet_for(LIMIT));
    drop(other);
    replay.stop().expect(0);

    let replay = scene.replay(&["--strict"]);
    assert_eq!(said(&replay.call(&chat("hi")).json()), "B");
    let answer = replay.call(&chat("hi"));
    assert_eq!(answer.status, 422, "{}", answer.text());
    assert!(answer.text().contains("no client got"), "{}", answer.text());
    replay.stop().expect(1).says(&["exhausted"]);
}

#[test]
fn loser_of_two_calls_at_once_is_never_served_to_the_winner() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let upstream = late_then_prompt(&gate);
    let server = scene.record(&upstream, &[]);
    let (mut loser, mut winner) = (server.connect(), server.connect());
    loser.send(&chat("hi"));
    upstream.wait_for(1);
    assert_eq!(said(&winner.exchange(&chat("hi")).json()), "B");
    leave(&server, loser);
    gate.open();
    server.stop().expect(0);
    for _ in 0..5 {
        let replay = scene.replay(&["--strict"]);
        let (mut one, mut other) = (replay.connect(), replay.connect());
        one.send(&chat("hi"));
        other.send(&chat("hi"));
        let (first, second) = match one.is_quiet_for(LIMIT) {
            true => (other.answer().unwrap(), one),
            false => (one.answer().unwrap(), other),
        };
        assert_eq!(said(&first.json()), "B");
        drop(second);
        replay.stop().expect(0);
    }
}

/// Records a stream whose client leaves after two events, and returns what it got.
fn record_an_early_leave(scene: &Scene, more: &[&str]) -> Vec<u8> {
    let (events, gate) = (chat_events(&["one", "two", "three"]), Gate::new());
    let (before, after) = events.split_at(2);
    let begin = before.iter().fold(Answer::stream(), |answer, event| answer.chunk(event));
    let all = after.iter().fold(begin.wait(&gate), |answer, event| answer.chunk(event)).end();
    let upstream = Upstream::always(all);
    let server = scene.record(&upstream, more);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    client.head();
    let got = client.until("one");
    leave(&server, client);
    gate.open();
    server.stop().expect(0);
    assert_eq!(got, before.concat().as_bytes());
    got
}

#[test]
fn stream_that_its_client_left_ends_there_for_the_next_client() {
    let scene = Scene::new();
    let got = record_an_early_leave(&scene, &["--receipt", "run.receipt"]);
    let take = scene.only_take();
    assert_eq!(take["client_left"]["bytes"], json!(got.len()));
    assert_eq!(
        take["response"]["end"], "complete",
        "the rest of the answer is recorded all the same"
    );
    assert_eq!(take["response"]["chunks"].as_array().unwrap().len(), 6);

    // A program that leaves at the same point sees no difference, and waits for nothing.
    let replay = scene.replay(&["--strict", "--fail-unused"]);
    let mut client = replay.connect();
    client.send(&chat_streamed("hi"));
    client.head();
    assert_eq!(client.until("one"), got);
    drop(client);
    replay.stop().expect(0);

    // One that waits for more gets no byte that the recorded client did not get.
    let replay = scene.replay(&["--strict"]);
    let mut client = replay.connect();
    client.send(&chat_streamed("hi"));
    let head = client.head();
    let answer = client.collect(head);
    assert_eq!((answer.body(), answer.end), (got, End::Closed));
    replay.stop().expect(1).says(&["recorded incomplete", "waited for more"]);
}

#[test]
fn head_of_an_error_is_an_answer_that_its_client_got() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let body = r#"{"error":{"message":"busy"}}"#;
    let head = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    let upstream = Upstream::script(vec![
        Answer::default().bytes(head).wait(&gate).bytes(body),
        Answer::raw(whole("at last")),
    ]);
    let server = scene.record(&upstream, &["--receipt", "run.receipt"]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    assert!(client.head().line.starts_with("HTTP/1.1 503"));
    leave(&server, client);
    gate.open();
    assert_eq!(said(&server.call(&chat("hi")).json()), "at last");
    server.stop().expect(0);
    let receipt = std::fs::read(scene.path("run.receipt")).unwrap();
    let receipt: Value = serde_json::from_slice(&receipt).unwrap();
    assert_eq!((&receipt["recorded"], &receipt["given_up"]), (&json!(2), &json!(0)));
    let takes = scene.takes();
    assert_eq!(takes[0].1["client_left"]["bytes"], json!(0), "{}", scene.text());

    // A program that reads no more of the error than its status gets both in their order.
    for _ in 0..5 {
        let replay = scene.replay(&["--strict", "--fail-unused"]);
        let mut client = replay.connect();
        client.send(&chat("hi"));
        assert!(client.head().line.starts_with("HTTP/1.1 503"));
        drop(client);
        assert_eq!(said(&replay.call(&chat("hi")).json()), "at last");
        replay.stop().expect(0);
    }

    // One that waits for the body gets no byte that the recorded client did not get.
    let replay = scene.replay(&["--strict"]);
    let answer = replay.call(&chat("hi"));
    assert_eq!((answer.status, answer.text()), (503, String::new()));
    replay.stop().expect(1).says(&["recorded incomplete", "left after 0 bytes"]);
}

#[test]
fn part_of_a_stream_never_becomes_a_complete_answer() {
    let scene = Scene::new();
    record_an_early_leave(&scene, &[]);
    let replay = scene.replay(&["--strict"]);
    let answer = replay.call(&chat("hi"));
    assert_eq!(answer.status, 422, "{}", answer.text());
    replay.stop().expect(1);
}

#[test]
fn client_that_got_every_byte_has_the_whole_answer() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let events = chat_events(&["one"]);
    let all = events.iter().fold(Answer::stream(), |answer, event| answer.chunk(event));
    let upstream = Upstream::always(all.wait(&gate).end());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    client.head();
    client.until("[DONE]");
    leave(&server, client);
    gate.open();
    server.stop().expect(0);
    assert_eq!(scene.only_take().get("client_left"), None);
    scene.replayed(&["--strict"], &[chat_streamed("hi")], 0)[0].clone().expect(200);
}

#[test]
fn client_that_got_the_end_mark_of_a_stream_has_the_whole_answer() {
    let (scene, gate) = (Scene::new(), Gate::new());
    let events = chat_events(&["one"]);
    let all = events.iter().fold(Answer::stream(), |answer, event| answer.chunk(event));
    let upstream = Upstream::always(all.wait(&gate).chunk(": bye\n\n").end());
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    client.head();
    client.until("[DONE]\n\n");
    leave(&server, client);
    gate.open();
    server.stop().expect(0);
    assert_eq!(scene.only_take().get("client_left"), None);
    scene.replayed(&["--strict"], &[chat_streamed("hi")], 0)[0].clone().expect(200);
}

#[test]
fn answer_that_no_client_got_never_replaces_one_that_a_client_got() {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("good"))), &[chat("hi")]);
    let gate = Gate::new();
    let upstream = Upstream::always(Answer::default().wait(&gate).bytes(whole("late")));
    let server = scene.record(&upstream, &[]);
    let mut client = server.connect();
    client.send(&chat("hi"));
    upstream.wait_for(1);
    leave(&server, client);
    gate.open();
    server.stop().expect(0);
    let answers = scene.replayed(&["--strict"], &[chat("hi")], 0);
    assert_eq!(said(&answers[0].json()), "good");
}

#[test]
fn retry_of_a_try_that_was_given_up_replaces_the_earlier_answer() {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(Answer::json(200, chat_answer("old"))), &[chat("hi")]);
    record_a_retry(&scene, &[]);
    let answers = scene.replayed(&["--strict"], &[chat("hi")], 0);
    assert_eq!(said(&answers[0].json()), "B");
    assert!(!scene.text().contains("old"), "{}", scene.text());
}

#[test]
fn answer_that_a_fault_replaced_counts_as_one_that_a_client_got() {
    let scene = Scene::new();
    let events = chat_events(&["one", "two", "three"]);
    let upstream = Upstream::always(Answer::events(&events));
    let flags = ["--fault", "stream_truncate:2", "--allow-unfired"];
    let server = scene.record(&upstream, &flags);
    let mut client = server.connect();
    client.send(&chat_streamed("hi"));
    drop(client.answer());
    server.stop();
    assert_eq!(scene.only_take().get("client_left"), None, "{}", scene.text());
}

#[test]
fn repeated_answers_are_those_that_clients_got() {
    let scene = Scene::new();
    record_a_retry(&scene, &[]);
    for repeat in ["last", "cycle"] {
        let calls = vec![chat("hi"); 4];
        for answer in scene.replayed(&["--repeat", repeat], &calls, 0) {
            assert_eq!(said(&answer.json()), "B");
        }
    }
}

#[test]
fn client_left_is_read_strictly() {
    let scene = Scene::new();
    record_a_retry(&scene, &[]);
    let text = scene.text();
    for wrong in [json!({"ms": -1}), json!({"ms": 1e9}), json!({"bytes": 1}), json!(true)] {
        let mut value: Value = serde_json::from_str(&text).unwrap();
        let takes = value.as_object_mut().unwrap().iter_mut();
        for (_, entry) in takes.filter(|(name, _)| !name.starts_with('_')) {
            let first = if entry.is_array() { &mut entry[0] } else { entry };
            first["client_left"] = wrong.clone();
        }
        scene.write(value.to_string());
        let failed = scene.run(&["replay", "--strict", "-r", "run.json", "--", "true"]).expect(4);
        assert!(failed.stderr.contains("client_left"), "{}", failed.stderr);
    }
}
