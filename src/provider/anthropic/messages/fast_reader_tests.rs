use proptest::prelude::*;
use serde_json::json;

use super::super::merged_stream;
use super::*;

fn sse(events: &[Value]) -> Vec<u8> {
    let events = events.iter().map(|event| match event {
        Value::String(text) => format!("{text}\n\n"),
        event => format!("data: {event}\n\n"),
    });
    events.collect::<String>().into_bytes()
}

/// Events; those of a usual stream come first.
fn events() -> Vec<Value> {
    vec![
        json!({"type": "message_start", "message": {"model": "m", "content": [],
            "stop_reason": null, "usage": {"input_tokens": 3, "output_tokens": 1, "cache_read_input_tokens": 5}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "A"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "b \u{e9}\n"}}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"z\":1,"}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "\"a\":2}"}}),
        json!({"type": "content_block_start", "index": 2, "content_block": {"type": "tool_use", "id": "u", "name": "g", "input": {"y": 1, "b": 2}}}),
        json!({"type": "content_block_start", "index": 3, "content_block": {"type": "thinking", "thinking": ""}}),
        json!({"type": "content_block_delta", "index": 3, "delta": {"type": "signature_delta", "signature": "s"}}),
        json!({"type": "ping"}),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, "usage": {"output_tokens": 7, "input_tokens": null}}),
        json!({"type": "message_stop"}),
        json!({"type": "message_delta", "delta": {"stop_reason": null}, "usage": null}),
        json!({"type": "message_delta", "delta": {"model": "other"}, "stop_reason": "top"}),
        json!({"type": "message_delta", "usage": {"output_tokens": null, "cache_creation_input_tokens": 4}}),
        json!({"type": "message_start", "message": {"model": 5, "content": [], "usage": null}}),
        json!({"type": "message_start", "message": "none"}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": 5}}),
        json!({"type": "content_block_start", "index": 4, "content_block": {"type": "tool_use", "name": "h", "input": "text"}}),
        json!({"type": "content_block_delta", "index": 4, "delta": {"partial_json": "no json"}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"text": null, "citation": {"a": 1}}}),
        json!({"type": "content_block_delta", "index": 1, "delta": {"id": "more"}}),
        json!({"type": "error", "error": {"type": "overloaded_error"}}),
        json!("event: content_block_stop\ndata: {\"index\":0}"),
        json!(
            "data: {\"type\":\"message_delta\",\ndata: \"delta\":{\"stop_reason\":\"end_turn\"}}"
        ),
        json!("data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"cut"),
        json!(": comment"),
    ]
}

proptest! {
    #[test]
    fn brief_says_what_the_merge_says(
        picks in prop::collection::vec((0..28_usize, 0..14_usize, 0..8_u8), 0..12),
        started in prop::bool::weighted(0.9),
    ) {
        let all = events();
        // Mostly usual events, because otherwise no stream would be read to its end.
        let pick = |&(any, usual, odd): &(usize, usize, u8)| {
            all[if odd == 0 { any } else { usual.max(1) }].clone()
        };
        let first = all.first().filter(|_| started).cloned();
        let events: Vec<Value> = first.into_iter().chain(picks.iter().map(pick)).collect();
        let bytes = sse(&events);
        if let Some(answer) = read_stream(&bytes) {
            prop_assert_eq!(answer, merged_stream(&bytes));
        }
    }
}

#[test]
fn usual_streams_are_read_without_a_merge() {
    let bytes = sse(&events()[..13]);
    let answer = read_stream(&bytes).unwrap().unwrap();
    assert_eq!(answer.content, "Ab \u{e9}\n");
    assert_eq!(answer.tool_calls.len(), 2);
    assert_eq!(answer.tool_calls[0].arguments.to_string(), r#"{"z":1,"a":2}"#);
    assert_eq!(answer.tool_calls[1].arguments.to_string(), r#"{"y":1,"b":2}"#);
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_use"));
    assert_eq!(answer.usage.unwrap().completion_tokens, 7);
    assert_eq!(Some(answer), merged_stream(&bytes));
}
