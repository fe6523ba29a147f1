//! Tests of recording and strict replay.

use serde_json::{Value, json};

use super::scene::{
    StdioClient, answers, bridge, call, converse, initialize, initialized, read_lines,
    remove_server, request, said, scene, starts,
};
use crate::support::loomrec::finish;

const STRICT: [&str; 3] = ["replay", "--strict", "--fail-unused"];

#[test]
fn conversation_is_replayed_without_its_server() {
    let scene = scene();
    let progress = |id: Value, token: Value| {
        let mut call = call(id, "progress", Value::Null);
        call["params"]["_meta"] = json!({ "progressToken": token });
        call
    };
    let talk = |first: u32, token: Value| {
        vec![
            initialize(),
            initialized(),
            request(first, "tools/list", &Value::Null),
            call("a string", "echo", "loom"),
            progress(json!(first + 1), token),
            call(first + 2, "fails", Value::Null),
        ]
    };
    let recorded = converse(&scene, &["record"], &talk(10, json!("t"))).expect(0);
    let heard = answers(&recorded);
    assert_eq!(heard.len(), 7, "{}", recorded.stdout);
    assert!(heard.contains(&said("a string", "echo", "loom")));
    assert_eq!((starts(&scene), read_lines(&scene, "ends").len()), (1, 1));
    remove_server(&scene);
    let replayed = converse(&scene, &STRICT, &talk(10, json!("t"))).expect(0);
    assert_eq!(answers(&replayed), heard);
    let other = answers(&converse(&scene, &STRICT, &talk(70, json!(5))).expect(0));
    let renumbered: Vec<Value> = heard
        .iter()
        .map(|message| {
            let mut message = message.clone();
            if let Some(id) = message["id"].as_u64().filter(|id| *id > 0) {
                message["id"] = json!(id + 60);
            }
            if message["method"] == "notifications/progress" {
                message["params"]["progressToken"] = json!(5);
            }
            message
        })
        .collect();
    assert_eq!(other, renumbered);
    assert_eq!(starts(&scene), 1);
}

#[test]
fn changed_argument_is_a_miss_under_the_id_of_the_call() {
    let scene = scene();
    converse(&scene, &["record"], &[call(1, "echo", "loom"), call(2, "echo", "weft")]).expect(0);
    let talk = [call(1, "echo", "loom"), call("x", "echo", "warp")];
    let missed = converse(&scene, &["replay", "--strict"], &talk).expect(1);
    let heard = answers(&missed);
    assert_eq!(heard[1], said(1, "echo", "loom"));
    assert_eq!((&heard[0]["id"], &heard[0]["error"]["code"]), (&json!("x"), &json!(422)));
    let message = heard[0]["error"]["message"].as_str().unwrap();
    assert!(message.contains("tools/call echo") && message.contains("warp"), "{message}");
    assert_eq!(starts(&scene), 1);
}

#[test]
fn ids_of_every_type_are_answered() {
    let scene = scene();
    let lines = [
        r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#,
        r#"{"jsonrpc":"2.0","id":1.50,"method":"b"}"#,
        r#"{"jsonrpc":"2.0","id":"1.5","method":"c"}"#,
        r#"[{"jsonrpc":"2.0","id":7,"method":"d"},{"jsonrpc":"2.0","method":"e"},{"jsonrpc":"2.0","id":8,"method":"f"}]"#,
    ];
    let messages: Vec<Value> = lines.map(|line| serde_json::from_str(line).unwrap()).into();
    // Two of the lines have no id of their own, and are answered in any order.
    let run = |mode: &[&str]| {
        let mut heard = answers(&converse(&scene, mode, &messages).expect(0));
        heard.sort_by_key(Value::to_string);
        heard
    };
    let heard = run(&["record"]);
    let methods = |messages: &[Value]| {
        let one = |message: &Value| message["result"]["method"].clone();
        let batch = messages.iter().find_map(Value::as_array).unwrap();
        let alone = messages.iter().filter(|message| message.is_object()).map(one);
        let mut all: Vec<String> =
            alone.chain(batch.iter().map(one)).map(|method| method.to_string()).collect();
        all.sort();
        all
    };
    assert_eq!(methods(&heard), [r#""a""#, r#""b""#, r#""c""#, r#""d""#, r#""f""#]);
    remove_server(&scene);
    assert_eq!(run(&STRICT), heard);
}

#[test]
fn server_asks_its_client_within_an_answer() {
    let scene = scene();
    let talk = |mode: &[&str]| {
        let mut client = StdioClient::start(&mut bridge(&scene, mode));
        client.send(&call(1, "asks", 5));
        client.wait_for("sampling/createMessage");
        client.send(&json!({ "jsonrpc": "2.0", "id": "mine", "result": { "words": "loom" } }));
        client.wait_for("loom");
        answers(&client.close().expect(0))
    };
    let heard = talk(&["record"]);
    assert_eq!((&heard[0]["id"], &heard[1]["id"]), (&json!("mine"), &json!(1)));
    remove_server(&scene);
    assert_eq!(talk(&STRICT), heard);
}

#[test]
fn message_with_carriage_returns_between_its_tokens_is_one_line() {
    let scene = scene();
    let talk = [call(1, "returns", 1)];
    let heard = answers(&converse(&scene, &["record"], &talk).expect(0));
    assert_eq!(heard[1]["params"]["data"], "returns");
    assert_eq!(heard[0], json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } }));
    assert_eq!(answers(&converse(&scene, &STRICT, &talk).expect(0)), heard);
}

#[test]
fn messages_with_half_of_a_character_are_passed_on() {
    let scene = scene();
    let half = r#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":"\ud83d"}}"#;
    for (mode, id) in [(&["record"][..], 1), (&STRICT, 5)] {
        let input = format!("{half}\n{}\n", call(id, "cut", 1));
        let ended = finish(&mut bridge(&scene, mode), input.as_bytes()).expect(0);
        let cut = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":"cut \ud83d"}}"#);
        assert!(ended.stdout.lines().any(|line| line == cut), "{}", ended.stdout);
        assert!(ended.stdout.contains(r#""id": 9, "result""#), "{}", ended.stdout);
    }
}

#[test]
fn what_a_server_sends_by_itself_is_in_no_answer() {
    let scene = scene();
    let mut client = StdioClient::start(&mut bridge(&scene, &["record"]));
    client.ask(&call(1, "changes", 1));
    client.wait_for("list_changed");
    client.close().expect(0);
    assert!(!scene.text().contains("list_changed"));
    let replayed = converse(&scene, &STRICT, &[call(1, "changes", 1)]).expect(0);
    assert_eq!(answers(&replayed), [said(1, "changes", 1)]);
}

#[test]
fn two_bridges_of_one_name_have_a_server_each() {
    let scene = scene();
    let script = scene.path("two.py");
    std::fs::write(
        &script,
        r#"
import json, subprocess, sys
line, pipe = sys.argv[1:], subprocess.PIPE
both = [subprocess.Popen(line, stdin=pipe, stdout=pipe, encoding="utf-8") for _ in range(2)]
for number, one in enumerate(both):
    call = {"jsonrpc": "2.0", "id": number, "method": "tools/call",
            "params": {"name": "echo", "arguments": number}}
    one.stdin.write(json.dumps(call) + "\n")
    one.stdin.flush()
    print(one.stdout.readline().strip())
for one in both:
    one.stdin.close()
    one.wait()
"#,
    )
    .unwrap();
    let run = |mode: &[&str]| {
        let mut words: Vec<std::ffi::OsString> = mode.iter().map(Into::into).collect();
        words.extend(["-r", "run.json", "--", "python3", "two.py"].map(Into::into));
        words.extend(super::scene::bridge_words());
        let mut command = crate::support::loomrec::command(scene.dir(), &words);
        answers(&crate::support::loomrec::finish(&mut command, b"").expect(0))
    };
    let heard = run(&["record"]);
    assert_eq!(heard, [said(0, "echo", 0), said(1, "echo", 1)]);
    assert_eq!(starts(&scene), 2);
    remove_server(&scene);
    assert_eq!(run(&STRICT), heard);
}

#[test]
fn server_that_starts_late_is_connected_first() {
    let scene = scene();
    converse(&scene, &["record"], &[initialize(), initialized()]).expect(0);
    let first = read_lines(&scene, "received");
    let talk = [initialize(), initialized(), call(1, "echo", "loom")];
    let forwarded = converse(&scene, &["replay", "--on-miss", "forward"], &talk).expect(0);
    let heard = answers(&forwarded);
    assert_eq!((heard.len(), &heard[1]), (2, &said(1, "echo", "loom")));
    let received = read_lines(&scene, "received");
    let all = ["initialize", "notifications/initialized", "tools/call"];
    assert_eq!(
        (first.as_slice(), &received[2..]),
        (&all.map(str::to_owned)[..2], &all.map(str::to_owned)[..])
    );
}

#[test]
fn server_has_the_environment_of_the_user() {
    let scene = scene();
    let mut command = bridge(&scene, &["record"]);
    command.env("ANTHROPIC_BASE_URL", "https://own.example");
    let mut client = StdioClient::start(&mut command);
    client.ask(&call(1, "echo", 1));
    client.close().expect(0);
    let started = read_lines(&scene, "starts").remove(0);
    let (_, names) = started.split_once(' ').unwrap();
    assert_eq!(names, "ANTHROPIC_BASE_URL");
}
