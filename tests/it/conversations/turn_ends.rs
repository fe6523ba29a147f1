//! Tests of the ends of connections with OpenAI's Responses API: how its upstream closes them, and
//! what a fault of one lane leaves to the others.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::recording;
use super::turns::PATH;
use crate::support::web_socket::{Socket, SocketUpstream, close, hear, moment, open, say};
use crate::support::{Scene, Server};

fn turn(model: &str) -> Value {
    json!({ "type": "response.create", "model": model, "input": "hi", "stream_id": model })
}

/// The event of this type, in the lane of a model.
fn event(kind: &str, model: &str) -> Value {
    let status = if kind == "response.completed" { "completed" } else { "in_progress" };
    let response = json!({ "id": format!("resp_{model}"), "status": status, "output": [] });
    json!({ "type": kind, "response": response, "stream_id": model })
}

fn created(model: &str) -> Value {
    event("response.created", model)
}

fn completed(model: &str) -> Value {
    event("response.completed", model)
}

/// Returns the model of the next turn.
fn read_turn(socket: &mut Socket) -> Option<String> {
    let Ok(Message::Text(text)) = socket.read() else { return None };
    let turn: Value = serde_json::from_str(&text).unwrap();
    Some(turn["model"].as_str().unwrap().to_owned())
}

/// Closes as an upstream does that has no reason to wait.
fn end(socket: &mut Socket, code: u16, reason: &'static str) {
    match code {
        1006 => socket.get_ref().shutdown(std::net::Shutdown::Both).unwrap(),
        code => close(socket, code, reason),
    }
}

#[test]
fn close_of_the_upstream_within_a_turn_is_passed_on_recorded_and_replayed() {
    for (code, reason) in [(1008, "policy: key revoked"), (1000, ""), (1006, "")] {
        let scene = Scene::new();
        let upstream = SocketUpstream::start(move |socket| {
            read_turn(socket).unwrap();
            say(socket, &created("a"));
            end(socket, code, reason);
        });
        let ended = match code {
            1006 => json!({ "close": 1006 }),
            code => json!({ "close": code, "reason": reason }),
        };
        let converse = |server: &Server| {
            let mut socket = open(server, PATH, &[]).unwrap().0;
            say(&mut socket, &turn("a"));
            let heard = [hear(&mut socket), hear(&mut socket)];
            assert_eq!(heard, [created("a"), ended.clone()]);
            crate::support::web_socket::finish(&mut socket);
        };
        let server = recording(&scene, &upstream, &["--keep-failures"]);
        converse(&server);
        server.stop().expect(0);
        let take = scene.only_take();
        assert_eq!(take["response"]["end"], "upstream_abort", "{take}");
        let recorded = &take["messages"][0];
        match (code, reason) {
            (1006, _) => assert_eq!(take.get("messages"), None, "{take}"),
            (_, "") => {
                assert_eq!((&recorded["close"], recorded.get("reason")), (&code.into(), None))
            }
            _ => assert_eq!(
                (&recorded["from"], &recorded["close"], &recorded["reason"]),
                (&"server".into(), &code.into(), &reason.into())
            ),
        }
        let server = scene.replay(&["--strict", "--fail-unused"]);
        converse(&server);
        server.stop().expect(0);
    }
}

#[test]
fn close_of_the_upstream_between_turns_is_passed_on() {
    let scene = Scene::new();
    let upstream = SocketUpstream::start(|socket| {
        read_turn(socket).unwrap();
        say(socket, &created("a"));
        say(socket, &completed("a"));
        close(socket, 1008, "policy: key revoked");
    });
    let server = recording(&scene, &upstream, &[]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    say(&mut socket, &turn("a"));
    let heard = [hear(&mut socket), hear(&mut socket), hear(&mut socket)];
    let ended = json!({ "close": 1008, "reason": "policy: key revoked" });
    assert_eq!(heard, [created("a"), completed("a"), ended]);
    crate::support::web_socket::finish(&mut socket);
    server.stop().expect(0);
}

#[test]
fn close_of_the_upstream_comes_after_the_events_of_all_lanes() {
    let scene = Scene::new();
    let upstream = SocketUpstream::start(|socket| {
        let models = [read_turn(socket).unwrap(), read_turn(socket).unwrap()];
        models.iter().for_each(|model| say(socket, &created(model)));
        // The replay has both turns before the first of them ends.
        moment();
        models.iter().for_each(|model| say(socket, &event("response.queued", model)));
        close(socket, 1012, "restart");
    });
    let converse = |server: &Server| {
        let mut socket = open(server, PATH, &[]).unwrap().0;
        ["a", "b"].iter().for_each(|model| say(&mut socket, &turn(model)));
        let heard: Vec<Value> = (0..5).map(|_| hear(&mut socket)).collect();
        assert_eq!(heard[4], json!({ "close": 1012, "reason": "restart" }), "{heard:?}");
        for model in ["a", "b"] {
            let of_lane: Vec<_> =
                heard.iter().filter(|event| event["stream_id"] == model).cloned().collect();
            assert_eq!(of_lane, [created(model), event("response.queued", model)]);
        }
        crate::support::web_socket::finish(&mut socket);
    };
    let server = recording(&scene, &upstream, &["--keep-failures"]);
    converse(&server);
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "--fail-unused", "--latency", "replay"]);
    converse(&server);
    server.stop().expect(0).says(&["2 served"]);
}

#[test]
fn fault_of_a_turn_leaves_the_takes_of_other_lanes_to_the_next_connection() {
    let scene = Scene::new();
    let upstream = SocketUpstream::start(|socket| {
        let mut asked = Vec::new();
        while let Some(model) = read_turn(socket) {
            say(socket, &created(&model));
            asked.push(model);
            if asked.len() == 2 {
                moment();
                asked.drain(..).for_each(|model| say(socket, &completed(&model)));
            }
        }
    });
    let begin = |server: &Server| {
        let mut socket = open(server, PATH, &[]).unwrap().0;
        say(&mut socket, &turn("b"));
        assert_eq!(hear(&mut socket), created("b"));
        say(&mut socket, &turn("a"));
        socket
    };
    let server = recording(&scene, &upstream, &[]);
    let mut socket = begin(&server);
    let heard = [hear(&mut socket), hear(&mut socket), hear(&mut socket)];
    assert_eq!(heard[0], created("a"));
    assert!(["a", "b"].iter().all(|model| heard.contains(&completed(model))), "{heard:?}");
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    let cut = json!({ "close": 1006 });
    let closed = json!({ "close": 1011, "reason": "" });
    for (fault, expected) in [
        ("stream_truncate:1;code=1011;model=a;times=1", vec![created("a"), closed]),
        ("stream_truncate:1;model=a;times=1", vec![created("a"), cut.clone()]),
        ("connection_reset;model=a;times=1", vec![cut.clone()]),
        ("hang:100;model=a;times=1", vec![cut]),
    ] {
        let flags = ["--strict", "--fail-unused", "--latency", "replay", "--fault", fault];
        let server = scene.replay(&flags);
        let mut socket = begin(&server);
        let heard: Vec<Value> = expected.iter().map(|_| hear(&mut socket)).collect();
        assert_eq!(heard, expected, "{fault}");
        let mut again = open(&server, PATH, &[]).unwrap().0;
        for model in ["b", "a"] {
            say(&mut again, &turn(model));
            let heard = [hear(&mut again), hear(&mut again)];
            assert_eq!(heard, [created(model), completed(model)], "{fault}");
        }
        close(&mut again, 1000, "");
        let served = 2 + usize::from(expected.len() == 2);
        server.stop().expect(0).says(&[&format!("{served} served"), "0 missed"]);
    }
}
