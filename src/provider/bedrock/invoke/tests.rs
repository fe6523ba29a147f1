use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::*;
use crate::test_calls::{self, ended_well, to_complete, to_stream};
use crate::{ModeError, Operation, TokenUsage};

const INVOKE: Operation = Operation::INVOKE;

fn streamed(events: &[Value]) -> Vec<u8> {
    let chunk = |event: &Value| {
        let bytes = STANDARD.encode(event.to_string());
        EventFrame::named("chunk", json!({ "bytes": bytes, "p": "abcdef" }))
    };
    let frames: Vec<EventFrame> = events.iter().map(chunk).collect();
    Framing::EventStream.write_events(&frames).concat()
}

fn metrics(mut event: Value, input: u64, output: u64) -> Value {
    event["amazon-bedrock-invocationMetrics"] = json!({
        "inputTokenCount": input, "outputTokenCount": output,
        "invocationLatency": 551, "firstByteLatency": 300
    });
    event
}

fn claude() -> Value {
    json!({
        "id": "msg_bdrk_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4",
        "content": [
            { "type": "text", "text": "Let me see" },
            { "type": "tool_use", "id": "toolu_1", "name": "f", "input": { "city": "Oslo" } }
        ],
        "stop_reason": "tool_use", "stop_sequence": null,
        "usage": { "input_tokens": 5, "cache_read_input_tokens": 3, "output_tokens": 7 }
    })
}

/// A complete body in each format that can be streamed.
fn bodies() -> Vec<Value> {
    vec![
        claude(),
        json!({
            "output": { "message": { "role": "assistant", "content": [
                { "text": "Let me see" },
                { "toolUse": { "toolUseId": "t", "name": "f", "input": { "city": "Oslo" } } }
            ] } },
            "stopReason": "tool_use",
            "usage": { "inputTokens": 5, "outputTokens": 7, "totalTokens": 12 }
        }),
        json!({
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "openai.gpt-oss-20b-1:0",
            "choices": [{ "index": 0, "logprobs": null, "finish_reason": "tool_calls",
                "message": { "role": "assistant", "content": "Let me see", "tool_calls": [
                    { "id": "c", "type": "function", "function": { "name": "f", "arguments": "{}" } }
                ] } }],
            "usage": { "prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12 }
        }),
        json!({ "generation": "Let me see", "prompt_token_count": 5,
            "generation_token_count": 7, "stop_reason": "length" }),
        json!({ "inputTextTokenCount": 5, "results": [
            { "tokenCount": 7, "outputText": "Let me see", "completionReason": "FINISH" }] }),
        json!({ "outputs": [{ "text": "Let me see", "stop_reason": "stop" }] }),
    ]
}

#[test]
fn an_answer_survives_when_it_goes_both_ways() {
    for body in bodies() {
        let chunks = to_stream(INVOKE, body.to_string().as_bytes(), true).unwrap();
        let bytes = chunks.concat();
        let back: Value = serde_json::from_slice(&to_complete(INVOKE, &bytes).unwrap()).unwrap();
        assert_eq!(back, body);
        let plain = read_body(&body).unwrap();
        assert_eq!(plain.content, "Let me see");
        let mut told = test_calls::read(INVOKE, true, &bytes).unwrap();
        // Mistral's own format has no counts; Bedrock's chunks have.
        told.usage = told.usage.filter(|_| plain.usage.is_some());
        assert_eq!(told, plain);
        assert_eq!(ended_well(INVOKE, &bytes), Some(true));
        let last = crate::framing::events(Framing::EventStream, &bytes).last().unwrap();
        let inner = last.json_data().unwrap()["bytes"].as_str().map(|text| STANDARD.decode(text));
        let inner: Value = serde_json::from_slice(&inner.unwrap().unwrap()).unwrap();
        let counted = &inner["amazon-bedrock-invocationMetrics"]["outputTokenCount"];
        assert_eq!(counted, &json!(plain.usage.map_or(0, |usage| usage.completion_tokens)));
        for cut in 0..chunks.len() - 2 {
            assert_ne!(ended_well(INVOKE, &chunks[..cut].concat()), Some(true), "{cut}");
        }
    }
}

#[test]
fn a_real_stream_of_claude_is_merged() {
    let message = json!({
        "id": "msg_bdrk_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4",
        "content": [], "stop_reason": null, "stop_sequence": null,
        "usage": { "input_tokens": 5, "output_tokens": 1 }
    });
    let events = [
        json!({ "type": "message_start", "message": message }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": "Hi" } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn" }, "usage": { "output_tokens": 2 } }),
        metrics(json!({ "type": "message_stop" }), 5, 2),
    ];
    let bytes = streamed(&events);
    let body: Value = serde_json::from_slice(&to_complete(INVOKE, &bytes).unwrap()).unwrap();
    assert_eq!(body["content"], json!([{ "type": "text", "text": "Hi" }]));
    assert_eq!(body.get("amazon-bedrock-invocationMetrics"), None);
    let answer = test_calls::read(INVOKE, true, &bytes).unwrap();
    assert_eq!(
        (answer.content.as_str(), answer.finish_reason.as_deref()),
        ("Hi", Some("end_turn"))
    );
    assert_eq!(answer.usage.unwrap().total_tokens, 7);
    // Without its last two events the stream is not an answer.
    let error = to_complete(INVOKE, &streamed(&events[..4])).unwrap_err();
    assert_eq!(error, ModeError::Unended);
    let exception = EventFrame::exception("modelStreamErrorException", json!({ "message": "no" }));
    let failed = [bytes, Framing::EventStream.write_events(&[exception]).concat()].concat();
    assert_eq!(to_complete(INVOKE, &failed).unwrap_err(), ModeError::Unended);
    // A chunk that is cut within its JSON fails by itself.
    let cut = EventFrame::named("chunk", json!({ "bytes": STANDARD.encode("{\"type\":\"mess") }));
    let cut = [streamed(&events), Framing::EventStream.write_events(&[cut]).concat()].concat();
    assert_eq!(to_complete(INVOKE, &cut).unwrap_err(), ModeError::Unended);
    assert_eq!(test_calls::read(INVOKE, true, &cut).unwrap().content, "Hi");
}

#[test]
fn older_models_are_read_when_a_text_is_evident() {
    for (body, reason) in [
        (
            json!({ "completion": "Hi", "stop_reason": "stop_sequence", "stop": "\n\nHuman:" }),
            "stop_sequence",
        ),
        (
            json!({ "generations": [{ "id": "1", "text": "Hi", "finish_reason": "COMPLETE" }], "prompt": "p" }),
            "COMPLETE",
        ),
        (json!({ "text": "Hi", "finish_reason": "MAX_TOKENS", "chat_history": [] }), "MAX_TOKENS"),
        (
            json!({ "completions": [{ "data": { "text": "Hi" }, "finishReason": { "reason": "endoftext" } }] }),
            "endoftext",
        ),
        (json!({ "choices": [{ "text": "Hi", "stop_reason": "length" }] }), "length"),
        (
            json!({ "choices": [{ "index": 0, "message": { "role": "assistant", "content": "Hi" }, "stop_reason": "stop" }] }),
            "stop",
        ),
    ] {
        let answer = read_body(&body).unwrap();
        assert_eq!(
            (answer.content.as_str(), answer.finish_reason.as_deref()),
            ("Hi", Some(reason))
        );
    }
    for other in [json!({ "message": "denied" }), json!({}), json!({ "results": [] })] {
        assert_eq!(read_body(&other), None);
    }
}

#[test]
fn older_streams_are_read() {
    let titan = |text: &str, reason: Value, input: Value| {
        json!({ "outputText": text, "index": 0, "totalOutputTextTokenCount": 2,
            "completionReason": reason, "inputTextTokenCount": input })
    };
    let cohere = |text: &str, rest: Value| {
        let mut event = json!({ "text": text, "is_finished": false });
        event.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        event
    };
    for (events, reason, counts) in [
        (
            vec![titan("H", Value::Null, json!(3)), titan("i", json!("FINISH"), Value::Null)],
            "FINISH",
            (3, 2),
        ),
        (
            vec![
                cohere("H", json!({})),
                cohere("i", json!({})),
                metrics(json!({ "is_finished": true, "finish_reason": "COMPLETE" }), 4, 2),
            ],
            "COMPLETE",
            (4, 2),
        ),
        (
            vec![
                json!({ "choices": [{ "index": 0, "text": "H", "stop_reason": null }] }),
                metrics(
                    json!({ "choices": [{ "index": 0, "text": "i", "stop_reason": "stop" }] }),
                    4,
                    2,
                ),
            ],
            "stop",
            (4, 2),
        ),
    ] {
        let answer = test_calls::read(INVOKE, true, &streamed(&events)).unwrap();
        assert_eq!(
            (answer.content.as_str(), answer.finish_reason.as_deref()),
            ("Hi", Some(reason))
        );
        let usage = answer.usage.unwrap();
        assert_eq!((usage.prompt_tokens, usage.completion_tokens), counts);
    }
}

#[test]
fn vectors_are_read_in_titans_and_coheres_shape() {
    let titan = read_body(&json!({ "embedding": [0.5, 1], "inputTextTokenCount": 3 })).unwrap();
    assert_eq!((titan.embeddings, titan.usage.unwrap().prompt_tokens), (vec![vec![0.5, 1.0]], 3));
    let two = [vec![1.0], vec![2.0]];
    assert_eq!(read_body(&json!({ "embeddings": [[1], [2]] })).unwrap().embeddings, two);
    assert_eq!(
        read_body(&json!({ "embeddings": { "float": [[1], [2]] } })).unwrap().embeddings,
        two
    );
}

fn written(model: Option<&str>, answer: &Answer) -> Result<Answer, ModeError> {
    let format = ResponseFormat { model, ..test_calls::format_of(INVOKE, false) };
    let body = crate::write_answer(&format, answer, "seed")?;
    let stream = crate::to_stream(&format, &body).map(|chunks| chunks.concat());
    let whole = test_calls::read(INVOKE, false, &body).unwrap();
    if answer.embeddings.is_empty() {
        let mut streamed = test_calls::read(INVOKE, true, &stream.unwrap()).unwrap();
        // The last chunk always has counts.
        streamed.usage = streamed.usage.filter(|_| whole.usage.is_some());
        assert_eq!(streamed, whole);
    }
    Ok(whole)
}

#[test]
fn an_answer_is_written_in_the_shape_of_the_model_asked_for() {
    let usage = TokenUsage {
        prompt_tokens: 3,
        completion_tokens: 4,
        total_tokens: 7,
        ..TokenUsage::default()
    };
    let said = Answer { content: "Hi".to_owned(), usage: Some(usage), ..Answer::default() };
    for (model, ended) in [
        ("anthropic.claude-3-haiku-20240307-v1:0", "end_turn"),
        (
            "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-v1:0",
            "end_turn",
        ),
        ("us.amazon.nova-lite-v1:0", "end_turn"),
        ("openai.gpt-oss-120b-1:0", "stop"),
        ("meta.llama3-8b-instruct-v1:0", "stop"),
        ("amazon.titan-text-express-v1", "FINISH"),
    ] {
        let answer = written(Some(model), &said).unwrap();
        let told = (answer.content.as_str(), answer.finish_reason.as_deref(), answer.usage);
        assert_eq!(told, ("Hi", Some(ended), Some(usage)), "{model}");
    }
    for (model, ended, counts) in [
        ("us.mistral.pixtral-large-2502-v1:0", "stop", true),
        ("mistral.ministral-3-8b-instruct", "stop", true),
        ("mistral.mistral-large-2407-v1:0", "stop", false),
        ("mistral.mistral-large-2402-v1:0", "stop", false),
        ("mistral.mixtral-8x7b-instruct-v0:1", "stop", false),
        ("cohere.command-r-plus-v1:0", "COMPLETE", false),
        ("us.deepseek.r1-v1:0", "stop", false),
        ("deepseek.v3-v1:0", "stop", true),
        ("ai21.jamba-1-5-large-v1:0", "stop", true),
    ] {
        let answer = written(Some(model), &said).unwrap();
        let told = (answer.content.as_str(), answer.finish_reason.as_deref(), answer.usage);
        assert_eq!(told, ("Hi", Some(ended), counts.then_some(usage)), "{model}");
    }
    let vectors = Answer { embeddings: vec![vec![0.5]], ..Answer::default() };
    assert_eq!(written(Some("cohere.embed-english-v3"), &vectors).unwrap().embeddings, [vec![0.5]]);
    let answer = written(Some("amazon.titan-embed-text-v2:0"), &vectors).unwrap();
    assert_eq!(answer.embeddings, [vec![0.5]]);
    let error = written(Some("amazon.titan-embed-text-v2:0"), &said).unwrap_err();
    assert!(matches!(error, ModeError::NoVectors { .. }));
    let several = Answer { embeddings: vec![vec![0.5], vec![1.0]], ..Answer::default() };
    let error = written(Some("amazon.titan-embed-text-v2:0"), &several).unwrap_err();
    assert!(matches!(error, ModeError::NoPlace { what: "further vectors", .. }));
}

#[test]
fn an_answer_is_refused_when_the_models_shape_is_not_known() {
    let said = Answer { content: "Hi".to_owned(), ..Answer::default() };
    for model in [None, Some("arn:aws:bedrock:us-east-1:1:application-inference-profile/x")] {
        let error = written(model, &said).unwrap_err().to_string();
        let begins = "an answer of a Bedrock model whose own shape is not known cannot be built";
        assert!(error.starts_with(begins), "{error}");
    }
    let call = crate::ToolCall { id: String::new(), name: "f".to_owned(), arguments: json!({}) };
    let calling = Answer { tool_calls: vec![call], ..Answer::default() };
    for model in [
        "meta.llama3-8b-instruct-v1:0",
        "mistral.mistral-7b-instruct-v0:2",
        "us.deepseek.r1-v1:0",
        "ai21.j2-ultra-v1",
        "cohere.command-text-v14",
    ] {
        let error = written(Some(model), &calling).unwrap_err();
        assert!(matches!(error, ModeError::NoPlace { .. }), "{model}");
    }
    for model in [
        "mistral.mistral-large-2402-v1:0",
        "mistral.mistral-large-2407-v1:0",
        "us.mistral.pixtral-large-2502-v1:0",
        "cohere.command-r-v1:0",
        "deepseek.v3-v1:0",
        "ai21.jamba-1-5-mini-v1:0",
    ] {
        let answer = written(Some(model), &calling).unwrap();
        assert_eq!(answer.tool_calls[0].name, "f", "{model}");
    }
}

#[test]
fn models_that_do_not_stream_are_written_complete() {
    let said = Answer {
        content: "Hi".to_owned(),
        finish_reason: Some("length".to_owned()),
        ..Answer::default()
    };
    for (model, ended) in
        [("ai21.j2-mid-v1", "length"), ("cohere.command-light-text-v14", "MAX_TOKENS")]
    {
        let format = ResponseFormat { model: Some(model), ..test_calls::format_of(INVOKE, false) };
        let body = crate::write_answer(&format, &said, "seed").unwrap();
        let answer = test_calls::read(INVOKE, false, &body).unwrap();
        let told = (answer.content.as_str(), answer.finish_reason.as_deref());
        assert_eq!(told, ("Hi", Some(ended)), "{model}");
    }
}

#[test]
fn answers_of_command_r_and_deepseek_come_back_when_they_go_both_ways() {
    let command = json!({
        "response_id": "r", "text": "Well, hello there.", "generation_id": "g",
        "chat_history": [{"role": "USER", "message": "hi"}], "finish_reason": "COMPLETE"
    });
    let deepseek =
        json!({ "choices": [{ "text": "Well, hello there.", "stop_reason": "length" }] });
    for body in [command, deepseek] {
        let stream = test_calls::to_stream(INVOKE, body.to_string().as_bytes(), true).unwrap();
        assert!(stream.len() > 3);
        let complete = test_calls::to_complete(INVOKE, &stream.concat()).unwrap();
        let mut complete: Value = serde_json::from_slice(&complete).unwrap();
        if let Some(choice) = complete.pointer_mut("/choices/0").and_then(Value::as_object_mut) {
            choice.shift_remove("index");
        }
        assert_eq!(complete, body);
        let cut = stream[..stream.len() - 1].concat();
        assert_eq!(test_calls::to_complete(INVOKE, &cut), Err(ModeError::Unended));
    }
}
