//! Tests of `--tool-results by-call`: a tool's result is not compared if its call is in the request.

use std::fs;

use serde_json::{Value, json};

use crate::support::shape::{CHAT, MESSAGES, chat, chat_answer, message_answer};
use crate::support::{Answer, Call, Scene, Upstream};

/// A request with the call of a shell command and its result.
fn with_result(command: &str, result: &str, prompt: &str) -> Call {
    let arguments = json!({"command": command}).to_string();
    let body = json!({"model": "gpt-4o-mini", "messages": [
        {"role": "user", "content": prompt},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "shell", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": "call_1", "content": result},
    ]});
    Call::post(CHAT, body.to_string())
}

/// The same for Anthropic, whose result also says whether the tool failed.
fn with_block(result: &Value, failed: bool) -> Call {
    let body = json!({"model": "claude-sonnet-4-20250514", "max_tokens": 64, "messages": [
        {"role": "user", "content": "List the files."},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "toolu_1", "name": "ls", "input": {"path": "."}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "toolu_1", "is_error": failed, "content": result}]},
    ]});
    Call::post(MESSAGES, body.to_string()).header("anthropic-version: 2023-06-01")
}

const BY_CALL: [&str; 2] = ["--tool-results", "by-call"];

#[test]
fn result_of_a_tool_is_not_compared_under_the_rule() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("two files")));
    let server = scene.record(&upstream, &BY_CALL);
    server.call(&with_result("ls -l", "a 10:11\nb 10:12", "List.")).expect(200);
    server.stop().expect(0);
    assert_eq!(scene.json()["_loomrec"]["identity"]["normalize"], json!(["tool-results: by-call"]));
    scene.run(&["verify", scene.name()]).expect(0);
    let server = scene.replay(&["--strict", "--receipt", "receipt.json"]);
    let answer = server.call(&with_result("ls -l", "a 11:13\nb 11:14", "List.")).expect(200);
    assert_eq!(answer.header("x-loomrec-bound"), Some("tool-result=1"));
    let ended = server.stop().expect(0);
    for said in ["1 served, 1 tool result not compared", "results of tools compared by their calls"]
    {
        assert!(ended.stderr.contains(said), "{said}: {}", ended.stderr);
    }
    let receipt = fs::read(scene.path("receipt.json")).unwrap();
    let bound = &serde_json::from_slice::<Value>(&receipt).unwrap()["bound"];
    assert_eq!(bound["tool_results"], 1);
    assert_eq!(bound["rules"], json!([{"rule": "tool-results: by-call", "calls": 1}]));
    assert_eq!(bound["values"], json!([]));
}

#[test]
fn anything_else_is_compared() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("two files")));
    scene.recorded(&upstream, &[with_result("ls -l", "a 10:11", "List.")]);
    let server = scene.replay(&["--strict", BY_CALL[0], BY_CALL[1]]);
    // The arguments, the prompt, and a result whose call is not in the request.
    let missed = server.call(&with_result("ls -la", "a 11:13", "List.")).expect(422).text();
    assert!(missed.contains("ls -la") && !missed.contains("11:13"), "{missed}");
    server.call(&with_result("ls -l", "a 11:13", "List them.")).expect(422);
    let body = with_result("ls -l", "a 11:13", "List.").body_bytes().to_vec();
    let other =
        String::from_utf8(body).unwrap().replace("_call_id\":\"call_1", "_call_id\":\"call_2");
    server.call(&Call::post(CHAT, other)).expect(422);
    server.stop().expect(1);
    // Without the flag, the result is compared.
    let server = scene.replay(&["--strict"]);
    server.call(&with_result("ls -l", "a 11:13", "List.")).expect(422);
    server.stop().expect(1);
}

#[test]
fn failure_of_a_tool_is_compared_and_its_text_is_not() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("two files")));
    scene.recorded(&upstream, &[with_block(&json!("a\nb"), false)]);
    let server = scene.replay(&["--strict", BY_CALL[0], BY_CALL[1]]);
    server.call(&with_block(&json!([{"type": "text", "text": "c"}]), false)).expect(200);
    server.call(&with_block(&json!("a\nb"), true)).expect(422);
    server.stop().expect(1);
}

#[test]
fn results_with_different_answers_stay_apart() {
    let scene = Scene::new();
    let upstream = Upstream::script(vec![
        Answer::json(200, chat_answer("one")),
        Answer::json(200, chat_answer("two")),
    ]);
    scene.recorded(
        &upstream,
        &[with_result("date", "Monday", "When?"), with_result("date", "Tuesday", "When?")],
    );
    let server = scene.replay(&["--strict", BY_CALL[0], BY_CALL[1]]);
    let tuesday = server.call(&with_result("date", "Tuesday", "When?")).expect(200).text();
    assert!(tuesday.contains("two"), "{tuesday}");
    server.call(&with_result("date", "Friday", "When?")).expect(422);
    let ended = server.stop().expect(1);
    let unbound = "would make them one call with different answers: ";
    assert!(ended.stderr.contains(unbound), "{}", ended.stderr);
}

#[test]
fn strict_replay_sets_the_rule_of_the_environment_aside() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("two files")));
    scene.recorded(&upstream, &[chat("hi"), with_result("ls", "a", "List.")]);
    let settings = "[replay]\ntool-results = \"by-call\"\n";
    fs::write(scene.path("loomrec.toml"), settings).unwrap();
    let server = scene.replay(&["--strict"]);
    server.call(&with_result("ls", "b", "List.")).expect(422);
    let ended = server.stop().expect(1);
    assert!(ended.stderr.contains("tool-results (loomrec.toml:2)"), "{}", ended.stderr);
    let ended = scene.run(&["replay", "-r", scene.name(), "--tool-results", "never"]).expect(2);
    assert!(ended.stderr.contains("by-call"), "{}", ended.stderr);
}
