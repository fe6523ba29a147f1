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
    for fault in [
        "connection_reset",
        "connection_drop",
        "disconnect",
        "timeout:200",
        "stream_truncate:0",
        "stream_truncate;raise=close",
        "wrong_length:10",
    ] {
        let scene = scene();
        let mut client = StdioClient::start(&mut faulty(&scene, &["--fault", fault]));
        client.ask(&initialize());
        client.send(&call(5, "silent", 1));
        client.send(&call(6, "echo", 1));
        let ended = client.wait().expect(6);
        let heard: Vec<&str> = ended.stdout.lines().collect();
        assert!(heard.len() == 1 && heard[0].contains("initialize"), "{fault}: {heard:?}");
        assert_eq!(ended.stderr, "", "{fault}");
    }
}

#[test]
fn status_of_a_fault_is_an_error_that_names_it() {
    let body = json!({ "jsonrpc": "2.0", "id": 1, "error": { "code": -32001, "message": "busy", "data": [1] } });
    let declared = json!({ "type": "http_error", "status_code": 500, "body": body }).to_string();
    for (fault, code, message) in [
        ("503", -32603, "HTTP 503: the server could not answer"),
        ("429;message=slow down", -32603, "HTTP 429: slow down"),
        ("502", -32603, "HTTP 502: Bad Gateway"),
        ("529;body=", -32603, "HTTP 529: an error"),
        ("rate_limit", -32603, "HTTP 429: {\"error\":{\"message\":\"Chaos: rate limit exceeded"),
        (&declared, -32001, "busy"),
    ] {
        let scene = scene();
        let mut client = StdioClient::start(&mut faulty(&scene, &["--fault", fault]));
        for id in [json!("five"), json!(6)] {
            let answer = client.ask(&call(id.clone(), "echo", 1));
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&id, &json!(code)), "{answer}");
            let said = answer["error"]["message"].as_str().unwrap();
            assert!(said.starts_with(message), "{fault}: {said}");
            assert_eq!(answer["error"].get("data").is_some(), fault == declared);
        }
        assert_eq!(client.ask(&list())["result"]["method"], "tools/list");
        client.close().expect(0);
    }
}

#[test]
fn result_that_a_fault_sends_has_the_id_of_its_call() {
    let raw = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } });
    let fault = json!({ "type": "malformed_response", "raw": raw.to_string() }).to_string();
    let scene = scene();
    let mut client = StdioClient::start(&mut faulty(&scene, &["--fault", &fault]));
    for id in [json!("five"), json!(6)] {
        assert_eq!(client.ask(&call(id, "echo", 1))["result"], raw["result"]);
    }
    client.close().expect(0);
}

#[test]
fn fault_of_a_run_names_a_server_that_only_its_command_starts() {
    let scene = scene();
    let warning = "it applies only if CMD starts `loomrec mcp --name tools`";
    for (mode, warns) in [(&["record"][..], true), (&["replay", "--strict"], false)] {
        let args = [mode, &["--fault", "503;upstream=tools;times=1"]].concat();
        let mut client = StdioClient::start(&mut bridge(&scene, &args));
        assert_eq!(client.ask(&call(1, "echo", 1))["error"]["code"], -32603);
        assert_eq!(client.ask(&call(2, "echo", 1)), said(2, "echo", 1));
        let ended = client.close().expect(0);
        assert_eq!(ended.stderr.contains(warning), warns, "{}", ended.stderr);
    }
    assert_eq!(starts(&scene), 1);
    for (args, why) in [
        (&["record"][..], "did you mean \"openai\"?"),
        (&["replay", "--strict"], "did you mean \"openai\"?"),
        (&["replay", "--strict"], "would never apply"),
    ] {
        let name = if why.starts_with("would") { "looms" } else { "opnai" };
        let fault = format!("503;upstream={name}");
        let args = [args, &["--fault", &fault]].concat();
        let refused = converse(&scene, &args, &[]).expect(2);
        assert!(refused.stderr.contains(why), "{}", refused.stderr);
    }
}
