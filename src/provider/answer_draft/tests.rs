use proptest::prelude::*;

use serde_json::json;

use super::*;
use crate::provider::test_calls::{ended_well, read, to_stream, write as complete};
use crate::provider::{ModeError, Operation};

mod framed;

const SHAPES: [Operation; 6] = [
    Operation::ChatCompletions,
    Operation::Completions,
    Operation::Responses,
    Operation::Messages,
    Operation::GenerateContent,
    Operation::CohereChat,
];

fn built(operation: Operation, answer: &Answer) -> Value {
    serde_json::from_slice(&complete(operation, answer, "seed").unwrap()).unwrap()
}

/// What `operation`'s answer reads as, when it is built from `answer`.
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
    for operation in [Operation::Speech, Operation::Images, Operation::Rerank, Operation::Other] {
        let error = complete(operation, &words("x", None), "").unwrap_err();
        assert_eq!(error, ModeError::NotFromWords { operation: operation.name() });
        let begins = format!("an answer of {} cannot be built from words", operation.name());
        assert!(error.to_string().starts_with(&begins), "{error}");
    }
}

#[test]
fn a_completion_is_refused_when_it_would_lose_tool_calls() {
    let answer = calling("c", json!({}), None);
    let error = complete(Operation::Completions, &answer, "").unwrap_err();
    assert!(error.to_string().contains("no place for the entry's tool calls"), "{error}");
}

#[test]
fn embeddings_are_lists_of_numbers_in_their_order() {
    let mut answer = words("", None);
    answer.embeddings = vec![vec![0.1, -1.0, 1e-7], vec![], vec![f64::MIN_POSITIVE, -0.0]];
    answer.usage = Some(TokenUsage { prompt_tokens: 8, total_tokens: 8, ..TokenUsage::default() });
    let body = built(Operation::Embeddings, &answer);
    assert_eq!(body["data"][2]["index"], 2);
    assert_eq!(body["data"][0]["object"], "embedding");
    assert_eq!(round(Operation::Embeddings, &answer), answer);
}

#[test]
fn embeddings_are_refused_when_there_are_none() {
    for embeddings in [vec![], vec![vec![1.0], vec![f64::NAN]], vec![vec![f64::INFINITY]]] {
        let answer = Answer { embeddings, ..words("text", None) };
        let error = complete(Operation::Embeddings, &answer, "").unwrap_err();
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
        (Operation::ChatCompletions, ["chatcmpl-", "call_", "call_"]),
        (Operation::Responses, ["resp_", "call_", "call_"]),
        (Operation::Messages, ["msg_", "toolu_", "toolu_"]),
    ] {
        let (one, other) = (ids(operation, "one"), ids(operation, "other"));
        for (place, prefix) in prefixes.iter().enumerate() {
            assert!(one[place].starts_with(prefix) && one[place].len() == prefix.len() + 24);
            assert_ne!(one[place], other[place]);
        }
        assert_ne!(one[1], one[2]);
    }
    let id = built(Operation::ChatCompletions, &answer)["id"].clone();
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
            if operation != Operation::Completions {
                let ended = round(operation, &calling("c", json!({}), missing)).finish_reason;
                assert_eq!(ended.as_deref(), Some(calls[place]));
            }
        }
    }
}

#[test]
fn a_finish_reason_is_said_in_the_callers_words() {
    use Operation::*;
    for (found, operation, expected) in [
        ("end_turn", ChatCompletions, "stop"),
        ("stop_sequence", ChatCompletions, "stop"),
        ("max_tokens", ChatCompletions, "length"),
        ("tool_use", ChatCompletions, "tool_calls"),
        ("refusal", ChatCompletions, "content_filter"),
        ("STOP", Completions, "stop"),
        ("MAX_TOKENS", ChatCompletions, "length"),
        ("SAFETY", ChatCompletions, "content_filter"),
        ("max_output_tokens", ChatCompletions, "length"),
        ("function_call", ChatCompletions, "tool_calls"),
        ("model_length", Messages, "max_tokens"),
        ("eos", Responses, "completed"),
        ("stop", Messages, "end_turn"),
        ("length", Messages, "max_tokens"),
        ("tool_calls", Messages, "tool_use"),
        ("content_filter", Messages, "refusal"),
        ("completed", Messages, "end_turn"),
        ("STOP", Messages, "end_turn"),
        ("stop", GenerateContent, "STOP"),
        ("max_tokens", GenerateContent, "MAX_TOKENS"),
        ("tool_use", GenerateContent, "STOP"),
        ("refusal", GenerateContent, "SAFETY"),
        ("end_turn", Responses, "completed"),
        ("tool_calls", Responses, "completed"),
        ("length", Responses, "max_output_tokens"),
        ("refusal", Responses, "content_filter"),
        ("end_turn", CohereChat, "COMPLETE"),
        ("max_tokens", CohereChat, "MAX_TOKENS"),
        ("tool_use", CohereChat, "TOOL_CALL"),
        ("COMPLETE", ChatCompletions, "stop"),
        ("ERROR_LIMIT", Messages, "max_tokens"),
        ("TOOL_CALL", Messages, "tool_use"),
        ("MAX_TOKENS", GenerateContent, "MAX_TOKENS"),
    ] {
        let ended = round(operation, &words("x", Some(found))).finish_reason;
        assert_eq!(ended.as_deref(), Some(expected), "{found} for {operation:?}");
    }
}

#[test]
fn a_finish_reason_stays_when_it_is_the_callers_own_or_unknown() {
    use Operation::*;
    for (operation, own) in [
        (ChatCompletions, &["stop", "length", "tool_calls", "content_filter"][..]),
        (ChatCompletions, &["model_length", "error"]),
        (Messages, &["stop_sequence", "model_context_window_exceeded", "pause_turn"]),
        (GenerateContent, &["RECITATION", "MALFORMED_FUNCTION_CALL", "OTHER"]),
        (CohereChat, &["STOP_SEQUENCE", "ERROR", "TIMEOUT"]),
        (Responses, &["completed", "failed", "incomplete", "max_output_tokens"]),
        (ChatCompletions, &["insufficient_system_resource", "Ende\n"]),
        (Responses, &["insufficient_system_resource", "Ende\n"]),
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
        ("STOP", Operation::ChatCompletions, "tool_calls"),
        ("completed", Operation::Messages, "tool_use"),
        ("stop", Operation::Messages, "tool_use"),
        // OpenAI itself says so where one tool was forced.
        ("stop", Operation::ChatCompletions, "stop"),
        ("max_tokens", Operation::ChatCompletions, "length"),
    ] {
        let ended = round(operation, &calling("c", json!({}), Some(found))).finish_reason;
        assert_eq!(ended.as_deref(), Some(expected), "{found} for {operation:?}");
    }
}

#[test]
fn broken_arguments_go_out_as_they_came() {
    let answer = calling("c", json!({ "_raw": "{\"city\": \"Par" }), None);
    let body = built(Operation::ChatCompletions, &answer);
    let arguments = &body["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, "{\"city\": \"Par");
    // An argument that happens to have that name is an argument.
    for real in [json!({ "_raw": "{}" }), json!({ "_raw": "x", "y": 1 }), json!({ "_raw": 1 })] {
        let answer = calling("c", real, None);
        let call = round(Operation::ChatCompletions, &answer).tool_calls;
        assert_eq!(call, answer.tool_calls);
    }
}

#[test]
fn content_is_null_when_only_tools_are_called() {
    let called = calling("c", json!({"a": 1}), None);
    let body = built(Operation::ChatCompletions, &called);
    assert_eq!(body["choices"][0]["message"]["content"], Value::Null);
    assert_eq!(built(Operation::Messages, &called)["content"][0]["type"], "tool_use");
    let silent = words("", None);
    let body = built(Operation::ChatCompletions, &silent);
    assert_eq!(body["choices"][0]["message"]["content"], "");
    assert_eq!(built(Operation::Messages, &silent)["content"][0]["text"], "");
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
        let body = built(Operation::Messages, &Answer { usage: Some(usage), ..words("x", None) });
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

/// An argument object with numbers that a float would spoil.
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

/// An answer with words of its own for why it ended, and counts that agree.
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

/// The word each shape ends with, for answers that have none.
fn ended(operation: Operation, mut answer: Answer) -> Answer {
    let called = !answer.tool_calls.is_empty();
    let word = match operation {
        Operation::Responses => "completed",
        Operation::GenerateContent => "STOP",
        Operation::CohereChat if called => "TOOL_CALL",
        Operation::CohereChat => "COMPLETE",
        Operation::Messages if called => "tool_use",
        Operation::Messages => "end_turn",
        _ if called => "tool_calls",
        _ => "stop",
    };
    answer.finish_reason = Some(word.to_owned());
    if operation == Operation::CohereChat {
        // Neither stands in its answers.
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
            if operation == Operation::Completions {
                answer.tool_calls.clear();
            }
            let body = complete(operation, &answer, &seed).unwrap();
            prop_assert_eq!(read(operation, false, &body), Some(ended(operation, answer)));
        }
    }

    #[test]
    fn a_stream_of_any_answer_reads_as_the_answer(answer in answers(), written in 0u64..1000) {
        for operation in [
            Operation::ChatCompletions,
            Operation::Completions,
            Operation::Responses,
            Operation::Messages,
            Operation::GenerateContent,
            Operation::CohereChat,
        ] {
            let mut answer = answer.clone();
            if operation == Operation::Completions {
                answer.tool_calls.clear();
            }
            let counts = ![Operation::GenerateContent, Operation::CohereChat].contains(&operation);
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
