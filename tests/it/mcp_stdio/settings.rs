//! Tests of servers that an agent starts as its settings say: the settings stay as they are.

use std::process::Command;

use serde_json::json;

use super::scene::{answers, call, initialize, remove_server, said, scene, starts};
use crate::support::loomrec::{command, finish};
use crate::support::{Finished, Scene};

/// The settings of a project.
const SETTINGS: &str = ".mcp.json";

fn write_settings(scene: &Scene, name: &str, command: &str) {
    let server = json!({ "command": command, "args": ["server.py"] });
    let settings = json!({ "mcpServers": { name: server, "web": { "url": "http://localhost" } } });
    std::fs::write(scene.path(SETTINGS), settings.to_string()).unwrap();
}

/// An agent that starts a server with few variables, as the SDKs do.
fn agent(scene: &Scene, args: &[&str], server: &str) -> Command {
    let start = format!("exec env -i PATH=\"$PATH\" {server} server.py");
    let recording = scene.recording();
    let words = [args, &["-r", recording.to_str().unwrap(), "--", "sh", "-c", &start]].concat();
    command(scene.dir(), &words)
}

#[track_caller]
fn converse(scene: &Scene, args: &[&str], word: &str) -> Finished {
    let lines = format!("{}\n{}\n", initialize(), call(1, "echo", word));
    finish(&mut agent(scene, args, "python3"), lines.as_bytes())
}

#[test]
fn server_of_the_settings_is_recorded_and_replayed_without_it() {
    let scene = scene();
    write_settings(&scene, "tools", "python3");
    let settings = std::fs::read(scene.path(SETTINGS)).unwrap();
    let recorded = converse(&scene, &["record"], "loom").expect(0);
    let recorded = recorded.says(&["MCP servers that go through loomrec: tools\n"]);
    assert_eq!(answers(&recorded)[1], said(1, "echo", "loom"));
    assert_eq!(starts(&scene), 1);
    remove_server(&scene);
    let replayed = converse(&scene, &["replay", "--strict", "--fail-unused"], "loom").expect(0);
    assert_eq!(answers(&replayed), answers(&recorded));
    let missed = converse(&scene, &["replay", "--strict"], "weft").expect(1);
    assert_eq!(answers(&missed)[1]["error"]["code"], json!(422));
    assert_eq!(starts(&scene), 1);
    assert_eq!(std::fs::read(scene.path(SETTINGS)).unwrap(), settings);
}

#[test]
fn fault_names_a_server_of_the_settings() {
    let scene = scene();
    write_settings(&scene, "tools", "python3");
    let suite = json!({ "faults": [{ "kind": "http_error:503", "target": "tools" }] });
    std::fs::write(scene.path("suite.json"), suite.to_string()).unwrap();
    converse(&scene, &["record"], "loom").expect(0);
    for mode in [&["record"][..], &["replay", "--strict"]] {
        for fault in [["--fault", "503;upstream=tools"], ["--faults", "suite.json"]] {
            let ended = converse(&scene, &[mode, &fault].concat(), "loom").expect(0);
            assert_eq!(answers(&ended)[1]["error"]["code"], -32603, "{mode:?} {fault:?}");
            assert!(!ended.stderr.contains("it applies only if"), "{}", ended.stderr);
        }
    }
}

#[test]
fn server_that_the_recording_does_not_have_is_left_to_the_agent() {
    let scene = scene();
    write_settings(&scene, "tools", "python3");
    converse(&scene, &["record"], "loom").expect(0);
    write_settings(&scene, "others", "python3");
    let replayed = converse(&scene, &["replay", "--strict", "--allow-empty"], "weft").expect(0);
    assert_eq!(answers(&replayed)[1], said(1, "echo", "weft"));
    assert!(!replayed.stderr.contains("MCP servers"), "{}", replayed.stderr);
    assert_eq!(starts(&scene), 2);
}

#[test]
fn user_can_leave_servers_to_the_agent() {
    let scene = scene();
    write_settings(&scene, "tools", "python3");
    let recorded = converse(&scene, &["record", "--allow-empty", "--no-env", "PATH"], "loom");
    let recorded = recorded.expect(0);
    assert_eq!(answers(&recorded)[1], said(1, "echo", "loom"));
    assert!(!recorded.stderr.contains("MCP servers"), "{}", recorded.stderr);
}

#[test]
fn server_that_is_started_by_its_path_is_named_with_what_to_write() {
    let scene = scene();
    write_settings(&scene, "tools", "/usr/bin/python3");
    let recorded = converse(&scene, &["record", "--allow-empty"], "loom").expect(0);
    let remedy = "put `loomrec mcp --name tools --` before its command in ";
    let recorded = recorded.says(&[
        "the MCP server tools does not go through loomrec, since its command is a path: ",
        remedy,
    ]);
    assert_eq!(answers(&recorded)[1], said(1, "echo", "loom"));
    let doctor = scene.run(&["doctor"]);
    assert!(doctor.stdout.contains("MCP server tools: a run does not see it"), "{}", doctor.stdout);
    assert!(doctor.stdout.contains(remedy), "{}", doctor.stdout);
}

#[test]
fn recorded_server_without_a_launcher_ends_a_strict_replay_before_it_starts() {
    let scene = scene();
    write_settings(&scene, "tools", "python3");
    converse(&scene, &["record"], "loom").expect(0);
    write_settings(&scene, "tools", "/usr/bin/python3");
    let refused = converse(&scene, &["replay", "--strict"], "loom").expect(2);
    refused.says(&["its command is a path", "--no-env PATH leaves all servers to the agent"]);
    assert_eq!(starts(&scene), 1);
    let server = json!({ "command": "python3", "args": ["server.py"] });
    let two = json!({ "mcpServers": { "tools": server, "others": server } });
    std::fs::write(scene.path(SETTINGS), two.to_string()).unwrap();
    let refused = converse(&scene, &["replay", "--strict"], "loom").expect(2);
    refused.says(&["the MCP server tools", "another server has the same command"]);
    assert_eq!(starts(&scene), 1);
    std::fs::write(scene.path(SETTINGS), "{ // a comment").unwrap();
    let told = converse(&scene, &["record", "--allow-empty"], "loom").expect(0);
    told.says(&["MCP servers in settings that cannot be read do not go through loomrec: "]);
}

#[test]
fn server_with_faults_is_started_once_whatever_the_settings_say() {
    let scene = scene();
    write_settings(&scene, "tools", "python3");
    let words = ["mcp", "--name", "tools", "--fault", "none", "--", "python3", "server.py"];
    let lines = format!("{}\n{}\n", initialize(), call(1, "echo", "loom"));
    let ended = finish(&mut command(scene.dir(), &words), lines.as_bytes());
    assert_eq!(answers(&ended)[1], said(1, "echo", "loom"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("MCP servers"), "{}", ended.stderr);
    assert_eq!(starts(&scene), 1);
}
