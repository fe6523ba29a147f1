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
    // A call without a model costs nothing.
    server.call(&Call::get("/openai/v1/models")).expect(200);
    server.stop().expect(1);
    for wrong in ["0", "-1", "free", "NaN"] {
        let flag = format!("--max-cost={wrong}");
        let ended = scene.run(&["record", "-r", "other.json", &flag, "--", "true"]);
        assert!(ended.expect(2).stderr.contains("US dollars above 0"), "{wrong}");
    }
}
