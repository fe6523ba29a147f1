use serde_json::{Value, json};

use crate::test_calls::read;
use crate::{Operation, Provider, RequestHead, recognise_request};

fn asked(method: &str, path: &str) -> (Provider, Operation) {
    let call = recognise_request(&RequestHead {
        method,
        path,
        query: "",
        headers: &[],
        body_model: None,
        body_stream: None,
        has_messages: false,
        rpc: None,
    });
    (call.provider, call.operation)
}

fn read_json(operation: Operation, body: &Value) -> crate::Answer {
    read(operation, false, body.to_string().as_bytes()).unwrap()
}

#[test]
fn resources_are_named_by_their_path() {
    for (method, path, operation) in [
        ("GET", "/v1/responses/resp_1", Operation::STORED_RESPONSES),
        ("POST", "/openai/v1/responses/resp_1/cancel", Operation::STORED_RESPONSES),
        ("POST", "/v1/responses/input_tokens", Operation::RESPONSES_COUNT_TOKENS),
        ("POST", "/v1/responses/compact", Operation::COMPACT),
        ("POST", "/v1/responses", Operation::RESPONSES),
        ("POST", "/v1/threads/runs", Operation::RUNS),
        ("GET", "/openai/threads/thread_1/runs/run_1", Operation::RUNS),
        ("GET", "/v1/threads/thread_1/messages", Operation::THREADS),
        ("POST", "/v1/assistants", Operation::ASSISTANTS),
        ("POST", "/api/v1/moderations", Operation::MODERATIONS),
        ("GET", "/v1/videos/video_1/content", Operation::VIDEOS),
    ] {
        assert_eq!(asked(method, path), (Provider::OPEN_AI, operation), "{method} {path}");
    }
    assert_eq!(asked("GET", "/v1/response").1, Operation::OTHER);
    assert_eq!(asked("GET", "/v1/evals/responses").1, Operation::OTHER);
}

#[test]
fn jobs_tell_their_model_their_status_and_their_tokens() {
    let response = json!({"object": "response", "status": "in_progress", "model": "gpt-5",
        "output": [], "usage": null});
    let answer = read_json(Operation::STORED_RESPONSES, &response);
    assert_eq!((answer.model.as_deref(), answer.usage), (Some("gpt-5"), None));
    assert_eq!(answer.finish_reason.as_deref(), Some("in_progress"));
    let count = json!({"object": "response.input_tokens", "input_tokens": 11});
    let usage = read_json(Operation::RESPONSES_COUNT_TOKENS, &count).usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (11, 0));
    let compact = json!({"object": "response.compaction", "output": [{"type": "compaction"}],
        "usage": {"input_tokens": 139, "output_tokens": 438, "total_tokens": 577}});
    assert_eq!(read_json(Operation::COMPACT, &compact).usage.unwrap().total_tokens, 577);
    let moderation = json!({"id": "m", "model": "omni-moderation-latest", "results": [{}]});
    let model = read_json(Operation::MODERATIONS, &moderation).model;
    assert_eq!(model.as_deref(), Some("omni-moderation-latest"));
    let video = json!({"object": "video", "model": "sora-2", "status": "queued"});
    let answer = read_json(Operation::VIDEOS, &video);
    assert_eq!(
        (answer.model.as_deref(), answer.finish_reason.as_deref()),
        (Some("sora-2"), Some("queued"))
    );
}

#[test]
fn runs_tell_their_calls_and_their_texts() {
    let run = |status: &str, usage: Value| json!({"object": "thread.run", "status": status, "model": "gpt-4o", "usage": usage});
    let mut asks = run("requires_action", Value::Null);
    asks["required_action"] = json!({"type": "submit_tool_outputs", "submit_tool_outputs":
        {"tool_calls": [{"id": "c1", "function": {"name": "sum", "arguments": "{\"a\":1}"}}]}});
    let call = &read_json(Operation::RUNS, &asks).tool_calls[0];
    assert_eq!((call.name.as_str(), &call.arguments), ("sum", &json!({"a": 1})));
    let delta = |text: &str| {
        json!({"object": "thread.message.delta",
            "delta": {"content": [{"index": 0, "type": "text", "text": {"value": text}}]}})
    };
    let usage = json!({"prompt_tokens": 20, "completion_tokens": 11, "total_tokens": 31});
    let events = [
        ("thread.run.created", run("queued", Value::Null)),
        ("thread.message.delta", delta("Hi ")),
        ("thread.message.delta", delta("you")),
        ("thread.run.completed", run("completed", usage)),
    ];
    let written = events.map(|(name, data)| format!("event: {name}\ndata: {data}\n\n"));
    let stream = written.concat() + "event: done\ndata: [DONE]\n\n";
    let answer = read(Operation::RUNS, true, stream.as_bytes()).unwrap();
    assert_eq!(answer.content, "Hi you");
    assert_eq!(answer.finish_reason.as_deref(), Some("completed"));
    assert_eq!(answer.usage.unwrap().prompt_tokens, 20);
}
