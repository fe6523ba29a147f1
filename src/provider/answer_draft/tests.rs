use proptest::prelude::*;

use serde_json::json;

use super::*;
use crate::test_calls::{ended_well, read, to_stream, write as complete};
use crate::{ModeError, Operation};

mod framed;

const SHAPES: [Operation; 6] = [
    Operation::CHAT_COMPLETIONS,
    Operation::COMPLETIONS,
    Operation::RESPONSES,
    Operation::MESSAGES,
    Operation::GENERATE_CONTENT,
    Operation::COHERE_CHAT,
];

fn built(operation: Operation, answer: &Answer) -> Value {
    serde_json::from_slice(&complete(operation, answer, "seed").unwrap()).unwrap()
}

/// Builds `operation`'s answer from `answer`, and reads it back.
fn round(operation: Operation, answer: &Answer) -> Answer {
    read(operation, false, &complete(operation, answer, "seed").unwrap()).unwrap()
}

fn words(content: &str, finish: Option<&str>) -> Answer {
    Answer {
        content: content.to_owned(),
        model: Some("m".to_owned()),
        finish_reason: finish.map(str::to_owned),
        ..Answer::default()
    }
}

fn calling(id: &str, arguments: Value, finish: Option<&str>) -> Answer {
    let call = ToolCall { id: id.to_owned(), name: "f".to_owned(), arguments };
    Answer { tool_calls: vec![call], ..words("", finish) }
}

#[test]
fn other_operations_are_refused_by_name() {
    for operation in [Operation::SPEECH, Operation::IMAGES, Operation::RERANK, Operation::OTHER] {
        let error = complete(operation, &words("x", None), "").unwrap_err();
        assert_eq!(error, ModeError::NotFromWords { operation: operation.name() });
        let begins = format!("an answer of {} cannot be built from text", operation.name());
        assert!(error.to_string().starts_with(&begins), "{error}");
    }
}

#[test]
fn a_completion_is_refused_when_it_would_lose_tool_calls() {
    let answer = calling("c", json!({}), None);
    let error = complete(Operation::COMPLETIONS, &answer, "").unwrap_err();
    assert!(error.to_string().contains("no place for the entry's tool calls"), "{error}");
}

#[test]
fn embeddings_are_lists_of_numbers_in_their_order() {
    let mut answer = words("", None);
    answer.embeddings = vec![vec![0.1, -1.0, 1e-7], vec![], vec![f64::MIN_POSITIVE, -0.0]];
    answer.usage = Some(TokenUsage { prompt_tokens: 8, total_tokens: 8, ..TokenUsage::default() });
    let body = built(Operation::EMBEDDINGS, &answer);
    assert_eq!(body["data"][2]["index"], 2);
    assert_eq!(body["data"][0]["object"], "embedding");
    assert_eq!(round(Operation::EMBEDDINGS, &answer), answer);
}

#[test]
fn embeddings_are_refused_when_there_are_none() {
    for embeddings in [vec![], vec![vec![1.0], vec![f64::NAN]], vec![vec![f64::INFINITY]]] {
        let answer = Answer { embeddings, ..words("text", None) };
        let error = complete(Operation::EMBEDDINGS, &answer, "").unwrap_err();
        assert_eq!(error, ModeError::NoVectors { operation: "Embeddings" });
    }
}

#[test]
fn ids_are_of_the_seed_and_the_place_alone() {
    let call = ToolCall { id: String::new(), name: "f".to_owned(), arguments: json!({}) };
    let answer = Answer { tool_calls: vec![call.clone(), call], ..words("", None) };
    let ids = |operation, seed: &str| -> Vec<String> {
        let body = complete(operation, &answer, seed).unwrap();
        assert_eq!(body, complete(operation, &answer, seed).unwrap());
        let own = serde_json::from_slice::<Value>(&body).unwrap();
        let calls = read(operation, false, &body).unwrap().tool_calls;
        let own = own["id"].as_str().unwrap().to_owned();
        std::iter::once(own).chain(calls.into_iter().map(|call| call.id)).collect()
    };
    for (operation, prefixes) in [
        (Operation::CHAT_COMPLETIONS, ["chatcmpl-", "call_", "call_"]),
        (Operation::RESPONSES, ["resp_", "call_", "call_"]),
        (Operation::MESSAGES, ["msg_", "toolu_", "toolu_"]),
    ] {
        let (one, other) = (ids(operation, "one"), ids(operation, "other"));
        for (place, prefix) in prefixes.iter().enumerate() {
            assert!(one[place].starts_with(prefix) && one[place].len() == prefix.len() + 24);
            assert_ne!(one[place], other[place]);
        }
        assert_ne!(one[1], one[2]);
    }
    let id = built(Operation::CHAT_COMPLETIONS, &answer)["id"].clone();
    assert_eq!(id, "chatcmpl-1630151693c76dd443e45fb5", "an id that changes is another answer");
}

#[test]
fn a_missing_finish_reason_is_a_normal_end() {
    let plain = ["stop", "stop", "completed", "end_turn", "STOP", "COMPLETE"];
    let calls = ["tool_calls", "", "completed", "tool_use", "STOP", "TOOL_CALL"];
    for (place, operation) in SHAPES.into_iter().enumerate() {
        for missing in [None, Some("")] {
            let ended = round(operation, &words("x", missing)).finish_reason;
            assert_eq!(ended.as_deref(), Some(plain[place]));
            if operation != Operation::COMPLETIONS {
                let ended = round(operation, &calling("c", json!({}), missing)).finish_reason;
                assert_eq!(ended.as_deref(), Some(calls[place]));
            }
        }
    }
}

#[test]
fn a_finish_reason_is_said_in_the_callers_words() {
    for (found, operation, expected) in [
        ("end_turn", Operation::CHAT_COMPLETIONS, "stop"),
        ("stop_sequence", Operation::CHAT_COMPLETIONS, "stop"),
        ("max_tokens", Operation::CHAT_COMPLETIONS, "length"),
        ("tool_use", Operation::CHAT_COMPLETIONS, "tool_calls"),
        ("refusal", Operation::CHAT_COMPLETIONS, "content_filter"),
        ("STOP", Operation::COMPLETIONS, "stop"),
        ("MAX_TOKENS", Operation::CHAT_COMPLETIONS, "length"),
        ("SAFETY", Operation::CHAT_COMPLETIONS, "content_filter"),
        ("max_output_tokens", Operation::CHAT_COMPLETIONS, "length"),
        ("function_call", Operation::CHAT_COMPLETIONS, "tool_calls"),
        ("model_length", Operation::MESSAGES, "max_tokens"),
        ("eos", Operation::RESPONSES, "completed"),
        ("stop", Operation::MESSAGES, "end_turn"),
        ("length", Operation::MESSAGES, "max_tokens"),
        ("tool_calls", Operation::MESSAGES, "tool_use"),
        ("content_filter", Operation::MESSAGES, "refusal"),
        ("completed", Operation::MESSAGES, "end_turn"),
        ("STOP", Operation::MESSAGES, "end_turn"),
        ("stop", Operation::GENERATE_CONTENT, "STOP"),
        ("max_tokens", Operation::GENERATE_CONTENT, "MAX_TOKENS"),
        ("tool_use", Operation::GENERATE_CONTENT, "STOP"),
        ("refusal", Operation::GENERATE_CONTENT, "SAFETY"),
        ("end_turn", Operation::RESPONSES, "completed"),
        ("tool_calls", Operation::RESPONSES, "completed"),
        ("length", Operation::RESPONSES, "max_output_tokens"),
        ("refusal", Operation::RESPONSES, "content_filter"),
        ("end_turn", Operation::COHERE_CHAT, "COMPLETE"),
        ("max_tokens", Operation::COHERE_CHAT, "MAX_TOKENS"),
        ("tool_use", Operation::COHERE_CHAT, "TOOL_CALL"),
        ("COMPLETE", Operation::CHAT_COMPLETIONS, "stop"),
        ("ERROR_LIMIT", Operation::MESSAGES, "max_tokens"),
        ("TOOL_CALL", Operation::MESSAGES, "tool_use"),
        ("MAX_TOKENS", Operation::GENERATE_CONTENT, "MAX_TOKENS"),
    ] {
        let ended = round(operation, &words("x", Some(found))).finish_reason;
        assert_eq!(ended.as_deref(), Some(expected), "{found} for {operation:?}");
    }
}

#[test]
fn a_finish_reason_stays_when_it_is_the_callers_own_or_unknown() {
    for (operation, own) in [
        (Operation::CHAT_COMPLETIONS, &["stop", "length", "tool_calls", "content_filter"][..]),
        (Operation::CHAT_COMPLETIONS, &["model_length", "error"]),
        (Operation::MESSAGES, &["stop_sequence", "model_context_window_exceeded", "pause_turn"]),
        (Operation::GENERATE_CONTENT, &["RECITATION", "MALFORMED_FUNCTION_CALL", "OTHER"]),
        (Operation::COHERE_CHAT, &["STOP_SEQUENCE", "ERROR", "TIMEOUT"]),
        (Operation::RESPONSES, &["completed", "failed", "incomplete", "max_output_tokens"]),
        (Operation::CHAT_COMPLETIONS, &["insufficient_system_resource", "Ende\n"]),
        (Operation::RESPONSES, &["insufficient_system_resource", "Ende\n"]),
    ] {
        for word in own {
            let ended = round(operation, &words("x", Some(word))).finish_reason;
            assert_eq!(ended.as_deref(), Some(*word), "{operation:?}");
        }
    }
}

#[test]
fn a_foreign_normal_end_names_the_calls_when_there_are_some() {
    for (found, operation, expected) in [
        ("STOP", Operation::CHAT_COMPLETIONS, "tool_calls"),
        ("completed", Operation::MESSAGES, "tool_use"),
        ("stop", Operation::MESSAGES, "tool_use"),
        // OpenAI itself sends this if one tool was forced.
        ("stop", Operation::CHAT_COMPLETIONS, "stop"),
        ("max_tokens", Operation::CHAT_COMPLETIONS, "length"),
    ] {
        let ended = round(operation, &calling("c", json!({}), Some(found))).finish_reason;
        assert_eq!(ended.as_deref(), Some(expected), "{found} for {operation:?}");
    }
}

#[test]
fn broken_arguments_go_out_as_they_came() {
    let answer = calling("c", json!({ "_raw": "{\"city\": \"Par" }), None);
    let body = built(Operation::CHAT_COMPLETIONS, &answer);
    let arguments = &body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, "{\"city\": \"Par");
    // An argument that happens to have that name is a normal argument.
    for real in [json!({ "_raw": "{}" }), json!({ "_raw": "x", "y": 1 }), json!({ "_raw": 1 })] {
        let answer = calling("c", real, None);
        let call = round(Operation::CHAT_COMPLETIONS, &answer).tool_calls;
        assert_eq!(call, answer.tool_calls);
    }
}

#[test]
fn content_is_null_when_only_tools_are_called() {
    let called = calling("c", json!({"a": 1}), None);
    let body = built(Operation::CHAT_COMPLETIONS, &called);
    assert_eq!(body["choices"][0]["message"]["content"], Value::Null);
    assert_eq!(built(Operation::MESSAGES, &called)["content"][0]["type"], "tool_use");
    let silent = words("", None);
    let body = built(Operation::CHAT_COMPLETIONS, &silent);
    assert_eq!(body["choices"][0]["message"]["content"], "");
    assert_eq!(built(Operation::MESSAGES, &silent)["content"][0]["text"], "");
}

#[test]
fn anthropics_input_tokens_leave_out_what_was_cached() {
    let counts = |prompt_tokens, cached_tokens, cache_write_tokens| {
        let usage = TokenUsage {
            prompt_tokens,
            cached_tokens,
            cache_write_tokens,
            ..TokenUsage::default()
        };
        let body = built(Operation::MESSAGES, &Answer { usage: Some(usage), ..words("x", None) });
        let count = |name| body["usage"][name].as_u64().unwrap();
        (
            count("input_tokens"),
            count("cache_read_input_tokens"),
            count("cache_creation_input_tokens"),
        )
    };
    assert_eq!(counts(100, 30, 20), (50, 30, 20));
    assert_eq!(counts(10, 30, u64::MAX), (0, 10, 0));
}

#[test]
fn absent_usage_counts_zero_tokens() {
    for operation in SHAPES {
        let usage = round(operation, &words("x", None)).usage;
        assert_eq!(usage, Some(TokenUsage::default()), "{operation:?}");
    }
}

/// An arguments object with numbers that a float cannot hold exactly.
fn arguments() -> impl Strategy<Value = Value> {
    let value = prop_oneof![
        "\\PC{0,12}".prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        Just(json!([null, true, { "deep": [] }])),
    ];
    let members = prop::collection::vec(("[a-z_]{0,6}|é東", value), 0..4);
    prop_oneof![
        6 => members.prop_map(|members| Value::Object(members.into_iter().collect())),
        1 => "[^{ ]\\PC{0,12}".prop_filter("is no object", |text| !text.trim().is_empty())
            .prop_map(|raw| json!({ "_raw": raw })),
    ]
}

/// An answer without a finish reason, whose counts agree with each other.
fn answers() -> impl Strategy<Value = Answer> {
    let calls = prop::collection::vec(("[a-z0-9_]{1,12}", "\\PC{0,12}", arguments()), 0..3);
    let counts = (0..u64::from(u32::MAX), 0..u64::from(u32::MAX), 0.0..1.0f64, 0.0..1.0f64);
    ("(\\PC|\n){0,80}", calls, counts).prop_map(|(content, calls, counts)| {
        let (prompt_tokens, completion_tokens, cached, reasoning) = counts;
        let part = |of: u64, share: f64| (of as f64 * share) as u64;
        let cached_tokens = part(prompt_tokens, cached);
        let calls = calls.into_iter();
        Answer {
            tool_calls: calls
                .map(|(id, name, arguments)| ToolCall { id, name, arguments })
                .collect(),
            usage: Some(TokenUsage {
                prompt_tokens,
                completion_tokens,
                total_tokens: prompt_tokens + completion_tokens,
                reasoning_tokens: part(completion_tokens, reasoning),
                cached_tokens,
                // Gemini does not count them.
                cache_write_tokens: 0,
            }),
            ..words(&content, None)
        }
    })
}

/// The finish reason that each format has for an answer without one.
fn ended(operation: Operation, mut answer: Answer) -> Answer {
    let called = !answer.tool_calls.is_empty();
    let word = match operation.as_str() {
        "responses" => "completed",
        "generate_content" => "STOP",
        "cohere_chat" if called => "TOOL_CALL",
        "cohere_chat" => "COMPLETE",
        "messages" if called => "tool_use",
        "messages" => "end_turn",
        _ if called => "tool_calls",
        _ => "stop",
    };
    answer.finish_reason = Some(word.to_owned());
    if operation == Operation::COHERE_CHAT {
        // Cohere's answers have neither.
        answer.model = None;
        answer.usage.as_mut().unwrap().reasoning_tokens = 0;
    }
    answer
}

proptest! {
    #[test]
    fn any_answer_reads_back_as_it_was_when_it_is_built(answer in answers(), seed in "\\PC{0,8}") {
        for operation in SHAPES {
            let mut answer = answer.clone();
            if operation == Operation::COMPLETIONS {
                answer.tool_calls.clear();
            }
            let body = complete(operation, &answer, &seed).unwrap();
            prop_assert_eq!(read(operation, false, &body), Some(ended(operation, answer)));
        }
    }

    #[test]
    fn a_stream_of_any_answer_reads_as_the_answer(answer in answers(), written in 0u64..1000) {
        for operation in [
            Operation::CHAT_COMPLETIONS,
            Operation::COMPLETIONS,
            Operation::RESPONSES,
            Operation::MESSAGES,
            Operation::GENERATE_CONTENT,
            Operation::COHERE_CHAT,
        ] {
            let mut answer = answer.clone();
            if operation == Operation::COMPLETIONS {
                answer.tool_calls.clear();
            }
            let counts = ![Operation::GENERATE_CONTENT, Operation::COHERE_CHAT].contains(&operation);
            if let Some(usage) = answer.usage.as_mut().filter(|_| counts) {
                usage.prompt_tokens += written;
                usage.total_tokens += written;
                usage.cache_write_tokens = written;
            }
            let body = complete(operation, &answer, "seed").unwrap();
            let stream = to_stream(operation, &body, true).unwrap().concat();
            prop_assert_eq!(read(operation, true, &stream), Some(ended(operation, answer)));
            prop_assert_eq!(ended_well(operation, &stream), Some(true));
        }
    }

    #[test]
    fn building_never_panics_when_counts_and_words_are_anything(
        counts in any::<[u64; 6]>(), finish in prop::option::of("\\PC{0,12}"),
        id in "\\PC{0,4}", arguments in prop_oneof![
            Just(Value::Null), Just(json!([1])), "\\PC{0,9}".prop_map(Value::from), arguments()],
    ) {
        let mut answer = calling(&id, arguments, finish.as_deref());
        answer.usage = Some(TokenUsage {
            prompt_tokens: counts[0], completion_tokens: counts[1], total_tokens: counts[2],
            reasoning_tokens: counts[3], cached_tokens: counts[4], cache_write_tokens: counts[5],
        });
        for operation in SHAPES {
            if let Ok(body) = complete(operation, &answer, &id) {
                let back = read(operation, false, &body).unwrap();
                prop_assert_eq!(back.tool_calls.len(), 1);
            }
        }
    }
}
