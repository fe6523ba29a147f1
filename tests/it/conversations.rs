//! Tests of WebSockets: conversations are recorded, and replayed strictly without their upstream.

mod bounds;
mod choice;
mod credentials;
mod crowd;
mod exported;
mod faults;
mod identity;
mod misses;
mod speech;
mod turn_ends;
mod turn_messages;
mod turns;

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use crate::support::web_socket::{Socket, SocketUpstream, close, hear, open, say};
use crate::support::{Call, Scene, Server};

/// The handshake of OpenAI's Realtime API.
pub(super) const REALTIME: &str = "/openai/v1/realtime?model=gpt-realtime";
/// The handshake of an API that reports errors by close codes alone.
pub(super) const OTHER: &str = "/openai/v1/listen?model=nova";

/// Records with `upstream` in the place of OpenAI.
#[track_caller]
pub(super) fn recording(scene: &Scene, upstream: &SocketUpstream, more: &[&str]) -> Server {
    Server::start(scene.dir(), &scene.record_args(&upstream.url(), more))
}

/// An upstream that speaks first, answers two messages, and leaves the close to its client.
pub(super) fn upstream() -> SocketUpstream {
    SocketUpstream::start(|socket| {
        say(socket, &json!({ "type": "session.created", "event_id": "event_1" }));
        loop {
            match socket.read() {
                Ok(Message::Text(text)) => {
                    let asked: Value = serde_json::from_str(&text).unwrap();
                    say(socket, &json!({ "type": "echo", "of": asked }));
                    say(socket, &json!({ "type": "done", "event_id": "event_2" }));
                }
                Ok(Message::Binary(bytes)) => socket.send(Message::Binary(bytes)).unwrap(),
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                _ => return,
            }
        }
    })
}

/// The client's messages.
pub(super) fn update() -> Value {
    json!({
        "type": "session.update",
        "event_id": "event_c1",
        "session": { "instructions": "Be brief.", "output_modalities": ["text"], "temperature": 0.8 }
    })
}

/// The client's conversation. Returns what it heard.
pub(super) fn converse(socket: &mut Socket) -> Vec<Value> {
    let mut heard = vec![hear(socket)];
    say(socket, &update());
    heard.extend([hear(socket), hear(socket)]);
    socket.send(Message::Ping(b"there?".as_slice().into())).unwrap();
    socket.send(Message::Binary(b"\x00\xff".as_slice().into())).unwrap();
    heard.push(hear(socket));
    close(socket, 1000, "bye");
    heard
}

/// Records the client's conversation. Returns what it heard.
pub(super) fn record_conversation(
    scene: &Scene,
    upstream: &SocketUpstream,
    path: &str,
) -> Vec<Value> {
    let server = recording(scene, upstream, &[]);
    let heard = converse(&mut open(&server, path, &[]).unwrap().0);
    server.stop().expect(0);
    heard
}

#[test]
fn conversation_is_recorded_and_replayed_without_its_upstream() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &[]);
    let offered = [
        "sec-websocket-extensions: permessage-deflate",
        "authorization: Bearer sk-one-long-secret",
    ];
    let (mut socket, head) = open(&server, REALTIME, &offered).unwrap();
    assert_eq!(
        (head.get("x-upstream").unwrap(), head.get("sec-websocket-extensions")),
        (&"yes".parse().unwrap(), None)
    );
    let heard = converse(&mut socket);
    server.stop().expect(0);
    let sent = &upstream.handshakes()[0];
    assert_eq!(sent.uri(), "/v1/realtime?model=gpt-realtime");
    assert_eq!(sent.headers().get("authorization").unwrap(), "Bearer sk-one-long-secret");
    assert_eq!(sent.headers().get("sec-websocket-extensions"), None);
    assert_ne!(sent.headers().get("sec-websocket-key").unwrap(), "dGhlIHNhbXBsZSBub25jZQ==");

    let take = scene.only_take();
    assert_eq!(
        (&take["request"]["method"], &take["response"]["status"]),
        (&"GET".into(), &101.into())
    );
    assert_eq!(take["request"]["headers"]["upgrade"], "websocket");
    assert_eq!(take["response"]["headers"].get("sec-websocket-accept"), None);
    let kept: Vec<Value> = take["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| {
            let mut message = message.clone();
            assert!(message.as_object_mut().unwrap().remove("ms").unwrap().as_f64().unwrap() > 0.0);
            message
        })
        .collect();
    assert_eq!(
        kept,
        [
            json!({ "from": "server", "body": { "type": "session.created", "event_id": "event_1" } }),
            json!({ "from": "client", "body": update() }),
            json!({ "from": "server", "body": { "type": "echo", "of": update() } }),
            json!({ "from": "server", "body": { "type": "done", "event_id": "event_2" } }),
            json!({ "from": "client", "base64": "AP8=" }),
            json!({ "from": "server", "base64": "AP8=" }),
            json!({ "from": "client", "close": 1000, "reason": "bye" }),
        ]
    );

    for latency in ["none", "replay", "constant:5"] {
        let server = scene.replay(&["--strict", "--fail-unused", "--latency", latency]);
        let (mut socket, head) = open(&server, REALTIME, &[]).unwrap();
        assert_eq!(head.get("x-upstream").unwrap(), "yes");
        assert_eq!(converse(&mut socket), heard);
        server.stop().expect(0);
    }
    assert_eq!(upstream.handshakes().len(), 1);
}

#[test]
fn spelling_and_the_clients_own_event_ids_do_not_count() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, REALTIME);
    let server = scene.replay(&["--strict"]);
    let (mut socket, _) = open(&server, REALTIME, &[]).unwrap();
    hear(&mut socket);
    let spelt = r#"{"session": {"temperature": 0.8, "output_modalities": ["\u0074ext"],
        "instructions": "Be brief."}, "event_id": "another", "type": "session.update"}"#;
    socket.send(Message::text(spelt)).unwrap();
    assert_eq!(hear(&mut socket)["type"], "echo");
    close(&mut socket, 1000, "");
    server.stop().expect(0);
}

#[test]
fn servers_close_and_cut_are_replayed() {
    for (code, seen) in
        [(4001, json!({ "close": 4001, "reason": "why" })), (1006, json!({ "close": 1006 }))]
    {
        let scene = Scene::new();
        let upstream = SocketUpstream::start(move |socket| {
            say(socket, &json!({ "n": 1 }));
            match code {
                1006 => socket.get_ref().shutdown(std::net::Shutdown::Both).unwrap(),
                code => close(socket, code, "why"),
            }
        });
        let listen = |server: &Server| {
            let mut socket = open(server, OTHER, &[]).unwrap().0;
            let heard = [hear(&mut socket), hear(&mut socket)];
            crate::support::web_socket::finish(&mut socket);
            heard
        };
        let server = recording(&scene, &upstream, &["--keep-failures"]);
        let heard = listen(&server);
        assert_eq!(heard, [json!({ "n": 1 }), seen]);
        server.stop().expect(0).says(&["1 recorded, 1 of them"]);
        let server = scene.replay(&["--strict", "--fail-unused"]);
        assert_eq!(listen(&server), heard);
        server.stop().expect(0).says(&["1 served, 1 of them"]);
        let told = scene.run(&["verify", scene.name()]).expect(0).stdout;
        assert!(told.contains("the call failed: the server"), "{told}");
    }
}

#[test]
fn conversation_that_its_server_ends_with_an_error_replaces_no_good_one() {
    for code in [1006, 1011, 4001] {
        let (scene, good) = (Scene::new(), upstream());
        let heard = record_conversation(&scene, &good, OTHER);
        let before = scene.only_take();
        let failing = SocketUpstream::start(move |socket| match code {
            1006 => socket.get_ref().shutdown(std::net::Shutdown::Both).unwrap(),
            code => close(socket, code, "overloaded"),
        });
        let server = recording(&scene, &failing, &[]);
        let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
        assert_eq!(hear(&mut socket)["close"], code);
        crate::support::web_socket::finish(&mut socket);
        server.stop().expect(1).says(&["every call failed"]);
        assert_eq!(scene.only_take(), before);
        let server = scene.replay(&["--strict", "--fail-unused"]);
        let (mut socket, _) = open(&server, OTHER, &[]).unwrap();
        assert_eq!(converse(&mut socket), heard);
        server.stop().expect(0);
    }
}

#[test]
fn refused_handshake_is_recorded_and_replayed_as_a_call_over_http() {
    let (scene, upstream) = (Scene::new(), SocketUpstream::refusing(401));
    let server = recording(&scene, &upstream, &["--keep-failures"]);
    let refused = open(&server, REALTIME, &[]).unwrap_err();
    assert_eq!(refused.0, 401);
    server.stop().expect(0);
    let take = scene.only_take();
    assert_eq!((&take["response"]["status"], take.get("messages")), (&401.into(), None));
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let replayed = open(&server, REALTIME, &[]).unwrap_err();
    assert_eq!(replayed.0, 401);
    assert!(replayed.1.contains(r#"{"error":"no"}"#), "{}", replayed.1);
    server.stop().expect(0);
}

#[test]
fn conversations_of_equal_handshakes_are_replayed_in_their_order() {
    let scene = Scene::new();
    let upstream = upstream();
    let server = recording(&scene, &upstream, &[]);
    let ask = |server: &Server, word: &str| {
        let mut socket = open(server, OTHER, &[]).unwrap().0;
        hear(&mut socket);
        say(&mut socket, &json!({ "say": word }));
        let heard = hear(&mut socket);
        hear(&mut socket);
        close(&mut socket, 1000, "");
        heard
    };
    let heard = [ask(&server, "one"), ask(&server, "two")];
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "--fail-unused"]);
    assert_eq!([ask(&server, "one"), ask(&server, "two")], heard);
    server.stop().expect(0);
}

#[test]
fn call_over_http_gets_no_conversation() {
    let (scene, upstream) = (Scene::new(), upstream());
    record_conversation(&scene, &upstream, OTHER);
    let server = scene.replay(&["--strict"]);
    server.call(&Call::get(OTHER)).expect(422);
    server.call(&Call::get(OTHER).header("upgrade: h2c").header("connection: upgrade")).expect(422);
    server.stop().expect(1);
}
