use serde_json::json;

use super::*;
use crate::test_calls::to_stream;
use crate::{Operation, ResponseFormat, TokenUsage, read_answer, write_answer};
use crate::{RequestHead, recognise_request};

const STREAM: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-sonnet-4-20250514","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":3,"cache_read_input_tokens":7,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm, "}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"so"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: ping
data: {"type":"ping"}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"I'll "}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look."}}

event: content_block_delta
data: {"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"cited_text":"x"}}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"toolu_1","name":"get_weather","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"id\": 9007199254740993"}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"input_tokens":null,"output_tokens":25,"output_tokens_details":{"thinking_tokens":6}}}

event: message_stop
data: {"type":"message_stop"}

"#;

#[test]
fn a_stream_is_assembled_when_it_has_every_kind_of_delta() {
    let answer = read_stream(STREAM.as_bytes()).unwrap();
    assert_eq!(answer.content, "I'll look.");
    assert_eq!(answer.model.as_deref(), Some("claude-sonnet-4-20250514"));
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_use"));
    assert_eq!(answer.tool_calls.len(), 1);
    let call = &answer.tool_calls[0];
    assert_eq!((call.id.as_str(), call.name.as_str()), ("toolu_1", "get_weather"));
    assert_eq!(call.arguments.to_string(), r#"{"id":9007199254740993}"#);
}

#[test]
fn input_is_the_sum_of_its_parts_when_a_cache_was_used() {
    let usage = read_stream(STREAM.as_bytes()).unwrap().usage.unwrap();
    let expected = TokenUsage {
        prompt_tokens: 20,
        completion_tokens: 25,
        total_tokens: 45,
        reasoning_tokens: 6,
        cached_tokens: 7,
        cache_write_tokens: 3,
    };
    assert_eq!(usage, expected);
}

#[test]
fn a_merged_stream_is_the_complete_message() {
    let merged = merge_events(STREAM.as_bytes()).unwrap();
    assert!(merged.ended && !merged.failed);
    let content = &merged.body["content"];
    let thinking = json!({"type": "thinking", "thinking": "hm, so", "signature": "c2ln"});
    assert_eq!(content[0], thinking);
    assert_eq!(content[1]["citations"], json!([{"cited_text": "x"}]));
    assert_eq!(merged.body["stop_reason"], "tool_use");
    assert_eq!(merged.body["usage"]["input_tokens"], 10);
    let streamed = read_body(&Value::Object(merged.body));
    assert_eq!(streamed, read_stream(STREAM.as_bytes()));
}

#[test]
fn what_arrived_is_read_when_the_stream_was_cut() {
    let cut = STREAM.find("{\\\"id").unwrap();
    let merged = merge_events(&STREAM.as_bytes()[..cut]).unwrap();
    assert!(!merged.ended);
    let answer = read_stream(&STREAM.as_bytes()[..cut]).unwrap();
    assert_eq!(answer.content, "I'll look.");
    assert_eq!(answer.finish_reason, None);
    assert_eq!(answer.tool_calls[0].arguments, json!({}));
    assert_eq!(answer.usage.unwrap().completion_tokens, 1);
}

#[test]
fn a_stream_has_failed_when_an_error_event_is_in_it() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let at = STREAM.find("event: ping").unwrap();
    let merged = merge_events(format!("{}{error}", &STREAM[..at]).as_bytes()).unwrap();
    assert!(merged.failed && !merged.ended);
    assert!(merge_events(error.as_bytes()).is_none());
}

#[test]
fn a_complete_answer_is_read_when_it_has_a_tool_call() {
    let body = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-1-20250805",
        "content": [
            {"type": "text", "text": "a"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {"x": [1]}},
            {"type": "text", "text": "b"}
        ],
        "stop_reason": "end_turn", "usage": {"input_tokens": 4, "output_tokens": 2}
    });
    let answer = read_body(&body).unwrap();
    assert_eq!(answer.content, "ab");
    assert_eq!(answer.tool_calls.len(), 1);
    assert_eq!(answer.tool_calls[0].arguments, json!({"x": [1]}));
    assert_eq!(answer.usage.unwrap().total_tokens, 6);
    assert_eq!(read_body(&json!({"type": "error", "error": {}})), None);
}

/// A complete message with every kind of block that Anthropic sends.
fn every_block() -> Value {
    json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-5",
        "content": [
            {"type": "thinking", "thinking": "", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "b3BhcXVl"},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "q"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1",
             "content": [{"type": "web_search_result", "url": "u", "encrypted_content": "e"}]},
            {"type": "mcp_tool_use", "id": "mcptoolu_1", "name": "f", "server_name": "s", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "mcptoolu_1", "is_error": false, "content": []},
            {"type": "text", "text": "It is.", "citations": [
                {"type": "web_search_result_location", "url": "u", "cited_text": "is"}]},
            {"type": "kind_still_to_come", "payload": [1, {"a": null}]}
        ],
        "stop_reason": "pause_turn", "stop_sequence": null,
        "context_management": {"applied_edits": []},
        "usage": {"input_tokens": 5, "output_tokens": 4, "server_tool_use": {"web_search_requests": 1}}
    })
}

#[test]
fn every_kind_of_block_survives_when_it_goes_both_ways() {
    let refused = json!({
        "id": "msg_2", "type": "message", "role": "assistant", "model": "m", "content": [],
        "stop_reason": "refusal", "stop_sequence": null,
        "stop_details": {"type": "refusal", "category": "cyber", "explanation": "No."},
        "usage": {"input_tokens": 5, "output_tokens": 0}
    });
    for body in [every_block(), refused] {
        let text = body.to_string();
        let stream = to_stream(Operation::MESSAGES, text.as_bytes(), false).unwrap().concat();
        let merged = merge_events(&stream).unwrap();
        assert!(merged.ended && !merged.failed);
        assert_eq!(Value::Object(merged.body), body);
        let answer = super::read_stream(&stream).unwrap();
        assert_eq!(Some(&answer), read_body(&body).as_ref());
        assert_eq!(answer.finish_reason.as_deref(), body["stop_reason"].as_str());
        // Tools that Anthropic runs itself are not for the program.
        assert!(answer.tool_calls.is_empty());
    }
}

#[test]
fn details_at_the_end_of_a_stream_are_the_messages() {
    let end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_sequence\":null,\"stop_details\":{\"type\":\"refusal\",\"category\":\"bio\",\"explanation\":null}},\"usage\":{\"output_tokens\":2},\"context_management\":{\"applied_edits\":[]}}\n\n";
    let (before, after) = STREAM.split_once("event: message_delta").unwrap();
    let after = &after[after.find("event: message_stop").unwrap()..];
    let merged = merge_events(format!("{before}{end}{after}").as_bytes()).unwrap();
    assert!(merged.ended && !merged.failed);
    assert_eq!(merged.body["stop_reason"], "refusal");
    assert_eq!(merged.body["stop_details"]["category"], "bio");
    assert_eq!(merged.body["context_management"], json!({"applied_edits": []}));
    assert_eq!(merged.body["usage"]["input_tokens"], 10);
}

#[test]
fn a_ping_changes_nothing_wherever_it_comes() {
    let ping = "event: ping\ndata: {\"type\": \"ping\"}\n\n";
    let whole = merge_events(STREAM.as_bytes()).unwrap().body;
    let answer = read_stream(STREAM.as_bytes());
    let places = STREAM.match_indices("event: ").map(|(at, _)| at).chain([STREAM.len()]);
    for at in places {
        let text = format!("{}{ping}{}", &STREAM[..at], &STREAM[at..]);
        let merged = merge_events(text.as_bytes()).unwrap();
        assert!(merged.ended && !merged.failed, "at {at}");
        assert_eq!(merged.body, whole, "at {at}");
        assert_eq!(read_stream(text.as_bytes()), answer, "at {at}");
    }
}

#[test]
fn a_stream_has_failed_wherever_an_error_event_comes() {
    let error = "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n";
    let places = STREAM.match_indices("event: ").map(|(at, _)| at).chain([STREAM.len()]);
    for at in places {
        let text = format!("{}{error}{}", &STREAM[..at], &STREAM[at..]);
        assert!(merge_events(text.as_bytes()).unwrap().failed, "at {at}");
    }
}

#[test]
fn claude_on_vertex_is_answered_in_both_modes() {
    let path = "/v1/projects/p/locations/l/publishers/anthropic/models/claude-sonnet-4@20250514";
    let answer = Answer { content: "Salut.".to_owned(), ..Answer::default() };
    for (verb, streamed) in [("rawPredict", false), ("streamRawPredict", true)] {
        let path = format!("{path}:{verb}");
        let body = br#"{"anthropic_version":"vertex-2023-10-16","messages":[]}"#;
        let call = recognise_request(&RequestHead {
            method: "POST",
            path: &path,
            query: "",
            headers: &[],
            body_model: None,
            body_stream: None,
            has_messages: false,
            rpc: None,
        });
        assert_eq!((call.operation, call.streamed), (Operation::MESSAGES, streamed));
        let format = ResponseFormat::from_call(&call, "vertex", "", body);
        let whole = write_answer(&format, &answer, "seed").unwrap();
        let read_whole = read_answer(Operation::MESSAGES, None, &whole).unwrap();
        assert_eq!(read_whole.content, "Salut.");
        assert_eq!(read_whole.model.as_deref(), Some("claude-sonnet-4@20250514"));
        let events = crate::to_stream(&format, &whole).unwrap().concat();
        assert_eq!(
            read_answer(Operation::MESSAGES, Some(format.framing), &events),
            Some(read_whole)
        );
    }
}
