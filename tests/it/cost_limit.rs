//! Tests of `record --max-cost`: a call that would pass the limit is refused before it is sent.

use serde_json::{Value, json};

use crate::support::shape::{CHAT, chat_body};
use crate::support::{Answer, Call, Scene, Upstream};

/// An answer of gpt-4o-mini that costs $0.60: a million tokens of output.
fn expensive() -> Answer {
    let answer = json!({"id": "c", "object": "chat.completion", "created": 1,
        "model": "gpt-4o-mini-2024-07-18", "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": "Hello"}}],
        "usage": {"prompt_tokens": 0, "completion_tokens": 1_000_000, "total_tokens": 1_000_000}});
    Answer::json(200, answer.to_string())
}

fn chat_of(model: &str, prompt: &str) -> Call {
    let mut body = chat_body(prompt);
    body["model"] = json!(model);
    Call::post(CHAT, body.to_string())
}

#[test]
fn the_call_that_would_pass_the_limit_is_refused_with_a_typed_error_and_fails_the_run() {
    let scene = Scene::new();
    let upstream = Upstream::always(expensive());
    let server = scene.record(&upstream, &["--max-cost", "1.50", "--receipt", "run.receipt"]);
    for prompt in ["a", "b"] {
        server.call(&chat_of("gpt-4o-mini", prompt)).expect(200);
    }
    let refused = server.call(&chat_of("gpt-4o-mini", "c")).expect(422);
    assert_eq!(refused.header("x-should-retry"), Some("false"));
    let error: Value = refused.json();
    assert_eq!(error["error"]["type"], "CostLimitError", "{error}");
    let message = error["error"]["message"].as_str().unwrap();
    assert!(message.contains("$1.20 of --max-cost $1.50 are spent: it was not sent"), "{message}");
    let stderr = server.stop().expect(1).stderr;
    assert!(stderr.contains("calls refused because of --max-cost $1.50: 1"), "{stderr}");
    assert_eq!(upstream.requests(), 2);
    assert_eq!(scene.takes().len(), 2);
}

#[test]
fn a_model_without_a_price_is_refused_and_a_run_within_its_limit_is_not() {
    let scene = Scene::new();
    let upstream = Upstream::always(expensive());
    let server = scene.record(&upstream, &["--max-cost", "$10"]);
    let refused = server.call(&chat_of("mystery-9", "a")).expect(422);
    assert!(refused.text().contains("no price is known for the model mystery-9"));
    server.call(&chat_of("gpt-4o-mini", "b")).expect(200);
    // A call that asks no model costs nothing.
    server.call(&Call::get("/openai/v1/models")).expect(200);
    server.stop().expect(1);
    for wrong in ["0", "-1", "free", "NaN"] {
        let flag = format!("--max-cost={wrong}");
        let ended = scene.run(&["record", "-r", "other.json", &flag, "--", "true"]);
        assert!(ended.expect(2).stderr.contains("US dollars above 0"), "{wrong}");
    }
}

/// A call of OpenAI's with a form that names a model, if one is given.
fn form_of(path: &str, model: Option<&str>) -> Call {
    let field = |name: &str, text: &str| {
        format!("--b\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n")
    };
    let model = model.map(|model| field("model", model)).unwrap_or_default();
    let body = format!("{}{model}--b--\r\n", field("prompt", "a cat"));
    Call::new("POST", path).header("content-type: multipart/form-data; boundary=b").body(body)
}

#[test]
fn calls_whose_cost_cannot_be_told_from_the_request_are_refused() {
    let scene = Scene::new();
    let upstream = Upstream::always(expensive());
    let server = scene.record(&upstream, &["--max-cost", "10"]);
    let edits = "/openai/v1/images/edits";
    let refused = server.call(&form_of(edits, Some("gpt-image-1"))).expect(422);
    assert!(refused.text().contains("no price is known for the model gpt-image-1"));
    for path in [edits, "/openai/v1/videos", "/openai/v1/threads/t/runs", "/openai/v1/batches"] {
        let refused = server.call(&form_of(path, None)).expect(422);
        assert!(refused.text().contains("the request names no model"), "{path}");
    }
    assert_eq!(upstream.requests(), 0);
    server.call(&form_of("/openai/v1/files", None)).expect(200);
    server.stop().expect(1);
}

#[test]
fn cost_of_a_model_in_a_form_and_of_a_call_without_tokens_is_unknown_everywhere() {
    let scene = Scene::new();
    let image = json!({"created": 1, "data": [{"b64_json": "aGk="}]}).to_string();
    let upstream = Upstream::start(move |request| match request.target.as_str() {
        "/v1/images/edits" => Answer::json(200, image.clone()),
        _ => Answer::json(200, crate::support::shape::chat_answer("Hello")),
    });
    let more = ["--receipt", "run.receipt", "--journal", "run.jsonl"];
    let calls = [
        chat_of("gpt-4o-mini", "hi"),
        form_of("/openai/v1/images/edits", Some("gpt-image-1")),
        Call::get("/openai/v1/models"),
    ];
    let record = scene.record(&upstream, &more);
    calls.iter().for_each(|call| drop(record.call(call).expect(200)));
    record.stop().expect(0).says(&["out, ≥ $0.0", "no price is known for gpt-image-1"]);
    let read = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(scene.path(name)).unwrap()).unwrap()
    };
    let receipt = read("run.receipt");
    assert_eq!(receipt["cost_not_known"], 1, "{receipt}");
    assert_eq!(receipt["unpriced_models"], json!({"gpt-image-1": 1}), "{receipt}");
    let sum = scene.run(&["stats", "run.jsonl", "--json"]).expect(0).stdout;
    let stats = scene.run(&["stats", "run.json", "--json"]).expect(0).stdout;
    let (sum, stats): (Value, Value) =
        (serde_json::from_str(&sum).unwrap(), serde_json::from_str(&stats).unwrap());
    assert_eq!((&sum["cost_not_known"], &stats["all"]["unpriced"]), (&json!(1), &json!(1)));
    assert_eq!(stats["unpriced_models"], json!({"gpt-image-1": 1}), "{stats}");
    let replay = scene.replay(&["--strict", "--receipt", "replay.receipt"]);
    calls.iter().for_each(|call| drop(replay.call(call).expect(200)));
    replay.stop().expect(0).says(&["out, ≥ $0.0"]);
    assert_eq!(read("replay.receipt")["cost_not_known"], 1);
}
