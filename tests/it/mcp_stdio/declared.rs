//! Tests of a server of the tools that a file declares.

use serde_json::{Value, json};

use super::scene::{StdioClient, answers, call, initialize, request};
use crate::support::Scene;
use crate::support::loomrec::{command, finish};

const TOOLS: &str = "\
tools:
  - name: search
    inputSchema: {type: object, required: [query]}
    result: no such document
";

fn scene() -> Scene {
    let scene = Scene::new();
    std::fs::write(scene.path("tools.yaml"), TOOLS).unwrap();
    scene
}

fn talk() -> String {
    let asked = json!({ "query": "loom" });
    let messages = [initialize(), request(1, "tools/list", &Value::Null), call(2, "search", asked)];
    messages.iter().map(|message| format!("{message}\n")).collect()
}

#[test]
fn declared_tools_are_listed_called_recorded_and_replayed() {
    let scene = scene();
    let plain = ["mcp", "--tools-from", "tools.yaml"];
    let served = finish(&mut command(scene.dir(), &plain), talk().as_bytes()).expect(0);
    let heard = answers(&served);
    assert_eq!(heard[1]["result"]["tools"][0]["name"], "search");
    assert_eq!(heard[2]["result"]["content"][0]["text"], "no such document");
    let bridge =
        [env!("CARGO_BIN_EXE_loomrec"), "mcp", "--name", "s", "--tools-from", "tools.yaml"];
    let run = |mode: &[&str]| {
        let args = [mode, &["-r", "run.json", "--"], &bridge].concat();
        answers(&finish(&mut command(scene.dir(), &args), talk().as_bytes()).expect(0))
    };
    assert_eq!(run(&["record"]), heard);
    assert_eq!(run(&["replay", "--strict", "--fail-unused"]), heard);
}

#[test]
fn declared_tool_hangs_while_the_server_stays_responsive() {
    let scene = scene();
    let words = ["mcp", "--fault", "hang", "--tools-from", "tools.yaml"];
    let mut client = StdioClient::start(&mut command(scene.dir(), &words));
    client.ask(&initialize());
    client.send(&call(5, "search", json!({ "query": "loom" })));
    let listed = client.ask(&request(1, "tools/list", &Value::Null));
    assert_eq!(listed["result"]["tools"][0]["name"], "search");
    let ended = client.close().expect(0);
    assert!(!ended.stdout.contains("no such document"), "{}", ended.stdout);
}

#[test]
fn file_that_cannot_be_used_is_named_with_the_reason() {
    let scene = scene();
    std::fs::write(scene.path("bad.json"), "[{\"name\": \"\"}]").unwrap();
    for (file, why) in [
        ("bad.json", "--tools-from bad.json: tool 1: it has no name"),
        ("gone.json", "--tools-from gone.json: failed to read"),
        ("/dev/zero", "it is a device"),
    ] {
        scene.run(&["mcp", "--tools-from", file]).expect(2).says(&[why]);
    }
    scene.run(&["mcp"]).expect(2);
    scene.run(&["mcp", "--tools-from", "tools.yaml", "--", "server"]).expect(2);
}
