use serde_json::json;

use super::*;

fn chunk(parts: Value, finish: Option<&str>, usage: Value) -> Value {
    let mut candidate = json!({"content": {"parts": parts, "role": "model"}, "index": 0});
    if let Some(reason) = finish {
        candidate["finishReason"] = reason.into();
    }
    json!({
        "candidates": [candidate], "usageMetadata": usage,
        "modelVersion": "gemini-2.5-flash", "responseId": "r1"
    })
}

fn chunks() -> Vec<Value> {
    vec![
        chunk(
            json!([{"text": "pondering", "thought": true}]),
            None,
            json!({"promptTokenCount": 11, "cachedContentTokenCount": 4, "thoughtsTokenCount": 5}),
        ),
        chunk(
            json!([{"text": "Hello "}]),
            None,
            json!({"promptTokenCount": 11, "totalTokenCount": 16}),
        ),
        chunk(
            json!([{"text": "there"}, {"functionCall": {"name": "f", "args": {"x": 1.50}}}]),
            Some("STOP"),
            json!({"promptTokenCount": 11, "candidatesTokenCount": 3, "thoughtsTokenCount": 5,
                   "totalTokenCount": 19}),
        ),
    ]
}

fn check(answer: &Answer) {
    assert_eq!(answer.content, "Hello there");
    assert_eq!(answer.model.as_deref(), Some("gemini-2.5-flash"));
    assert_eq!(answer.finish_reason.as_deref(), Some("STOP"));
    assert_eq!(answer.tool_calls.len(), 1);
    assert_eq!(answer.tool_calls[0].name, "f");
    assert_eq!(answer.tool_calls[0].arguments.to_string(), r#"{"x":1.5}"#);
    let expected = TokenUsage {
        prompt_tokens: 11,
        completion_tokens: 8,
        total_tokens: 19,
        reasoning_tokens: 5,
        cached_tokens: 4,
        cache_write_tokens: 0,
    };
    assert_eq!(answer.usage, Some(expected));
}

#[test]
fn every_form_of_stream_gives_the_same_answer() {
    let mut sse = String::new();
    let mut array = String::from("[");
    for (place, chunk) in chunks().iter().enumerate() {
        sse += &format!("data: {chunk}\r\n\r\n");
        array += if place == 0 { "" } else { "\n,\r\n" };
        array += &chunk.to_string();
    }
    array += "]";
    check(&read_stream(sse.as_bytes()).unwrap());
    check(&read_body(array.as_bytes()).unwrap());
}

#[test]
fn what_arrived_is_read_when_an_array_was_cut() {
    let chunks = chunks();
    let array = format!("[{}\n,\r\n{}", chunks[0], chunks[1]);
    let answer = read_body(array.as_bytes()).unwrap();
    assert_eq!((answer.content.as_str(), answer.finish_reason), ("Hello ", None));
    let cut = read_body(&array.as_bytes()[..array.len() - 3]).unwrap();
    assert_eq!(cut.content, "");
}

#[test]
fn the_block_reason_is_the_finish_reason_when_the_prompt_was_refused() {
    let body = json!({
        "promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}
    });
    let answer = read_body(body.to_string().as_bytes()).unwrap();
    assert_eq!(answer.finish_reason.as_deref(), Some("SAFETY"));
    assert_eq!(answer.usage.unwrap().total_tokens, 4);
}

#[test]
fn the_first_candidate_is_read_when_there_are_several() {
    let body = json!({"candidates": [
        {"index": 1, "content": {"parts": [{"text": "b"}]}, "finishReason": "MAX_TOKENS"},
        {"index": 0, "content": {"parts": [{"text": "a"}]}, "finishReason": "STOP"}
    ]});
    let answer = read_body(body.to_string().as_bytes()).unwrap();
    assert_eq!(answer.content, "a");
    assert_eq!(answer.finish_reason.as_deref(), Some("STOP"));
}

#[test]
fn nothing_is_read_when_the_body_is_an_error() {
    assert_eq!(read_body(br#"{"error":{"code":429}}"#), None);
    assert_eq!(read_body(br#"[{"error":{"code":429}}]"#), None);
    assert_eq!(read_body(b"["), None);
    assert_eq!(read_stream(b"data: {\"error\":{}}\n\n"), None);
}

#[test]
fn finish_reason_that_is_a_number_is_read_as_its_word() {
    let read = |reason: serde_json::Value| {
        let body = json!({"candidates": [
            {"index": 0, "content": {"parts": [{"text": "a"}]}, "finishReason": reason}
        ]});
        read_body(body.to_string().as_bytes()).unwrap().finish_reason
    };
    assert_eq!(read(json!(1)).as_deref(), Some("STOP"));
    assert_eq!(read(json!(5)).as_deref(), Some("OTHER"));
    assert_eq!(read(json!(9)).as_deref(), Some("9"), "two APIs differ in its word");
    assert_eq!((read(json!(0)), read(json!(true))), (None, None));
    let operation = crate::Operation::GENERATE_CONTENT;
    let event = |reason: u8| {
        format!(
            r#"data: {{"candidates": [{{"content": {{"parts": [{{"text": "a"}}]}}, "finishReason": {reason}}}]}}"#
        )
    };
    let stream = format!("{}\r\n\r\n{}\r\n\r\n", event(0), event(2));
    assert_eq!(crate::test_calls::ended_well(operation, stream.as_bytes()), Some(true));
    let answer = crate::test_calls::read(operation, true, stream.as_bytes()).unwrap();
    assert_eq!(answer.finish_reason.as_deref(), Some("MAX_TOKENS"));
}
