use serde_json::json;

use super::*;
use crate::TokenUsage;

fn sse(chunks: &[Value]) -> Vec<u8> {
    let mut bytes = vec![];
    for chunk in chunks {
        bytes.extend(format!("data: {chunk}\n\n").into_bytes());
    }
    bytes
}

fn chunk(delta: Value, finish: Value) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1760000000,
        "model": "gpt-4o-2024-08-06", "system_fingerprint": "fp_1", "obfuscation": "a8Zk",
        "choices": [{"index": 0, "delta": delta, "logprobs": null, "finish_reason": finish}]
    })
}

const DONE: &[u8] = b"data: [DONE]\n\n";

#[test]
fn a_complete_answer_is_read_when_it_has_all_parts() {
    let body = json!({
        "id": "chatcmpl-1", "object": "chat.completion", "model": "gpt-4o-2024-08-06",
        "choices": [
            {"index": 1, "message": {"role": "assistant", "content": "two"}, "finish_reason": "length"},
            {"index": 0, "message": {
                "role": "assistant", "content": "one", "reasoning_content": "hm",
                "tool_calls": [
                    {"id": "call_1", "type": "function",
                     "function": {"name": "add", "arguments": "{\"a\": 1}"}},
                    {"id": "call_2", "type": "function",
                     "function": {"name": "bad", "arguments": "{\"a\": "}}
                ]
            }, "finish_reason": "tool_calls"}
        ],
        "usage": {
            "prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30,
            "prompt_tokens_details": {"cached_tokens": 8, "cache_write_tokens": 2},
            "completion_tokens_details": {"reasoning_tokens": 4}
        }
    });
    let answer = read_body(&body).unwrap();
    assert_eq!(answer.content, "one");
    assert_eq!(answer.model.as_deref(), Some("gpt-4o-2024-08-06"));
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_calls"));
    assert_eq!(answer.tool_calls[0].arguments, json!({"a": 1}));
    assert_eq!(answer.tool_calls[1].arguments, json!({"_raw": "{\"a\": "}));
    let expected = TokenUsage {
        prompt_tokens: 20,
        completion_tokens: 10,
        total_tokens: 30,
        reasoning_tokens: 4,
        cached_tokens: 8,
        cache_write_tokens: 2,
    };
    assert_eq!(answer.usage, Some(expected));
}

#[test]
fn a_stream_is_assembled_when_its_calls_come_in_pieces() {
    let mut usage = chunk(json!({}), Value::Null);
    usage["choices"] = json!([]);
    usage["usage"] = json!({"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12});
    let call = |index: u64, rest: Value| {
        let mut call = json!({ "index": index });
        call.as_object_mut().unwrap().append(rest.clone().as_object_mut().unwrap());
        chunk(json!({ "tool_calls": [call] }), Value::Null)
    };
    let opening = |id, name| json!({"id": id, "type": "function", "function": {"name": name, "arguments": ""}});
    let piece = |text| json!({"function": {"arguments": text}});
    let mut bytes = sse(&[
        chunk(json!({"role": "assistant", "content": ""}), Value::Null),
        chunk(json!({"content": "Let me "}), Value::Null),
        chunk(json!({"reasoning": "never in the content"}), Value::Null),
        chunk(json!({"content": "see"}), Value::Null),
        call(1, opening("call_b", "second")),
        call(0, opening("call_a", "first")),
        call(0, piece("{\"city\":")),
        call(1, piece("{}")),
        call(0, piece("\"Oslo\"}")),
        chunk(json!({}), json!("tool_calls")),
        usage,
    ]);
    bytes.extend(DONE);
    let answer = read_stream(&bytes).unwrap();
    assert_eq!(answer.content, "Let me see");
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_calls"));
    let calls: Vec<_> = answer
        .tool_calls
        .iter()
        .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.clone()))
        .collect();
    assert_eq!(
        calls,
        [("call_a", "first", json!({"city": "Oslo"})), ("call_b", "second", json!({}))]
    );
    assert_eq!(answer.usage.unwrap().total_tokens, 12);
}

#[test]
fn calls_are_kept_apart_when_they_have_no_index() {
    let call = |id: &str, arguments: &str| {
        let call = json!({"id": id, "function": {"name": "f", "arguments": arguments}});
        chunk(json!({ "tool_calls": [call] }), Value::Null)
    };
    let rest = json!({"tool_calls": [{"function": {"arguments": "2}"}}]});
    let bytes =
        sse(&[call("a", "{\"n\":1}"), call("b", "{\"n\":"), chunk(rest, json!("tool_calls"))]);
    let calls = read_stream(&bytes).unwrap().tool_calls;
    assert_eq!(calls[0].arguments, json!({"n": 1}));
    assert_eq!(calls[1].arguments, json!({"n": 2}));
    assert_eq!(calls.len(), 2);
}

#[test]
fn calls_under_one_index_are_those_of_their_ids() {
    let call = |id: &str, name: &str, arguments: &str| {
        let function = match name {
            "" => json!({"arguments": arguments}),
            name => json!({"name": name, "arguments": arguments}),
        };
        let call = json!({"index": 0, "id": id, "type": "function", "function": function});
        chunk(json!({ "tool_calls": [call] }), Value::Null)
    };
    let read = |chunks: &[Value]| {
        let calls = read_stream(&sse(chunks)).unwrap().tool_calls;
        let text = |call: &crate::ToolCall| format!("{} {} {}", call.id, call.name, call.arguments);
        calls.iter().map(text).collect::<Vec<_>>()
    };
    let end = || chunk(json!({}), json!("tool_calls"));
    // In a row, and in turns; an empty id continues the last call, and its own id continues a call.
    let in_a_row = [call("a", "f", "{\"n\":"), call("", "", "1}"), call("b", "g", "{}"), end()];
    assert_eq!(read(&in_a_row), [r#"a f {"n":1}"#, "b g {}"]);
    let in_turns = [
        call("a", "f", "{\"n\":"),
        call("b", "g", "{\"m\":"),
        call("a", "", "1}"),
        call("b", "g", "2}"),
        end(),
    ];
    assert_eq!(read(&in_turns), [r#"a f {"n":1}"#, r#"b g {"m":2}"#]);
    // A server that makes a new id for each piece has one call.
    let renamed = [call("a", "f", "{\"n\":"), call("b", "", "1}"), end()];
    assert_eq!(read(&renamed), [r#"b f {"n":1}"#]);
}

#[test]
fn counts_are_read_as_gateways_write_them() {
    let with = |usage: Value| {
        let body = json!({"choices": [{"index": 0, "message": {"content": "hi"}}], "usage": usage});
        read_body(&body).unwrap().usage
    };
    for (prompt, completion) in
        [(json!(11), json!(3)), (json!(11.0), json!(3.0)), (json!("11"), json!(" 3 "))]
    {
        let usage = with(json!({"prompt_tokens": prompt, "completion_tokens": completion}));
        let usage = usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens, usage.total_tokens), (11, 3, 14));
    }
    for unread in [json!("many"), json!(-1), json!(1.5), json!({})] {
        assert_eq!(
            with(json!({"prompt_tokens": unread, "completion_tokens": 3})),
            None,
            "{unread}"
        );
    }
    assert!(with(json!({"prompt_tokens": null, "completion_tokens": 3})).is_some());
}

#[test]
fn usage_is_found_when_groq_tells_it_beside_the_stream() {
    let mut last = chunk(json!({}), json!("stop"));
    last["x_groq"] = json!({
        "id": "req_1", "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7}
    });
    let usage = read_stream(&sse(&[last])).unwrap().usage.unwrap();
    assert_eq!((usage.prompt_tokens, usage.total_tokens), (3, 7));
}

#[test]
fn reasoning_is_added_when_the_total_counts_it_beside_the_completion() {
    let of = |total: u64| {
        let usage = json!({
            "prompt_tokens": 32, "completion_tokens": 9, "total_tokens": total,
            "completion_tokens_details": {"reasoning_tokens": 5}
        });
        let body = json!({"choices": [], "usage": usage});
        read_body(&body).unwrap().usage.unwrap().completion_tokens
    };
    assert_eq!(of(46), 14, "xAI");
    assert_eq!(of(41), 9, "OpenAI");
}

#[test]
fn text_is_read_when_the_answer_is_a_legacy_completion() {
    let body = json!({
        "object": "text_completion", "model": "gpt-3.5-turbo-instruct",
        "choices": [{"text": "\n\nYes", "index": 0, "logprobs": null, "finish_reason": "stop"}]
    });
    assert_eq!(read_body(&body).unwrap().content, "\n\nYes");
    let piece = |text: &str, finish: Value| json!({"choices": [{"text": text, "index": 0, "finish_reason": finish}]});
    let bytes = sse(&[piece("Ye", Value::Null), piece("s", json!("stop"))]);
    let answer = read_stream(&bytes).unwrap();
    assert_eq!(answer.content, "Yes");
    assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
}

#[test]
fn text_parts_are_joined_when_mistral_sends_content_as_a_list() {
    let thinking = json!({"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]});
    let bytes = sse(&[
        chunk(json!({"content": ""}), Value::Null),
        chunk(json!({"content": [thinking]}), Value::Null),
        chunk(json!({"content": "4"}), Value::Null),
        chunk(json!({"content": "2"}), json!("stop")),
    ]);
    assert_eq!(read_stream(&bytes).unwrap().content, "42");
}

#[test]
fn nothing_is_read_when_the_body_is_an_error() {
    let error = json!({"error": {"message": "no", "type": "server_error"}});
    assert_eq!(read_body(&error), None);
    assert_eq!(read_stream(&sse(&[error])), None);
    assert_eq!(read_stream(b""), None);
}

#[test]
fn the_end_is_known_by_every_choices_reason_and_not_by_the_marker_alone() {
    let ended = |bytes: &[u8]| merge_events(bytes).unwrap().ended;
    let two = |first: Value, second: Value| {
        json!({"choices": [
            {"index": 0, "delta": {}, "finish_reason": first},
            {"index": 1, "delta": {}, "finish_reason": second}
        ]})
    };
    assert!(!ended(&sse(&[two(json!("stop"), Value::Null)])));
    assert!(ended(&sse(&[two(json!("stop"), json!("stop"))])));
    let mut marked = sse(&[chunk(json!({"content": "x"}), Value::Null)]);
    assert!(!ended(&marked));
    marked.extend(DONE);
    assert!(!ended(&marked));
    let mut one_of_two = sse(&[two(json!("stop"), Value::Null)]);
    one_of_two.extend(DONE);
    assert!(!ended(&one_of_two));
}

#[test]
fn arguments_nested_too_deep_for_a_recording_are_kept_as_text() {
    let deep = |levels: usize| format!("{}1{}", "{\"a\":".repeat(levels), "}".repeat(levels));
    let call = |arguments: &str| ToolCall::from_text("", "f", arguments).arguments;
    assert_eq!(call(&deep(100)).to_string(), deep(100));
    assert_eq!(call(&deep(101)), json!({ "_raw": deep(101) }));
}

#[test]
fn stated_cost_is_read_from_the_usage() {
    let cost = |usage: Value| {
        let body = json!({"choices": [], "usage": usage});
        let stream =
            read_stream(&sse(&[chunk(json!({"content": "x"}), json!("stop")), body.clone()]));
        let whole = read_body(&body).unwrap().cost_usd;
        assert_eq!(stream.unwrap().cost_usd, whole);
        whole
    };
    assert_eq!(cost(json!({"prompt_tokens": 8, "cost": 0.0000143})), Some(0.0000143));
    assert_eq!(cost(json!({"cost": 0})), Some(0.0));
    assert_eq!(cost(json!({"cost": {"total_cost": 0.005, "request_cost": 0.004}})), Some(0.005));
    let own_key = |upstream: Value| {
        cost(json!({"cost": 0.5, "is_byok": true,
            "cost_details": {"upstream_inference_cost": upstream}}))
    };
    assert_eq!((own_key(json!(10)), own_key(Value::Null)), (Some(10.5), None));
    for unread in [json!({}), json!({"cost": null}), json!({"cost": "1"}), json!({"cost": -1})] {
        assert_eq!(cost(unread), None);
    }
}
