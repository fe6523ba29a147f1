use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::merged_stream;
use super::*;

fn sse(chunks: &[Value]) -> Vec<u8> {
    let events = chunks.iter().map(|chunk| match chunk {
        Value::String(text) => format!("data: {text}\n\n"),
        chunk => format!("data: {chunk}\n\n"),
    });
    events.collect::<String>().into_bytes()
}

/// Deltas; the usual ones come first.
fn deltas() -> Vec<Value> {
    vec![
        json!({"role": "assistant", "content": ""}),
        json!({"content": "a \"b\" \u{e9}\n"}),
        json!({"content": "c"}),
        json!({"content": null, "reasoning_content": "hm"}),
        json!({}),
        json!({"tool_calls": [{"index": 0, "id": "x", "type": "function",
            "function": {"name": "f", "arguments": ""}}]}),
        json!({"tool_calls": [{"index": 0, "function": {"arguments": "{\"z\":1,"}}]}),
        json!({"tool_calls": [{"index": 0, "id": "", "function": {"name": "", "arguments": "\"a\":2}"}}]}),
        json!({"tool_calls": [{"index": 1, "id": null, "function": {"name": null, "arguments": null}}]}),
        json!({"tool_calls": [{"index": 2}, {"index": 1, "id": "y", "function": {"name": "g"}}]}),
        json!({"tool_calls": null, "refusal": null}),
        json!({"tool_calls": [{"id": "n", "function": {"name": "no index"}}]}),
        json!({"tool_calls": [{"index": 0, "custom": {"name": "c", "input": "free"}}]}),
        json!({"tool_calls": [{"index": 0, "function": null}]}),
        json!({"function_call": {"name": "old", "arguments": "{}"}}),
        json!({"content": [{"type": "text", "text": "part"}]}),
        json!(null),
    ]
}

fn chunk() -> impl Strategy<Value = Value> {
    let delta = prop::sample::select(deltas());
    let finish = prop::sample::select(vec![
        json!(null),
        json!(null),
        json!(null),
        json!("stop"),
        json!("tool_calls"),
        json!(3),
    ]);
    let index = prop::sample::select(vec![json!(0), json!(0), json!(0), json!(1), json!("x")]);
    let usual = (delta, finish, index).prop_map(|(delta, finish, index)| {
        json!({"id": "i", "model": "m", "choices": [
            {"index": index, "delta": delta, "logprobs": null, "finish_reason": finish}]})
    });
    let odd = prop::sample::select(vec![
        json!({"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4}}),
        json!({"choices": [], "usage": null, "model": "other", "x_groq": {"usage": {"prompt_tokens": 9}}}),
        json!({"usage": {"prompt_tokens": 5}}),
        json!({"usage": 1, "model": null}),
        json!({"choices": null, "model": 4}),
        json!({"choices": [{"text": "legacy", "finish_reason": "length"}]}),
        json!({"choices": [{"message": {"content": "whole"}}, 5]}),
        json!({"error": {"message": "overloaded"}}),
        json!("[DONE]"),
        json!("{\"model\":\"a\",\"model\":\"b\"}"),
        json!("{\"choices\":[{\"delta\":{\"content\":\"cut"),
        json!("{}\ndata: "),
    ]);
    prop_oneof![8 => usual, 1 => odd]
}

proptest! {
    #[test]
    fn brief_says_what_the_merge_says(chunks in prop::collection::vec(chunk(), 0..8)) {
        let bytes = sse(&chunks);
        if let Some(answer) = read_stream(&bytes) {
            prop_assert_eq!(answer, merged_stream(&bytes));
        }
    }
}

#[test]
fn usual_streams_are_read_without_a_merge() {
    let chunks: Vec<Value> = deltas()[..11]
        .iter()
        .map(|delta| json!({"model": "m", "choices": [{"index": 0, "delta": delta}]}))
        .chain([json!({"choices": [], "usage": {"prompt_tokens": 3}}), json!("[DONE]")])
        .collect();
    let answer = read_stream(&sse(&chunks)).unwrap().unwrap();
    assert_eq!(answer.content, "a \"b\" \u{e9}\nc");
    assert_eq!(answer.tool_calls.len(), 2);
    assert_eq!(answer.tool_calls[0].arguments, json!({"z": 1, "a": 2}));
    assert_eq!(answer.usage.unwrap().prompt_tokens, 3);
}
