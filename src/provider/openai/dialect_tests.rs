use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::test_calls::{ended_well, format_of, read, to_complete};
use crate::{ModeError, Operation, ResponseFormat, to_stream};

const CHAT: Operation = Operation::CHAT_COMPLETIONS;

const UPSTREAMS: [&str; 9] = [
    "openai",
    "azure",
    "mistral",
    "groq",
    "openrouter",
    "deepseek",
    "xai",
    "together",
    "fireworks",
];

fn bytes(upstream: &str, body: &Value, usage: bool) -> Vec<u8> {
    let format = ResponseFormat { upstream, ..format_of(CHAT, usage) };
    to_stream(&format, body.to_string().as_bytes()).unwrap().concat()
}

/// The chunks, without the end marker.
fn chunks(upstream: &str, body: &Value, usage: bool) -> Vec<Value> {
    data(&bytes(upstream, body, usage))
}

fn data(bytes: &[u8]) -> Vec<Value> {
    let events = std::str::from_utf8(bytes).unwrap().split_terminator("\n\n");
    let data = events.map(|event| event.strip_prefix("data: ").unwrap());
    data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).unwrap()).collect()
}

fn merged(stream: &[u8]) -> Value {
    serde_json::from_slice(&to_complete(CHAT, stream).unwrap()).unwrap()
}

fn sse(chunks: &[Value]) -> Vec<u8> {
    chunks.iter().map(|chunk| format!("data: {chunk}\n\n")).collect::<String>().into_bytes()
}

fn body(message: Value) -> Value {
    json!({
        "id": "1", "object": "chat.completion", "created": 7, "model": "m",
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 4, "completion_tokens": 9, "total_tokens": 13}
    })
}

fn said() -> Value {
    body(json!({"role": "assistant", "content": "Hello there"}))
}

#[test]
fn usage_stands_where_each_upstream_puts_it() {
    let usage = &said()["usage"];
    let told = |chunk: &Value| chunk.get("usage").is_some_and(|usage| !usage.is_null());
    for (upstream, unasked, asked) in [
        ("openai", None, Some("own")),
        ("azure", None, Some("own")),
        ("mine", None, Some("own")),
        ("openrouter", Some("own"), Some("own")),
        ("xai", Some("own"), Some("own")),
        ("mistral", Some("last"), Some("last")),
        ("deepseek", Some("last"), Some("last")),
        ("together", Some("last"), Some("last")),
        ("fireworks", Some("last"), Some("last")),
        ("groq", None, Some("own")),
    ] {
        for (is_asked, place) in [(false, unasked), (true, asked)] {
            let chunks = chunks(upstream, &said(), is_asked);
            let (last, before) = chunks.split_last().unwrap();
            assert!(!before.iter().any(told), "{upstream}");
            assert_eq!(told(last), place.is_some(), "{upstream}");
            let empty = last["choices"] == json!([]);
            assert_eq!(empty, place == Some("own"), "{upstream}");
            if place.is_some() {
                assert_eq!(&last["usage"], usage, "{upstream}");
            }
        }
    }
    let groq = chunks("groq", &said(), false);
    assert_eq!(groq.last().unwrap()["x_groq"]["usage"], *usage);
}

#[test]
fn groqs_own_field_survives_when_the_usage_is_told_in_it() {
    let mut body = said();
    for groq in [None, Some(json!({"id": "req_1"}))] {
        if let Some(groq) = groq {
            body["x_groq"] = groq;
        }
        for usage in [false, true] {
            let stream = bytes("groq", &body, usage);
            assert_eq!(merged(&stream), body);
            let plain = read(CHAT, false, body.to_string().as_bytes());
            assert_eq!(read(CHAT, true, &stream), plain);
        }
    }
}

#[test]
fn mistrals_calls_come_whole_with_the_end() {
    let call = json!({"id": "abc123def", "type": "function",
        "function": {"name": "f", "arguments": "{\"x\": 1}"}});
    let mut body = body(json!({"role": "assistant", "content": "", "tool_calls": [call, call]}));
    body["choices"][0]["finish_reason"] = "tool_calls".into();
    let chunks = chunks("mistral", &body, false);
    let last = &chunks.last().unwrap()["choices"][0];
    assert_eq!(last["finish_reason"], "tool_calls");
    let calls = last["delta"]["tool_calls"].as_array().unwrap();
    assert_eq!((&calls[1]["index"], &calls[1]["function"]), (&json!(1), &call["function"]));
    assert_eq!(merged(&bytes("mistral", &body, false)), body);
}

#[test]
fn mistrals_parts_are_put_together_when_they_come_in_pieces() {
    let delta = |delta: Value| json!({"choices": [{"index": 0, "delta": delta}]});
    let thinking =
        |text: &str| json!([{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]);
    let stream = sse(&[
        delta(json!({"role": "assistant", "content": ""})),
        delta(json!({"content": thinking("Let me ")})),
        delta(json!({"content": thinking("see")})),
        delta(json!({"content": "4"})),
        delta(json!({"content": "2"})),
        json!({"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "stop"}]}),
    ]);
    let mut content = thinking("Let me see");
    content.as_array_mut().unwrap().push(json!({"type": "text", "text": "42"}));
    assert_eq!(merged(&stream)["choices"][0]["message"]["content"], content);
    let whole = body(json!({"role": "assistant", "content": content}));
    assert_eq!(merged(&bytes("mistral", &whole, false)), whole);
    let plain = read(CHAT, false, whole.to_string().as_bytes());
    assert_eq!(read(CHAT, true, &bytes("mistral", &whole, false)), plain);
}

#[test]
fn what_was_thought_comes_first_and_survives() {
    let detail = json!({"type": "reasoning.text", "text": "Hm, so", "format": "f", "index": 0});
    let body = body(json!({
        "role": "assistant", "content": "Yes, it is", "refusal": null, "reasoning": "Hm, so",
        "reasoning_details": [detail], "reasoning_content": "Well, so"
    }));
    let chunks = chunks("openrouter", &body, false);
    let first = |name: &str| {
        let piece = |chunk: &Value| chunk["choices"][0]["delta"][name].as_str() > Some("");
        chunks.iter().position(piece).unwrap()
    };
    assert!(first("reasoning") < first("content"));
    assert!(first("reasoning_content") < first("content"));
    assert_eq!(merged(&bytes("openrouter", &body, false)), body);
}

#[test]
fn details_of_what_was_thought_are_put_together_by_their_index() {
    let detail = |index: Value, text: &str| json!({"type": "reasoning.text", "text": text, "format": "f", "index": index});
    let chunk = |detail: Value| json!({"choices": [{"index": 0, "delta": {"reasoning_details": [detail]}, "finish_reason": null}]});
    let mut stream = sse(&[
        chunk(detail(json!(0), "Let ")),
        chunk(detail(json!(1), "other")),
        chunk(detail(json!(0), "me")),
        chunk(detail(Value::Null, "a")),
        chunk(detail(Value::Null, "b")),
    ]);
    stream.extend(sse(&[json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})]));
    stream.extend(b"data: [DONE]\n\n");
    let details = merged(&stream)["choices"][0]["message"]["reasoning_details"].clone();
    let expected =
        [(json!(0), "Let me"), (json!(1), "other"), (Value::Null, "a"), (Value::Null, "b")];
    let expected = expected.map(|(index, text)| detail(index, text));
    assert_eq!(details, json!(expected));
}

#[test]
fn a_stream_of_very_many_details_is_put_together_in_time() {
    let chunk = |index: usize| {
        json!({"choices": [{"index": 0, "finish_reason": null,
        "delta": {"reasoning_details": [{"type": "t", "index": index, "text": "x"}]}}]})
    };
    let mut stream = sse(&(0..20_000).map(chunk).collect::<Vec<_>>());
    stream.extend(sse(&[json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})]));
    stream.extend(b"data: [DONE]\n\n");
    let began = std::time::Instant::now();
    let details = merged(&stream)["choices"][0]["message"]["reasoning_details"].clone();
    assert_eq!(details.as_array().map(Vec::len), Some(20_000));
    // Comparing each with all before it would take minutes.
    assert!(began.elapsed().as_secs() < 20, "{:?}", began.elapsed());
}

#[test]
fn azures_first_chunk_says_what_was_filtered() {
    let filtered = json!([{"prompt_index": 0, "content_filter_results": {"hate": {}}}]);
    let mut body = said();
    body["prompt_filter_results"] = filtered.clone();
    let results = json!({"hate": {"filtered": false, "severity": "safe"}});
    body["choices"][0]["content_filter_results"] = results.clone();
    let chunks = chunks("azure", &body, true);
    let first = json!({
        "id": "", "object": "", "created": 0, "model": "", "choices": [],
        "prompt_filter_results": filtered, "usage": null
    });
    assert_eq!(chunks[0], first);
    assert_eq!(chunks[1]["id"], "1");
    assert_eq!(merged(&bytes("azure", &body, true)), body);
    // Its filter results are kept if the last chunk has none.
    let piece = |told: &Value, finish: Value| {
        json!({"choices": [{"index": 0, "delta": {"content": "x"},
        "content_filter_results": told, "finish_reason": finish}]})
    };
    let stream = sse(&[piece(&results, Value::Null), piece(&json!({}), json!("stop"))]);
    assert_eq!(merged(&stream)["choices"][0]["content_filter_results"], results);
}

#[test]
fn a_stream_is_refused_when_openrouter_or_mistral_failed_in_it() {
    let chunk = |rest: Value, finish: Value| {
        let mut chunk =
            json!({"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": finish}]});
        chunk.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        chunk
    };
    let plain = chunk(json!({}), json!("stop"));
    let mut inside = plain.clone();
    inside["choices"][0]["error"] = json!({"code": 502, "message": "gone"});
    for failed in [
        chunk(json!({"error": {"code": 502, "message": "gone"}}), json!("error")),
        chunk(json!({}), json!("error")),
        json!({"object": "error", "message": "no", "type": "internal_server_error"}),
        inside,
    ] {
        let mut stream = sse(&[plain.clone(), failed]);
        stream.extend(b"data: [DONE]\n\n");
        assert_eq!(to_complete(CHAT, &stream), Err(ModeError::Unended));
    }
    assert!(to_complete(CHAT, &sse(&[plain])).is_ok());
    let named = b"event: error\ndata: {\"choices\":[],\"detail\":\"no\"}\n\ndata: [DONE]\n\n";
    assert_eq!(to_complete(CHAT, named), Err(ModeError::Unended));
}

#[test]
fn members_that_a_body_lacks_are_not_made_up() {
    for message in [
        json!({"role": "assistant", "content": "x", "tool_calls": null}),
        json!({"role": "assistant", "content": "x", "tool_calls": [], "function_call": null}),
    ] {
        let body = body(message);
        for upstream in UPSTREAMS {
            assert_eq!(merged(&bytes(upstream, &body, true)), body, "{upstream}");
        }
    }
    let mut none = said();
    none["choices"] = json!([]);
    assert_eq!(chunks("openai", &none, false)[0]["choices"], json!([]));
}

proptest! {
    #[test]
    fn any_answer_of_any_upstream_survives_both_ways(
        upstream in prop::sample::select(UPSTREAMS.to_vec()),
        choices in prop::collection::vec((
            prop::option::of("\\PC{0,40}"), prop::option::of("\\PC{0,20}"),
            prop::collection::vec("\\PC{0,20}", 0..3),
        ), 1..4),
        usage in any::<bool>(), cut in 0.0..1.0f64,
    ) {
        let choices = choices.into_iter().enumerate().map(|(index, (content, thought, calls))| {
            let mut message = json!({"role": "assistant", "content": content});
            if let Some(thought) = thought {
                message["reasoning_content"] = thought.into();
            }
            if !calls.is_empty() {
                let calls = calls.iter().map(|arguments| json!({
                    "id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}
                }));
                message["tool_calls"] = calls.collect();
            }
            json!({"index": index, "message": message, "finish_reason": "stop"})
        });
        let mut body = said();
        body["choices"] = choices.collect();
        let stream = bytes(upstream, &body, usage);
        let mut back = merged(&stream);
        if !usage && usage_place(upstream) == UsagePlace::Asked {
            back["usage"] = body["usage"].clone();
        } else {
            let plain = read(CHAT, false, body.to_string().as_bytes());
            prop_assert_eq!(read(CHAT, true, &stream), plain);
        }
        prop_assert_eq!(back, body);
        // Before the last chunk with a finish reason, the stream has not ended.
        let text = String::from_utf8(stream).unwrap();
        let end = text.rfind("\"finish_reason\":\"stop\"").unwrap();
        let part = &text.as_bytes()[..(end as f64 * cut) as usize];
        prop_assert_ne!(ended_well(CHAT, part), Some(true));
        let _ = read(CHAT, true, part);
    }
}
