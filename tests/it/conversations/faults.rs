//! Tests of faults on WebSockets: at the same message in every run, and for the client alone.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::{Error, Message};

use super::{OTHER, REALTIME, record_conversation, recording, update, upstream};
use crate::support::web_socket::{Socket, SocketUpstream, close, hear, moment, open, say};
use crate::support::{Scene, Server};

/// The binary message of the client.
fn bytes() -> Message {
    Message::Binary(b"\x00\xff".as_slice().into())
}

/// Sends the client's messages at once, and returns what it hears: this many messages, or all until
/// the end of the connection.
fn converse(server: &Server, most: usize) -> Vec<Value> {
    let (mut socket, _) = open(server, OTHER, &[]).unwrap();
    // The fault may have ended the connection.
    let _ = socket.send(Message::text(update().to_string())).and_then(|()| socket.send(bytes()));
    let mut heard = Vec::new();
    while heard.len() < most {
        heard.push(hear_end(&mut socket));
        if heard.last().unwrap()["close"].is_number() {
            return heard;
        }
    }
    close(&mut socket, 1000, "bye");
    heard
}

/// The next message, or the end: a reset has the code 0.
fn hear_end(socket: &mut Socket) -> Value {
    let is_reset = |error: &Error| matches!(error, Error::Io(error) if error.kind() == std::io::ErrorKind::ConnectionReset);
    match socket.read() {
        Err(error) if is_reset(&error) => json!({ "close": 0 }),
        Err(_) => json!({ "close": 1006 }),
        Ok(Message::Close(Some(frame))) => {
            json!({ "close": u16::from(frame.code), "reason": frame.reason.as_str() })
        }
        Ok(Message::Text(text)) => {
            serde_json::from_str(&text).unwrap_or(Value::from(text.as_str()))
        }
        Ok(Message::Binary(bytes)) => Value::from(bytes.to_vec()),
        Ok(other) => panic!("{other:?}"),
    }
}

/// The faults, each with what its client hears of the recorded messages.
fn faults(all: &[Value]) -> Vec<(&'static str, Vec<Value>)> {
    let [created, echo, done, binary] = all else { panic!("{all:?}") };
    let part = |end: Value| vec![created.clone(), echo.clone(), end];
    let half = echo.to_string();
    let half = &half[..half.len() / 2];
    vec![
        (
            "stream_truncate:2;code=4000;reason=too busy",
            part(json!({ "close": 4000, "reason": "too busy" })),
        ),
        ("stream_truncate:2;raise=clean_eof", part(json!({ "close": 1000, "reason": "" }))),
        ("stream_truncate:2", part(json!({ "close": 0 }))),
        ("stream_truncate:2;raise=close", part(json!({ "close": 1006 }))),
        ("stream_truncate:0;code=1011", vec![json!({ "close": 1011, "reason": "" })]),
        ("stream_garble:1;how=dropped", vec![created.clone(), done.clone(), binary.clone()]),
        (
            "stream_garble:1;how=duplicated",
            vec![created.clone(), echo.clone(), echo.clone(), done.clone(), binary.clone()],
        ),
        (
            "stream_garble:1;how=reordered",
            vec![created.clone(), done.clone(), echo.clone(), binary.clone()],
        ),
        ("stream_garble:1", vec![created.clone(), Value::from(half), done.clone(), binary.clone()]),
    ]
}

#[test]
fn fault_strikes_at_its_message_and_the_next_connection_gets_the_recorded_ones() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    for (fault, expected) in faults(&all) {
        for latency in ["none", "replay"] {
            let fault = format!("{fault};times=1");
            let flags =
                ["--strict", "--fail-unused", "--latency", latency, "--fault", fault.as_str()];
            let server = scene.replay(&flags);
            assert_eq!(converse(&server, expected.len()), expected, "{fault}");
            assert_eq!(converse(&server, 4), all, "{fault}");
            server.stop().expect(0);
        }
    }
}

#[test]
fn late_messages_use_the_take_up() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    for fault in ["stream_stall:2;for_ms=400", "slow:400"] {
        let server = scene.replay(&["--strict", "--fail-unused", "--fault", fault]);
        let began = Instant::now();
        assert_eq!(converse(&server, 4), all, "{fault}");
        assert!(began.elapsed() >= Duration::from_millis(400), "{fault}");
        server.stop().expect(0);
    }
}

#[test]
fn virtual_time_does_not_wait_for_late_messages() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    let flags = ["--strict", "--fail-unused", "--virtual-time", "30s", "--fault", "slow:600000"];
    let server = scene.replay(&flags);
    assert_eq!(converse(&server, 4), all);
    server.stop().expect(0).says(&["of faults were counted and not waited for"]);
}

#[test]
fn message_that_waits_for_the_next_comes_after_a_second_at_the_latest() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    let why = "no message followed it within a second";
    let server = scene.replay(&["--strict", "--fault", "stream_garble:0;how=reordered"]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    let began = Instant::now();
    // The server waits for its client, and the client for the message that is held.
    assert_eq!(hear(&mut socket), all[0]);
    let waited = began.elapsed();
    assert!(waited > Duration::from_millis(900) && waited < Duration::from_secs(9), "{waited:?}");
    say(&mut socket, &update());
    assert_eq!([hear(&mut socket), hear(&mut socket)], [all[1].clone(), all[2].clone()]);
    socket.send(bytes()).unwrap();
    assert_eq!(hear(&mut socket), all[3]);
    close(&mut socket, 1000, "bye");
    server.stop().expect(1).says(&["not tested", why]);
}

#[test]
fn message_that_is_held_comes_before_the_end_of_its_server() {
    let scene = Scene::new();
    let upstream = SocketUpstream::start(|socket| {
        say(socket, &json!({ "n": 1 }));
        say(socket, &json!({ "n": 2 }));
        close(socket, 1000, "over");
    });
    let server = recording(&scene, &upstream, &["--fault", "stream_garble:1;how=reordered"]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    let heard = [hear(&mut socket), hear(&mut socket), hear(&mut socket)];
    let end = json!({ "close": 1000, "reason": "over" });
    assert_eq!(heard, [json!({ "n": 1 }), json!({ "n": 2 }), end]);
    crate::support::web_socket::finish(&mut socket);
    server.stop().expect(1).says(&["not tested"]);
}

#[test]
fn silence_leaves_the_take_to_another_connection_and_to_no_third() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    for fault in ["stream_stall:1;times=1", "stream_truncate:1;raise=stall;times=1"] {
        let server = scene.replay(&["--strict", "--fault", fault]);
        let (mut silent, _) = open(&server, OTHER, &[]).unwrap();
        assert_eq!(hear(&mut silent), all[0]);
        say(&mut silent, &update());
        silent.get_ref().set_read_timeout(Some(Duration::from_millis(300))).unwrap();
        assert!(matches!(silent.read(), Err(Error::Io(_))), "{fault}: it is not silent");
        assert_eq!(converse(&server, 4), all);
        close(&mut silent, 1000, "");
        moment();
        assert_eq!(open(&server, OTHER, &[]).unwrap_err().0, 422, "the take came twice");
        server.stop().expect(1).says(&["1 missed"]);
    }
}

#[test]
fn fault_that_comes_too_late_gives_a_take_to_one_connection_alone() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    let flags = ["--strict", "--allow-unfired", "--fault", "stream_truncate:5"];
    let server = scene.replay(&flags);
    let (mut first, _) = open(&server, OTHER, &[]).unwrap();
    assert_eq!(hear(&mut first), all[0]);
    assert_eq!(open(&server, OTHER, &[]).unwrap_err().0, 422, "the take came twice");
    close(&mut first, 1000, "");
    server.stop().expect(1).says(&["1 missed"]);
}

#[test]
fn client_that_leaves_before_the_fault_leaves_both_for_the_next() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    let fault = "stream_truncate:3;code=1011;times=1";
    let server = scene.replay(&["--strict", "--fault", fault]);
    let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
    assert_eq!(hear(&mut socket), all[0]);
    close(&mut socket, 1000, "");
    moment();
    let heard = converse(&server, 4);
    assert_eq!((&heard[..3], &heard[3]["close"]), (&all[..3], &1011.into()));
    assert_eq!(converse(&server, 4), all);
    server.stop().expect(0);
}

#[test]
fn fault_that_cannot_happen_to_messages_is_not_tested() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    for (fault, why) in [
        ("stream_truncate:5;code=1011", "the answer has 4 messages; the cut is at 5"),
        ("stream_garble:4", "the answer has 4 messages; the broken message is at 4"),
        ("stream_stall;after_bytes=5", "a WebSocket has messages, which after_events counts"),
        ("throttle:100", "the fault throttle does not change a WebSocket"),
        ("partial_response", "the fault partial_response does not change a WebSocket"),
        ("tool_result_fault", "the fault tool_result_fault does not change a WebSocket"),
    ] {
        let server = scene.replay(&["--strict", "--fault", fault]);
        assert_eq!(converse(&server, 4), all, "{fault}");
        server.stop().expect(1).says(&["not tested", why]);
    }
}

#[test]
fn fault_of_a_live_conversation_is_not_recorded() {
    for (fault, count) in [("stream_garble:1;how=dropped", 3), ("stream_truncate:2;code=1011", 3)] {
        let (scene, upstream) = (Scene::new(), upstream());
        let server = recording(&scene, &upstream, &["--fault", fault]);
        let heard = converse(&server, count);
        server.stop().expect(0);
        let take = scene.only_take();
        let messages = take["messages"].as_array().unwrap();
        let server: Vec<&Value> = messages.iter().filter(|it| it["from"] == "server").collect();
        assert_eq!(server[1]["body"]["type"], "echo", "{fault}: {take}");
        match count == heard.len() && heard[2]["close"] == 1011 {
            true => assert_eq!(messages.last().unwrap()["close"], 1006, "{take}"),
            false => assert_eq!(server.len(), 4, "{take}"),
        }
    }
}

#[test]
fn miss_within_a_conversation_with_a_fault_fails_the_run() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, REALTIME);
    let fault = ["--strict", "--allow-unfired", "--fault", "stream_truncate:9"];
    let server = scene.replay(&fault);
    let (mut socket, _) = open(&server, REALTIME, &[]).unwrap();
    assert_eq!(hear(&mut socket), all[0]);
    say(&mut socket, &json!({ "type": "other" }));
    assert_eq!(hear(&mut socket)["error"]["code"], "recording_mismatch");
    assert_eq!(hear(&mut socket)["close"], 1008);
    server.stop().expect(1).says(&["1 missed"]);
}

#[test]
fn fault_before_the_first_message_strikes_the_handshake() {
    let (scene, upstream) = (Scene::new(), upstream());
    let all = record_conversation(&scene, &upstream, OTHER);
    for (fault, status) in [("503", 503), ("stream_truncate;raise=error_event", 500)] {
        let server = scene.replay(&["--strict", "--fault", &format!("{fault};times=1")]);
        assert_eq!(open(&server, OTHER, &[]).unwrap_err().0, status, "{fault}");
        assert_eq!(converse(&server, 4), all, "{fault}");
        server.stop().expect(0);
    }
}
