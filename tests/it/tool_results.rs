//! Tests of `--tool-results`: a tool's result is not compared if its call is in the request, and
//! results that follow each other are compared in the order of their calls.

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

/// The calls that ran at the same time, and what each gave.
const PARALLEL: [(&str, &str); 3] = [("toolu_a", "one"), ("toolu_b", "two"), ("toolu_c", "three")];

/// A request with these results of three calls. The last block is marked for the cache, as Claude Code
/// does it.
fn with_parallel(results: &[(&str, &str)]) -> Value {
    let calls = PARALLEL.map(|(id, _)| {
        json!({"type": "tool_use", "id": id, "name": "sh", "input": {"command": format!("run {id}")}})
    });
    let mut blocks: Vec<Value> = results
        .iter()
        .map(|(id, text)| {
            json!({"tool_use_id": id, "type": "tool_result", "content": text, "is_error": false})
        })
        .collect();
    blocks.last_mut().unwrap()["cache_control"] = json!({"type": "ephemeral"});
    json!({"model": "claude-sonnet-4-20250514", "max_tokens": 64, "messages": [
        {"role": "user", "content": "Run them."}, {"role": "assistant", "content": calls},
        {"role": "user", "content": blocks}]})
}

fn sent_by(agent: &str, body: &Value) -> Call {
    let call = Call::post(MESSAGES, body.to_string()).header("anthropic-version: 2023-06-01");
    call.header(&format!("user-agent: {agent}"))
}

const CLAUDE_CODE: &str = "claude-cli/2.1.332 (external, cli)";

#[test]
fn results_of_claude_code_are_compared_in_the_order_of_their_calls() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("done")));
    let recorded = || sent_by(CLAUDE_CODE, &with_parallel(&PARALLEL));
    scene.recorded(&upstream, &[recorded(), recorded(), recorded(), recorded()]);
    let server = scene.replay(&["--strict", "--receipt", "receipt.json"]);
    let [one, two, three] = PARALLEL;
    for order in [[three, one, two], [two, one, three], [three, two, one]] {
        let answer = server.call(&sent_by(CLAUDE_CODE, &with_parallel(&order))).expect(200);
        assert_eq!(answer.header("x-loomrec-bound"), Some("result-order=1"));
    }
    server.call(&recorded()).expect(200);
    let ended = server.stop().expect(0);
    let said = "4 served, 3 of them with tool results in another order";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
    let receipt = fs::read(scene.path("receipt.json")).unwrap();
    let receipt: Value = serde_json::from_slice(&receipt).unwrap();
    let rule = json!([{"rule": "tool-results: any-order", "calls": 3}]);
    assert_eq!(receipt["bound"]["rules"], rule);
}

#[test]
fn result_of_another_call_is_a_miss_in_any_order() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("done")));
    scene.recorded(&upstream, &[sent_by(CLAUDE_CODE, &with_parallel(&PARALLEL))]);
    let server = scene.replay(&["--strict"]);
    let [one, two, three] = PARALLEL;
    let swapped = [("toolu_b", "one"), ("toolu_a", "two"), three];
    for results in [
        &swapped[..],
        &[("toolu_a", "two"), ("toolu_b", "one"), three],
        &[three, one],
        &[three, one, two, one],
        &[three, three, one],
        &[("toolu_d", "three"), one, two],
        &[three, one, ("toolu_b", "two.")],
    ] {
        server.call(&sent_by(CLAUDE_CODE, &with_parallel(results))).expect(422);
    }
    // The mark for the cache belongs to the position.
    let mut unmarked = with_parallel(&[three, one, two]);
    unmarked["messages"][2]["content"][2].as_object_mut().unwrap().remove("cache_control");
    server.call(&sent_by(CLAUDE_CODE, &unmarked)).expect(422);
    // A failure of one tool, and calls in another order.
    let mut failed = with_parallel(&[three, one, two]);
    failed["messages"][2]["content"][0]["is_error"] = json!(true);
    server.call(&sent_by(CLAUDE_CODE, &failed)).expect(422);
    let mut asked = with_parallel(&[three, one, two]);
    asked["messages"][1]["content"].as_array_mut().unwrap().swap(0, 1);
    server.call(&sent_by(CLAUDE_CODE, &asked)).expect(422);
    // The miss names what differs, and not the order.
    let body = with_parallel(&[three, one, ("toolu_b", "zwei")]);
    let missed = server.call(&sent_by(CLAUDE_CODE, &body)).expect(422).text();
    assert!(
        missed.contains("/messages/2/content/2/content") && missed.contains("zwei"),
        "{missed}"
    );
    assert!(!missed.contains("/messages/2/content/0"), "{missed}");
    assert!(!missed.contains("/messages/2/content/1"), "{missed}");
    server.stop().expect(1);
}

#[test]
fn order_of_results_is_compared_for_other_programs_unless_asked() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("done")));
    scene.recorded(&upstream, &[sent_by("ours/1", &with_parallel(&PARALLEL))]);
    let [one, two, three] = PARALLEL;
    let other = sent_by("ours/1", &with_parallel(&[three, one, two]));
    let server = scene.replay(&["--strict"]);
    server.call(&other).expect(422);
    server.stop().expect(1);
    let server = scene.replay(&["--strict", "--tool-results", "any-order"]);
    server.call(&other).expect(200);
    let ended = server.stop().expect(0);
    let said = "results of tools compared in any order (--tool-results)";
    assert!(ended.stderr.contains(said), "{}", ended.stderr);
}

#[test]
fn results_in_any_order_are_found_in_each_format() {
    let chat = |results: [usize; 2]| {
        let result = |at: usize| json!({"role": "tool", "tool_call_id": format!("call_{at}"), "content": format!("r{at}")});
        let calls = [0, 1].map(|at| {
            json!({"id": format!("call_{at}"), "type": "function",
                   "function": {"name": "f", "arguments": "{}"}})
        });
        let asked = json!({"role": "assistant", "content": null, "tool_calls": calls});
        let messages: Vec<Value> = [json!({"role": "user", "content": "Go."}), asked]
            .into_iter()
            .chain(results.map(result))
            .collect();
        Call::post(CHAT, json!({"model": "gpt-4o-mini", "messages": messages}).to_string())
    };
    let responses = |results: [usize; 2]| {
        let call = |at: usize| {
            json!({"type": "function_call", "call_id": format!("call_{at}"), "name": "f",
                   "arguments": "{}"})
        };
        let result = |at: usize| {
            json!({"type": "function_call_output", "call_id": format!("call_{at}"),
                   "output": format!("r{at}")})
        };
        let items: Vec<Value> = [0, 1].map(call).into_iter().chain(results.map(result)).collect();
        let body = json!({"model": "gpt-4o-mini", "input": items});
        Call::post("/openai/v1/responses", body.to_string())
    };
    let upstream = Upstream::always(Answer::json(200, chat_answer("done")));
    for request in [&chat as &dyn Fn([usize; 2]) -> Call, &responses] {
        let scene = Scene::new();
        scene.recorded(&upstream, &[request([0, 1])]);
        let server = scene.replay(&["--strict", "--tool-results", "any-order"]);
        server.call(&request([1, 0])).expect(200);
        server.call(&request([1, 1])).expect(422);
        server.stop().expect(1);
    }
}
