use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::test_calls::{self, ended_well, to_complete, to_stream};
use crate::{ModeError, Operation, TokenUsage};

const CHAT: Operation = Operation::OLLAMA_CHAT;
const GENERATE: Operation = Operation::OLLAMA_GENERATE;

fn chat_body() -> Value {
    json!({
        "model": "qwen3:8b", "created_at": "2026-11-21T22:47:48.818Z",
        "message": {
            "role": "assistant", "content": "Well, let me see: ünï 東京", "thinking": "thinking aloud",
            "tool_calls": [
                { "id": "call_1", "function": { "index": 0, "name": "f", "arguments": { "n": 9007199254740993u64 } } },
                { "function": { "name": "g", "arguments": {} } }
            ],
            "images": null
        },
        "logprobs": [{ "token": "Well" }],
        "done_reason": "stop", "done": true, "total_duration": 4935886791u64, "load_duration": 534986708,
        "prompt_eval_count": 26, "prompt_eval_duration": 107345000, "eval_count": 237, "eval_duration": 4289432000u64
    })
}

fn generate_body() -> Value {
    json!({
        "model": "llama3.2", "created_at": "2026-11-21T22:47:48.818Z",
        "response": "The sky is blue.", "thinking": "hm", "done_reason": "length", "done": true,
        "context": [1, 2, 3], "total_duration": 1, "prompt_eval_count": 26, "eval_count": 290
    })
}

fn lines(operation: Operation, body: &Value) -> Vec<Value> {
    let chunks = to_stream(operation, body.to_string().as_bytes(), false).unwrap();
    chunks
        .iter()
        .map(|line| serde_json::from_slice(line.strip_suffix(b"\n").unwrap()).unwrap())
        .collect()
}

#[test]
fn complete_answers_are_read() {
    let answer = read_body(&chat_body()).unwrap();
    assert_eq!(answer.content, "Well, let me see: ünï 東京");
    assert_eq!(answer.model.as_deref(), Some("qwen3:8b"));
    assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
    let ids: Vec<_> =
        answer.tool_calls.iter().map(|call| (call.id.as_str(), call.name.as_str())).collect();
    assert_eq!(ids, [("call_1", "f"), ("", "g")]);
    assert_eq!(answer.tool_calls[0].arguments, json!({ "n": 9007199254740993u64 }));
    let usage = answer.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (26, 237, 263));
    let body = generate_body().to_string();
    let answer = test_calls::read(GENERATE, false, body.as_bytes()).unwrap();
    assert_eq!(
        (answer.content.as_str(), answer.finish_reason.as_deref()),
        ("The sky is blue.", Some("length"))
    );
    for operation in [CHAT, GENERATE] {
        assert_eq!(test_calls::read(operation, false, br#"{"error":"model not found"}"#), None);
    }
}

#[test]
fn answers_survive_when_they_go_both_ways() {
    for (operation, body) in [(CHAT, chat_body()), (GENERATE, generate_body())] {
        let bytes = to_stream(operation, body.to_string().as_bytes(), false).unwrap().concat();
        let back: Value = serde_json::from_slice(&to_complete(operation, &bytes).unwrap()).unwrap();
        assert_eq!(back, body);
        let plain = test_calls::read(operation, false, body.to_string().as_bytes());
        assert_eq!(test_calls::read(operation, true, &bytes), plain);
        // The line feed after the last line does not count.
        assert_eq!(test_calls::read(operation, true, bytes.trim_ascii_end()), plain);
    }
}

#[test]
fn streams_have_ollamas_shape() {
    let lines = lines(CHAT, &chat_body());
    let (last, first) = lines.split_last().unwrap();
    for line in first {
        assert_eq!((&line["done"], &line["model"]), (&json!(false), &json!("qwen3:8b")));
        assert!(line["message"]["content"].is_string() && line.get("eval_count").is_none());
    }
    assert_eq!(
        first[0]["message"],
        json!({ "role": "assistant", "content": "", "thinking": "thinking " })
    );
    let calls = first.iter().filter(|line| line["message"].get("tool_calls").is_some()).count();
    assert_eq!(calls, 1, "a call comes whole");
    assert_eq!((&last["done"], &last["done_reason"]), (&json!(true), &json!("stop")));
    assert_eq!((&last["eval_count"], &last["message"]["content"]), (&json!(237), &json!("")));
}

#[test]
fn a_stream_is_refused_when_it_did_not_end_well() {
    for (operation, body) in [(CHAT, chat_body()), (GENERATE, generate_body())] {
        let chunks = to_stream(operation, body.to_string().as_bytes(), false).unwrap();
        let (last, first) = chunks.split_last().unwrap();
        let unended = |parts: &[&[u8]]| {
            assert_eq!(to_complete(operation, &parts.concat()), Err(ModeError::Unended));
        };
        let first = first.concat();
        unended(&[&first]);
        unended(&[&first, &last[..last.len() / 2]]);
        unended(&[&first, b"{\"error\":\"an error was encountered while running the model\"}\n"]);
        unended(&[&first, b"{\"error\":\"x\"}\n", last]);
        unended(&[&first, b"{\"mess\n", last]);
    }
}

#[test]
fn a_written_answer_is_said_at_no_time() {
    let usage = TokenUsage {
        prompt_tokens: 1,
        completion_tokens: 2,
        total_tokens: 3,
        ..TokenUsage::default()
    };
    let call = ToolCall { id: String::new(), name: "f".to_owned(), arguments: json!({ "a": 1 }) };
    let answer = Answer {
        content: "Hi".to_owned(),
        model: Some("m".to_owned()),
        usage: Some(usage),
        tool_calls: vec![call],
        ..Answer::default()
    };
    let body = test_calls::write(CHAT, &answer, "seed").unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap();
    assert_eq!(body["created_at"], "1970-01-01T00:00:00Z");
    assert_eq!(body["total_duration"], 0);
    assert_eq!(body["message"]["tool_calls"][0]["function"]["arguments"], json!({ "a": 1 }));
    assert_eq!((&body["done_reason"], &body["eval_count"]), (&json!("stop"), &json!(2)));
    let error = test_calls::write(GENERATE, &answer, "seed").unwrap_err();
    assert!(error.to_string().contains("no place for the entry's tool calls"), "{error}");
}

proptest! {
    #[test]
    fn any_answer_survives_when_it_goes_both_ways(
        content in "\\PC{0,80}", thinking in prop::option::of("\\PC{0,40}"),
        counts in any::<(u32, u32)>(), cut in any::<prop::sample::Index>(),
    ) {
        let mut message = json!({ "role": "assistant", "content": content });
        let mut whole = json!({ "model": "m", "created_at": "t", "response": content });
        if let Some(thinking) = thinking {
            message["thinking"] = json!(thinking);
            whole["thinking"] = json!(thinking);
        }
        let mut chat = json!({ "model": "m", "created_at": "t", "message": message });
        for body in [&mut chat, &mut whole] {
            body["done"] = json!(true);
            body["prompt_eval_count"] = json!(counts.0);
            body["eval_count"] = json!(counts.1);
        }
        for (operation, body) in [(CHAT, chat), (GENERATE, whole)] {
            let chunks = to_stream(operation, body.to_string().as_bytes(), false).unwrap();
            let bytes = chunks.concat();
            let back: Value = serde_json::from_slice(&to_complete(operation, &bytes).unwrap()).unwrap();
            prop_assert_eq!(&back, &body);
            let plain = test_calls::read(operation, false, body.to_string().as_bytes());
            prop_assert_eq!(test_calls::read(operation, true, &bytes), plain);
            let cut = &bytes[..cut.index(bytes.len() - 1)];
            prop_assert!(ended_well(operation, cut) != Some(true));
        }
    }
}
