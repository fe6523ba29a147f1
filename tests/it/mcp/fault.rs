//! Tests of faults on tools.

use serde_json::{Value, json};

use super::scene::{record, recorded, request, tool_call, tools};
use crate::support::{Call, Scene, Server};

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
