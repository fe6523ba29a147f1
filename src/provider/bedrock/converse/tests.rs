use proptest::prelude::*;

use super::*;
use crate::framing::{EventFrame, Framing};
use crate::test_calls::{ended_well, read, to_complete, to_stream};
use crate::{ModeError, Operation};

const CONVERSE: Operation = Operation::CONVERSE;

fn body() -> Value {
    json!({
        "metrics": { "latencyMs": 551 },
        "output": { "message": { "role": "assistant", "content": [
            { "reasoningContent": { "reasoningText": { "text": "Let me think.", "signature": "c2ln" } } },
            { "reasoningContent": { "redactedContent": "cmVk" } },
            { "text": "Here you are: ünï 東京" },
            { "text": "" },
            { "citationsContent": {
                "content": [{ "text": "As said there." }],
                "citations": [{ "title": "a" }, { "title": "b" }]
            } },
            { "toolUse": { "toolUseId": "tooluse_1", "name": "f",
                "input": { "n": 9007199254740993u64, "s": "é" } } },
            { "toolUse": { "toolUseId": "tooluse_2", "name": "g", "input": {} } },
            { "toolUse": { "toolUseId": "s", "name": "h", "input": {}, "type": "server_tool_use" } },
            { "toolResult": { "toolUseId": "s", "status": "success", "content": [{ "text": "x" }] } },
            { "image": { "format": "png", "source": { "bytes": "aGk=" } } },
            { "futureContent": { "any": ["thing"] } }
        ] } },
        "stopReason": "tool_use",
        "additionalModelResponseFields": { "top_k": 3 },
        "usage": { "inputTokens": 5, "outputTokens": 40, "totalTokens": 54,
            "cacheReadInputTokens": 2, "cacheWriteInputTokens": 7 },
        "trace": { "guardrail": {} }, "serviceTier": { "type": "default" }
    })
}

fn streamed(body: &Value) -> Vec<Vec<u8>> {
    to_stream(CONVERSE, body.to_string().as_bytes(), false).unwrap()
}

fn data(chunks: &[Vec<u8>]) -> Vec<(String, Value)> {
    let bytes = chunks.concat();
    let events = crate::framing::events(Framing::EventStream, &bytes);
    events.map(|event| (event.name.unwrap().to_owned(), event.json_data().unwrap())).collect()
}

#[test]
fn a_complete_answer_is_read_when_it_has_all_parts() {
    let answer = super::read_body(&body()).unwrap();
    assert_eq!(answer.content, "Here you are: ünï 東京As said there.");
    assert_eq!(answer.finish_reason.as_deref(), Some("tool_use"));
    let names: Vec<_> = answer.tool_calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["f", "g"], "a tool of AWS's own asks nothing");
    assert_eq!(answer.tool_calls[0].arguments["n"], json!(9007199254740993u64));
    let expected = TokenUsage {
        prompt_tokens: 14,
        completion_tokens: 40,
        total_tokens: 54,
        cached_tokens: 2,
        cache_write_tokens: 7,
        reasoning_tokens: 0,
    };
    assert_eq!(answer.usage, Some(expected));
    assert_eq!(super::read_body(&json!({ "message": "no" })), None);
}

#[test]
fn an_answer_survives_when_it_goes_both_ways() {
    let bytes = streamed(&body()).concat();
    let back: Value = serde_json::from_slice(&to_complete(CONVERSE, &bytes).unwrap()).unwrap();
    assert_eq!(back, body());
    assert_eq!(read(CONVERSE, true, &bytes), super::read_body(&body()));
}

#[test]
fn a_stream_has_bedrocks_shape() {
    let events = data(&streamed(&body()));
    assert_eq!(events[0], ("messageStart".to_owned(), json!({ "role": "assistant" })));
    assert_eq!(events[1].1["delta"]["reasoningContent"]["text"], "Let ");
    let opening = events.iter().find(|(name, _)| name == "contentBlockStart").unwrap();
    let expected = json!({ "contentBlockIndex": 5,
        "start": { "toolUse": { "toolUseId": "tooluse_1", "name": "f" } } });
    assert_eq!(opening.1, expected);
    let inputs = events.iter().filter(|(_, data)| data["contentBlockIndex"] == 5);
    let input: String =
        inputs.filter_map(|(_, data)| data["delta"]["toolUse"]["input"].as_str()).collect();
    assert_eq!(input, "{\"n\":9007199254740993,\"s\":\"é\"}");
    let [.., stop, last] = events.as_slice() else { panic!("too few") };
    assert_eq!((stop.0.as_str(), &stop.1["stopReason"]), ("messageStop", &json!("tool_use")));
    assert_eq!((last.0.as_str(), &last.1["metrics"]["latencyMs"]), ("metadata", &json!(551)));
}

/// A stream as AWS sends it: with padding, and text without a start event.
#[test]
fn a_real_stream_is_merged() {
    let delta = |index: u64, delta: Value| {
        let data = json!({ "contentBlockIndex": index, "delta": delta, "p": "abcdefg" });
        EventFrame::named("contentBlockDelta", data)
    };
    let frames = [
        EventFrame::named("messageStart", json!({ "p": "abc", "role": "assistant" })),
        delta(0, json!({ "text": "It " })),
        EventFrame::named(
            "somethingNew",
            json!({ "contentBlockIndex": 0, "delta": { "text": "!" } }),
        ),
        delta(0, json!({ "text": "rains" })),
        EventFrame::named("contentBlockStop", json!({ "contentBlockIndex": 0, "p": "" })),
        EventFrame::named(
            "contentBlockStart",
            json!({ "contentBlockIndex": 1, "start": { "toolUse": { "name": "f", "toolUseId": "t" } } }),
        ),
        delta(1, json!({ "toolUse": { "input": "" } })),
        delta(1, json!({ "toolUse": { "input": "{\"a\"" } })),
        delta(1, json!({ "toolUse": { "input": ":1}" } })),
        EventFrame::named("contentBlockStop", json!({ "contentBlockIndex": 1 })),
        EventFrame::named("messageStop", json!({ "p": "abcd", "stopReason": "tool_use" })),
        EventFrame::named(
            "metadata",
            json!({ "metrics": { "latencyMs": 9 }, "p": "x",
                "usage": { "inputTokens": 1, "outputTokens": 2, "totalTokens": 3 } }),
        ),
    ];
    let bytes = Framing::EventStream.write_events(&frames).concat();
    let body: Value = serde_json::from_slice(&to_complete(CONVERSE, &bytes).unwrap()).unwrap();
    let expected = json!({
        "output": { "message": { "role": "assistant", "content": [
            { "text": "It rains" },
            { "toolUse": { "name": "f", "toolUseId": "t", "input": { "a": 1 } } }
        ] } },
        "stopReason": "tool_use",
        "metrics": { "latencyMs": 9 },
        "usage": { "inputTokens": 1, "outputTokens": 2, "totalTokens": 3 }
    });
    assert_eq!(body, expected);
}

#[test]
fn a_stream_is_refused_when_it_did_not_end_well() {
    let whole = streamed(&body());
    let count = whole.len();
    let unended = |bytes: &[u8]| assert_eq!(to_complete(CONVERSE, bytes), Err(ModeError::Unended));
    unended(&whole[..count - 2].concat());
    let exception = EventFrame::exception("throttlingException", json!({ "message": "slow down" }));
    let exception = Framing::EventStream.write_events(&[exception]).concat();
    unended(&[whole.concat(), exception.clone()].concat());
    let cut = [whole[..4].concat(), exception].concat();
    unended(&cut);
    assert!(read(CONVERSE, true, &cut).unwrap().content.is_empty());
    let mut changed = whole.concat();
    let at = whole[0].len() + whole[1].len() - 6;
    changed[at] ^= 1;
    unended(&changed);
    let bytes = whole.concat();
    unended(&bytes[..bytes.len() - 1]);
    // Broken input: the call stays visible, but the answer is not complete.
    let frames = [
        EventFrame::named("contentBlockStart", json!({ "start": { "toolUse": { "name": "f" } } })),
        EventFrame::named(
            "contentBlockDelta",
            json!({ "delta": { "toolUse": { "input": "{\"a\":" } } }),
        ),
        EventFrame::named("messageStop", json!({ "stopReason": "max_tokens" })),
    ];
    let bytes = Framing::EventStream.write_events(&frames).concat();
    unended(&bytes);
    let call = read(CONVERSE, true, &bytes).unwrap().tool_calls.remove(0);
    assert_eq!(call.arguments, json!({ "_raw": "{\"a\":" }));
}

proptest! {
    #[test]
    fn any_answer_survives_when_it_goes_both_ways(
        blocks in prop::collection::vec(("(text|tool|think)", "\\PC{0,60}"), 0..5),
        tokens in any::<(u32, u32)>(), cut in any::<prop::sample::Index>(),
    ) {
        let content: Vec<Value> = blocks.iter().map(|(kind, text)| match kind.as_str() {
            "text" => json!({ "text": text }),
            "think" => json!({ "reasoningContent": { "reasoningText": { "text": text } } }),
            _ => json!({ "toolUse": { "toolUseId": "t", "name": "f", "input": { "x": text } } }),
        }).collect();
        let body = json!({
            "output": { "message": { "role": "assistant", "content": content } },
            "stopReason": "end_turn",
            "usage": { "inputTokens": tokens.0, "outputTokens": tokens.1,
                "totalTokens": u64::from(tokens.0) + u64::from(tokens.1) }
        });
        let chunks = streamed(&body);
        let bytes = chunks.concat();
        let back: Value = serde_json::from_slice(&to_complete(CONVERSE, &bytes).unwrap()).unwrap();
        prop_assert_eq!(&back, &body);
        prop_assert_eq!(read(CONVERSE, true, &bytes), super::read_body(&body));
        let stop = chunks[..chunks.len() - 2].concat().len();
        let cut = &bytes[..cut.index(stop)];
        prop_assert!(ended_well(CONVERSE, cut) != Some(true));
    }
}
