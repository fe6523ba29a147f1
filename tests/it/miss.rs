//! Tests of misses: never a wrong answer, and an explanation that helps to fix the call.

use serde_json::{Value, json};

use crate::support::shape::{
    CHAT, MESSAGES, chat, chat_answer, chat_body, gemini, gemini_answer, message, message_answer,
    message_body,
};
use crate::support::{Answer, Call, Response, Scene, Server, Upstream};

/// Checks a miss, for any provider, and returns its whole text.
#[track_caller]
fn missed(answer: Response) -> String {
    let answer = answer.expect(422);
    assert_eq!(answer.header("x-should-retry"), Some("false"));
    assert_eq!(answer.header("x-loomrec-error"), Some("RecordingMismatchError"));
    assert_eq!(answer.header("x-loomrec-entry"), None);
    assert!(answer.header("content-type").unwrap().starts_with("application/json"));
    answer.text()
}

#[track_caller]
fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} not in {text}");
    }
}

/// A recording of one rich chat call.
fn rich() -> (Scene, Value) {
    let mut body = chat_body("What is the weather in Oslo?");
    body["temperature"] = json!(0.5);
    body["seed"] = json!(9_007_199_254_740_993_u64);
    body["messages"] = json!([
        {"role": "system", "content": "You are terse."},
        {"role": "user", "content": "What is the weather in Oslo?"}
    ]);
    body["tools"] = json!([{"type": "function", "function": {"name": "weather"}}]);
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    scene.recorded(&upstream, &[Call::post(CHAT, body.to_string())]);
    (scene, body)
}

#[test]
fn any_difference_is_a_miss_that_names_the_place_and_both_values() {
    let (scene, body) = rich();
    let changes: &[(&str, Value, &[&str])] = &[
        ("/temperature", json!(0.7), &["0.5", "0.7"]),
        ("/temperature", json!(1), &["0.5"]),
        ("/messages/0/content", json!("You are verbose."), &["terse", "verbose"]),
        ("/messages/1/content", json!("What is the weather in Rome?"), &["Oslo", "Rome"]),
        ("/messages/1/role", json!("assistant"), &["user", "assistant"]),
        ("/model", json!("gpt-4o"), &["gpt-4o-mini", "gpt-4o"]),
        ("/tools/0/function/name", json!("forecast"), &["weather", "forecast"]),
        ("/seed", json!(9_007_199_254_740_992_u64), &["9007199254740993", "9007199254740992"]),
    ];
    let server = scene.replay(&["--strict"]);
    for (pointer, value, values) in changes {
        let mut changed = body.clone();
        *changed.pointer_mut(pointer).unwrap() = value.clone();
        let answer = server.call(&Call::post(CHAT, changed.to_string()));
        let message = answer.json()["error"]["message"].as_str().unwrap_or_default().to_owned();
        missed(answer);
        says(&message, &["RecordingMismatchError", pointer]);
        says(&message, values);
    }
    server.call(&Call::post(CHAT, body.to_string())).expect(200);
    let said = server.stop().expect(1);
    says(&said.stderr, &["/messages/1/content", "Oslo", "Rome"]);
}

#[test]
fn a_field_more_or_less_is_a_miss_that_names_it() {
    let (scene, body) = rich();
    let server = scene.replay(&[]);
    let ask = |body: &Value| missed(server.call(&Call::post(CHAT, body.to_string())));
    let mut less = body.clone();
    less.as_object_mut().unwrap().remove("tools");
    says(&ask(&less), &["/tools"]);
    let mut more = body.clone();
    more["top_p"] = json!(0.1);
    says(&ask(&more), &["/top_p", "0.1"]);
    let mut longer = body.clone();
    let extra = json!({"role": "user", "content": "And tomorrow?"});
    longer["messages"].as_array_mut().unwrap().push(extra);
    says(&ask(&longer), &["/messages/2", "And tomorrow?"]);
    let mut integer = body.clone();
    integer["temperature"] = json!(0);
    says(&ask(&integer), &["/temperature"]);
    server.stop().expect(1);
}

#[test]
fn the_nearest_recorded_call_is_named() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    let prompts = ["Translate the poem to French", "Summarise the report", "Write a haiku on rain"];
    scene.recorded(&upstream, &prompts.map(chat));
    let near = scene.takes()[1].0.clone();
    let answers = scene.replayed(&[], &[chat("Summarise the reports")], 1);
    let text = missed(answers.into_iter().next().unwrap());
    says(&text, &[&near[..8], "Summarise the report"]);
    assert!(!text.contains("haiku"), "{text}");
}

#[test]
fn another_upstream_or_path_never_answers() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    let body = chat_body("hi").to_string();
    let groq = format!("groq={}", upstream.url());
    let server = scene.record(&upstream, &["--upstream", &groq]);
    server.call(&Call::post(CHAT, &body)).expect(200);
    server.call(&Call::get("/openai/v1/models")).expect(200);
    server.stop().expect(0);
    let server = scene.replay(&[]);
    let other = missed(server.call(&Call::post("/groq/openai/v1/chat/completions", &body)));
    says(&other, &["other upstream", "openai", "groq"]);
    let other = missed(server.call(&Call::post("/openai/eu/v1/chat/completions", &body)));
    says(&other, &["other path", "/v1/chat/completions", "/eu/v1/chat/completions"]);
    assert!(!other.contains("rules"), "{other}");
    for target in ["/openai/v1/completions", "/openai/v1/responses"] {
        missed(server.call(&Call::post(target, &body)));
    }
    for target in ["/openai/v1/models/", "/openai/v1/models?limit=1", "/openai/v2/models"] {
        missed(server.call(&Call::get(target)));
    }
    missed(server.call(&Call::new("DELETE", "/openai/v1/models")));
    server.stop().expect(1);
}

#[test]
fn the_api_version_is_part_of_an_anthropic_request() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, message_answer("x")));
    scene.recorded(&upstream, &[message("hi")]);
    let body = message_body("hi").to_string();
    let server = scene.replay(&["--repeat", "last"]);
    let newer = Call::post(MESSAGES, &body).header("anthropic-version: 2026-10-21");
    says(&missed(server.call(&newer)), &["anthropic-version", "2023-06-01", "2026-10-21"]);
    let beta = message("hi").header("anthropic-beta: tools-2024");
    says(&missed(server.call(&beta)), &["anthropic-beta", "tools-2024"]);
    server.call(&message("hi").header("x-api-key: another")).expect(200);
    server.stop().expect(1);
}

#[test]
fn the_body_of_a_miss_has_the_providers_shape() {
    let scene = Scene::new();
    let upstream = Upstream::start(|request| match request.target.as_str() {
        "/v1/messages" => Answer::json(200, message_answer("x")),
        target if target.contains("gemini") => Answer::json(200, gemini_answer("x")),
        _ => Answer::json(200, chat_answer("x")),
    });
    let calls = [chat("hi"), message("hi"), gemini("generateContent", "hi")];
    scene.recorded(&upstream, &calls);
    let others = [chat("ho"), message("ho"), gemini("generateContent", "ho")];
    let answers = scene.replayed(&[], &others, 1);
    let bodies: Vec<Value> = answers.iter().map(Response::json).collect();
    answers.into_iter().for_each(|answer| drop(missed(answer)));
    let error = &bodies[0]["error"];
    assert!(error["message"].is_string() && error["type"].is_string(), "{error}");
    assert_eq!(bodies[1]["type"], "error");
    assert!(bodies[1]["error"]["type"].is_string());
    says(bodies[1]["error"]["message"].as_str().unwrap(), &["/messages/0/content"]);
    assert_eq!(bodies[2]["error"]["code"], 422);
    assert!(bodies[2]["error"]["status"].is_string());
    says(bodies[2]["error"]["message"].as_str().unwrap(), &["/contents/0/parts/0/text"]);
}

#[test]
fn a_streamed_request_that_misses_gets_a_plain_error() {
    let (scene, _) = rich();
    let call = crate::support::shape::chat_streamed("other");
    missed(scene.replayed(&[], &[call], 1).remove(0));
}

#[test]
fn an_exhausted_call_says_so() {
    let (scene, body) = rich();
    let call = Call::post(CHAT, body.to_string());
    let answers = scene.replayed(&[], &[call.clone(), call], 1);
    let text = missed(answers.into_iter().nth(1).unwrap());
    says(&text, &["exhausted", "--repeat"]);
}

#[test]
fn a_drifted_step_says_so() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    let step = |prompt: &str| chat(prompt).header("x-loomrec-step-id: plan");
    scene.recorded(&upstream, &[step("Plan the day")]);
    let server = scene.replay(&[]);
    let text = missed(server.call(&step("Plan the night")));
    says(&text, &["drifted", "plan", "/messages/0/content", "Plan the day", "Plan the night"]);
    server.call(&step("Plan the day")).expect(200);
    server.stop().expect(1).says(&["drifted"]);
}

#[test]
fn only_a_similar_request_has_drifted() {
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    for (recorded, now, reason) in [
        ("What is the weather in Oslo?", "What is the weather in Rome?", "drifted"),
        ("Say hi", "Say hello", "drifted"),
        ("hi", "zzz", "unknown request"),
        ("hi", "Summarise this report, and say hi", "unknown request"),
        ("Translate the poem to French", "Write a haiku on rain", "unknown request"),
    ] {
        let scene = Scene::new();
        scene.recorded(&upstream, &[chat(recorded)]);
        let receipt = ["--receipt", "receipt.json", "--pending", "run.json.pending"];
        let server = scene.replay(&receipt);
        let mut body = chat_body(now);
        body["model"] = json!("another");
        let answer = server.call(&Call::post(CHAT, body.to_string()));
        let text = missed(answer);
        says(&text, &[&format!("RecordingMismatchError: {reason}: "), "nearest recorded call: "]);
        server.stop().expect(1).says(&[&format!("RecordingMismatchError {reason}: ")]);
        let drifted = u64::from(reason == "drifted");
        let receipt = std::fs::read(scene.path("receipt.json")).unwrap();
        let receipt: Value = serde_json::from_slice(&receipt).unwrap();
        assert_eq!((&receipt["missed"], &receipt["drifted"]), (&json!(1), &json!(drifted)));
        // The request that waits says the same, and replaces a take only if it is similar.
        let waiting = std::fs::read_to_string(scene.path("run.json.pending")).unwrap();
        let waiting: Value = serde_json::from_str(&waiting).unwrap();
        let entries = waiting.as_object().unwrap().iter();
        let (_, entry) = entries.into_iter().find(|(name, _)| !name.starts_with('_')).unwrap();
        let word = reason.split(' ').next().unwrap();
        assert_eq!(entry["pending"]["reason"], word, "{now}");
        assert_eq!(entry["pending"]["replaces"].is_object(), drifted == 1, "{now}");
    }
}

#[test]
fn an_incomplete_recording_is_never_served() {
    let (scene, body) = rich();
    for end in ["client_abort", "truncated"] {
        let text = scene.text().replace("\"end\": \"complete\"", &format!("\"end\": \"{end}\""));
        assert!(text.contains(end));
        let other = Scene::new();
        other.write(text);
        let call = Call::post(CHAT, body.to_string());
        let text = missed(other.replayed(&[], &[call], 1).remove(0));
        says(&text, &["recorded incomplete"]);
    }
}

#[test]
fn long_values_are_shortened() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    let long = |middle: &str| format!("{}{middle}{}", "a ".repeat(40_000), "b ".repeat(40_000));
    scene.recorded(&upstream, &[chat(&long("one"))]);
    let text = missed(scene.replayed(&[], &[chat(&long("two"))], 1).remove(0));
    says(&text, &["/messages/0/content", "one", "two"]);
    assert!(text.len() < 8_000, "{} bytes", text.len());
}

#[test]
fn a_path_without_an_upstream_is_told_which_there_are() {
    let (scene, _) = rich();
    let upstream = Upstream::always(Answer::json(200, "{}"));
    for server in [scene.replay(&[]), scene.record(&upstream, &["--mode", "new_episodes"])] {
        let answer = server.call(&Call::get("/nowhere/v9/thing")).expect(404);
        says(&answer.text(), &["openai", "anthropic", "gemini", "bedrock"]);
        server.stop();
    }
    assert_eq!(upstream.connections(), 0);
}

#[test]
fn remedy_of_a_miss_fetches_the_missed_calls_alone() {
    let (scene, upstream) = (Scene::new(), Upstream::always(Answer::json(200, chat_answer("x"))));
    scene.recorded(&upstream, &[chat("hi")]);
    let server = Server::start(scene.dir(), &["replay", "-r", "run.json"]);
    let told = missed(server.call(&chat("ho")).expect(422));
    says(
        &told,
        &["If the change is meant, replay with `--pending`, then run `loomrec rerecord run.json \
             --pending` and `loomrec review run.json`"],
    );
    assert!(!told.contains("loomrec record "), "{told}");
    server.call(&chat("hi")).expect(200);
    let told = missed(server.call(&chat("hi")).expect(422));
    says(&told, &["exhausted", "replay with `--pending`", "`--repeat last`"]);
    server.stop().expect(1).says(&[
        "if the change is meant, replay with --pending, then:\n",
        "\n    loomrec rerecord run.json --pending\n",
        "\n    loomrec review run.json\n",
    ]);
}
