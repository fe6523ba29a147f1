use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::answer_form::ModeError;
use crate::framing::Framing;
use crate::operation::ResponseFormat;
use crate::{Operation, read_answer, test_calls, to_complete, to_stream};

const GENERATE: Operation = Operation::GENERATE_CONTENT;

fn streamed(framing: Framing, body: &Value) -> Vec<u8> {
    let format = ResponseFormat { framing, ..test_calls::format_of(GENERATE, true) };
    to_stream(&format, body.to_string().as_bytes()).unwrap().concat()
}

fn completed(framing: Framing, stream: &[u8]) -> Value {
    serde_json::from_slice(
        &to_complete(&test_calls::format_of(GENERATE, false), framing, stream).unwrap(),
    )
    .unwrap()
}

fn sse(chunks: &[Value]) -> Vec<u8> {
    chunks.iter().flat_map(|chunk| format!("data: {chunk}\r\n\r\n").into_bytes()).collect()
}

fn body() -> Value {
    json!({
        "candidates": [
            {
                "content": {"role": "model", "parts": [
                    {"text": "Let me think about it.", "thought": true},
                    {"text": "Here you are: ünï 東京", "thoughtSignature": "c2ln"},
                    {"text": "more"},
                    {"functionCall": {"id": "c1", "name": "f", "args": {"n": 9007199254740993u64}}, "thoughtSignature": "c2"},
                    {"functionCall": {"name": "g", "args": {}}},
                    {"text": ""},
                    {"executableCode": {"language": "PYTHON", "code": "1+1"}},
                    {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
                    {"text": "odd", "partMetadata": {"x": 1}},
                    {"text": "Last words."}
                ]},
                "finishReason": "STOP", "index": 0, "avgLogprobs": -0.25,
                "safetyRatings": [{"category": "HARM", "probability": "LOW"}],
                "groundingMetadata": {"webSearchQueries": ["q"]},
                "citationMetadata": {"citations": [{"startIndex": 1}, {"startIndex": 1}]},
                "logprobsResult": {"chosenCandidates": [{"token": "a"}, {"token": "a"}]}
            },
            {"content": {"role": "model", "parts": [{"text": "The other one."}]},
             "finishReason": "MAX_TOKENS", "index": 1}
        ],
        "promptFeedback": {"safetyRatings": []},
        "usageMetadata": {"promptTokenCount": 4, "candidatesTokenCount": 9, "totalTokenCount": 20, "thoughtsTokenCount": 7},
        "modelVersion": "gemini-2.5-flash", "responseId": "r1", "unheardOf": {"kept": [1]}
    })
}

#[test]
fn an_answer_survives_when_it_goes_both_ways() {
    for framing in [Framing::Sse, Framing::Array] {
        let stream = streamed(framing, &body());
        assert_eq!(completed(framing, &stream), body(), "{framing:?}");
        let whole = read_answer(GENERATE, None, body().to_string().as_bytes());
        assert_eq!(read_answer(GENERATE, Some(framing), &stream), whole, "{framing:?}");
    }
}

#[test]
fn a_refused_prompt_survives_when_it_goes_both_ways() {
    let refused = json!({
        "promptFeedback": {"blockReason": "SAFETY", "safetyRatings": []},
        "usageMetadata": {"promptTokenCount": 4}, "modelVersion": "m"
    });
    let stream = streamed(Framing::Sse, &refused);
    assert_eq!(stream, format!("data: {refused}\n\n").into_bytes());
    assert_eq!(completed(Framing::Sse, &stream), refused);
}

#[test]
fn a_stream_has_geminis_shape() {
    let stream = streamed(Framing::Sse, &body());
    let text = String::from_utf8(stream).unwrap();
    let chunks: Vec<Value> = text
        .lines()
        .filter_map(|line| serde_json::from_str(line.strip_prefix("data: ")?).ok())
        .collect();
    for chunk in &chunks {
        assert_eq!(
            (&chunk["modelVersion"], &chunk["responseId"]),
            (&json!("gemini-2.5-flash"), &json!("r1"))
        );
        assert_eq!(chunk["candidates"].as_array().unwrap().len(), 1);
        assert!(chunk["candidates"][0]["index"].is_u64());
    }
    let part = |place: usize| chunks[place]["candidates"][0]["content"]["parts"].clone();
    assert_eq!(part(0), json!([{"text": "Let ", "thought": true}]));
    assert_eq!(chunks[0]["promptFeedback"], json!({"safetyRatings": []}));
    let finishing: Vec<_> =
        chunks.iter().filter_map(|chunk| chunk["candidates"][0]["finishReason"].as_str()).collect();
    assert_eq!(finishing, ["STOP", "MAX_TOKENS"]);
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(last["usageMetadata"]["totalTokenCount"], 20);
    assert!(others.iter().all(|chunk| chunk.get("usageMetadata").is_none()));
}

#[test]
fn a_real_stream_is_joined_as_the_complete_answer_has_it() {
    let chunk = |parts: Value, finish: Value, usage: Value| {
        json!({
            "candidates": [{"content": {"parts": parts, "role": "model"}, "finishReason": finish}],
            "usageMetadata": usage, "modelVersion": "m", "responseId": "r"
        })
    };
    let chunks = [
        chunk(
            json!([{"text": "hm, ", "thought": true}]),
            Value::Null,
            json!({"promptTokenCount": 3}),
        ),
        chunk(
            json!([{"text": "so", "thought": true}]),
            Value::Null,
            json!({"thoughtsTokenCount": 5}),
        ),
        chunk(json!([{"text": "Hel"}]), Value::Null, json!({})),
        chunk(json!([{"text": "lo"}]), Value::Null, json!({})),
        chunk(json!([{"text": "", "thoughtSignature": "s"}]), Value::Null, json!({})),
        chunk(json!([{"functionCall": {"name": "f", "args": {}}}]), Value::Null, json!({})),
        chunk(
            json!([{"text": ""}]),
            json!("STOP"),
            json!({"candidatesTokenCount": 2, "promptTokenCount": 4}),
        ),
    ];
    let whole = completed(Framing::Sse, &sse(&chunks));
    assert_eq!(
        whole["candidates"],
        json!([{
            "content": {"role": "model", "parts": [
                {"text": "hm, so", "thought": true},
                {"text": "Hello", "thoughtSignature": "s"},
                {"functionCall": {"name": "f", "args": {}}}
            ]},
            "finishReason": "STOP"
        }])
    );
    let counts = json!({"promptTokenCount": 4, "thoughtsTokenCount": 5, "candidatesTokenCount": 2});
    assert_eq!(whole["usageMetadata"], counts);
    let read_whole = read_answer(GENERATE, None, whole.to_string().as_bytes());
    assert_eq!(read_answer(GENERATE, Some(Framing::Sse), &sse(&chunks)), read_whole);
}

#[test]
fn what_is_told_of_sources_is_kept_when_a_later_chunk_tells_less() {
    let chunk = |citations: Value, grounding: Value, finish: Value| {
        json!({"candidates": [{
            "content": {"parts": [{"text": "x"}]}, "citationMetadata": {"citations": citations},
            "groundingMetadata": grounding, "finishReason": finish
        }]})
    };
    let chunks = [
        chunk(json!([{"uri": "a"}]), json!({"webSearchQueries": ["q"]}), Value::Null),
        chunk(json!([{"uri": "a"}, {"uri": "b"}]), json!({}), json!("STOP")),
    ];
    let candidate = completed(Framing::Sse, &sse(&chunks))["candidates"][0].clone();
    assert_eq!(candidate["citationMetadata"]["citations"], json!([{"uri": "a"}, {"uri": "b"}]));
    assert_eq!(candidate["groundingMetadata"], json!({"webSearchQueries": ["q"]}));
}

#[test]
fn candidates_without_an_index_are_kept_apart() {
    let chunk = |a: &str, b: &str, finish: Value| {
        json!({"candidates": [
            {"content": {"parts": [{"text": a}]}, "finishReason": finish},
            {"content": {"parts": [{"text": b}]}, "finishReason": finish}
        ]})
    };
    let chunks = [chunk("a", "b", Value::Null), chunk("A", "B", json!("STOP"))];
    let whole = completed(Framing::Sse, &sse(&chunks));
    assert_eq!(whole["candidates"][0]["content"]["parts"], json!([{"text": "aA"}]));
    assert_eq!(whole["candidates"][1]["content"]["parts"], json!([{"text": "bB"}]));
}

#[test]
fn a_stream_is_refused_when_it_did_not_end_well() {
    let unended = |framing, bytes: &[u8]| {
        assert_eq!(
            to_complete(&test_calls::format_of(GENERATE, false), framing, bytes),
            Err(ModeError::Unended)
        );
    };
    let events = streamed(Framing::Sse, &body());
    let text = String::from_utf8(events.clone()).unwrap();
    unended(Framing::Sse, &text.as_bytes()[..text.find("\"MAX_TOKENS\"").unwrap() - 200]);
    unended(Framing::Sse, &events[..events.len() - 9]);
    unended(Framing::Sse, &[&events[..], b"data: {\"error\":{\"code\":503}}\n\n"].concat());
    unended(Framing::Sse, &[&events[..], b"data: {\"cand\n\n"].concat());
    let array = streamed(Framing::Array, &body());
    unended(Framing::Array, &array[..array.len() - 1]);
    unended(Framing::Array, &array[..array.len() - 9]);
    let failed = [&array[..array.len() - 1], b",{\"error\":{\"code\":503}}]"].concat();
    unended(Framing::Array, &failed);
    for bytes in [&b""[..], b"[]", b"[{\"error\":{}}]", b"{\"error\":{}}", b"\xff"] {
        let error = to_complete(&test_calls::format_of(GENERATE, false), Framing::Array, bytes);
        assert!(matches!(error, Err(ModeError::Unreadable { .. })), "{error:?}");
    }
    let format = test_calls::format_of(GENERATE, true);
    for bytes in [&b"{}"[..], b"{\"error\":{\"code\":400}}", b"{\"candidates\":null}", b"[]"] {
        assert!(matches!(to_stream(&format, bytes), Err(ModeError::Unreadable { .. })));
    }
}

fn parts() -> impl Strategy<Value = Vec<Value>> {
    let text = prop_oneof![Just(String::new()), "\\PC{0,60}"];
    let part = prop_oneof![
        3 => (text.clone(), any::<bool>()).prop_map(|(text, thought)| match thought {
            true => json!({"text": text, "thought": true}),
            false => json!({"text": text}),
        }),
        1 => text.clone().prop_map(|text| json!({"text": text, "thoughtSignature": "s"})),
        1 => text.clone().prop_map(|text| json!({"text": text, "unheardOf": 1})),
        2 => text.prop_map(|text| json!({"functionCall": {"name": "f", "args": {"t": text}}})),
    ];
    prop::collection::vec(part, 0..7)
}

proptest! {
    #[test]
    fn any_answer_survives_when_it_goes_both_ways(
        candidates in prop::collection::vec((parts(), "(STOP|MAX_TOKENS|OTHER)"), 1..4),
        tokens in any::<(u32, u32)>(), array in any::<bool>(),
    ) {
        let framing = if array { Framing::Array } else { Framing::Sse };
        let candidates: Vec<Value> = candidates.into_iter().enumerate().map(|(index, (parts, finish))| json!({
            "content": {"parts": parts, "role": "model"}, "finishReason": finish, "index": index
        })).collect();
        let body = json!({
            "candidates": candidates, "modelVersion": "m",
            "usageMetadata": {"promptTokenCount": tokens.0, "candidatesTokenCount": tokens.1}
        });
        let stream = streamed(framing, &body);
        prop_assert_eq!(completed(framing, &stream), body.clone());
        let whole = read_answer(GENERATE, None, body.to_string().as_bytes());
        prop_assert!(whole.is_some());
        prop_assert_eq!(read_answer(GENERATE, Some(framing), &stream), whole);
    }

    #[test]
    fn a_cut_stream_never_ends(parts in parts(), array in any::<bool>(), cut in 0.0..1.0f64) {
        let framing = if array { Framing::Array } else { Framing::Sse };
        let body = json!({"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]});
        let stream = streamed(framing, &body);
        // The blank line after the last event does not count.
        let whole = stream.len() - if array { 1 } else { 2 };
        let at = (whole as f64 * cut) as usize;
        prop_assert!(to_complete(&test_calls::format_of(GENERATE, false), framing, &stream[..at]).is_err());
        let _ = read_answer(GENERATE, Some(framing), &stream[..at]);
    }
}

#[test]
fn a_call_that_came_in_pieces_is_one_call() {
    let call = |call: Value, finish: Option<&str>| {
        let mut candidate =
            json!({"content": {"role": "model", "parts": [{"functionCall": call}]}});
        if let Some(finish) = finish {
            candidate["finishReason"] = finish.into();
        }
        json!({"candidates": [candidate]})
    };
    let piece = |path: &str, text: &str| json!({"jsonPath": path, "stringValue": text, "willContinue": true});
    let mut chunks = vec![
        json!({"candidates": [{"content": {"role": "model", "parts": [{"text": "I see."}]}}]}),
        call(json!({"name": "weather", "id": "c1", "willContinue": true}), None),
        call(json!({"partialArgs": [piece("$.place", "New ")], "willContinue": true}), None),
        call(json!({"partialArgs": [piece("$.place", "Delhi")], "willContinue": true}), None),
        call(json!({}), None),
        call(
            json!({"name": "f", "partialArgs": [{"jsonPath": "$.n[0]", "numberValue": 5}], "willContinue": true}),
            None,
        ),
        call(json!({"partialArgs": [{"jsonPath": "$.n[1]", "numberValue": 6}]}), None),
        call(json!({"name": "g", "args": {"whole": true}}), Some("STOP")),
    ];
    let sse = |chunks: &[Value]| -> String {
        chunks.iter().map(|chunk| format!("data: {chunk}\r\n\r\n")).collect()
    };
    let complete = crate::test_calls::to_complete(GENERATE, sse(&chunks).as_bytes()).unwrap();
    let complete: Value = serde_json::from_slice(&complete).unwrap();
    let expected = json!([
        {"text": "I see."},
        {"functionCall": {"name": "weather", "id": "c1", "args": {"place": "New Delhi"}}},
        {"functionCall": {"name": "f", "args": {"n": [5, 6]}}},
        {"functionCall": {"name": "g", "args": {"whole": true}}}
    ]);
    assert_eq!(complete["candidates"][0]["content"]["parts"], expected);
    let answer = crate::test_calls::read(GENERATE, true, sse(&chunks).as_bytes()).unwrap();
    let calls: Vec<_> =
        answer.tool_calls.iter().map(|call| (call.name.as_str(), call.arguments.clone())).collect();
    let expected = [
        ("weather", json!({"place": "New Delhi"})),
        ("f", json!({"n": [5, 6]})),
        ("g", json!({"whole": true})),
    ];
    assert_eq!((answer.content.as_str(), calls), ("I see.", expected.to_vec()));
    // A call that has not ended is no complete answer; a piece that fits nowhere is an error.
    let unended = [
        &chunks[..4],
        &[call(json!({"partialArgs": [piece("$.place", "")], "willContinue": true}), Some("STOP"))],
    ]
    .concat();
    let failed =
        |chunks: &[Value]| crate::test_calls::to_complete(GENERATE, sse(chunks).as_bytes());
    assert_eq!(failed(&unended), Err(crate::ModeError::Unended));
    chunks[3] = call(
        json!({"partialArgs": [piece("$.place.deeper", "Delhi")], "willContinue": true}),
        None,
    );
    assert_eq!(failed(&chunks), Err(crate::ModeError::Unended));
}
