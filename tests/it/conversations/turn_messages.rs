//! Tests of the messages of OpenAI's Responses API over a WebSocket: what a JSON reader refuses is
//! recorded and passed on all the same, and what gets no answer fails the run.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::recording;
use super::turns::PATH;
use crate::support::Scene;
use crate::support::web_socket::{Socket, SocketUpstream, close, hear, open, say};

/// The events of a response whose text was cut within a character.
const HALVES: [&str; 4] = [
    r#"{"type":"response.created","response":{"id":"r"}}"#,
    r#"{"type":"response.output_text.delta","delta":"hi \ud83d"}"#,
    r#"{"type":"response.output_text.delta","delta":"\ude42 ho"}"#,
    r#"{"type":"response.completed","response":{"id":"r","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi \ud83d"}]}]}}"#,
];

/// Returns an event in a lane.
fn in_lane(event: &str, lane: Option<&str>) -> String {
    match (lane, event.strip_suffix('}')) {
        (Some(lane), Some(open)) => format!(r#"{open},"stream_id":"{lane}"}}"#),
        _ => event.to_owned(),
    }
}

/// An upstream that answers each message in its lane, if it can find that, and reads nothing else.
fn upstream() -> SocketUpstream {
    SocketUpstream::start(|socket| {
        while let Ok(Message::Text(text)) = socket.read() {
            let lane = text.contains(r#""stream_id":"a""#).then_some("a");
            HALVES.iter().for_each(|event| say_text(socket, &in_lane(event, lane)));
        }
    })
}

fn say_text(socket: &mut Socket, text: &str) {
    socket.send(Message::text(text)).unwrap();
}

/// Returns the next texts, as they are.
fn hear_texts(socket: &mut Socket, count: usize) -> Vec<String> {
    let next = |_| match socket.read() {
        Ok(Message::Text(text)) => text.to_string(),
        other => panic!("{other:?}"),
    };
    (0..count).map(next).collect()
}

#[test]
fn halves_of_characters_and_deep_lists_are_recorded_and_replayed_as_they_are() {
    let (scene, upstream) = (Scene::new(), upstream());
    let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
    let turn = |rest: &str| format!(r#"{{"type":"response.create","model":"m",{rest}}}"#);
    let turns = [
        (turn(r#""input":"fine""#), None),
        (turn(r#""input":"cut \ud83d""#), None),
        (turn(&format!(r#""input":"deep","metadata":{deep}"#)), None),
        (in_lane(&turn(r#""input":"cut \ud83e""#), Some("a")), Some("a")),
    ];
    let converse = |socket: &mut Socket| {
        for (text, lane) in &turns {
            say_text(socket, text);
            let expected = HALVES.map(|event| in_lane(event, *lane));
            assert_eq!(hear_texts(socket, expected.len()), expected, "{text}");
        }
        close(socket, 1000, "");
    };
    let server = recording(&scene, &upstream, &[]);
    converse(&mut open(&server, PATH, &[]).unwrap().0);
    server.stop().expect(0).says(&["4 recorded"]);
    let server = scene.replay(&["--strict", "--fail-unused"]);
    converse(&mut open(&server, PATH, &[]).unwrap().0);
    server.stop().expect(0).says(&["4 served"]);
    assert_eq!(upstream.handshakes().len(), 1);
}

#[test]
fn changed_half_of_a_character_is_a_miss() {
    let (scene, upstream) = (Scene::new(), upstream());
    let turn = |half: &str| format!(r#"{{"type":"response.create","model":"m","input":"{half}"}}"#);
    let server = recording(&scene, &upstream, &[]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    say_text(&mut socket, &turn(r"\ud83d"));
    hear_texts(&mut socket, HALVES.len());
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    let server = scene.replay(&["--strict"]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    say_text(&mut socket, &turn(r"\ud83e"));
    assert_eq!(hear(&mut socket)["status"], 422);
    close(&mut socket, 1000, "");
    server.stop().expect(1).says(&["1 missed"]);
}

#[test]
fn each_message_that_a_replay_refuses_fails_the_run() {
    let (scene, upstream) = (Scene::new(), upstream());
    let fine = json!({ "type": "response.create", "model": "m", "input": "fine" });
    let server = recording(&scene, &upstream, &[]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    say(&mut socket, &fine);
    hear_texts(&mut socket, HALVES.len());
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    for (message, heard) in [
        (Message::text(r#"{"type":"response.steer","stream_id":"b"}"#), json!([422, "b"])),
        (Message::text(r#"{"type":"response.create","temperature":NaN}"#), json!([400, null])),
        (Message::text("hello"), json!([400, null])),
        (Message::Binary(b"\x00".as_slice().into()), json!({ "close": 1008 })),
    ] {
        let server = scene.replay(&["--strict"]);
        let mut socket = open(&server, PATH, &[]).unwrap().0;
        say(&mut socket, &fine);
        hear_texts(&mut socket, HALVES.len());
        socket.send(message.clone()).unwrap();
        let event = hear(&mut socket);
        match heard.as_array() {
            Some(heard) => {
                assert_eq!(
                    [&event["status"], &event["stream_id"]],
                    [&heard[0], &heard[1]],
                    "{message}"
                );
                close(&mut socket, 1000, "");
            }
            None => assert_eq!(event["close"], heard["close"], "{message}"),
        }
        server.stop().expect(1).says(&["1 served", "0 missed", "calls refused: 1"]);
    }
}

#[test]
fn message_that_a_recording_cannot_read_does_not_reach_the_upstream() {
    let scene = Scene::new();
    let upstream = SocketUpstream::start(|socket| {
        while let Ok(Message::Text(text)) = socket.read() {
            // What is no JSON ends the test.
            let _: Value = serde_json::from_str(&text).unwrap();
            HALVES.iter().for_each(|event| say_text(socket, event));
        }
    });
    let server = recording(&scene, &upstream, &[]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    say_text(&mut socket, r#"{"type":"response.create","temperature":NaN}"#);
    assert_eq!(hear(&mut socket)["status"], 400);
    say(&mut socket, &json!({ "type": "response.create", "model": "m", "input": "fine" }));
    assert_eq!(hear_texts(&mut socket, HALVES.len()), HALVES);
    close(&mut socket, 1000, "");
    server.stop().expect(0).says(&["calls refused, which the recording does not hold: 1"]);
}

#[test]
fn messages_of_the_upstream_that_belong_to_no_turn_reach_the_client() {
    let scene = Scene::new();
    let upstream = SocketUpstream::start(|socket| {
        say_text(socket, "no JSON");
        socket.send(Message::Binary(b"\x00\xff".as_slice().into())).unwrap();
        say_text(socket, r#"{"type":"notice","text":"\ud83d"}"#);
    });
    let server = recording(&scene, &upstream, &[]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    assert_eq!(hear_texts(&mut socket, 1), ["no JSON"]);
    assert_eq!(hear(&mut socket), json!([0, 255]));
    assert_eq!(hear_texts(&mut socket, 1), [r#"{"type":"notice","text":"\ud83d"}"#]);
    close(&mut socket, 1000, "");
    server.stop();
}
