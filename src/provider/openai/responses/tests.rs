use serde_json::json;

use super::*;

fn response(status: &str) -> Value {
    json!({
        "id": "resp_1", "object": "response", "status": status, "model": "gpt-4.1-2025-04-14",
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "no"}]},
            {"type": "message", "id": "msg_1", "role": "assistant", "content": [
                {"type": "output_text", "text": "Hello ", "annotations": []},
                {"type": "refusal", "refusal": "no"},
                {"type": "output_text", "text": "there", "annotations": []}
            ]},
            {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f",
             "arguments": "{\"x\":1}", "status": "completed"},
            {"type": "custom_tool_call", "id": "ct_1", "call_id": "call_2", "name": "sh",
             "input": "ls -l"}
        ],
        "usage": {
            "input_tokens": 9, "output_tokens": 6, "total_tokens": 15,
            "input_tokens_details": {"cached_tokens": 2},
            "output_tokens_details": {"reasoning_tokens": 1}
        }
    })
}

fn event(kind: &str, mut rest: Value) -> String {
    rest["type"] = kind.into();
    format!("event: {kind}\ndata: {rest}\n\n")
}

/// A stream up to its terminal event.
fn opening() -> String {
    let mut started = response("in_progress");
    started["output"] = json!([]);
    started["usage"] = Value::Null;
    let item = json!({"type": "message", "id": "msg_1", "content": []});
    let call = json!({"type": "function_call", "call_id": "call_1", "name": "f", "arguments": ""});
    let delta = |index: u64, delta: &str| json!({"output_index": index, "delta": delta});
    let arguments = "response.function_call_arguments.delta";
    [
        event("response.created", json!({ "response": started })),
        event("response.output_item.added", json!({"output_index": 0, "item": item})),
        event("response.output_text.delta", delta(0, "Hello ")),
        event("response.output_text.delta", delta(0, "there")),
        event("response.output_item.added", json!({"output_index": 1, "item": call})),
        event(arguments, delta(1, "{\"x\"")),
        event(arguments, delta(1, ":1}")),
    ]
    .concat()
}

#[test]
fn a_complete_answer_is_read_when_it_has_text_and_calls() {
    let answer = read_body(&response("completed")).unwrap();
    assert_eq!(answer.content, "Hello there");
    assert_eq!(answer.finish_reason.as_deref(), Some("completed"));
    assert_eq!(answer.tool_calls[0].id, "call_1");
    assert_eq!(answer.tool_calls[0].arguments, json!({"x": 1}));
    assert_eq!(answer.tool_calls[1].arguments, json!({"_raw": "ls -l"}));
    let usage = answer.usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.completion_tokens), (9, 6));
    assert_eq!((usage.cached_tokens, usage.reasoning_tokens), (2, 1));
}

#[test]
fn the_reason_is_named_when_the_answer_is_incomplete() {
    let mut body = response("incomplete");
    body["incomplete_details"] = json!({"reason": "max_output_tokens"});
    let reason = read_body(&body).unwrap().finish_reason;
    assert_eq!(reason.as_deref(), Some("max_output_tokens"));
}

#[test]
fn a_stream_is_read_by_its_terminal_event() {
    let terminal = json!({ "response": response("completed") });
    let bytes = opening() + &event("response.completed", terminal);
    assert_eq!(read_stream(bytes.as_bytes()), read_body(&response("completed")));
}

#[test]
fn what_arrived_is_read_when_the_stream_was_cut() {
    let bytes = opening();
    let answer = read_stream(bytes.as_bytes()).unwrap();
    assert_eq!(answer.content, "Hello there");
    assert_eq!(answer.model.as_deref(), Some("gpt-4.1-2025-04-14"));
    assert_eq!(answer.tool_calls[0].name, "f");
    assert_eq!(answer.tool_calls[0].arguments, json!({"x": 1}));
    assert_eq!((answer.usage, answer.finish_reason), (None, None));
}

#[test]
fn nothing_is_read_when_there_is_no_response() {
    assert_eq!(read_body(&json!({"error": {"message": "no"}})), None);
    assert_eq!(read_stream(b"event: error\ndata: {\"type\":\"error\"}\n\n"), None);
    assert_eq!(read_stream(b": ping\n\n"), None);
}
