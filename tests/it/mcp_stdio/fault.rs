//! Tests of faults on tools, within a run and without one.

use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::scene::{StdioClient, bridge, call, converse, initialize, request, said, scene, starts};
use crate::support::Scene;
use crate::support::loomrec::command;

fn list() -> Value {
    request(1, "tools/list", &Value::Null)
}

/// A bridge without a run, with these faults.
fn faulty(scene: &Scene, faults: &[&str]) -> Command {
    let server = ["--", "python3", "server.py"];
    command(scene.dir(), &[&["mcp", "--name", "tools"], faults, &server[..]].concat())
}

#[test]
fn hanging_tool_leaves_the_server_responsive() {
    let scene = scene();
    let mut client = StdioClient::start(&mut faulty(&scene, &["--fault", "hang"]));
    client.ask(&initialize());
    client.send(&call(5, "echo", 1));
    assert_eq!(client.ask(&list())["result"]["method"], "tools/list");
    let ended = client.close().expect(0);
    assert!(!ended.stdout.contains("echo"), "{}", ended.stdout);
    assert_eq!((starts(&scene), ended.stderr.as_str()), (1, ""));
}

#[test]
fn each_word_of_a_fault_works_without_a_recording() {
    for (faults, first) in [
        (&["--fault", "503"][..], Some(-32603)),
        (&["--fault", "recover_after:1;fault=503"], Some(-32603)),
        (&["--fault", "none"], None),
        (&["--fault", "slow:300"], None),
    ] {
        let scene = scene();
        let mut client = StdioClient::start(&mut faulty(&scene, faults));
        client.ask(&initialize());
        let began = Instant::now();
        let answer = client.ask(&call(5, "echo", 1));
        assert_eq!(answer["error"]["code"].as_i64(), first, "{faults:?}: {answer}");
        assert_eq!(began.elapsed() >= Duration::from_millis(300), faults[1] == "slow:300");
        if faults[1].starts_with("recover") {
            assert_eq!(client.ask(&call(6, "echo", 1)), said(6, "echo", 1));
        }
        assert_eq!(client.ask(&list())["result"]["method"], "tools/list");
        client.close().expect(0);
    }
}

#[test]
fn fault_names_a_tool_and_a_server() {
    let scene = scene();
    let suite = json!({ "faults": [{ "kind": "http_error:503", "target": { "server": "tools", "tool": "echo" } }] });
    std::fs::write(scene.path("suite.json"), suite.to_string()).unwrap();
    for faults in [
        &["--faults", "suite.json"][..],
        &["--fault", "503;tool=echo"],
        &["--fault", "503;upstream=tools;tool=echo"],
    ] {
        let mut client = StdioClient::start(&mut faulty(&scene, faults));
        assert_eq!(client.ask(&call(1, "echo", 1))["error"]["code"], -32603, "{faults:?}");
        assert_eq!(client.ask(&call(2, "other", 1)), said(2, "other", 1));
        client.close().expect(0);
    }
}

#[test]
fn fault_of_a_run_strikes_a_server_over_stdio() {
    let scene = scene();
    converse(&scene, &["record"], &[list(), call(2, "echo", 1)]).expect(0);
    let fault = ["replay", "--strict", "--fault", "recover_after:1;tool=echo;fault=503"];
    let mut client = StdioClient::start(&mut bridge(&scene, &fault));
    let failed = client.ask(&call(7, "echo", 1));
    assert_eq!(failed["error"]["code"], -32603, "{failed}");
    assert_eq!(client.ask(&list())["result"]["method"], "tools/list");
    assert_eq!(client.ask(&call(8, "echo", 1)), said(8, "echo", 1));
    client.close().expect(0);
    assert_eq!(starts(&scene), 1);
}

#[test]
fn broken_connection_is_the_end_of_the_server() {
    let scene = scene();
    let mut client = StdioClient::start(&mut faulty(&scene, &["--fault", "connection_reset"]));
    client.ask(&initialize());
    client.send(&call(5, "echo", 1));
    let ended = client.wait().expect(6);
    assert!(ended.stdout.contains(r#""id":5,"error":{"code":-32000"#), "{}", ended.stdout);
}
