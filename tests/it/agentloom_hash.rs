//! Tests of AgentLoom's hashes: of calls to Anthropic and Google, of its tools, and of the messages
//! alone.
//!
//! The hashes were made by AgentLoom itself; `src/recording/adapter_hashes_tests.rs` says how.

use serde_json::{Value, json};

use crate::support::loomrec::command;
use crate::support::shape::{CHAT, MESSAGES, message_answer};
use crate::support::{Answer, Call, Finished, Scene, Server, Upstream};

const ANTHROPIC: &str = "8e021ef5dda4a16c8409c2986e1ed3ec562cd808bfb60ab1094980295f386eb2";
const GOOGLE: &str = "18c2176677cf3e96be17de88d1881c128dfd018b5f8d33c1f09362902e8e89ab";
const TOOLS: &str = "b0a5481fe2d28a19c1c76ffe0e7103a6042d6f1531674448a3ab731d700a80e7";
/// The hash of all three calls' messages.
const ALONE: &str = "a2e0d527d3a1bfdb713a4b617958ce57abdfe45600bec1f4aa927f8b0b879eed";

fn anthropic_body() -> Value {
    json!({"model": "claude-sonnet-4-5", "messages": [{"role": "user", "content": "Hi ☃"}],
           "max_tokens": 100, "system": "Be brief — \"é\".", "temperature": 0.7})
}

fn anthropic(body: &Value) -> Call {
    Call::post(MESSAGES, body.to_string()).header("anthropic-version: 2023-06-01")
}

fn google(verb: &str) -> Call {
    let body = json!({
        "contents": [{"role": "user", "parts": [{"text": "Hi ☃"}]}],
        "systemInstruction": {"parts": [{"text": "Be brief — \"é\"."}]},
        "generationConfig": {"temperature": 0.7, "maxOutputTokens": 100},
    });
    let target = format!("/gemini/v1beta/models/gemini-2.0-flash:{verb}");
    Call::post(&target, body.to_string())
}

fn tools() -> Call {
    let tool = |name: &str, description: &str, properties: Value| {
        let parameters = json!({"type": "object", "properties": properties});
        json!({"type": "function", "function": {
            "name": name, "description": description, "parameters": parameters}})
    };
    let mut body = json!({
        "model": "gpt-4o-mini",
        "messages": [{"role": "system", "content": "Be brief — \"é\"."},
                     {"role": "user", "content": "Hi ☃"}],
        "tool_choice": "auto", "max_tokens": 64,
    });
    body["temperature"] = serde_json::from_str("1.0").unwrap();
    body["tools"] = json!([
        tool("weather", "The weather.", json!({"city": {"type": "string"}})),
        tool("now", "", json!({})),
    ]);
    Call::post(CHAT, body.to_string())
}

fn entry(text: &str) -> Value {
    json!({"content": text, "model": "m", "finish_reason": "stop", "cost_usd": 0.0,
           "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}})
}

fn written(file: &Value) -> Scene {
    let scene = Scene::new();
    scene.write(file.to_string());
    scene
}

/// Replays calls, and returns how the run ended and its receipt.
fn replayed(scene: &Scene, flags: &[&str], calls: &[(Call, u16, &str)]) -> (Finished, Value) {
    let mut process = command(scene.dir(), &scene.replay_args(flags));
    process.args(["--listen", "127.0.0.1:0", "--receipt", "receipt.json"]);
    let server = Server::spawn(&mut process);
    for (call, status, told) in calls {
        let answer = server.call(call);
        assert_eq!(answer.status, *status, "{}", answer.text());
        match status {
            200 => assert_eq!(answer.header("x-loomrec-matched-by"), Some(*told)),
            _ => assert!(answer.text().contains(told), "{}", answer.text()),
        }
    }
    let ended = server.stop();
    let receipt = std::fs::read(scene.path("receipt.json")).unwrap();
    (ended, serde_json::from_slice(&receipt).unwrap())
}

#[test]
fn a_call_is_found_by_the_hash_that_agentloom_has_for_it() {
    let scene = written(&json!({
        "_version": 2, ANTHROPIC: entry("claude"), GOOGLE: entry("gemini"), TOOLS: entry("gpt"),
    }));
    let server = scene.replay(&["--strict", "--fail-unused"]);
    let said = |call: &Call| {
        let answer = server.call(call).expect(200);
        assert_eq!(answer.header("x-loomrec-matched-by"), Some("agentloom_hash"));
        answer
    };
    assert_eq!(said(&anthropic(&anthropic_body())).json()["content"][0]["text"], "claude");
    let answer = said(&google("streamGenerateContent?alt=sse&key=k")).text();
    assert!(answer.contains("gemini"), "{answer}");
    assert_eq!(said(&tools()).json()["choices"][0]["message"]["content"], "gpt");
    // Each take is served once.
    let again = server.call(&anthropic(&anthropic_body())).expect(422);
    assert!(again.text().contains("exhausted"), "{}", again.text());
    server.stop().expect(1);
}

#[test]
fn a_call_that_differs_in_anything_is_not_found() {
    let scene = written(&json!({"_version": 2, ANTHROPIC: entry("claude")}));
    let calls = [
        ("model", json!("claude-opus-4-1")),
        ("max_tokens", json!(101)),
        ("temperature", json!(0)),
        ("system", json!("Be long.")),
        ("top_k", json!(3)),
        ("messages", json!([{"role": "user", "content": "Hi"}])),
    ];
    let other = |(name, value): (&str, Value)| {
        let mut body = anthropic_body();
        body[name] = value;
        anthropic(&body)
    };
    let calls = calls.map(other).map(|call| (call, 422, "unknown request"));
    for flags in [&["--strict"][..], &[], &["--allow-unchecked"]] {
        replayed(&scene, flags, &calls[..5]).0.expect(1);
        replayed(&scene, flags, &calls[5..]).0.expect(1);
    }
}

#[test]
fn a_step_is_checked_by_the_hash_that_agentloom_has() {
    let mut plan = entry("plan");
    plan["request_hash"] = json!(ANTHROPIC);
    let scene = written(&json!({"_version": 2, "plan": plan}));
    let step = |body: &Value| anthropic(body).header("x-loomrec-step-id: plan");
    let mut other = anthropic_body();
    other["system"] = json!("Be long.");
    // A drift names the live hash and the recorded one.
    let told = format!("nearest recorded call: plan in {}", scene.recording().display());
    let calls = [(step(&other), 422, &told[..]), (step(&anthropic_body()), 200, "step_id")];
    let (ended, receipt) = replayed(&scene, &["--strict"], &calls);
    ended.expect(1).says(&["drifted", &format!("request {}", &ANTHROPIC[..12])]);
    let missed = &receipt["mismatches"][0];
    assert_eq!(missed["reason"], "drifted");
    assert_eq!(missed["nearest"]["request_hash"], ANTHROPIC);
    assert_ne!(missed["request_hash"], ANTHROPIC);
    // Without the step, the hash alone finds it.
    let calls = [(anthropic(&anthropic_body()), 200, "agentloom_hash")];
    replayed(&scene, &["--strict"], &calls).0.expect(0);
}

#[test]
fn an_entry_known_by_its_messages_alone_answers_only_when_that_is_allowed() {
    let scene = written(&json!({ALONE: entry("any of them")}));
    let mut other = anthropic_body();
    other["model"] = json!("claude-opus-4-1");
    let calls = |status, told| {
        [anthropic(&anthropic_body()), anthropic(&other), google("generateContent"), tools()]
            .map(|call| (call, status, told))
    };
    for flags in [&["--strict"][..], &[]] {
        let (ended, receipt) = replayed(&scene, flags, &calls(422, "--allow-unchecked"));
        ended.expect(1).says(&["AgentLoom 0.4.0", "check model, temperature and tools"]);
        assert_eq!(receipt["in_force"]["by_messages"], json!({"entries": 0, "calls": 0}));
        let missed = &receipt["mismatches"][0];
        assert_eq!(missed["same_messages"], ALONE);
        assert!(missed["remedy"].as_str().unwrap().contains("--allow-unchecked"), "{missed}");
    }
    let (ended, receipt) =
        replayed(&scene, &["--allow-unchecked"], &calls(200, "agentloom_messages"));
    ended.expect(0).says(&[
        "entries that answer by the messages of a call alone, as AgentLoom 0.4.0 does: 1",
        "4 answered by their messages alone (AgentLoom 0.4.0)",
    ]);
    assert_eq!(receipt["in_force"]["by_messages"], json!({"entries": 1, "calls": 4}));
    // Under strict, one call gets it.
    let flags = ["--strict", "--allow-unchecked"];
    let first = calls(200, "agentloom_messages")[..1].to_vec();
    replayed(&scene, &flags, &first).0.expect(0);
}

#[test]
fn a_recording_without_such_entries_says_nothing_of_them() {
    let upstream = Upstream::always(Answer::json(200, message_answer("Hello")));
    let scene = Scene::new();
    scene.recorded(&upstream, &[anthropic(&anthropic_body())]);
    let calls = [(anthropic(&anthropic_body()), 200, "request_hash")];
    let (ended, receipt) = replayed(&scene, &["--strict", "--allow-unchecked"], &calls);
    let ended = ended.expect(0);
    assert!(!ended.stderr.contains("AgentLoom"), "{}", ended.stderr);
    assert_eq!(receipt["in_force"]["by_messages"], json!({"entries": 0, "calls": 0}));
}

#[test]
fn an_export_has_each_call_under_the_hashes_that_agentloom_looks_up() {
    let upstream = Upstream::always(Answer::json(200, message_answer("Hello")));
    let scene = Scene::new();
    let step = anthropic(&anthropic_body()).header("x-loomrec-step-id: plan");
    let mut unlimited = anthropic_body();
    unlimited["max_tokens"] = json!(4096);
    unlimited["messages"][0]["content"] = json!("Other");
    scene.recorded(&upstream, &[step, anthropic(&unlimited)]);
    let ran = scene.run(&["export", "--to", "agentloom", "run.json"]).expect(0);
    let held: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(held["plan"]["request_hash"], ANTHROPIC);
    assert_eq!(held["plan"].get("alias_of"), None);
    let alias = &held[ANTHROPIC];
    assert_eq!((&alias["content"], &alias["alias_of"]), (&json!("Hello"), &json!("plan")));
    assert_eq!(alias["request_hash"], ANTHROPIC);
    let alone = &held[ALONE];
    assert_eq!((&alone["alias_of"], alone.get("request_hash")), (&json!("plan"), None));
    // The other call stands under a hash: with a limit and without, and under its messages'.
    let own: Vec<_> = held.as_object().unwrap().iter().collect();
    let is_first =
        |(name, entry): &&(&String, &Value)| name.len() == 64 && entry.get("alias_of").is_none();
    let firsts: Vec<_> = own.iter().filter(is_first).collect();
    assert_eq!(firsts.len(), 1, "{held}");
    let of_first = own.iter().filter(|(_, entry)| entry["alias_of"] == **firsts[0].0).count();
    assert_eq!(of_first, 2, "{held}");
    // Only the calls themselves come back.
    std::fs::write(scene.path("a.json"), ran.stdout).unwrap();
    scene.run(&["import", "a.json", "-o", "back.json"]).expect(0).says(&["2 calls"]);
    let calls = [
        (anthropic(&anthropic_body()), 200, "agentloom_hash"),
        (anthropic(&unlimited), 200, "agentloom_hash"),
    ];
    std::fs::rename(scene.path("back.json"), scene.recording()).unwrap();
    replayed(&scene, &["--strict", "--fail-unused"], &calls).0.expect(0);
}
