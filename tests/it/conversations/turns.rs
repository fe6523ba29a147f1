//! Tests of OpenAI's Responses API over a WebSocket: each turn is a call with the key that it has over
//! HTTP.

use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Message;

use super::recording;
use crate::support::web_socket::{Socket, SocketUpstream, close, hear, open, say};
use crate::support::{Answer, Call, Scene, Upstream};

pub(super) const PATH: &str = "/openai/v1/responses";

/// The events of a response.
fn events(asked: &str) -> [Value; 3] {
    [
        json!({ "type": "response.created", "response": { "id": "resp_1", "status": "in_progress" } }),
        json!({ "type": "response.output_text.delta", "delta": format!("You said {asked}") }),
        json!({ "type": "response.completed", "response": {
            "id": "resp_1", "object": "response", "model": "m", "status": "completed",
            "output": [{ "type": "message", "role": "assistant", "content": [
                { "type": "output_text", "text": format!("You said {asked}") }] }],
            "usage": { "input_tokens": 3, "output_tokens": 4, "total_tokens": 7 } } }),
    ]
}

/// An event in a lane.
fn in_lane(event: &Value, lane: Option<&str>) -> Value {
    let mut event = event.clone();
    lane.into_iter().for_each(|lane| event["stream_id"] = lane.into());
    event
}

fn turn(asked: &str, lane: Option<&str>) -> Value {
    in_lane(&json!({ "type": "response.create", "model": "m", "input": asked }), lane)
}

/// An upstream that answers each turn in its lane, and refuses the input `bad`.
fn upstream() -> SocketUpstream {
    SocketUpstream::start(|socket| {
        while let Ok(Message::Text(text)) = socket.read() {
            let asked: Value = serde_json::from_str(&text).unwrap();
            let lane = asked["stream_id"].as_str();
            let input = asked["input"].as_str().unwrap();
            if input == "bad" {
                let error = json!({ "type": "invalid_request_error", "message": "no" });
                say(
                    socket,
                    &in_lane(&json!({ "type": "error", "status": 400, "error": error }), lane),
                );
                continue;
            }
            events(input).iter().for_each(|event| say(socket, &in_lane(event, lane)));
        }
    })
}

/// Makes a turn, and returns its events.
fn ask(socket: &mut Socket, asked: &str, lane: Option<&str>) -> Vec<Value> {
    say(socket, &turn(asked, lane));
    let mut heard = Vec::new();
    loop {
        heard.push(hear(socket));
        let kind = heard.last().unwrap()["type"].as_str().unwrap_or("error");
        if kind == "error" || kind == "response.completed" {
            return heard;
        }
    }
}

fn over_http(asked: &str) -> Call {
    let body = json!({ "model": "m", "input": asked, "stream": true });
    Call::post(PATH, body.to_string())
}

#[test]
fn turns_are_recorded_and_replayed_over_a_socket_and_over_http() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &["--keep-failures"]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    assert_eq!(ask(&mut socket, "one", None), events("one"));
    let named = events("two").map(|event| in_lane(&event, Some("a")));
    assert_eq!(ask(&mut socket, "two", Some("a")), named);
    let refused = ask(&mut socket, "bad", None);
    assert_eq!(
        (&refused[0]["status"], &refused[0]["error"]["message"]),
        (&400.into(), &"no".into())
    );
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    assert_eq!(scene.takes().len(), 3, "{}", scene.text());
    let (_, take) = scene
        .takes()
        .into_iter()
        .find(|(_, take)| take["request"]["body"]["input"] == "two")
        .unwrap();
    assert_eq!(
        (&take["request"]["method"], &take["request"]["path"]),
        (&"POST".into(), &"/v1/responses".into())
    );
    assert_eq!(
        (&take["content"], &take["usage"]["completion_tokens"]),
        (&"You said two".into(), &4.into())
    );
    assert!(!scene.text().contains("stream_id"), "{}", scene.text());

    let server = scene.replay(&["--strict", "--fail-unused"]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    let other = events("two").map(|event| in_lane(&event, Some("b")));
    assert_eq!(ask(&mut socket, "two", Some("b")), other);
    assert_eq!(ask(&mut socket, "bad", None), refused);
    close(&mut socket, 1000, "");
    let streamed = server.call(&over_http("one")).expect(200).text();
    for event in events("one") {
        assert!(streamed.contains(&event.to_string()), "{streamed}");
    }
    server.stop().expect(0);
    assert_eq!(upstream.handshakes().len(), 1);
}

#[test]
fn calls_over_http_are_replayed_as_turns_and_a_miss_leaves_the_socket_open() {
    let scene = Scene::new();
    let chunks = events("one")
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()));
    let upstream = Upstream::always(Answer::events(&chunks));
    scene.recorded(&upstream, &[over_http("one")]);
    let server = scene.replay(&["--strict"]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    let missed = ask(&mut socket, "other", Some("a"));
    assert_eq!((&missed[0]["status"], &missed[0]["stream_id"]), (&422.into(), &"a".into()));
    let why = missed[0]["error"]["message"].as_str().unwrap();
    assert!(why.contains("RecordingMismatchError") && why.contains("/input"), "{why}");
    assert_eq!(ask(&mut socket, "one", None), events("one"));
    say(&mut socket, &json!({ "type": "response.processed" }));
    say(&mut socket, &json!({ "type": "response.steer" }));
    assert_eq!(hear(&mut socket)["status"], 422);
    close(&mut socket, 1000, "");
    server.stop().expect(1).says(&["1 missed", "calls refused: 1"]);
}

/// Makes a turn, and returns the messages until the last of them, or the end of the connection.
fn hear_turn(socket: &mut Socket, asked: &str) -> Vec<Value> {
    say(socket, &turn(asked, None));
    let mut heard = Vec::new();
    loop {
        heard.push(hear(socket));
        let last = heard.last().unwrap();
        let is_last = last["type"] == "response.completed" || last["type"] == "error";
        if is_last || last["close"].is_number() {
            return heard;
        }
    }
}

#[test]
fn fault_strikes_a_turn_at_its_message() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &[]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    ask(&mut socket, "one", None);
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    let all = events("one");
    let [first, second, last] = all.clone();
    let cut = |end: Value| vec![first.clone(), end];
    for (fault, expected) in [
        (
            "stream_truncate:1;code=1013;reason=later",
            cut(json!({ "close": 1013, "reason": "later" })),
        ),
        ("stream_truncate:1", cut(json!({ "close": 1006 }))),
        ("stream_truncate:1;raise=close", cut(json!({ "close": 1006 }))),
        ("connection_reset", vec![json!({ "close": 1006 })]),
        ("connection_drop", vec![json!({ "close": 1006 })]),
        ("stream_garble:1;how=dropped", vec![first.clone(), last.clone()]),
        (
            "stream_garble:1;how=duplicated",
            vec![first.clone(), second.clone(), second.clone(), last.clone()],
        ),
        ("stream_garble:0;how=reordered", vec![second.clone(), first.clone(), last.clone()]),
        ("throttle:5000", all.to_vec()),
        ("slice:7;delay_ms=1", all.to_vec()),
        ("slow:100", all.to_vec()),
        ("stream_stall:1;for_ms=100", all.to_vec()),
    ] {
        let once = format!("{fault};times=1");
        let server = scene.replay(&["--repeat", "last", "--fault", &once]);
        let mut socket = open(&server, PATH, &[]).unwrap().0;
        assert_eq!(hear_turn(&mut socket, "one"), expected, "{fault}");
        let mut again = open(&server, PATH, &[]).unwrap().0;
        assert_eq!(hear_turn(&mut again, "one"), all, "{fault}");
        server.stop().expect(0);
    }
}

#[test]
fn error_of_a_fault_is_an_event_of_its_turn() {
    let (scene, upstream) = (Scene::new(), upstream());
    let server = recording(&scene, &upstream, &[]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    ask(&mut socket, "one", None);
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    let server = scene.replay(&["--strict", "--fault", "429;times=1"]);
    let mut socket = open(&server, PATH, &[]).unwrap().0;
    let heard = hear_turn(&mut socket, "one");
    assert_eq!((heard.len(), &heard[0]["status"]), (1, &429.into()), "{heard:?}");
    // The connection stays open.
    assert_eq!(hear_turn(&mut socket, "one"), events("one"));
    close(&mut socket, 1000, "");
    server.stop().expect(0);
    for fault in ["wrong_length:10", "bad_encoding"] {
        let server = scene.replay(&["--strict", "--fault", fault]);
        let mut socket = open(&server, PATH, &[]).unwrap().0;
        assert_eq!(hear_turn(&mut socket, "one"), events("one"), "{fault}");
        close(&mut socket, 1000, "");
        let why =
            format!("the fault {} does not change a WebSocket", fault.split(':').next().unwrap());
        server.stop().expect(1).says(&["not tested", &why]);
    }
}
