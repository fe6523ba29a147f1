//! Tests of answers that the protocol prescribes, and of misses.

use std::time::Duration;

use serde_json::{Value, json};

use super::scene::{ENDPOINT, post, record, recorded, request, tool_call, tools};
use crate::support::{Answer, Call, Received, Scene, Upstream};

fn list(id: u32) -> Call {
    request(json!(id), "tools/list", &Value::Null)
}

fn note(method: &str) -> Call {
    post(&json!({ "jsonrpc": "2.0", "method": method }).to_string())
}

fn of_session(method: &str) -> Call {
    Call::new(method, ENDPOINT).header("mcp-session-id: of-the-client")
}

#[test]
fn what_the_protocol_prescribes_needs_no_recording_and_is_counted_by_name() {
    let scene = recorded(&tools(), &[list(1)]);
    let server = scene.replay(&["--strict", "--receipt", "receipt.json"]);
    server.call(&list(1)).expect(200);
    for _ in 0..2 {
        let accepted = server.call(&note("notifications/cancelled")).expect(202);
        assert_eq!(accepted.body(), b"");
    }
    let ping = server.call(&request(json!("p"), "ping", &Value::Null)).expect(200);
    assert_eq!(ping.text(), r#"{"jsonrpc":"2.0","id":"p","result":{}}"#);
    assert_eq!(server.call(&of_session("GET")).expect(405).header("allow"), Some("POST, DELETE"));
    server.call(&of_session("DELETE")).expect(200);
    let finished = server.stop().expect(0);
    let counted = "DELETE session (1), GET stream (1), notifications/cancelled (2), ping (1)";
    assert!(finished.stderr.contains(counted), "{}", finished.stderr);
    let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_str(&receipt).unwrap();
    assert_eq!(receipt["prescribed"]["notifications/cancelled"], 2);
    assert_eq!((&receipt["served"], &receipt["missed"]), (&json!(1), &json!(0)));
}

#[test]
fn only_servers_that_the_recording_knows_answer_so() {
    let scene = recorded(&tools(), &[list(1)]);
    let elsewhere = |call: &Call| Call::post("/tools/other", call.body_bytes());
    let calls = [
        elsewhere(&note("notifications/cancelled")),
        Call::new("GET", "/tools/other").header("mcp-session-id: a"),
        Call::new("DELETE", "/tools/mcp"),
    ];
    for call in &calls {
        scene.replayed(&["--strict"], std::slice::from_ref(call), 1).remove(0).expect(422);
    }
    let ping = elsewhere(&request(json!(1), "ping", &Value::Null));
    let answer = scene.replayed(&["--strict"], &[ping], 1).remove(0).expect(200);
    assert_eq!(answer.json()["error"]["code"], 422);
}

#[test]
fn recorded_answers_take_precedence() {
    let upstream = Upstream::start(|request: &Received| match request.method.as_str() {
        "DELETE" => Answer::whole(405, &["content-type: text/plain"], "no"),
        _ => Answer::json(200, r#"{"jsonrpc":"2.0","id":1,"result":{"of":"the server"}}"#),
    });
    let ping = |id: u32| request(json!(id), "ping", &Value::Null);
    let scene = Scene::new();
    let server = record(&scene, &upstream, &["--keep-failures"]);
    server.call(&ping(1));
    server.call(&of_session("DELETE"));
    server.stop().expect(0);
    let calls = [ping(5), of_session("DELETE"), ping(6)];
    let answers = scene.replayed(&["--strict", "--fail-unused"], &calls, 0);
    assert_eq!(answers[0].text(), r#"{"jsonrpc":"2.0","id":5,"result":{"of":"the server"}}"#);
    assert_eq!((answers[1].status, answers[1].text()), (405, "no".to_owned()));
    assert_eq!(answers[2].text(), r#"{"jsonrpc":"2.0","id":6,"result":{}}"#);
}

#[test]
fn stream_of_a_server_is_held_until_its_client_leaves() {
    let event = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n";
    let upstream = Upstream::start(move |request: &Received| match request.method.as_str() {
        "GET" => Answer::stream().chunk(event),
        _ => Answer::json(200, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#),
    });
    let stream = || of_session("GET").header("accept: text/event-stream");
    let scene = Scene::new();
    let server = record(&scene, &upstream, &[]);
    server.call(&list(1));
    let mut client = server.connect();
    client.send(&stream());
    assert!(client.head().line.contains(" 200 "));
    assert_eq!(client.chunk().unwrap(), event.as_bytes());
    drop(client);
    server.stop().expect(0);
    let server = scene.replay(&["--strict"]);
    let mut client = server.connect();
    client.send(&stream());
    assert!(client.head().line.contains(" 200 "));
    assert_eq!(client.chunk().unwrap(), event.as_bytes());
    // Longer than the recorded client stayed, and than loomrec holds any other call.
    assert!(client.is_quiet_for(Duration::from_millis(2500)));
    server.call(&list(2)).expect(200);
    drop(client);
    server.stop().expect(0);
}

#[test]
fn client_of_a_later_version_is_told_to_connect_as_was_recorded() {
    let connect = |method: &str| request(json!(3), method, &json!({ "protocolVersion": "a" }));
    let discover = || {
        let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
        request(json!("d"), "server/discover", &json!({ "_meta": meta }))
    };
    let scene = recorded(&tools(), &[connect("initialize")]);
    let answer = scene.replayed(&["--strict"], &[discover()], 0).remove(0).expect(200);
    let expected =
        r#"{"jsonrpc":"2.0","id":"d","error":{"code":-32601,"message":"Method not found"}}"#;
    assert_eq!(answer.text(), expected);
    let scene = recorded(&tools(), &[connect("initialize"), connect("server/discover")]);
    let answer = scene.replayed(&["--strict"], &[discover()], 1).remove(0).expect(200);
    assert_eq!(answer.json()["error"]["code"], 422);
}

#[test]
fn miss_is_an_error_under_the_id_of_the_call_that_says_what_differs() {
    let call = |id: Value, word: &str| tool_call(id, "search", json!({ "word": word }));
    let scene = recorded(&tools(), &[call(json!(1), "loom")]);
    let server = scene.replay(&["--strict"]);
    let answer = server.call(&call(json!("m"), "reed")).expect(200);
    let finished = server.stop().expect(1);
    assert_eq!(answer.header("x-loomrec-error"), Some("RecordingMismatchError"));
    assert_eq!(answer.header("content-type"), Some("application/json"));
    let json = answer.json();
    assert_eq!((&json["jsonrpc"], &json["id"]), (&json!("2.0"), &json!("m")));
    assert_eq!(json["error"]["code"], 422);
    let message = json["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("RecordingMismatchError: "), "{message}");
    for part in ["tools/call search", "/params/arguments/word", "\"loom\"", "\"reed\""] {
        assert!(message.contains(part), "{message}");
    }
    assert!(!message.contains("/id"), "{message}");
    assert!(finished.stderr.contains("tools/call search"), "{}", finished.stderr);
}

#[test]
fn miss_of_a_batch_is_an_error_for_each_of_its_requests() {
    let scene = recorded(&tools(), &[list(1)]);
    let batch =
        r#"[{"jsonrpc":"2.0","id":1,"method":"a"},{"jsonrpc":"2.0","id":"b","method":"a"}]"#;
    let answer = scene.replayed(&["--strict"], &[post(batch)], 1).remove(0).expect(200).json();
    let ids: Vec<&Value> = answer.as_array().unwrap().iter().map(|one| &one["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!("b")]);
}
