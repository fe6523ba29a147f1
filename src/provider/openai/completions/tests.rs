use proptest::prelude::*;
use serde_json::{Value, json};

use crate::test_calls::{ended_well, format_of, read, to_complete, to_stream};
use crate::{ModeError, Operation, ResponseFormat, to_stream as stream_of};

const COMPLETIONS: Operation = Operation::COMPLETIONS;

fn streamed(body: &Value, usage: bool) -> Vec<Value> {
    let events = to_stream(COMPLETIONS, body.to_string().as_bytes(), usage).unwrap();
    let events = events.iter().map(|event| {
        let text = std::str::from_utf8(event).unwrap().trim();
        serde_json::from_str(text.strip_prefix("data: ").unwrap()).unwrap_or(Value::Null)
    });
    events.collect()
}

/// Converts a complete body to a stream and back.
fn round(body: &Value) -> Value {
    let stream = to_stream(COMPLETIONS, body.to_string().as_bytes(), true).unwrap().concat();
    serde_json::from_slice(&to_complete(COMPLETIONS, &stream).unwrap()).unwrap()
}

fn body() -> Value {
    json!({
        "id": "cmpl-1", "object": "text_completion", "created": 1760000000,
        "model": "gpt-3.5-turbo-instruct", "system_fingerprint": "fp_1", "kept": {"as": "it is"},
        "choices": [
            {"text": "Well, I see", "index": 0, "logprobs": null, "finish_reason": "stop"},
            {"text": "Hi you", "index": 1, "finish_reason": "length", "odd": [1], "logprobs": {
                "tokens": ["Hi", " you"], "token_logprobs": [-0.5, null],
                "top_logprobs": [{"Hi": -0.5}, {}], "text_offset": [0, 2]
            }},
            {"text": "Who", "index": 2, "finish_reason": "stop", "logprobs": {
                "tokens": ["Wh"], "token_logprobs": [-0.5], "top_logprobs": null
            }}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    })
}

#[test]
fn completions_survive_when_they_go_both_ways() {
    assert_eq!(round(&body()), body());
}

#[test]
fn a_completion_stream_has_openais_shape() {
    let chunks = streamed(&body(), true);
    let first = json!({
        "id": "cmpl-1", "object": "text_completion", "created": 1760000000,
        "model": "gpt-3.5-turbo-instruct", "system_fingerprint": "fp_1", "kept": {"as": "it is"},
        "choices": [{"text": "", "index": 0, "finish_reason": null}],
        "usage": null
    });
    assert_eq!(chunks[0], first);
    assert_eq!(chunks[2]["choices"][0]["index"], 2);
    let piece = json!({"text": "Well, ", "index": 0, "logprobs": null, "finish_reason": null});
    assert_eq!(chunks[3]["choices"][0], piece);
    assert_eq!(chunks[6]["choices"][0]["text"], "");
    assert_eq!(chunks[6]["choices"][0]["finish_reason"], "stop");
    let spelled = &chunks[7]["choices"][0];
    assert_eq!(spelled["text"], "Hi");
    assert_eq!(spelled["logprobs"]["top_logprobs"], json!([{"Hi": -0.5}]));
    let end = &chunks[chunks.len() - 2..];
    assert_eq!((&end[0]["choices"], &end[0]["usage"]["total_tokens"]), (&json!([]), &json!(12)));
    assert_eq!(end[1], Value::Null, "the end marker");
    for chunk in streamed(&body(), false) {
        assert_eq!(chunk.get("usage"), None);
    }
}

#[test]
fn a_body_with_messages_is_streamed_as_chat_is() {
    let body = json!({
        "id": "1", "object": "chat.completion", "created": 1, "model": "codestral",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "return 1"},
                     "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    });
    assert_eq!(round(&body), body);
    let mistral = ResponseFormat { upstream: "mistral", ..format_of(COMPLETIONS, false) };
    let events = stream_of(&mistral, body.to_string().as_bytes()).unwrap();
    let last: Value = serde_json::from_slice(&events[events.len() - 2][6..]).unwrap();
    assert_eq!(last["usage"]["total_tokens"], 3);
}

#[test]
fn a_completion_stream_is_refused_when_it_did_not_end_well() {
    let piece = b"data: {\"choices\":[{\"text\":\"x\",\"index\":0,\"finish_reason\":null}]}\n\n";
    assert_eq!(to_complete(COMPLETIONS, piece), Err(ModeError::Unended));
    let failed = [&piece[..], b"data: {\"error\":{\"message\":\"no\"}}\n\n", b"data: [DONE]\n\n"];
    assert_eq!(to_complete(COMPLETIONS, &failed.concat()), Err(ModeError::Unended));
    for bytes in [&b"{}"[..], b"{\"choices\":[{}]}", b"{\"choices\":[1]}", b"{\"choices\":1}"] {
        let refused = Err(ModeError::Unreadable { operation: "Completions" });
        assert_eq!(to_stream(COMPLETIONS, bytes, false), refused);
    }
}

proptest! {
    #[test]
    fn any_completion_survives_when_it_goes_both_ways(
        choices in prop::collection::vec(("\\PC{0,60}", "stop|length|content_filter"), 1..4),
        cut in 0.0..1.0f64,
    ) {
        let choices: Vec<Value> = choices.iter().enumerate().map(|(index, (text, finish))| json!({
            "text": text, "index": index, "logprobs": null, "finish_reason": finish
        })).collect();
        let mut body = body();
        body["choices"] = choices.into();
        prop_assert_eq!(round(&body), body.clone());
        let stream = to_stream(COMPLETIONS, body.to_string().as_bytes(), true).unwrap();
        let plain = read(COMPLETIONS, false, body.to_string().as_bytes());
        prop_assert_eq!(read(COMPLETIONS, true, &stream.concat()), plain);
        // Before the end of the last choice, nothing shows that the stream is complete.
        let before = stream[..stream.len() - 3].concat();
        let part = &before[..(before.len() as f64 * cut) as usize];
        prop_assert_ne!(ended_well(COMPLETIONS, part), Some(true));
        let _ = read(COMPLETIONS, true, part);
    }
}
