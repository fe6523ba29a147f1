//! Minimal requests and answers in the providers' formats.

use serde_json::{Value, json};

use super::client::Call;

pub(crate) const CHAT: &str = "/openai/v1/chat/completions";
pub(crate) const MESSAGES: &str = "/anthropic/v1/messages";

/// A chat request's body.
pub(crate) fn chat_body(prompt: &str) -> Value {
    json!({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]})
}

/// A complete chat call.
pub(crate) fn chat(prompt: &str) -> Call {
    Call::post(CHAT, chat_body(prompt).to_string())
}

/// The same call with a streamed answer.
pub(crate) fn chat_streamed(prompt: &str) -> Call {
    let mut body = chat_body(prompt);
    body["stream"] = json!(true);
    Call::post(CHAT, body.to_string())
}

/// A chat answer's body, compact.
pub(crate) fn chat_answer(text: &str) -> String {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000,
        "model": "gpt-4o-mini-2024-07-18",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": text},
                     "logprobs": null, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}
    })
    .to_string()
}

/// A streamed chat answer: one chunk per word, the finish, the end marker.
pub(crate) fn chat_events(words: &[&str]) -> Vec<String> {
    let event = |delta: Value, finish: Value| {
        let body = json!({
            "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": "gpt-4o-mini-2024-07-18",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]
        });
        format!("data: {body}\n\n")
    };
    let mut events = vec![event(json!({"role": "assistant", "content": ""}), Value::Null)];
    events.extend(words.iter().map(|word| event(json!({"content": word}), Value::Null)));
    events.push(event(json!({}), json!("stop")));
    events.push("data: [DONE]\n\n".to_owned());
    events
}

/// An Anthropic request's body.
pub(crate) fn message_body(prompt: &str) -> Value {
    json!({"model": "claude-sonnet-4-20250514", "max_tokens": 64,
           "messages": [{"role": "user", "content": prompt}]})
}

pub(crate) fn message(prompt: &str) -> Call {
    Call::post(MESSAGES, message_body(prompt).to_string()).header("anthropic-version: 2023-06-01")
}

pub(crate) fn message_streamed(prompt: &str) -> Call {
    let mut body = message_body(prompt);
    body["stream"] = json!(true);
    Call::post(MESSAGES, body.to_string()).header("anthropic-version: 2023-06-01")
}

pub(crate) fn message_answer(text: &str) -> String {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant",
        "model": "claude-sonnet-4-20250514",
        "content": [{"type": "text", "text": text}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 10, "output_tokens": 5}
    })
    .to_string()
}

/// A streamed Anthropic answer, one chunk per event.
pub(crate) fn message_events(words: &[&str]) -> Vec<String> {
    let event = |body: Value| {
        format!("event: {}\ndata: {body}\n\n", body["type"].as_str().unwrap_or_default())
    };
    let mut events = vec![
        event(json!({"type": "message_start", "message": {
            "id": "msg_1", "type": "message", "role": "assistant", "content": [],
            "model": "claude-sonnet-4-20250514", "stop_reason": null, "stop_sequence": null,
            "usage": {"input_tokens": 10, "output_tokens": 1}}})),
        event(json!({"type": "content_block_start", "index": 0,
                     "content_block": {"type": "text", "text": ""}})),
        event(json!({"type": "ping"})),
    ];
    events.extend(words.iter().map(|word| {
        event(json!({"type": "content_block_delta", "index": 0,
                     "delta": {"type": "text_delta", "text": word}}))
    }));
    events.push(event(json!({"type": "content_block_stop", "index": 0})));
    events.push(event(json!({"type": "message_delta",
        "delta": {"stop_reason": "end_turn", "stop_sequence": null},
        "usage": {"output_tokens": 5}})));
    events.push(event(json!({"type": "message_stop"})));
    events
}

/// A Gemini call with this verb.
pub(crate) fn gemini(verb: &str, prompt: &str) -> Call {
    let body = json!({"contents": [{"role": "user", "parts": [{"text": prompt}]}]});
    Call::post(&format!("/gemini/v1beta/models/gemini-2.5-flash:{verb}"), body.to_string())
}

pub(crate) fn gemini_answer(text: &str) -> String {
    json!({
        "candidates": [{"content": {"parts": [{"text": text}], "role": "model"},
                        "finishReason": "STOP", "index": 0}],
        "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 6, "totalTokenCount": 10},
        "modelVersion": "gemini-2.5-flash"
    })
    .to_string()
}
