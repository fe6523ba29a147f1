//! Tests of the summary of an entry: the same fields for every provider, complete or streamed.

use serde_json::{Value, json};

use crate::support::shape::{
    chat, chat_answer, chat_events, chat_streamed, gemini, gemini_answer, message, message_answer,
    message_events, message_streamed,
};
use crate::support::{Answer, Call, Scene, Server, Upstream};

/// The summary of the one call.
fn summary(call: Call, answer: Answer) -> Value {
    let scene = Scene::new();
    scene.recorded(&Upstream::always(answer), &[call]).remove(0).expect(200);
    scene.only_take()
}

#[track_caller]
fn is(take: &Value, content: &str, model: &str, finish: &str, tokens: [u64; 2]) {
    assert_eq!(take["content"], content);
    assert_eq!(take["model"], model);
    assert_eq!(take["finish_reason"], finish);
    assert_eq!(take["usage"]["prompt_tokens"], tokens[0]);
    assert_eq!(take["usage"]["completion_tokens"], tokens[1]);
    assert_eq!(take["request_hash"].as_str().map(str::len), Some(64));
    assert!(take["latency_ms"].as_f64().is_some_and(|ms| ms > 0.0));
    time::OffsetDateTime::parse(
        take["recorded_at"].as_str().unwrap(),
        &time::format_description::well_known::Rfc3339,
    )
    .unwrap();
}

#[test]
fn chat_streamed_with_usage() {
    let mut events = chat_events(&["Hel", "lo"]);
    let usage = json!({"choices": [], "usage":
        {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11}});
    events.insert(events.len() - 1, format!("data: {usage}\n\n"));
    let take = summary(chat_streamed("hi"), Answer::events(&events));
    is(&take, "Hello", "gpt-4o-mini-2024-07-18", "stop", [5, 6]);
    assert!(take["cost_usd"].as_f64().unwrap() > 0.0);
}

#[test]
fn anthropic_complete_and_streamed() {
    let model = "claude-sonnet-4-20250514";
    let take = summary(message("hi"), Answer::json(200, message_answer("Bonjour")));
    is(&take, "Bonjour", model, "end_turn", [10, 5]);
    assert_eq!(take["provider"], "anthropic");
    let cost = take["cost_usd"].as_f64().unwrap();
    let streamed =
        summary(message_streamed("hi"), Answer::events(&message_events(&["Bon", "jour"])));
    is(&streamed, "Bonjour", model, "end_turn", [10, 5]);
    // 10 input tokens at 3 dollars and 5 output tokens at 15 dollars per million.
    assert!((cost - 0.000_105).abs() < 1e-9, "{cost}");
    assert_eq!(streamed["cost_usd"].as_f64(), Some(cost));
}

#[test]
fn gemini_complete_and_streamed() {
    let take = summary(gemini("generateContent", "hi"), Answer::json(200, gemini_answer("Ciao")));
    is(&take, "Ciao", "gemini-2.5-flash", "STOP", [4, 6]);
    let piece = |text: &str, finish: Value| {
        let mut piece: Value = serde_json::from_str(&gemini_answer(text)).unwrap();
        piece["candidates"][0]["finishReason"] = finish;
        format!("data: {piece}\r\n\r\n")
    };
    let events = [piece("Ci", Value::Null), piece("ao", json!("STOP"))];
    let call = gemini("streamGenerateContent?alt=sse", "hi");
    is(&summary(call, Answer::events(&events)), "Ciao", "gemini-2.5-flash", "STOP", [4, 6]);
}

#[test]
fn responses_complete_and_streamed() {
    let call = |stream: bool| {
        let body = json!({"model": "gpt-4o-mini", "input": "hi", "stream": stream});
        Call::post("/openai/v1/responses", body.to_string())
    };
    let done = json!({
        "id": "resp_1", "object": "response", "status": "completed", "model": "gpt-4o-mini",
        "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                    "content": [{"type": "output_text", "text": "Hei", "annotations": []}]}],
        "usage": {"input_tokens": 7, "output_tokens": 2, "total_tokens": 9}
    });
    let take = summary(call(false), Answer::json(200, done.to_string()));
    is(&take, "Hei", "gpt-4o-mini", "completed", [7, 2]);
    let event = |kind: &str, mut body: Value| {
        body["type"] = json!(kind);
        format!("event: {kind}\ndata: {body}\n\n")
    };
    let events = [
        event("response.created", json!({"response": {"id": "resp_1", "model": "gpt-4o-mini"}})),
        event("response.output_text.delta", json!({"delta": "H", "output_index": 0})),
        event("response.output_text.delta", json!({"delta": "ei", "output_index": 0})),
        event("response.completed", json!({ "response": done })),
    ];
    is(&summary(call(true), Answer::events(&events)), "Hei", "gpt-4o-mini", "completed", [7, 2]);
}

#[test]
fn embeddings_keep_their_tokens() {
    let body = json!({"model": "text-embedding-3-small", "input": ["a", "b"]});
    let answer = json!({"object": "list", "model": "text-embedding-3-small",
        "data": [{"index": 0, "embedding": [0.25, -1.0]}, {"index": 1, "embedding": [0.5, 1e-7]}],
        "usage": {"prompt_tokens": 2, "total_tokens": 2}});
    let call = Call::post("/openai/v1/embeddings", body.to_string());
    let take = summary(call, Answer::json(200, answer.to_string()));
    assert_eq!(take["model"], "text-embedding-3-small");
    assert_eq!(take["usage"]["prompt_tokens"], 2);
    assert_eq!(take["content"], "");
}

#[test]
fn a_model_without_a_price_has_an_unknown_cost_and_not_one_of_nothing() {
    let scene = Scene::new();
    let answer = chat_answer("x").replace("gpt-4o-mini-2024-07-18", "mystery-9");
    let upstream = Upstream::always(Answer::json(200, answer));
    let server = scene.record(&upstream, &[]);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0).says(&["mystery-9"]);
    assert_eq!(scene.only_take().get("cost_usd"), None);
    for command in ["ls", "stats"] {
        let told = scene.run(&[command, "run.json"]).expect(0).stdout;
        assert!(told.contains("unknown") && !told.contains("$0"), "{command}: {told}");
    }
    let listed: Value =
        serde_json::from_str(&scene.run(&["ls", "--json", "run.json"]).expect(0).stdout).unwrap();
    assert_eq!(listed[0]["cost_usd"], Value::Null);
    let told: Value =
        serde_json::from_str(&scene.run(&["stats", "--json", "run.json"]).expect(0).stdout)
            .unwrap();
    assert_eq!((&told["all"]["cost_usd"], &told["all"]["unpriced"]), (&Value::Null, &json!(1)));
    // An older recording has 0.0 if the price is unknown.
    let old = scene.text().replace("\"latency_ms\"", "\"cost_usd\": 0.0, \"latency_ms\"");
    scene.write(old.as_bytes());
    let told = scene.run(&["ls", "run.json"]).expect(0).stdout;
    assert!(told.contains("unknown") && !told.contains("$0"), "{told}");
}

#[test]
fn a_price_file_stands_above_the_built_in_table() {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    std::fs::write(scene.path("bad.json"), "{").unwrap();
    let bad = scene.record_args(&upstream.url(), &["--prices", "bad.json"]);
    let ended = crate::support::run(scene.dir(), &bad);
    assert!(ended.code != 0 && ended.stderr.contains("bad.json"), "{}", ended.stderr);
    let wrong = json!({"models": [{"names": ["m"], "input": 1, "output": "2"}]}).to_string();
    std::fs::write(scene.path("bad.json"), wrong).unwrap();
    crate::support::run(scene.dir(), &bad).expect(2).says(&[
        "--prices bad.json",
        "the price of m: `output` must be a number from 0 up, in dollars per million tokens, but \
         is a string",
    ]);
    let gone = scene.record_args(&upstream.url(), &["--prices", "gone.json"]);
    assert!(crate::support::run(scene.dir(), &gone).stderr.contains("gone.json"));
    let model =
        json!({"upstream": "openai", "names": ["gpt-4o-mini"], "input": 1e6, "output": 2e6});
    let table = json!({ "date": "2026-11", "models": [model] }).to_string();
    std::fs::write(scene.path("own.json"), table).unwrap();
    let server = scene.record(&upstream, &["--prices", "own.json"]);
    server.call(&chat("hi")).expect(200);
    server.stop().expect(0);
    assert_eq!(scene.only_take()["cost_usd"].as_f64(), Some(9.0 + 24.0));
}

/// The cost of a call with a price table of another model, which sets `replace`.
fn cost_under_another_models_table(replace: bool) -> Option<f64> {
    let scene = Scene::new();
    let upstream = Upstream::always(Answer::json(200, chat_answer("x")));
    let table = json!({"replace": replace, "models": [{"names": ["m"], "input": 1}]});
    std::fs::write(scene.path("own.json"), table.to_string()).unwrap();
    let server = scene.record(&upstream, &["--prices", "own.json"]);
    server.call(&chat("hi")).expect(200);
    let ended = server.stop().expect(0);
    assert_eq!(ended.stderr.contains("no price is known for gpt-4o-mini-2024-07-18"), replace);
    scene.only_take()["cost_usd"].as_f64()
}

#[test]
fn a_price_file_stands_alone_when_it_says_so() {
    assert_eq!(cost_under_another_models_table(false), Some(0.000_008_55));
    assert_eq!(cost_under_another_models_table(true), None);
}

#[test]
fn cost_is_what_the_answer_or_its_gateway_states() {
    let counts = json!({"prompt_tokens": 394, "completion_tokens": 67, "total_tokens": 461});
    let with = |more: Value| {
        let mut usage = counts.clone();
        usage.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        usage
    };
    let details = json!({"upstream_inference_cost": null, "upstream_inference_prompt_cost": 0});
    let vercel = json!({"cost": 0.002187, "is_byok": false, "cost_details": details,
        "market_cost": 0.002187});
    let own_key = json!({"cost": 0, "is_byok": true, "cost_details": details});
    let header = "x-litellm-response-cost: 3.45e-05";
    for (upstream, usage, header, cost) in [
        ("vercel", with(vercel), "x-a: 1", json!(0.002187)),
        ("vercel", with(own_key), "x-a: 1", Value::Null),
        ("xai", with(json!({"cost_in_usd_ticks": 37_756_000})), "x-a: 1", json!(0.0037756)),
        ("litellm", counts.clone(), header, json!(3.45e-5)),
        ("litellm", counts.clone(), "x-litellm-response-cost: None", Value::Null),
        ("litellm", with(json!({"cost": 0.5})), "x-a: 1", Value::Null),
    ] {
        let scene = Scene::new();
        let answer = json!({"id": "1", "object": "chat.completion", "model": "unpriced-model-9",
            "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": "Hi"}}],
            "usage": usage});
        let headers = ["content-type: application/json", header];
        let model = Upstream::always(Answer::whole(200, &headers, answer.to_string()));
        let address = format!("--upstream={upstream}={}", model.url());
        let server = Server::start(scene.dir(), &["record", "-r", scene.name(), &address]);
        let body = json!({"model": "unpriced-model-9",
            "messages": [{"role": "user", "content": "Hi"}]});
        let path = format!("/{upstream}/v1/chat/completions");
        server.call(&Call::post(&path, body.to_string())).expect(200);
        server.stop().expect(0);
        assert_eq!(scene.only_take()["cost_usd"], cost, "{upstream} {header}");
        let listed = scene.run(&["ls", scene.name(), "--json"]).expect(0).stdout;
        let listed: Value = serde_json::from_str(&listed).unwrap();
        assert!(listed.to_string().contains(&format!("\"cost_usd\":{cost}")), "{listed}");
    }
}
