//! Tests of the ids in recorded answers: each client gets those of its own requests.

use serde_json::{Value, json};

use super::scene::{ENDPOINT, compressed, post, recorded, request, tool_call, tools};
use crate::support::{Answer, Call, Received, Upstream};

fn with_token(id: &str, token: &str) -> crate::support::Call {
    post(&format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"a","_meta":{{"progressToken":{token}}}}}}}"#
    ))
}

#[test]
fn answer_has_the_id_of_its_client_and_no_other_byte_changes() {
    let body = "{ \"result\":{\"id\":1,\"isError\" : false,\"content\":[]},\n \"id\" :1,\"jsonrpc\":\"2.0\"}\n";
    let scene = recorded(&Upstream::always(Answer::json(200, body)), &[with_token("1", "1")]);
    for id in ["1", "2", "12345678901234567890", "1.50", r#""a\u0062""#, r#""1""#] {
        let answer = scene.replayed(&["--strict"], &[with_token(id, "1")], 0).remove(0).expect(200);
        assert_eq!(answer.text(), body.replacen("\"id\" :1", &format!("\"id\" :{id}"), 1));
        let length: usize = answer.header("content-length").unwrap().parse().unwrap();
        assert_eq!(length, answer.body().len());
    }
}

#[test]
fn each_event_of_a_stream_keeps_its_chunk_and_has_the_ids_of_its_client() {
    let chunks = [
        "id: e1\ndata: \n\n",
        "event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\
         \"params\":{\"progressToken\":\"t-recorded\",\"progress\":1}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":41",
        "7,\"result\":{\"content\":[{\"text\":\"417\"}]}}\n\n",
    ];
    let upstream = Upstream::always(Answer::events(&chunks));
    let scene = recorded(&upstream, &[with_token("417", r#""t-recorded""#)]);
    let call = with_token(r#""x""#, "5");
    let answer = scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
    let expected = [
        chunks[0].to_owned(),
        chunks[1].replace("\"t-recorded\"", "5"),
        chunks[2].replace("41", "\"x\""),
        chunks[3].replacen('7', "", 1),
    ];
    assert_eq!(answer.chunks, expected.map(String::into_bytes));
    assert_eq!(answer.header("content-type"), Some("text/event-stream"));
}

#[test]
fn compressed_answer_is_opened_for_its_id() {
    let body = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
    let call =
        |id: u32| request(json!(id), "tools/list", &Value::Null).header("accept-encoding: gzip");
    let scene = recorded(&compressed(body), &[call(1)]);
    let answer = scene.replayed(&["--strict"], &[call(2)], 0).remove(0).expect(200);
    assert_eq!(answer.text(), body.replace("\"id\":1", "\"id\":2"));
    assert_eq!(answer.header("content-encoding"), None);
}

#[test]
fn errors_and_failed_tools_are_answers_like_any_other() {
    let call = |id: u32, tool: &str| tool_call(json!(id), tool, json!({}));
    let scene = recorded(&tools(), &[call(1, "unknown"), call(2, "fails")]);
    let calls = [call(8, "unknown"), call(9, "fails")];
    let answers = scene.replayed(&["--strict", "--fail-unused"], &calls, 0);
    let unknown = answers[0].json();
    assert_eq!((&unknown["id"], &unknown["error"]["code"]), (&json!(8), &json!(-32602)));
    let failed = answers[1].json();
    assert_eq!((&failed["id"], &failed["result"]["isError"]), (&json!(9), &json!(true)));
    let listed = scene.run(&["ls", "--json", scene.name()]).expect(0).stdout;
    assert_eq!(listed.matches(r#""answer": "complete""#).count(), 2, "{listed}");
}

#[test]
fn batch_is_answered_with_the_ids_in_their_places() {
    let batch = |ids: [Value; 2]| {
        let one =
            |id: &Value, method: &str| json!({ "jsonrpc": "2.0", "id": id, "method": method });
        let note = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled" });
        post(&json!([one(&ids[0], "tools/list"), note, one(&ids[1], "prompts/list")]).to_string())
    };
    let upstream = Upstream::always(Answer::json(
        200,
        r#"[{"jsonrpc":"2.0","id":2,"result":"p"},{"jsonrpc":"2.0","id":1,"result":"t"}]"#,
    ));
    let scene = recorded(&upstream, &[batch([json!(1), json!(2)])]);
    let call = batch([json!(2), json!("b")]);
    let answer = scene.replayed(&["--strict"], &[call], 0).remove(0).expect(200);
    let expected =
        r#"[{"jsonrpc":"2.0","id":"b","result":"p"},{"jsonrpc":"2.0","id":2,"result":"t"}]"#;
    assert_eq!(answer.text(), expected);
}

/// A server that ends each stream before its response, which a stream that the client resumes has.
fn resumed() -> Upstream {
    Upstream::start(|request: &Received| {
        if let Some(event) = request.header("last-event-id") {
            let id = if event == "alice" { 2 } else { 3 };
            let response = json!({ "jsonrpc": "2.0", "id": id, "result": event });
            return Answer::events(&[format!("data: {response}\n\n")]);
        }
        let message: Value = serde_json::from_slice(&request.body).unwrap();
        let tool = message["params"]["name"].as_str().unwrap();
        Answer::events(&[format!("id: {tool}\nretry: 10\ndata: \n\n")])
    })
}

fn resume(event: &str) -> Call {
    let call = Call::new("GET", ENDPOINT).header("accept: text/event-stream");
    call.header("mcp-session-id: of-the-client").header(&format!("last-event-id: {event}"))
}

#[test]
fn resumed_stream_answers_the_call_that_its_session_made() {
    let call = |id: u32, tool: &str| tool_call(json!(id), tool, json!({}));
    let calls = [call(2, "alice"), call(3, "bob"), resume("alice"), resume("bob")];
    let scene = recorded(&resumed(), &calls);
    let calls = [call(2, "bob"), call(3, "alice"), resume("bob"), resume("alice")];
    let answers = scene.replayed(&["--strict", "--fail-unused"], &calls, 0);
    for (answer, id, name) in [(&answers[2], 2, "bob"), (&answers[3], 3, "alice")] {
        let text = answer.text();
        let data: Value =
            serde_json::from_str(text.trim().strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!((&data["id"], &data["result"]), (&json!(id), &json!(name)));
    }
    let unknown = scene.replayed(&["--strict"], &[call(2, "bob"), resume("alice")], 1);
    let why = unknown[1].text();
    assert_eq!(unknown[1].status, 422, "{why}");
    assert!(why.contains("response to a recorded request that this client has not made"), "{why}");
}
