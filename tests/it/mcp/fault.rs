//! Tests of faults on tools.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::{post, record, recorded, request, tool_call, tools};
use crate::support::{Answer, Call, End, Received, Response, Scene, Server, Upstream};

fn connect() -> Call {
    request(json!(0), "initialize", &json!({ "protocolVersion": "2025-11-25" }))
}

fn list() -> Call {
    request(json!(1), "tools/list", &Value::Null)
}

fn call(id: u32, tool: &str) -> Call {
    tool_call(json!(id), tool, json!({}))
}

fn scene() -> Scene {
    recorded(&tools(), &[connect(), list(), call(2, "search"), call(3, "read")])
}

/// The statuses of the four recorded calls, with other ids.
fn statuses(server: &Server) -> [u16; 4] {
    [connect(), list(), call(12, "search"), call(13, "read")].map(|call| server.call(&call).status)
}

#[test]
fn fault_that_names_no_method_strikes_calls_of_tools_alone() {
    for flags in [
        &["--fault", "503"][..],
        &["--fault", "503;upstream=tools"],
        &["--fault", "503;operation=mcp"],
        &["--fault", "503;provider=mcp"],
    ] {
        let scene = scene();
        let server = scene.replay(&[&["--strict"], flags].concat());
        assert_eq!(statuses(&server), [200, 200, 503, 503], "{flags:?}");
        server.stop().expect(0);
    }
}

#[test]
fn fault_strikes_the_method_or_the_tool_that_it_names() {
    for (fault, expected) in [
        ("503;tool=search", [200, 200, 503, 200]),
        ("503;method=tools/list", [200, 503, 200, 200]),
        ("503;path=/mcp", [503, 503, 503, 503]),
        ("503;method=initialize", [503, 200, 200, 200]),
    ] {
        let scene = scene();
        let server = scene.replay(&["--strict", "--fault", fault]);
        assert_eq!(statuses(&server), expected, "{fault}");
        server.stop().expect(0);
    }
}

#[test]
fn tool_recovers_though_each_retry_has_an_id_of_its_own() {
    for fault in ["recover_after:2;fault=503", "recover-after:2;tool=search;fault=503"] {
        let scene = scene();
        let server = scene.replay(&["--strict", "--fault", fault, "--receipt", "receipt.json"]);
        let statuses = [21, 22, 23].map(|id| server.call(&call(id, "search")).status);
        assert_eq!(statuses, [503, 503, 200], "{fault}");
        server.stop().expect(0);
        let receipt = std::fs::read_to_string(scene.path("receipt.json")).unwrap();
        let receipt: Value = serde_json::from_str(&receipt).unwrap();
        assert_eq!(receipt["faults"]["fired"], 2);
    }
}

#[test]
fn faults_of_a_suite_strike_the_tools_of_a_server() {
    let suite =
        |target: Value, kind: &str| json!({ "faults": [{ "kind": kind, "target": target }] });
    for (target, expected) in [
        (json!("tools"), [200, 200, 503, 503]),
        (json!({ "server": "tools" }), [200, 200, 503, 503]),
        (json!("search"), [200, 200, 503, 200]),
        (json!("tool:search"), [200, 200, 503, 200]),
        (json!({ "server": "tools", "tool": "read" }), [200, 200, 200, 503]),
    ] {
        let scene = scene();
        let path = scene.path("suite.json");
        std::fs::write(&path, suite(target.clone(), "http_error:503").to_string()).unwrap();
        let server = scene.replay(&["--strict", "--faults", path.to_str().unwrap()]);
        assert_eq!(statuses(&server), expected, "{target}");
        server.stop().expect(0);
    }
}

#[test]
fn injected_fault_of_a_suite_recovers_in_front_of_a_live_server() {
    let scene = Scene::new();
    let upstream = tools();
    let suite = json!({
        "faults": [
            { "name": "slow start", "kind": "recover-after:1", "fault": "http_error:503", "target": "tool:search" },
            { "name": "dead", "kind": "hang", "target": "tool:read" },
        ],
        "agents": { "a": { "inject": "slow start" } },
    });
    let path = scene.path("suite.json");
    std::fs::write(&path, suite.to_string()).unwrap();
    let server = record(&scene, &upstream, &["--faults", path.to_str().unwrap()]);
    assert_eq!(statuses(&server), [200, 200, 503, 200]);
    assert_eq!(server.call(&call(30, "search")).status, 200);
    server.stop().expect(0);
}

#[test]
fn tool_that_no_recorded_call_names_is_refused() {
    let scene = scene();
    let recording = scene.name();
    let refused = scene.run(&["replay", "-r", recording, "--fault", "503;tool=serch"]).expect(2);
    assert!(refused.stderr.contains("did you mean \"search\"?"), "{}", refused.stderr);
}

#[test]
fn delay_is_for_tools_alone() {
    let scene = scene();
    let server = scene.replay(&["--strict", "--fault", "slow:400", "--journal", "journal.jsonl"]);
    assert_eq!(statuses(&server), [200; 4]);
    server.stop().expect(0);
    let journal = std::fs::read_to_string(scene.path("journal.jsonl")).unwrap();
    let calls = journal.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let calls: Vec<Value> = calls.filter(|line| line["rpc"].is_string()).collect();
    let slow = calls.iter().filter(|call| call["total_ms"].as_f64().unwrap() >= 400.0);
    let slow: Vec<&Value> = slow.map(|call| &call["rpc"]).collect();
    assert_eq!(slow, ["tools/call search", "tools/call read"]);
}

#[test]
fn body_in_json_rpc_that_a_fault_sends_has_the_id_of_its_call() {
    let result = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [], "isError": true } });
    let error =
        json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32001, "message": "busy" } });
    let page = json!({ "error": { "message": "busy" }, "id": "req_1" });
    for (fault, status, expected) in [
        (json!({ "type": "malformed_response", "raw": result.to_string() }), 200, &result),
        (json!({ "type": "http_error", "status_code": 429, "body": error }), 429, &error),
        (json!({ "type": "http_error", "body": error.to_string() }), 500, &error),
        (json!({ "type": "http_error", "body": page }), 500, &page),
    ] {
        let scene = scene();
        let server = scene.replay(&["--strict", "--fault", &fault.to_string()]);
        for id in [json!("twelve"), json!(12)] {
            let answer = server.call(&tool_call(id.clone(), "search", json!({}))).expect(status);
            let mut expected = expected.clone();
            if expected["jsonrpc"].is_string() {
                expected["id"] = id;
            }
            assert_eq!(answer.body(), expected.to_string().as_bytes(), "{fault}");
        }
        server.stop().expect(0);
    }
}

#[test]
fn status_of_a_fault_is_in_an_error_of_json_rpc() {
    for (fault, message) in
        [("503", "HTTP 503: the server could not answer"), ("429;message=busy", "HTTP 429: busy")]
    {
        let scene = scene();
        let server = scene.replay(&["--strict", "--fault", fault]);
        let error = json!({ "code": -32603, "message": message });
        let expected = json!({ "jsonrpc": "2.0", "id": 12, "error": error });
        assert_eq!(server.call(&call(12, "search")).json(), expected);
        server.stop().expect(0);
    }
}

/// A server whose tool has structured content, in JSON or in a stream after a notification.
fn weather(is_stream: bool) -> Upstream {
    Upstream::start(move |request: &Received| {
        let asked: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let answer = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": weather_result() });
        if !is_stream {
            return Answer::json(200, answer.to_string());
        }
        let notice = json!({ "jsonrpc": "2.0", "method": "notifications/message" });
        let events = format!("data: {notice}\n\ndata: {answer}\n\n");
        Answer::whole(200, &["content-type: text/event-stream"], events)
    })
}

fn weather_result() -> Value {
    let content =
        [json!({ "type": "text", "text": "12" }), json!({ "type": "text", "text": "wet" })];
    json!({ "content": content, "structuredContent": { "celsius": 12, "sky": "wet" }, "isError": false })
}

/// The result in the last message of an answer, and the id of that.
fn last_result(answer: &Response) -> (Value, Value) {
    let body = String::from_utf8(answer.body().to_vec()).unwrap();
    let last = body.trim_end().rsplit("data: ").next().unwrap();
    let last: Value = serde_json::from_str(last).unwrap();
    (last["result"].clone(), last["id"].clone())
}

/// The faults of results, each with the result that a client gets.
fn broken_results() -> [(&'static str, Value); 5] {
    let changed = |place: &str, value: Value| {
        let mut result = weather_result();
        *result.pointer_mut(place).unwrap() = value;
        result
    };
    let mut without = weather_result();
    without.as_object_mut().unwrap().remove("content");
    let failed =
        |text: &str| json!({ "content": [{ "type": "text", "text": text }], "isError": true });
    [
        ("tool_result_fault", failed("the tool failed")),
        ("tool_result_fault;message=no rain gauge", failed("no rain gauge")),
        ("tool_result_fault:malformed_result", without),
        ("tool_result_fault:schema_violation", changed("/structuredContent/celsius", json!([12]))),
        ("tool_result_fault:wrong_content", changed("/content/0/type", json!("image"))),
    ]
}

#[test]
fn broken_result_of_a_tool_comes_once_and_uses_up_no_take() {
    for is_stream in [false, true] {
        let scene = recorded(&weather(is_stream), &[connect(), call(1, "weather")]);
        for (fault, expected) in broken_results() {
            let server = scene.replay(&["--strict", "--fault", &format!("{fault};times=1")]);
            server.call(&connect()).expect(200);
            let (mut result, id) = last_result(&server.call(&call(70, "weather")).expect(200));
            if fault.ends_with("wrong_content") {
                let block = &mut result["content"][0];
                assert_eq!(block["mimeType"].take(), "image/png");
                assert!(block["data"].take().as_str().unwrap().starts_with("iVBORw0KGgo"));
                *block = json!({ "type": block["type"], "text": "12" });
            }
            assert_eq!((result, id), (expected, json!(70)), "{fault}");
            let (result, id) = last_result(&server.call(&call(71, "weather")).expect(200));
            assert_eq!((result, id), (weather_result(), json!(71)), "{fault}");
            server.stop().expect(0);
        }
    }
}

#[test]
fn result_that_an_upstream_gave_is_broken_for_the_client_alone() {
    for (fault, expected) in broken_results() {
        if fault.ends_with("wrong_content") {
            continue;
        }
        let (scene, upstream) = (Scene::new(), weather(true));
        let server = record(&scene, &upstream, &["--fault", fault]);
        server.call(&connect()).expect(200);
        assert_eq!(last_result(&server.call(&call(1, "weather"))).0, expected, "{fault}");
        server.stop().expect(0);
        let server = scene.replay(&["--strict"]);
        server.call(&connect()).expect(200);
        assert_eq!(last_result(&server.call(&call(2, "weather"))).0, weather_result());
        server.stop().expect(0);
    }
}

#[test]
fn broken_result_never_answers_what_was_not_recorded() {
    let scene = recorded(&weather(false), &[connect(), call(1, "weather")]);
    let server = scene.replay(&["--strict", "--fault", "tool_result_fault", "--allow-unfired"]);
    server.call(&call(70, "weather")).expect(200);
    server.call(&call(71, "weather")).expect(200);
    let missed = server.call(&call(72, "other")).json();
    assert_eq!(missed["error"]["code"], 422, "{missed}");
    server.stop().expect(1);
    let mut recording = scene.json();
    let entries = recording.as_object_mut().unwrap();
    let of_tool = |entry: &Value| entry.to_string().contains("tools/call");
    let entry = entries.values_mut().find(|entry| of_tool(entry)).unwrap();
    entry["fault"] = json!({ "type": "tool_result_fault" });
    entry.as_object_mut().unwrap().remove("response");
    std::fs::write(scene.recording(), recording.to_string()).unwrap();
    let server = scene.replay(&["--strict"]);
    let missed = server.call(&call(73, "weather")).json();
    assert_eq!(missed["error"]["code"], 422, "{missed}");
    server.stop().expect(1);
}

#[test]
fn server_that_dies_resets_the_connection_of_its_tools_alone() {
    let scene = scene();
    let server = scene.replay(&["--strict", "--fault", "tool_result_fault:server_dies;tool=read"]);
    let mut client = server.connect();
    client.send(&call(5, "read"));
    assert_eq!(client.silence(), End::Reset);
    assert_eq!(server.call(&call(6, "search")).status, 200);
    server.stop().expect(0);
}

/// Waits until the journal of a run has a line with this outcome, and returns the line.
#[track_caller]
fn wait_for_line(server: &Server, outcome: &str) -> Value {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let journal = server.call(&Call::get("/__loomrec/journal")).expect(200).json();
        let mut lines = journal["calls"].as_array().unwrap().iter();
        if let Some(line) = lines.find(|line| line["outcome"] == outcome) {
            return line.clone();
        }
        assert!(Instant::now() < until, "{journal}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn client_that_cancels_a_call_has_noticed_its_fault_though_it_stays_connected() {
    let scene = scene();
    let server = scene.replay(&["--strict", "--fault", "hang"]);
    let mut client = server.connect();
    client.send(&call(12, "search"));
    wait_for_line(&server, "fired");
    let cancel = json!({
        "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 12 },
    });
    server.call(&post(&cancel.to_string())).expect(202);
    assert_eq!(wait_for_line(&server, "noticed")["by"], "left");
    server.stop().expect(0);
    drop(client);
}

#[test]
fn answer_that_reports_an_error_or_is_a_miss_is_no_recovery() {
    let arguments = || json!({ "q": 1 });
    let call = |id: i32, tool: &str| tool_call(json!(id), tool, arguments());
    let scene = recorded(&tools(), &[call(1, "fails"), call(2, "unknown"), call(3, "search")]);
    let elsewhere = Call::post("/other/mcp", call(11, "search").body_bytes())
        .header("accept: application/json, text/event-stream");
    for (tool, next, code) in [
        ("fails", call(11, "fails"), 1),
        ("unknown", call(11, "unknown"), 1),
        ("search", elsewhere, 1),
        ("search", call(11, "search"), 0),
    ] {
        let fault = format!("http_error:503;tool={tool};upstream=tools;times=1");
        let args = ["--strict", "--fault", &fault, "--recovery", "max_recovery_ms=60000"];
        let other = ["--upstream", "other=http://127.0.0.1:1"];
        let server = scene.replay(&[&args[..], &other].concat());
        assert_eq!(server.call(&call(10, tool)).status, 503);
        assert_eq!(server.call(&next).status, 200, "{tool}");
        let ended = server.stop().expect(code);
        assert_eq!(ended.stderr.contains("not recovered"), code == 1, "{}", ended.stderr);
    }
}
