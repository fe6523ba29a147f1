//! Conversations in every provider's shape.

use serde_json::{Value, json};

use super::{answer_messages, request_messages, to_json};

/// Returns messages as `role: kind(name)=text …`.
fn told(messages: Option<Vec<super::ChatMessage>>) -> Vec<String> {
    let messages = to_json(&messages.unwrap_or_default());
    let part = |part: &Value| {
        let name = part["name"].as_str().map_or_else(String::new, |name| format!("({name})"));
        let text = part["text"].as_str().unwrap().split_whitespace().collect::<Vec<_>>();
        format!("{}{name}={}", part["kind"].as_str().unwrap(), text.join(""))
    };
    let message = |message: &Value| {
        let parts: Vec<String> = message["parts"].as_array().unwrap().iter().map(part).collect();
        format!("{}: {}", message["role"].as_str().unwrap(), parts.join(" "))
    };
    messages.as_array().unwrap().iter().map(message).collect()
}

#[test]
fn a_chat_is_read_with_its_tools_and_images() {
    let body = json!({ "model": "m", "messages": [
        { "role": "system", "content": "be" },
        { "role": "user", "content": [
            { "type": "text", "text": "see" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } },
            { "type": "image_url", "image_url": { "url": "https://x/y.png" } }] },
        { "role": "assistant", "content": null, "tool_calls": [
            { "id": "c", "type": "function",
              "function": { "name": "add", "arguments": "{\"a\":1}" } }] },
        { "role": "tool", "tool_call_id": "c", "content": "3" },
    ]});
    let expected = [
        "system: text=be",
        "user: text=see image=image/png,26charactersofbase64 image=https://x/y.png",
        "assistant: tool_call(add)={\"a\":1}",
        "tool: tool_result(c)=3",
    ];
    assert_eq!(told(request_messages(&body)), expected);
    let answer = json!({ "choices": [{ "message": {
        "role": "assistant", "reasoning_content": "hm", "content": "hi", "refusal": null } }]});
    assert_eq!(told(answer_messages(&answer)), ["assistant: reasoning=hm text=hi"]);
}

#[test]
fn messages_of_anthropic_are_read_block_by_block() {
    let body = json!({ "system": [{ "type": "text", "text": "be" }], "messages": [
        { "role": "user", "content": "hi" },
        { "role": "assistant", "content": [
            { "type": "thinking", "thinking": "hm", "signature": "s" },
            { "type": "tool_use", "id": "t", "name": "add", "input": { "a": 1 } }] },
        { "role": "user", "content": [
            { "type": "tool_result", "tool_use_id": "t", "content": [{ "type": "text", "text": "3" }] },
            { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "AAAA" } }] },
    ]});
    let expected = [
        "system: text=be",
        "user: text=hi",
        "assistant: reasoning=hm tool_call(add)={\"a\":1}",
        "user: tool_result(t)=3 image=image/png,4charactersofbase64",
    ];
    assert_eq!(told(request_messages(&body)), expected);
    let answer = json!({ "type": "message", "role": "assistant", "content": [
        { "type": "text", "text": "hi" }, { "type": "redacted_thinking", "data": "x" }]});
    assert_eq!(told(answer_messages(&answer)), ["assistant: text=hi reasoning=(encrypted)"]);
}

#[test]
fn responses_are_read_item_by_item() {
    let body = json!({ "instructions": "be", "input": [
        { "role": "user", "content": [{ "type": "input_text", "text": "hi" }] },
        { "type": "function_call", "call_id": "c", "name": "add", "arguments": "{}" },
        { "type": "function_call_output", "call_id": "c", "output": "3" },
    ]});
    let expected = [
        "system: text=be",
        "user: text=hi",
        "assistant: tool_call(add)={}",
        "tool: tool_result(c)=3",
    ];
    assert_eq!(told(request_messages(&body)), expected);
    assert_eq!(told(request_messages(&json!({ "input": "hi" }))), ["user: text=hi"]);
    let answer = json!({ "output": [
        { "type": "reasoning", "summary": [{ "type": "summary_text", "text": "hm" }] },
        { "type": "message", "role": "assistant", "content": [{ "type": "output_text", "text": "hi" }] },
        { "type": "function_call", "call_id": "c", "name": "add", "arguments": "no json" },
    ]});
    let expected = ["assistant: reasoning=hm text=hi tool_call(add)=nojson"];
    assert_eq!(told(answer_messages(&answer)), expected);
}

#[test]
fn gemini_and_converse_are_read_by_their_members() {
    let body = json!({ "systemInstruction": { "parts": [{ "text": "be" }] }, "contents": [
        { "role": "user", "parts": [{ "text": "hi" }, { "inlineData": { "mimeType": "image/png", "data": "AAAA" } }] },
        { "role": "model", "parts": [{ "functionCall": { "name": "add", "args": { "a": 1 } } }] },
        { "role": "user", "parts": [{ "functionResponse": { "name": "add", "response": { "r": 3 } } }] },
    ]});
    let expected = [
        "system: text=be",
        "user: text=hi image=image/png,4charactersofbase64",
        "model: tool_call(add)={\"a\":1}",
        "user: tool_result(add)={\"r\":3}",
    ];
    assert_eq!(told(request_messages(&body)), expected);
    let answer = json!({ "candidates": [{ "content": { "role": "model", "parts": [
        { "text": "hm", "thought": true }, { "text": "hi" }] } }]});
    assert_eq!(told(answer_messages(&answer)), ["model: reasoning=hm text=hi"]);
    let body = json!({ "system": [{ "text": "be" }], "messages": [
        { "role": "user", "content": [{ "text": "hi" }] },
        { "role": "assistant", "content": [{ "toolUse": { "toolUseId": "t", "name": "add", "input": {} } }] },
        { "role": "user", "content": [{ "toolResult": { "toolUseId": "t", "content": [{ "json": { "r": 3 } }] } }] },
    ]});
    let expected = [
        "system: text=be",
        "user: text=hi",
        "assistant: tool_call(add)={}",
        "user: tool_result(t)={\"r\":3}",
    ];
    assert_eq!(told(request_messages(&body)), expected);
    let answer = json!({ "output": { "message": { "role": "assistant", "content": [
        { "reasoningContent": { "reasoningText": { "text": "hm" } } }, { "text": "hi" }] } } });
    assert_eq!(told(answer_messages(&answer)), ["assistant: reasoning=hm text=hi"]);
}

#[test]
fn other_answers_are_read_by_the_names_of_their_texts() {
    let said = |answer: Value| told(answer_messages(&answer));
    assert_eq!(
        said(json!({ "response": "hi", "thinking": "hm" })),
        ["assistant: reasoning=hm text=hi"]
    );
    assert_eq!(said(json!({ "choices": [{ "text": "hi" }] })), ["assistant: text=hi"]);
    let ollama = json!({ "message": { "role": "assistant", "content": "",
        "tool_calls": [{ "function": { "name": "add", "arguments": { "a": 1 } } }] } });
    assert_eq!(said(ollama), ["assistant: tool_call(add)={\"a\":1}"]);
    assert_eq!(
        said(json!({ "data": [{ "embedding": [1, 2] }] })),
        ["assistant: other=1vectorof2numbers"]
    );
    assert_eq!(said(json!({ "error": { "message": "no" } })), [""; 0]);
    assert_eq!(told(request_messages(&json!({ "prompt": "hi", "n": 1 }))), ["user: text=hi"]);
    assert!(request_messages(&json!({ "temperature": 1 })).is_none());
}

#[test]
fn what_is_no_message_does_no_harm() {
    for odd in [
        json!(null),
        json!([]),
        json!("x"),
        json!({ "messages": 7 }),
        json!({ "messages": [null, 7, [], {}, { "role": 5, "content": { "type": [] } }] }),
        json!({ "contents": [{ "parts": [{ "inlineData": 1 }, { "functionCall": "x" }] }] }),
        json!({ "input": [{ "type": "input_image", "image_url": "data:" }] }),
        json!({ "messages": [{ "content": [{ "type": "image_url", "image_url": "data:é" }] }] }),
    ] {
        drop(request_messages(&odd).map(|said| to_json(&said)));
        drop(answer_messages(&odd).map(|said| to_json(&said)));
    }
}

#[test]
fn the_text_of_all_messages_is_bounded() {
    let long = "é".repeat(300_000);
    let message = json!({ "role": "user", "content": long });
    let body = json!({ "messages": [message.clone(), message.clone(), message] });
    let told = to_json(&request_messages(&body).unwrap());
    assert!(told.to_string().len() < 1_100_000, "{}", told.to_string().len());
    let cut = told[1]["parts"][0]["text"].as_str().unwrap();
    assert!(cut.ends_with("more bytes)"), "{}", &cut[cut.len() - 40..]);
    assert_eq!(told[2]["parts"][0]["text"], "(1 more messages: see the body)");
    let many = vec![json!({ "role": "user", "content": "" }); 200_000];
    let told = to_json(&request_messages(&json!({ "messages": many })).unwrap());
    assert!(told.to_string().len() < 2_000_000, "{}", told.to_string().len());
}
