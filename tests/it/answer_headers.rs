//! Tests of headers of answers that few servers send.

use crate::support::shape::{chat, chat_answer};
use crate::support::{Answer, Call, Response, Scene, Upstream};

/// Records the call, and returns the recorded and the replayed answer.
fn recorded_and_replayed(answer: Answer, call: &Call) -> [Response; 2] {
    let scene = Scene::new();
    let upstream = Upstream::always(answer);
    let recorded = scene.recorded(&upstream, std::slice::from_ref(call)).remove(0);
    let replayed = scene.replayed(&["--strict"], std::slice::from_ref(call), 0).remove(0);
    [recorded, replayed]
}

#[test]
fn bytes_that_are_not_utf_8_replay_as_they_came() {
    let body = chat_answer("hi");
    let value = b"attachment; filename=\"caf\xe9.pdf\"; also=\"\xef\x9e\x80 \xc3\xa9\"";
    let mut head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n".to_vec();
    head.extend_from_slice(b"content-disposition: ");
    head.extend_from_slice(value);
    head.extend_from_slice(format!("\r\ncontent-length: {}\r\n\r\n{body}", body.len()).as_bytes());
    for answer in recorded_and_replayed(Answer::raw(head), &chat("hi")) {
        let raw = answer.expect(200).head.raw;
        assert!(raw.windows(value.len()).any(|part| part == value), "{raw:?}");
    }
}

#[test]
fn reason_phrase_replays_as_it_came() {
    let body = chat_answer("hi");
    for phrase in [&b"Slow Down Please"[..], b""] {
        let mut head = b"HTTP/1.1 429 ".to_vec();
        head.extend_from_slice(phrase);
        head.extend_from_slice(b"\r\ncontent-type: application/json\r\n");
        head.extend_from_slice(format!("content-length: {}\r\n\r\n{body}", body.len()).as_bytes());
        let scene = Scene::new();
        let upstream = Upstream::always(Answer::raw(head));
        let server = scene.record(&upstream, &["--keep-failures"]);
        let recorded = server.call(&chat("hi")).expect(429);
        server.stop();
        let replayed = scene.replayed(&["--strict"], &[chat("hi")], 0).remove(0).expect(429);
        let line = [b"HTTP/1.1 429 ", phrase, b"\r\n"].concat();
        for answer in [recorded, replayed] {
            assert!(answer.head.raw.starts_with(&line), "{:?}", answer.head.raw);
        }
    }
}

#[test]
fn answer_may_have_more_than_a_hundred_headers() {
    let headers: Vec<String> = (0..300).map(|number| format!("x-h{number}: v{number}")).collect();
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    for answer in
        recorded_and_replayed(Answer::whole(200, &headers, chat_answer("hi")), &chat("hi"))
    {
        assert_eq!(answer.expect(200).header("x-h299"), Some("v299"));
    }
}

#[test]
fn speed_shortens_what_an_answer_asks_to_wait() {
    let scene = Scene::new();
    let headers = ["retry-after: 34", "retry-after-ms: 33500.5", "x-other: 34"];
    let upstream = Upstream::always(Answer::whole(429, &headers, "{}"));
    let server = scene.record(&upstream, &["--keep-failures"]);
    server.call(&chat("hi")).expect(429);
    server.stop();
    let waits = |flags: &[&str]| {
        let answer = scene.replayed(flags, &[chat("hi")], 0).remove(0).expect(429);
        assert_eq!(answer.header("x-other"), Some("34"));
        ["retry-after", "retry-after-ms"].map(|name| answer.header(name).map(str::to_owned))
    };
    let recorded = [Some("34".to_owned()), Some("33500.5".to_owned())];
    assert_eq!(waits(&["--strict"]), recorded);
    assert_eq!(waits(&["--latency", "replay"]), recorded);
    let shortened = [Some("3".to_owned()), Some("3350".to_owned())];
    assert_eq!(waits(&["--strict", "--latency", "replay", "--speed", "10"]), shortened);
}
