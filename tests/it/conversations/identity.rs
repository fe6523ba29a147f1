//! Tests of the ids in a client's messages: those of items that it creates are bound, all others are
//! compared exactly.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::misses::changed;
use super::{REALTIME, recording};
use crate::support::web_socket::{Socket, SocketUpstream, close, hear, open, say};
use crate::support::{Scene, Server};

/// The id that the server made.
const SERVERS: &str = "item_srv";

fn greeting() -> Value {
    json!({ "type": "session.created", "event_id": "event_1", "item": { "id": SERVERS } })
}

/// The server's answer to a message: it quotes the ids.
fn answer(asked: &Value) -> Value {
    json!({ "type": "heard", "event_id": "event_9", "of": asked, "item_id": asked["item"]["id"],
        "client_event_id": asked["event_id"] })
}

fn upstream() -> SocketUpstream {
    SocketUpstream::start(|socket| {
        say(socket, &greeting());
        while let Ok(Message::Text(text)) = socket.read() {
            say(socket, &answer(&serde_json::from_str(&text).unwrap()));
        }
    })
}

/// The messages of a client that names its items `one` and `two`.
fn messages(one: &str, two: &str) -> [Value; 4] {
    let create = |id: &str, before: Option<&str>, text: &str| {
        json!({ "type": "conversation.item.create", "event_id": format!("e_{id}"),
            "previous_item_id": before, "item": { "id": id, "type": "message", "role": "user",
            "content": [{ "type": "input_text", "text": text }] } })
    };
    [
        create(one, None, "one"),
        create(two, Some(one), "two"),
        json!({ "type": "conversation.item.truncate", "item_id": SERVERS, "content_index": 0,
            "audio_end_ms": 1500 }),
        json!({ "type": "response.create", "response": { "conversation": "none", "input": [
            { "type": "item_reference", "id": one }, { "type": "item_reference", "id": two },
            { "type": "item_reference", "id": SERVERS }] } }),
    ]
}

fn recorded() -> Scene {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &[]);
    assert_eq!(exchange(&server, &messages("item_rA1", "item_rB2")).0.len(), 5);
    server.stop().expect(0);
    scene
}

/// Sends messages until one is a miss. Returns the messages of the server before that, and the error.
fn exchange(server: &Server, messages: &[Value]) -> (Vec<Value>, Option<Value>) {
    let mut socket: Socket = open(server, REALTIME, &[]).unwrap().0;
    let mut heard = vec![hear(&mut socket)];
    for message in messages {
        say(&mut socket, message);
        let next = hear(&mut socket);
        if next["type"] == "error" {
            assert_eq!(hear(&mut socket)["close"], 1008);
            return (heard, Some(next));
        }
        heard.push(next);
    }
    close(&mut socket, 1000, "");
    (heard, None)
}

#[test]
fn items_that_the_client_names_anew_are_the_recorded_ones_in_both_directions() {
    let scene = recorded();
    for (one, two) in [("item_rA1", "item_rB2"), ("x", "0190a5b2-7c1d-7e3f-8a9b-0c1d2e3f4a5b")] {
        let server = scene.replay(&["--strict", "--fail-unused"]);
        let sent = messages(one, two);
        let expected: Vec<Value> =
            [greeting()].into_iter().chain(sent.iter().map(answer)).collect();
        assert_eq!(exchange(&server, &sent), (expected, None), "{one}");
        server.stop().expect(0);
    }
}

#[test]
fn each_changed_word_number_name_and_id_beside_is_a_miss() {
    let scene = recorded();
    let server = scene.replay(&["--strict"]);
    let mut count = 0;
    for (one, two) in [("item_rA1", "item_rB2"), ("live_1", "live_2")] {
        let sent = messages(one, two);
        for at in 0..sent.len() {
            for (place, message) in changed(&sent[at], "") {
                let is_bound = place == "/item/id" && message["item"]["id"].is_string();
                if place == "/event_id" || is_bound {
                    continue;
                }
                let mut sent = sent.clone();
                sent[at] = message;
                let (heard, miss) = exchange(&server, &sent);
                assert!(miss.is_some() && heard.len() == at + 1, "{place} of {}", sent[at]);
                count += 1;
            }
        }
    }
    assert!(count > 150, "{count}");
    server.stop().expect(1).says(&[&format!("{count} missed")]);
}

#[test]
fn id_of_another_item_is_a_miss() {
    let scene = recorded();
    let server = scene.replay(&["--strict"]);
    let good = messages("live_1", "live_2");
    let with = |at: usize, place: &str, id: &str| {
        let mut sent = good.clone();
        *sent[at].pointer_mut(place).unwrap() = id.into();
        (at, sent)
    };
    for (at, sent) in [
        // One item is named as another one.
        with(0, "/item/id", SERVERS),
        with(0, "/item/id", "item_rB2"),
        with(1, "/item/id", "live_1"),
        // A reference to another item, or by its recorded name.
        with(1, "/previous_item_id", "live_2"),
        with(1, "/previous_item_id", "item_rA1"),
        with(2, "/item_id", "live_1"),
        with(3, "/response/input/0/id", "live_2"),
        with(3, "/response/input/0/id", "item_rA1"),
        with(3, "/response/input/2/id", "live_1"),
    ] {
        let (heard, miss) = exchange(&server, &sent);
        assert!(miss.is_some() && heard.len() == at + 1, "{}", sent[at]);
    }
    server.stop().expect(1).says(&["9 missed"]);
}

#[test]
fn other_apis_name_no_items() {
    let path = "/openai/v1/other?model=m";
    let (scene, upstream) = (Scene::new(), upstream());
    let converse = |server: &Server, id: &str| {
        let mut socket = open(server, path, &[]).unwrap().0;
        hear(&mut socket);
        say(&mut socket, &messages(id, "two")[0]);
        let heard = hear(&mut socket);
        close(&mut socket, 1000, "");
        heard
    };
    let server = recording(&scene, &upstream, &[]);
    converse(&server, "one");
    server.stop().expect(0);
    let server = scene.replay(&["--strict"]);
    assert_eq!(converse(&server, "other")["close"], 1008);
    server.stop().expect(1);
}
