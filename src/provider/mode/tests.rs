use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::answer_draft::{LONGEST_PIECE, text_pieces};
use crate::test_calls::{read, to_complete, to_stream};

const CHAT: Operation = Operation::CHAT_COMPLETIONS;
const MESSAGES: Operation = Operation::MESSAGES;

fn streamed(operation: Operation, body: &Value, usage: bool) -> Vec<Vec<u8>> {
    to_stream(operation, body.to_string().as_bytes(), usage).unwrap()
}

/// Converts a complete body to a stream and back.
fn round(operation: Operation, body: &Value) -> Value {
    let bytes = streamed(operation, body, true).concat();
    serde_json::from_slice(&to_complete(operation, &bytes).unwrap()).unwrap()
}

/// The data of each event.
fn data(events: &[Vec<u8>]) -> Vec<Value> {
    let text = |event: &Vec<u8>| String::from_utf8(event.clone()).unwrap();
    events
        .iter()
        .map(text)
        .filter(|event| !event.contains("[DONE]"))
        .map(|event| {
            let at = event.find("data: ").unwrap() + 6;
            serde_json::from_str(&event[at..]).unwrap()
        })
        .collect()
}

fn chat_body() -> Value {
    let call = |id: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}});
    let token = |text: &str| json!({"token": text, "logprob": -0.25, "top_logprobs": []});
    json!({
        "id": "chatcmpl-9", "object": "chat.completion", "created": 1760000000,
        "model": "gpt-4o-2024-08-06", "service_tier": "default", "system_fingerprint": "fp_2",
        "provider": "kept as it is",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant", "content": "Well, let me see.", "refusal": null,
                    "reasoning_content": "thinking aloud", "annotations": [],
                    "tool_calls": [call("call_1", "{\"a\": 1}"), call("call_2", "")]
                },
                "logprobs": null, "finish_reason": "tool_calls",
                "content_filter_results": {"hate": {"filtered": false}}
            },
            {
                "index": 1,
                "message": {"role": "assistant", "content": "Hi you", "refusal": null},
                "logprobs": {"content": [token("Hi"), token(" you")], "refusal": null},
                "finish_reason": "stop"
            },
            {
                "index": 2,
                "message": {"role": "assistant", "content": null, "refusal": "I can't do that."},
                "logprobs": {"content": null, "refusal": [token("I"), token(" can't")]},
                "finish_reason": "stop"
            }
        ],
        "usage": {"prompt_tokens": 4, "completion_tokens": 9, "total_tokens": 13}
    })
}

fn message_body() -> Value {
    json!({
        "id": "msg_9", "type": "message", "role": "assistant", "model": "claude-opus-4-5-20251101",
        "content": [
            {"type": "thinking", "thinking": "Let me think.", "signature": "c2ln"},
            {"type": "redacted_thinking", "data": "abc"},
            {"type": "text", "text": "Here you are: ünï 東京", "citations": [{"cited_text": "x"}, {"cited_text": "y"}]},
            {"type": "text", "text": ""},
            {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"n": 9007199254740993u64, "s": "é"}},
            {"type": "tool_use", "id": "toolu_2", "name": "g", "input": {}}
        ],
        "stop_reason": "tool_use", "stop_sequence": null, "stop_details": {"type": "none"},
        "container": {"id": "c1"},
        "usage": {"input_tokens": 5, "cache_read_input_tokens": 2, "output_tokens": 40, "output_tokens_details": {"thinking_tokens": 8}, "service_tier": "standard"}
    })
}

#[test]
fn a_chat_answer_survives_when_it_goes_both_ways() {
    assert_eq!(round(CHAT, &chat_body()), chat_body());
}

#[test]
fn a_message_survives_when_it_goes_both_ways() {
    assert_eq!(round(MESSAGES, &message_body()), message_body());
}

#[test]
fn a_chat_stream_has_openais_shape() {
    let events = streamed(CHAT, &chat_body(), true);
    assert_eq!(events.last().unwrap(), b"data: [DONE]\n\n");
    let chunks = data(&events);
    for chunk in &chunks {
        assert_eq!(chunk["object"], "chat.completion.chunk");
        assert_eq!(chunk["id"], "chatcmpl-9");
        assert_eq!(chunk["system_fingerprint"], "fp_2");
    }
    let delta = |place: usize| chunks[place]["choices"][0]["delta"].clone();
    assert_eq!(delta(0)["role"], "assistant");
    assert_eq!(delta(0)["content"], "");
    assert_eq!(chunks[2]["choices"][0]["index"], 2, "all choices are opened first");
    assert_eq!(delta(3), json!({"reasoning_content": "thinking "}));
    assert_eq!(delta(5), json!({"content": "Well, "}));
    let calls: Vec<_> =
        chunks.iter().filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0")).collect();
    let opening = json!({
        "index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}
    });
    assert_eq!(calls[0], &opening);
    let arguments = json!({"index": 0, "function": {"arguments": "{\"a\": 1}"}});
    assert_eq!(calls[1], &arguments);
    assert_eq!(calls[2]["index"], 1);
    let last = chunks.last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert_eq!(last["usage"]["total_tokens"], 13);
    assert_eq!(chunks[0]["usage"], Value::Null);
}

#[test]
fn usage_is_left_out_of_a_chat_stream_when_it_was_not_asked_for() {
    for chunk in data(&streamed(CHAT, &chat_body(), false)) {
        assert_eq!(chunk.get("usage"), None);
        assert_ne!(chunk["choices"], json!([]));
    }
}

#[test]
fn logprobs_go_with_their_tokens_when_these_spell_the_content() {
    let chunks = data(&streamed(CHAT, &chat_body(), false));
    let told: Vec<_> = chunks
        .iter()
        .map(|chunk| &chunk["choices"][0])
        .filter(|choice| choice["index"] == 1 && !choice["logprobs"].is_null())
        .map(|choice| {
            let token = &choice["logprobs"]["content"][0]["token"];
            (choice["delta"]["content"].clone(), token.clone())
        })
        .collect();
    assert_eq!(told, [(json!("Hi"), json!("Hi")), (json!(" you"), json!(" you"))]);
}

#[test]
fn a_message_stream_has_anthropics_shape() {
    let events = streamed(MESSAGES, &message_body(), false);
    let named = events.iter().zip(data(&events)).all(|(event, data)| {
        let name = format!("event: {}\n", data["type"].as_str().unwrap());
        event.starts_with(name.as_bytes())
    });
    assert!(named, "each event's name is its type");
    let data = data(&events);
    let start = &data[0]["message"];
    assert_eq!(start["content"], json!([]));
    assert_eq!(start["stop_reason"], Value::Null);
    assert_eq!(start["usage"]["input_tokens"], 5);
    assert_eq!(data[1]["content_block"]["thinking"], "");
    let end = &data[data.len() - 2];
    assert_eq!(end["delta"]["stop_reason"], "tool_use");
    assert_eq!(end["delta"]["stop_details"], json!({"type": "none"}));
    assert_eq!(end["usage"]["output_tokens"], 40);
    assert_eq!(start["usage"]["output_tokens"], 0);
    assert_eq!(start["usage"].get("output_tokens_details"), None);
    assert_eq!(data[data.len() - 1], json!({"type": "message_stop"}));
}

#[test]
fn a_stream_is_refused_when_it_did_not_end_well() {
    for (operation, body) in [(CHAT, chat_body()), (MESSAGES, message_body())] {
        let events = streamed(operation, &body, true);
        let finish = events.len() - if operation == CHAT { 3 } else { 1 };
        let cut = events[..finish].concat();
        assert_eq!(to_complete(operation, &cut), Err(ModeError::Unended));
        let mut garbled = events.clone();
        garbled[2] = b"data: {\"choices\n\n".to_vec();
        assert_eq!(to_complete(operation, &garbled.concat()), Err(ModeError::Unended));
    }
    let failed = b"data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"error\"}],\"error\":{\"code\":502}}\n\n";
    assert_eq!(to_complete(CHAT, failed), Err(ModeError::Unended));
}

#[test]
fn other_operations_are_refused_by_name() {
    let error = to_complete(Operation::EMBEDDINGS, b"").unwrap_err();
    let begins = "a streamed recording of Embeddings cannot answer a complete request yet";
    assert!(error.to_string().starts_with(begins), "{error}");
    let error = to_stream(Operation::RERANK, b"{}", false).unwrap_err();
    assert!(matches!(error, ModeError::NotYet { .. }));
}

#[test]
fn bytes_that_are_no_answer_are_refused() {
    for bytes in [&b""[..], b"[]", b"{}", b"{\"error\":{}}", b"\xff"] {
        for operation in [CHAT, MESSAGES] {
            let unreadable = |result| matches!(result, Err(ModeError::Unreadable { .. }));
            assert!(unreadable(to_complete(operation, bytes)));
            assert!(unreadable(to_stream(operation, bytes, true).map(|_| vec![])));
        }
    }
}

#[test]
fn groqs_usage_stands_at_its_place_when_the_stream_is_made_complete() {
    let chunk = json!({
        "choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}],
        "x_groq": {"id": "req_1", "usage": {"prompt_tokens": 1}}
    });
    let complete = to_complete(CHAT, format!("data: {chunk}\n\n").as_bytes()).unwrap();
    let complete: Value = serde_json::from_slice(&complete).unwrap();
    assert_eq!(complete["usage"], json!({"prompt_tokens": 1}));
    assert_eq!(complete["x_groq"], json!({"id": "req_1"}));
    assert_eq!(complete["object"], "chat.completion");
    assert_eq!(complete["choices"][0]["message"]["role"], "assistant");
}

#[test]
fn legacy_function_calls_survive_when_they_go_both_ways() {
    let body = json!({
        "id": "1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{
            "index": 0, "logprobs": null, "finish_reason": "function_call",
            "message": {"role": "assistant", "content": null,
                "function_call": {"name": "f", "arguments": "{\"x\":2}"}}
        }]
    });
    assert_eq!(round(CHAT, &body), body);
}

proptest! {
    #[test]
    fn pieces_are_the_text_when_put_together(text in "\\PC{0,80}|[a-z \n\t東é]{0,200}") {
        let pieces: Vec<_> = text_pieces(&text).collect();
        prop_assert_eq!(pieces.concat(), text.as_str());
        for piece in pieces {
            prop_assert!(piece.chars().count() <= LONGEST_PIECE && !piece.is_empty());
        }
    }

    #[test]
    fn any_chat_answer_survives_when_it_goes_both_ways(
        choices in prop::collection::vec((
            prop::option::of("\\PC{0,60}"),
            prop::collection::vec(("[a-z]{1,8}", "\\PC{0,30}"), 0..4),
            "(stop|length|tool_calls)",
        ), 1..4),
        tokens in any::<(u32, u32)>(),
    ) {
        let choices: Vec<Value> = choices.iter().enumerate().map(|(index, (content, calls, finish))| {
            let calls: Vec<Value> = calls.iter().enumerate().map(|(place, (name, arguments))| json!({
                "id": format!("call_{index}_{place}"), "type": "function",
                "function": {"name": name, "arguments": arguments}
            })).collect();
            let mut message = json!({"role": "assistant", "content": content});
            if !calls.is_empty() {
                message["tool_calls"] = calls.into();
            }
            json!({"index": index, "message": message, "logprobs": null, "finish_reason": finish})
        }).collect();
        let body = json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 7, "model": "m",
            "choices": choices,
            "usage": {"prompt_tokens": tokens.0, "completion_tokens": tokens.1,
                      "total_tokens": u64::from(tokens.0) + u64::from(tokens.1)}
        });
        prop_assert_eq!(round(CHAT, &body), body.clone());
        let bytes = streamed(CHAT, &body, true).concat();
        let plain = read(CHAT, false, body.to_string().as_bytes());
        prop_assert!(plain.is_some());
        prop_assert_eq!(read(CHAT, true, &bytes), plain);
    }

    #[test]
    fn any_message_survives_when_it_goes_both_ways(
        blocks in prop::collection::vec(("(text|tool)", "\\PC{0,60}"), 0..5),
        tokens in any::<(u32, u32)>(),
    ) {
        let content: Vec<Value> = blocks.iter().map(|(kind, text)| match kind.as_str() {
            "text" => json!({"type": "text", "text": text}),
            _ => json!({"type": "tool_use", "id": "t", "name": "f", "input": {"text": text}}),
        }).collect();
        let body = json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": content, "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": tokens.0, "output_tokens": tokens.1}
        });
        prop_assert_eq!(round(MESSAGES, &body), body.clone());
        let bytes = streamed(MESSAGES, &body, false).concat();
        let plain = read(MESSAGES, false, body.to_string().as_bytes());
        prop_assert!(plain.is_some());
        prop_assert_eq!(read(MESSAGES, true, &bytes), plain);
    }
}

#[test]
fn a_stream_that_lacks_a_choice_is_no_answer_without_its_end_marker() {
    let chunk = |index: u64| {
        let choice = json!({"index": index, "delta": {"content": "Hi"}, "finish_reason": "stop"});
        format!("data: {}\n\n", json!({"id": "c", "model": "m", "choices": [choice]}))
    };
    let format_of =
        |choices| ResponseFormat { choices, ..crate::test_calls::format_of(CHAT, false) };
    let complete = |choices, stream: &str| {
        crate::to_complete(&format_of(choices), Framing::Sse, stream.as_bytes())
    };
    let one = chunk(0);
    assert!(complete(1, &one).is_ok());
    assert_eq!(complete(2, &one), Err(ModeError::Unended));
    assert!(complete(2, &(chunk(0) + &chunk(1))).is_ok());
    // Not every server returns as many choices as were requested.
    assert!(complete(2, &(chunk(0) + "data: [DONE]\n\n")).is_ok());
    let gemini =
        json!({"candidates": [{"content": {"parts": [{"text": "x"}]}, "finishReason": "STOP"}]});
    let gemini = format!("data: {gemini}\n\n");
    let generate = Operation::GENERATE_CONTENT;
    let format_of =
        |choices| ResponseFormat { choices, ..crate::test_calls::format_of(generate, false) };
    let complete =
        |choices| crate::to_complete(&format_of(choices), Framing::Sse, gemini.as_bytes());
    assert_eq!((complete(1).is_ok(), complete(2)), (true, Err(ModeError::Unended)));
}
