//! Tests of plain AgentLoom files: they replay for any provider, and AgentLoom can read what is
//! recorded here.

use std::time::Instant;

use serde_json::{Value, json};

use crate::support::shape::{
    CHAT, chat, chat_answer, chat_streamed, gemini, message, message_streamed,
};
use crate::support::{Answer, Call, Scene, Upstream};

const HI: &str = "3fa1e9653c6dc8faf7fdaff60ddc57555f47b1affc7602d625e58fa7a4523a7c";

fn hi() -> Call {
    Call::post(CHAT, r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#)
}

fn plain(file: &Value) -> Scene {
    let scene = Scene::new();
    scene.write(serde_json::to_string_pretty(file).unwrap());
    scene
}

fn entry(text: &str) -> Value {
    json!({"content": text, "model": "gpt-4o-mini", "cost_usd": 0.1, "latency_ms": 600_000.0,
           "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7,
                     "reasoning_tokens": 0}, "finish_reason": "stop"})
}

#[test]
fn an_entry_answers_by_hash_and_by_step_for_every_provider() {
    let scene = plain(
        &json!({"_version": 2, "_note": [1], HI: entry("by hash"), "plan": entry("by step")}),
    );
    let server = scene.replay(&[]);
    let answer = server.call(&hi()).expect(200);
    assert_eq!(answer.header("x-loomrec-matched-by"), Some("request_hash"));
    let body = answer.json();
    assert_eq!(body["choices"][0]["message"]["content"], "by hash");
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["usage"]["prompt_tokens"], 3);
    let step = |call: Call| server.call(&call.header("x-loomrec-step-id: plan")).expect(200);
    assert_eq!(step(chat("x")).json()["choices"][0]["message"]["content"], "by step");
    assert_eq!(step(message("x")).json()["content"][0]["text"], "by step");
    let said = step(chat_streamed("x")).text();
    assert!(said.contains("step") && said.ends_with("data: [DONE]\n\n"), "{said}");
    let said = step(message_streamed("x")).text();
    assert!(said.contains("event: message_stop"), "{said}");
    let parts = &step(gemini("generateContent", "x")).json()["candidates"][0]["content"]["parts"];
    assert_eq!(parts[0]["text"], "by step");
    server.call(&chat("unknown")).expect(422);
    server.stop().expect(1);
}

#[test]
fn tool_calls_of_an_entry_are_served() {
    let mut with_tool = entry("");
    with_tool["tool_calls"] =
        json!([{"id": "call_9", "name": "weather", "arguments": {"city": "Oslo"}}]);
    with_tool["finish_reason"] = json!("tool_calls");
    let scene = plain(&json!({ HI: with_tool }));
    let body = scene.replayed(&["--strict"], &[hi()], 0).remove(0).expect(200).json();
    let call = &body["choices"][0]["message"]["tool_calls"][0];
    assert_eq!((&call["id"], &call["function"]["name"]), (&json!("call_9"), &json!("weather")));
    let arguments: Value =
        serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
    assert_eq!(arguments, json!({"city": "Oslo"}));
}

#[test]
fn a_further_call_gets_the_last_turn_as_agentloom_does() {
    let scene = plain(&json!({"loop": [entry("one"), entry("two")], HI: entry("hash")}));
    let step = chat("any").header("x-loomrec-step-id: loop");
    let calls = [step.clone(), step.clone(), step.clone(), hi(), hi(), hi()];
    let said: Vec<String> = scene
        .replayed(&[], &calls, 0)
        .into_iter()
        .map(|r| {
            r.expect(200).json()["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(said, ["one", "two", "two", "hash", "hash", "hash"]);
    let answers = scene.replayed(&["--repeat", "error"], &[hi(), hi()], 1);
    assert_eq!((answers[0].status, answers[1].status), (200, 422));
}

#[test]
fn a_step_whose_hash_differs_has_drifted() {
    let mut drifted = entry("x");
    drifted["request_hash"] = json!("ab".repeat(32));
    let scene = plain(&json!({ "plan": drifted }));
    let call = chat("any").header("x-loomrec-step-id: plan");
    let answer = scene.replayed(&["--strict"], &[call], 1).remove(0).expect(422);
    assert!(answer.text().contains("drifted"), "{}", answer.text());
}

#[test]
fn a_minimal_entry_is_enough() {
    let scene =
        plain(&json!({"plan": {"content": "just text"}, "odd": {"content": null, "extra": 1}}));
    let call = |step: &str| chat("x").header(&format!("x-loomrec-step-id: {step}"));
    let answers = scene.replayed(&[], &[call("plan"), call("odd")], 0);
    assert_eq!(answers[0].json()["choices"][0]["message"]["content"], "just text");
    assert_eq!(answers[1].status, 200);
}

#[test]
fn what_is_recorded_keeps_agentlooms_types() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.target.as_str() {
        "/v1/models" => Answer::json(200, "{\"data\":[]}"),
        "/v1/fail" => Answer::json(500, "{\"error\":null}"),
        "/v1/audio" => Answer::whole(200, &["content-type: audio/mpeg"], [0xff_u8, 0, 1]),
        _ => Answer::json(200, chat_answer("x").replace("\"x\"", "null")),
    });
    let calls = [
        chat("hi"),
        Call::get("/openai/v1/models"),
        Call::get("/openai/v1/fail"),
        Call::get("/openai/v1/audio"),
        chat("step").header("x-loomrec-step-id: plan"),
        chat("step").header("x-loomrec-step-id: plan"),
    ];
    scene.recorded(&upstream, &calls);
    assert_eq!(scene.takes().len(), calls.len());
    for (name, take) in scene.takes() {
        assert!(take["content"].is_string(), "{name}: content");
        // AgentLoom reads an absent cost as 0.0, and fails on a null.
        let cost = take.get("cost_usd");
        assert!(cost.is_none_or(Value::is_number), "{name}: cost_usd");
        assert!(take["latency_ms"].is_number(), "{name}: latency_ms");
        assert!(take.get("model").is_none_or(Value::is_string), "{name}: model");
        for count in ["prompt_tokens", "completion_tokens", "total_tokens"] {
            let usage = take.get("usage");
            assert!(usage.is_none_or(|usage| usage[count].is_u64()), "{name}: {count}");
        }
    }
    let text = scene.text();
    assert!(text.ends_with("}\n") && !text.starts_with('\u{feff}'));
    let twice = scene.json()["plan"].as_array().map(Vec::len);
    assert_eq!(twice, Some(2));
}

#[test]
fn recording_into_a_plain_file_keeps_its_entries() {
    let scene = plain(&json!({"_version": 2, "_note": "mine", "plan": entry("kept")}));
    let upstream = Upstream::always(Answer::json(200, chat_answer("new")));
    scene.recorded(&upstream, &[chat("hi")]);
    let file = scene.json();
    assert_eq!((&file["_note"], &file["plan"]["content"]), (&json!("mine"), &json!("kept")));
    assert_eq!(scene.takes().len(), 2);
    let step = chat("any").header("x-loomrec-step-id: plan");
    scene
        .replayed(&["--strict", "--allow-unchecked"], &[step, chat("hi")], 0)
        .into_iter()
        .for_each(|r| drop(r.expect(200)));
}

#[test]
fn what_agentloom_refuses_is_refused() {
    let hash = HI;
    for (text, says) in [
        ("\u{feff}{}".to_owned(), "byte-order mark"),
        ("{".to_owned(), "line 1"),
        ("[]".to_owned(), "object"),
        (r#"{"_version": 1}"#.to_owned(), "`_version` is 1"),
        (r#"{"_version": 0}"#.to_owned(), "`_version` is 0"),
        (r#"{"_version": -2}"#.to_owned(), "`_version` is -2"),
        (r#"{"_version": 2.0}"#.to_owned(), "a fraction"),
        (r#"{"_version": "2"}"#.to_owned(), "a string"),
        (r#"{"_version": true}"#.to_owned(), "a boolean"),
        (r#"{"plan": "text"}"#.to_owned(), "is a string"),
        (r#"{"plan": null}"#.to_owned(), "is null"),
        (r#"{"plan": [{}, 1]}"#.to_owned(), "a list with a number in it"),
        // AgentLoom loads this, and fails when it is called.
        (format!(r#"{{"{hash}": [{{"content": "x"}}]}}"#), "only a step id may have a list"),
    ] {
        let scene = Scene::new();
        scene.write(&text);
        for args in [&["ls", "run.json"][..], &["replay", "-r", "run.json", "--", "true"]] {
            scene.run(args).expect(4).says(&["run.json", says]);
        }
    }
}

#[test]
fn what_agentloom_accepts_is_accepted() {
    for version in ["null", "2", "3", "20"] {
        let scene = Scene::new();
        let counts = r#"{"prompt_tokens": "7", "completion_tokens": 2.9, "odd": []}"#;
        scene.write(format!(
            r#"{{"_version": {version}, "_any": [{{}}], "plan": {{"content": 5, "usage": {counts},
               "cost_usd": "0.5", "mine": null}}}}"#
        ));
        let call = chat("x").header("x-loomrec-step-id: plan");
        let body = scene.replayed(&[], &[call], 0).remove(0).expect(200).json();
        assert_eq!(body["choices"][0]["message"]["content"], "5");
        assert_eq!(body["choices"][0]["finish_reason"], "stop");
        assert_eq!(body["usage"]["prompt_tokens"], 7);
        assert_eq!(body["usage"]["completion_tokens"], 2);
    }
}

#[test]
fn a_step_that_the_file_does_not_have_is_looked_for_by_its_hash() {
    let scene = plain(&json!({"plan": entry("step"), HI: entry("hash")}));
    let server = scene.replay(&["--strict", "--allow-unchecked"]);
    let answer = server.call(&hi().header("x-loomrec-step-id: unheard of")).expect(200);
    assert_eq!(answer.header("x-loomrec-matched-by"), Some("request_hash"));
    server.call(&chat("other").header("x-loomrec-step-id: unheard of")).expect(422);
    server.stop().expect(1);
}

#[test]
fn the_waits_of_a_seed_are_agentlooms() {
    let scene = plain(&json!({ "step": entry("step") }));
    let server = scene.replay(&["--latency", "agentloom:100", "--seed", "42"]);
    let call = chat("x").header("x-loomrec-step-id: step");
    for at_least in [98, 98, 98, 107, 98, 85] {
        let began = Instant::now();
        server.call(&call).expect(200);
        assert!(began.elapsed().as_millis() >= at_least, "{at_least}");
    }
    server.stop().expect(0);
}

#[test]
fn the_latency_models_wait_as_agentlooms_do() {
    let mut slow = entry("slow");
    slow["latency_ms"] = json!(400.0);
    let mut untimed = entry("untimed");
    untimed.as_object_mut().unwrap().remove("latency_ms");
    let scene = plain(&json!({ "slow": slow, "untimed": untimed }));
    let waited_at = |step: &str, latency: &[&str]| {
        let server = scene.replay(latency);
        let call = chat("x").header(&format!("x-loomrec-step-id: {step}"));
        let began = Instant::now();
        server.call(&call).expect(200);
        let waited = began.elapsed().as_millis();
        server.stop().expect(0);
        waited
    };
    let waited = |latency: &[&str]| waited_at("slow", latency);
    // The recorded time, whatever the constant.
    assert!(waited(&["--latency", "replay:9"]) >= 400);
    // The constant, for an answer without a recorded time.
    assert!(waited_at("untimed", &["--latency", "replay:250"]) >= 250);
    // The constant, whatever time was recorded.
    assert!(waited(&["--latency", "constant:250"]) >= 250);
    // At least the mean minus three deviations of a tenth each.
    assert!(waited(&["--latency", "normal:300"]) >= 200);
}
