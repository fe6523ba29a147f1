//! Tests of `stats --cache`: where conversations lost their provider's prompt cache, and why.

use serde_json::{Value, json};

use crate::support::shape::{CHAT, MESSAGES};
use crate::support::{Answer, Call, Received, Scene, Upstream};

/// A call of an agent: its system prompt, its tools, and what was said so far.
fn agent(system: &str, tools: &[&str], said: &[&str]) -> Call {
    let roles = ["user", "assistant"].into_iter().cycle();
    let messages: Vec<Value> =
        roles.zip(said).map(|(role, text)| json!({"role": role, "content": text})).collect();
    let tools: Vec<Value> =
        tools.iter().map(|name| json!({"name": name, "input_schema": {}})).collect();
    let body = json!({"model": "claude-sonnet-4-20250514", "max_tokens": 64, "system": system,
        "tools": tools, "messages": messages});
    Call::post(MESSAGES, body.to_string()).header("anthropic-version: 2023-06-01")
}

/// Answers with the tokens that the newest message names: `input/read/written`.
fn answer(request: &Received) -> Answer {
    let body: Value = serde_json::from_str(&request.text()).unwrap();
    let newest = body["messages"].as_array().unwrap().last().unwrap();
    let words = newest["content"].as_str().unwrap().split(' ').next_back().unwrap();
    let tokens: Vec<u64> = words.split('/').map(|number| number.parse().unwrap()).collect();
    if request.target.ends_with("/messages") {
        let usage = json!({"input_tokens": tokens[0], "cache_read_input_tokens": tokens[1],
            "cache_creation_input_tokens": tokens[2], "output_tokens": 5});
        let answer = json!({"id": "msg_1", "type": "message", "role": "assistant",
            "model": "claude-sonnet-4-20250514", "content": [{"type": "text", "text": "Yes"}],
            "stop_reason": "end_turn", "stop_sequence": null, "usage": usage});
        return Answer::json(200, answer.to_string());
    }
    let usage = json!({"prompt_tokens": tokens[0], "completion_tokens": 5,
        "total_tokens": tokens[0] + 5, "prompt_tokens_details": {"cached_tokens": tokens[1]}});
    let answer = json!({"id": "c", "object": "chat.completion", "created": 1, "model": "gpt-4o",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Yes"}}], "usage": usage});
    Answer::json(200, answer.to_string())
}

fn recorded(calls: &[Call]) -> Scene {
    let scene = Scene::new();
    scene.recorded(&Upstream::start(answer), calls);
    scene
}

/// The conversations that `stats --cache --json` reports.
fn conversations(scene: &Scene) -> Vec<Value> {
    let ended = scene.run(&["stats", "run.json", "--cache", "--json"]).expect(0);
    let report: Value = serde_json::from_str(&ended.stdout).unwrap();
    report["conversations"].as_array().unwrap().clone()
}

const MONDAY: &str = "You are kind. Today is Monday. Answer in one word.";
const TUESDAY: &str = "You are kind. Today is Tuesday. Answer in one word.";
const TOOLS: [&str; 2] = ["read", "write"];

#[test]
fn a_conversation_that_keeps_its_prompt_loses_nothing_beside_helpers_and_parallel_calls() {
    let first = "Begin 10/0/2000";
    let scene = recorded(&[
        agent(MONDAY, &TOOLS, &[first]),
        // A helper that makes a title of the same message.
        agent("Make a title.", &[], &[first, "Yes", "Title? 50/0/0"]),
        agent(MONDAY, &TOOLS, &[first, "Yes", "Go on 10/2000/300"]),
        // Two calls that continue the same one at once.
        agent(MONDAY, &TOOLS, &[first, "Yes", "Go on 10/2000/300", "Yes", "Left 10/2300/100"]),
        agent(MONDAY, &TOOLS, &[first, "Yes", "Go on 10/2000/300", "Yes", "Right 10/2300/90"]),
    ]);
    let found = conversations(&scene);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!((&found[0]["calls"], &found[0]["lost"]), (&json!(4), &json!([])));
    assert_eq!(found[0]["cached_tokens"], 6600);
    let ended = scene.run(&["stats", "run.json", "--cache", "--check"]).expect(0);
    assert!(!ended.stdout.contains("changed at"), "{}", ended.stdout);
}

#[test]
fn a_changed_prompt_and_a_miss_of_the_provider_are_different_losses() {
    let first = "Begin 10/0/2000";
    let (second, third, fourth) = ("Go on 10/2000/300", "More 10/0/2500", "Last 10/0/2900");
    let scene = recorded(&[
        agent(MONDAY, &TOOLS, &[first]),
        agent(MONDAY, &TOOLS, &[first, "Yes", second]),
        agent(TUESDAY, &TOOLS, &[first, "Yes", second, "Yes", third]),
        agent(TUESDAY, &TOOLS, &[first, "Yes", second, "Yes", third, "Yes", fourth]),
    ]);
    let found = conversations(&scene);
    let lost = found[0]["lost"].as_array().unwrap();
    assert_eq!(lost.len(), 2, "{lost:?}");
    let told = |at: usize| ["why", "call", "tokens"].map(|name| lost[at][name].clone());
    assert_eq!(told(0), [json!("changed"), json!(3), json!(2300)]);
    assert_eq!(told(1), [json!("missed"), json!(4), json!(2500)]);
    assert_eq!((&lost[0]["part"], &lost[0]["place"]), (&json!("system"), &json!("/system")));
    assert_eq!(lost[0]["before"], "You are kind. Today is Monday. Answer in one word.");
    // 2,300 tokens that were written for $3.75 a million, and would have been read for $0.30.
    assert_eq!(lost[0]["cost_usd"], json!(0.007_935));
    let ended = scene.run(&["stats", "run.json", "--cache", "--check"]).expect(1);
    for words in [
        ": the system prompt changed at /system; tokens not read from the cache: 2300, $0.007935\n",
        "\n  now    You are kind. Today is Tuesday. Answer in one word.\n",
        ": missed, though its prompt begins with the earlier one; tokens not read from the cache: \
         2500",
    ] {
        assert!(ended.stdout.contains(words), "no {words:?} in {}", ended.stdout);
    }
}

#[test]
fn a_cache_without_marks_is_judged_by_what_it_holds_at_least() {
    let chat = |system: &str, said: &[&str]| {
        let roles = ["user", "assistant"].into_iter().cycle();
        let said = roles.zip(said).map(|(role, text)| json!({"role": role, "content": text}));
        let messages: Vec<Value> =
            [json!({"role": "system", "content": system})].into_iter().chain(said).collect();
        Call::post(CHAT, json!({"model": "gpt-4o", "messages": messages}).to_string())
    };
    let (first, second, third) = ("Begin 2000/0", "Go on 2200/1920", "More 2400/0");
    let scene = recorded(&[
        chat(MONDAY, &[first]),
        chat(MONDAY, &[first, "Yes", second]),
        chat(TUESDAY, &[first, "Yes", second, "Yes", third]),
        // A short prompt is not cached, so its change loses nothing.
        chat("One: be kind to all of us.", &["Small 100/0"]),
        chat("Two: be kind to all of us.", &["Small 100/0", "Yes", "Small too 120/0"]),
    ]);
    let found = conversations(&scene);
    let lost: Vec<&Value> = found.iter().flat_map(|it| it["lost"].as_array().unwrap()).collect();
    assert_eq!(lost.len(), 1, "{found:?}");
    assert_eq!((&lost[0]["tokens"], &lost[0]["place"]), (&json!(2176), &json!("/messages/0")));
}

#[test]
fn a_change_is_a_loss_where_nothing_is_known_of_tokens_but_not_in_the_newest_message() {
    let [first, second] = ["Begin 10/0/0", "Go on 10/0/0"];
    let newest = recorded(&[
        agent(MONDAY, &TOOLS, &[first, "Yes", second]),
        agent(MONDAY, &TOOLS, &[first, "Yes", "Else 10/0/0", "Yes", "So 9/0/0"]),
    ]);
    assert_eq!(conversations(&newest)[0]["lost"], json!([]));
    let scene = recorded(&[
        agent(MONDAY, &TOOLS, &[first]),
        agent(MONDAY, &["read", "edit"], &[first, "Yes", second]),
    ]);
    let found = conversations(&scene);
    let lost = found[0]["lost"].as_array().unwrap();
    assert_eq!(lost.len(), 1, "{lost:?}");
    assert_eq!((&lost[0]["place"], &lost[0]["tokens"]), (&json!("/tools/1"), &Value::Null));
    scene.run(&["stats", "run.json", "--check"]).expect(2);
}
