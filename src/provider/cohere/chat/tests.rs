use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::answer_form::ModeError;
use crate::operation::ResponseFormat;
use crate::test_calls::{format_of, read, to_complete, to_stream};
use crate::{Operation, TokenUsage, write_answer};

const CHAT: Operation = Operation::COHERE_CHAT;

const STREAM: &str = r#"event: message-start
data: {"id":"29f14a5a","type":"message-start","delta":{"message":{"role":"assistant","content":[],"tool_plan":"","tool_calls":[],"citations":[]}}}

event: content-start
data: {"type":"content-start","index":0,"delta":{"message":{"content":{"type":"thinking","thinking":""}}}}

event: content-delta
data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"thinking":"Hm."}}}}

event: content-end
data: {"type":"content-end","index":0}

event: content-start
data: {"type":"content-start","index":1,"delta":{"message":{"content":{"type":"text","text":""}}}}

event: content-delta
data: {"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"Tor"}}},"logprobs":{"text":"Tor","token_ids":[7]}}

event: content-delta
data: {"type":"content-delta","index":1,"delta":{"message":{"content":{"text":"onto"}}},"logprobs":{"text":"onto","token_ids":[8]}}

event: citation-start
data: {"type":"citation-start","index":0,"delta":{"message":{"citations":{"start":0,"end":7,"text":"Toronto","sources":[]}}}}

event: citation-end
data: {"type":"citation-end","index":0}

event: content-end
data: {"type":"content-end","index":1}

event: tool-plan-delta
data: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"I will "}}}

event: tool-plan-delta
data: {"type":"tool-plan-delta","delta":{"message":{"tool_plan":"look."}}}

event: tool-call-start
data: {"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":{"id":"f_1","type":"function","function":{"name":"f","arguments":""}}}}}

event: tool-call-delta
data: {"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"{\"n\": 90071992"}}}}}

event: tool-call-delta
data: {"type":"tool-call-delta","index":0,"delta":{"message":{"tool_calls":{"function":{"arguments":"54740993}"}}}}}

event: tool-call-end
data: {"type":"tool-call-end","index":0}

event: tool-call-start
data: {"type":"tool-call-start","index":1,"delta":{"message":{"tool_calls":{"id":"g_2","type":"function","function":{"name":"g","arguments":""}}}}}

event: tool-call-end
data: {"type":"tool-call-end","index":1}

event: message-end
data: {"type":"message-end","delta":{"finish_reason":"TOOL_CALL","usage":{"billed_units":{"input_tokens":3,"output_tokens":9},"tokens":{"input_tokens":71.0,"output_tokens":9},"cached_tokens":5}}}

"#;

fn body() -> Value {
    let call = |id: &str, name: &str, arguments: &str| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    json!({
        "id": "29f14a5a",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": "Toronto"}
            ],
            "tool_plan": "I will look.",
            "tool_calls": [call("f_1", "f", "{\"n\": 9007199254740993}"), call("g_2", "g", "")],
            "citations": [{"start": 0, "end": 7, "text": "Toronto", "sources": []}]
        },
        "finish_reason": "TOOL_CALL",
        "usage": {
            "billed_units": {"input_tokens": 3, "output_tokens": 9},
            "tokens": {"input_tokens": 71.0, "output_tokens": 9}, "cached_tokens": 5
        },
        "logprobs": [{"text": "Tor", "token_ids": [7]}, {"text": "onto", "token_ids": [8]}]
    })
}

fn completed(stream: &[u8]) -> Value {
    serde_json::from_slice(&to_complete(CHAT, stream).unwrap()).unwrap()
}

fn round(body: &Value) -> Value {
    completed(&to_stream(CHAT, body.to_string().as_bytes(), false).unwrap().concat())
}

#[test]
fn a_stream_is_merged_to_the_complete_answer() {
    assert_eq!(completed(STREAM.as_bytes()), body());
    let done = format!("{STREAM}data: [DONE]\n\n");
    assert_eq!(completed(done.as_bytes()), body());
}

#[test]
fn an_answer_is_read_alike_when_complete_or_streamed() {
    let answer = read(CHAT, true, STREAM.as_bytes()).unwrap();
    assert_eq!(Some(&answer), read(CHAT, false, body().to_string().as_bytes()).as_ref());
    assert_eq!(answer.content, "Toronto");
    assert_eq!(answer.finish_reason.as_deref(), Some("TOOL_CALL"));
    assert_eq!(answer.tool_calls[0].arguments.to_string(), r#"{"n":9007199254740993}"#);
    assert_eq!((answer.tool_calls[1].id.as_str(), answer.tool_calls.len()), ("g_2", 2));
    let usage = TokenUsage {
        prompt_tokens: 71,
        completion_tokens: 9,
        total_tokens: 80,
        cached_tokens: 5,
        ..TokenUsage::default()
    };
    assert_eq!(answer.usage, Some(usage));
}

#[test]
fn billed_units_are_counted_when_no_tokens_are_told() {
    let body = json!({"message": {}, "usage": {"billed_units": {"input_tokens": 3}}});
    assert_eq!(read_body(&body).unwrap().usage.unwrap().prompt_tokens, 3);
    assert_eq!(read_body(&json!({"message": {}, "usage": {}})).unwrap().usage, None);
}

#[test]
fn an_answer_survives_when_it_goes_both_ways() {
    assert_eq!(round(&body()), body());
    let odd = json!({
        "id": "1", "unheardOf": [1],
        "message": {"role": "assistant", "content": [], "tool_calls": [], "tool_plan": "", "citations": null, "new": {"a": 1}},
        "finish_reason": "ERROR_LIMIT"
    });
    assert_eq!(round(&odd), odd);
    let texts =
        json!({"message": {"content": [{"type": "text", "text": ""}, {"type": "new", "data": 1}]}});
    assert_eq!(round(&texts), texts);
}

#[test]
fn a_stream_has_coheres_shape() {
    let frames = to_stream(CHAT, body().to_string().as_bytes(), false).unwrap();
    let frames: Vec<String> =
        frames.into_iter().map(|frame| String::from_utf8(frame).unwrap()).collect();
    let kinds: Vec<&str> = frames
        .iter()
        .map(|frame| frame.lines().next().unwrap().strip_prefix("event: ").unwrap())
        .collect();
    let expected = [
        "message-start",
        "content-start",
        "content-delta",
        "content-end",
        "content-start",
        "content-delta",
        "content-end",
        "tool-plan-delta",
        "tool-plan-delta",
        "tool-plan-delta",
        "tool-call-start",
        "tool-call-delta",
        "tool-call-end",
        "tool-call-start",
        "tool-call-end",
        "citation-start",
        "citation-end",
        "message-end",
    ];
    assert_eq!(kinds, expected);
    for line in [0, 10, 17] {
        let ours = frames[line].trim_end();
        let real = STREAM
            .split("\n\n")
            .find(|event| event.starts_with(&format!("event: {}\n", kinds[line])))
            .unwrap();
        let data = |event: &str| -> Value {
            let data = event.lines().nth(1).unwrap().strip_prefix("data: ").unwrap();
            serde_json::from_str(data).unwrap()
        };
        let mut ours = data(ours);
        if let Some(delta) = ours["delta"].as_object_mut() {
            // A real stream sends them in pieces.
            delta.shift_remove("logprobs");
        }
        assert_eq!(ours, data(real));
    }
}

#[test]
fn a_stream_is_refused_when_it_did_not_end_well() {
    let unended = |stream: &str| {
        assert_eq!(to_complete(CHAT, stream.as_bytes()), Err(ModeError::Unended), "{stream}");
    };
    let end = STREAM.find("event: message-end").unwrap();
    unended(&STREAM[..end]);
    unended(&STREAM[..end + 60]);
    unended(&format!(
        "{}event: message-end\ndata: {{\"type\":\"message-end\",\"delta\":{{\"error\":\"broke\"}}}}\n\n",
        &STREAM[..end]
    ));
    unended(&format!("{STREAM}data: {{\"message\":\"internal error\"}}\n\n"));
    unended(&STREAM.replace("\"finish_reason\":\"TOOL_CALL\"", "\"finish_reason\":\"ERROR\""));
    unended(&STREAM.replace("{\"type\":\"content-end\"", "{\"type"));
    for none in ["", "data: [DONE]\n\n", "data: {\"message\":\"invalid api token\"}\n\n"] {
        let error = to_complete(CHAT, none.as_bytes());
        assert!(matches!(error, Err(ModeError::Unreadable { .. })), "{error:?}");
    }
    for none in [r#"{"id":"x","message":"invalid api token"}"#, "[]", r#"{"message":[]}"#] {
        assert_eq!(read(CHAT, false, none.as_bytes()), None);
        assert!(to_stream(CHAT, none.as_bytes(), false).is_err());
    }
}

#[test]
fn pieces_are_read_when_a_server_writes_them_otherwise() {
    let stream = r#"data: {"type":"message-start","id":"m"}

data: {"type":"content-delta","index":0,"delta":{"message":{"content":{"text":"Hi"}}}}

data: {"type":"tool-call-start","index":0,"delta":{"message":{"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}}}

event: message-end
data: {"delta":{"finish_reason":"COMPLETE"}}

"#;
    let answer = read(CHAT, true, stream.as_bytes()).unwrap();
    assert_eq!((answer.content.as_str(), answer.tool_calls.len()), ("Hi", 1));
    assert!(to_complete(CHAT, stream.as_bytes()).is_ok());
}

fn first_body() -> Value {
    json!({
        "response_id": "r1", "generation_id": "g1", "text": "Hello there, you.", "chat_history": [],
        "finish_reason": "COMPLETE",
        "tool_calls": [{"name": "f", "parameters": {"x": 1}}], "citations": [{"start": 0}],
        "meta": {"api_version": {"version": "1"}, "billed_units": {"input_tokens": 2},
                 "tokens": {"input_tokens": 60, "output_tokens": 4}}
    })
}

#[test]
fn an_answer_of_the_first_version_survives_when_it_goes_both_ways() {
    let first = ResponseFormat {
        framing: Framing::Lines,
        target: Some("/v1/chat"),
        ..format_of(CHAT, false)
    };
    let body = first_body().to_string();
    let lines = crate::to_stream(&first, body.as_bytes()).unwrap().concat();
    let text = std::str::from_utf8(&lines).unwrap();
    assert!(
        text.starts_with(
            r#"{"is_finished":false,"event_type":"stream-start","generation_id":"g1"}"#
        )
    );
    assert_eq!(text.matches("text-generation").count(), 3);
    let whole = crate::to_complete(&first, Framing::Lines, &lines).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&whole).unwrap(), first_body());
    let answer = read(CHAT, false, body.as_bytes()).unwrap();
    assert_eq!(answer.content, "Hello there, you.");
    assert_eq!(answer.usage.unwrap().total_tokens, 64);
    assert_eq!(answer.tool_calls[0].arguments, json!({"x": 1}));
    assert_eq!(crate::read_answer(CHAT, Some(Framing::Lines), &lines), Some(answer));
    let cut = &lines[..text.find("stream-end").unwrap() - 40];
    let cut_answer = crate::read_answer(CHAT, Some(Framing::Lines), cut).unwrap();
    assert_eq!((cut_answer.content.as_str(), cut_answer.usage), ("Hello there, you.", None));
    assert_eq!(crate::to_complete(&first, Framing::Lines, cut), Err(ModeError::Unended));
    let failed = text.replace("COMPLETE", "ERROR");
    let failed = crate::to_complete(&first, Framing::Lines, failed.as_bytes());
    assert_eq!(failed, Err(ModeError::Unended));
}

#[test]
fn the_first_generation_is_read() {
    let body =
        json!({"generations": [{"text": "a", "finish_reason": "MAX_TOKENS"}, {"text": "b"}]});
    let answer = read_body(&body).unwrap();
    assert_eq!(
        (answer.content.as_str(), answer.finish_reason.as_deref()),
        ("a", Some("MAX_TOKENS"))
    );
}

#[test]
fn words_are_written_as_the_first_version_has_them_when_it_is_asked_for() {
    let call = ToolCall { id: String::new(), name: "f".to_owned(), arguments: json!({"x": 1}) };
    let answer = Answer {
        content: "Hi".to_owned(),
        tool_calls: vec![call],
        finish_reason: Some("tool_use".to_owned()),
        usage: Some(TokenUsage {
            prompt_tokens: 2,
            completion_tokens: 3,
            total_tokens: 5,
            ..TokenUsage::default()
        }),
        ..Answer::default()
    };
    let first = ResponseFormat { target: Some("/v1/chat"), ..format_of(CHAT, false) };
    let body = write_answer(&first, &answer, "seed").unwrap();
    let expected = Answer { finish_reason: Some("COMPLETE".to_owned()), ..answer.clone() };
    assert_eq!(read(CHAT, false, &body), Some(expected));
    let second =
        read(CHAT, false, &write_answer(&format_of(CHAT, false), &answer, "seed").unwrap())
            .unwrap();
    assert_eq!(second.finish_reason.as_deref(), Some("TOOL_CALL"));
    assert!(second.tool_calls[0].id.starts_with("f_"), "{second:?}");
}

proptest! {
    #[test]
    fn any_answer_survives_when_both_ways_are_gone(
        blocks in prop::collection::vec((any::<bool>(), "\\PC{0,60}"), 0..4),
        calls in prop::collection::vec(("[a-z]{1,8}", "\\PC{0,30}"), 0..3),
        plan in prop::option::of("\\PC{0,40}"),
        tokens in any::<(u32, u32)>(), cut in 0.0..1.0f64,
    ) {
        let content: Vec<Value> = blocks.iter().map(|(thinking, text)| match thinking {
            true => json!({"type": "thinking", "thinking": text}),
            false => json!({"type": "text", "text": text}),
        }).collect();
        let calls: Vec<Value> = calls.iter().map(|(name, arguments)| json!({
            "id": "c", "type": "function", "function": {"name": name, "arguments": arguments}
        })).collect();
        let mut message = json!({"role": "assistant", "content": content, "tool_calls": calls});
        if let Some(plan) = plan {
            message["tool_plan"] = plan.into();
        }
        let body = json!({
            "id": "1", "message": message, "finish_reason": "COMPLETE",
            "usage": {"tokens": {"input_tokens": tokens.0, "output_tokens": tokens.1}}
        });
        prop_assert_eq!(round(&body), body.clone());
        let plain = read(CHAT, false, body.to_string().as_bytes());
        prop_assert!(plain.is_some());
        let bytes = to_stream(CHAT, body.to_string().as_bytes(), false).unwrap().concat();
        prop_assert_eq!(read(CHAT, true, &bytes), plain);
        // The blank line after the last event does not count.
        let at = ((bytes.len() - 2) as f64 * cut) as usize;
        prop_assert!(to_complete(CHAT, &bytes[..at]).is_err());
    }
}
