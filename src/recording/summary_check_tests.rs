use serde_json::json;

use super::*;

fn entry(path: &str, kind: &str, body: &str, summary: &Value) -> Entry {
    let mut value = json!({
        "request": {"method": "POST", "path": path, "headers": {"content-type": "application/json"},
            "body": {"model": "asked", "messages": []}},
        "response": {"status": 200, "headers": {"content-type": kind}, "text": body},
    });
    for (name, field) in summary.as_object().unwrap() {
        value[name] = field.clone();
    }
    Entry::parse(&value).unwrap()
}

const CHAT: &str = "/v1/chat/completions";

fn chat(message: &Value) -> String {
    json!({"model": "m-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]})
        .to_string()
}

fn field(body: &str, summary: &Value) -> Option<&'static str> {
    entry(CHAT, "application/json", body, summary).misstated_field()
}

#[test]
fn summary_that_says_other_than_the_response_is_named() {
    let body = chat(&json!({"role": "assistant", "content": "Do not delete it"}));
    let told = json!({"content": "Do not delete it", "model": "m-1", "finish_reason": "stop"});
    assert_eq!(field(&body, &told), None);
    for content in
        ["Delete it", "delete it", "Do not delete itt", "assistant", "stop", "[REDACTED]x"]
    {
        assert_eq!(field(&body, &json!({"content": content})), Some("content"), "{content}");
    }
    assert_eq!(field(&body, &json!({"finish_reason": "length"})), Some("finish_reason"));
    assert_eq!(field(&body, &json!({"model": "m-2"})), Some("model"));
    let calls = json!({"tool_calls": [{"id": "c", "name": "f", "arguments": {"a": 1}}]});
    assert_eq!(field(&body, &calls), Some("tool_calls"));
    // A text that a decoy in the response says.
    let decoy = body.replace("{\"model\"", "{\"note\":{\"text\":\"fine\"},\"model\"");
    assert_eq!(field(&decoy, &json!({"content": "fine"})), Some("content"));
}

#[test]
fn summary_that_hides_what_the_response_says_is_named() {
    let call = |name: &str| {
        json!({"id": "c", "type": "function",
            "function": {"name": name, "arguments": "{\"cmd\": \"rm\"}"}})
    };
    let calling = |content: Value, names: &[&str]| {
        let calls: Vec<Value> = names.iter().map(|name| call(name)).collect();
        chat(&json!({"role": "assistant", "content": content, "tool_calls": calls}))
    };
    let shown = json!({"content": "Hello", "model": "m-1", "finish_reason": "stop"});
    assert_eq!(field(&calling(json!("Hello"), &["shell"]), &shown), Some("tool_calls"));
    assert_eq!(field(&calling(json!("Hello"), &[]), &shown), None);
    let one = json!({"tool_calls": [{"id": "c", "name": "ls", "arguments": {"cmd": "rm"}}]});
    assert_eq!(field(&calling(Value::Null, &["ls"]), &one), None);
    assert_eq!(field(&calling(Value::Null, &["ls", "shell"]), &one), Some("tool_calls"));
    assert_eq!(field(&calling(json!("Run this"), &["ls"]), &one), Some("content"));
    let ended = json!({"content": "", "model": "m-1", "finish_reason": "stop"});
    assert_eq!(field(&calling(json!("Run this"), &[]), &ended), Some("content"));
    // What Anthropic calls has no text among its members.
    let body = json!({"model": "m-1", "type": "message", "role": "assistant", "stop_reason": "stop",
        "content": [{"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "c", "name": "shell", "input": {"cmd": ["rm"]}}]});
    let told = entry("/v1/messages", "application/json", &body.to_string(), &shown);
    assert_eq!(told.misstated_field(), Some("tool_calls"));
    // A summary that is absent says nothing, and neither does a model alone.
    for absent in [json!({}), json!({"content": ""}), json!({"model": "m-1"})] {
        assert_eq!(field(&calling(json!("Hello"), &["shell"]), &absent), None, "{absent}");
    }
}

#[test]
fn summary_says_what_the_response_says_whatever_the_version_that_made_it() {
    let body = chat(&json!({"role": "assistant", "content": "a b", "reasoning_content": "well"}));
    for told in [
        json!({}),
        json!({"content": ""}),
        json!({"content": "a b", "model": "asked"}),
        json!({"content": "a  b "}),
        json!({"content": "[REDACTED] b"}),
        json!({"content": "a b", "usage": {"prompt_tokens": 1, "completion_tokens": 2,
            "total_tokens": 3}}),
    ] {
        assert_eq!(field(&body, &told), None, "{told}");
    }
    // An operation that is not read has no summary of its own.
    let other = |content: &str| {
        let body = json!({"documents": [{"text": "one"}, {"text": "two"}]}).to_string();
        entry("/v1/unknown", "application/json", &body, &json!({"content": content}))
            .misstated_field()
    };
    assert_eq!((other(""), other("one"), other("onetwo")), (None, None, None));
    assert_eq!((other("three"), other("on")), (Some("content"), Some("content")));
    let text = entry("/v1/unknown", "text/plain", "heard", &json!({"content": "heard"}));
    assert_eq!(text.misstated_field(), None);
}

#[test]
fn stream_says_all_of_its_pieces_in_order() {
    let event = |text: &str| {
        format!(
            "data: {}\n\n",
            json!({"model": "m", "choices": [{"index": 0, "delta": {"content": text}}]})
        )
    };
    let body = ["Do", " not", " delete"].map(event).concat();
    let told = |content: &str| {
        entry(CHAT, "text/event-stream", &body, &json!({"content": content})).misstated_field()
    };
    assert_eq!(told("Do not delete"), None);
    assert_eq!(told("Do delete"), Some("content"));
    assert_eq!(told("delete"), Some("content"));
}

#[test]
fn tool_calls_are_compared_by_name_and_arguments() {
    let call = json!({"id": "c", "type": "function",
        "function": {"name": "pay", "arguments": "{\"amount\": 100, \"to\": \"bob\"}"}});
    let body = chat(&json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    let told = |name: &str, arguments: Value| {
        field(&body, &json!({"tool_calls": [{"id": "x", "name": name, "arguments": arguments}]}))
    };
    assert_eq!(told("pay", json!({"amount": 100, "to": "bob"})), None);
    assert_eq!(told("pay", json!({"amount": 100, "to": "[REDACTED]"})), None);
    assert_eq!(told("pay", json!({"amount": 1, "to": "bob"})), Some("tool_calls"));
    assert_eq!(told("ask", json!({"amount": 100, "to": "bob"})), Some("tool_calls"));
}
