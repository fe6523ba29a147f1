use proptest::prelude::*;
use serde_json::{Value, json};

use super::test_calls::{ended_well, read, to_complete, to_stream};
use super::*;

mod framed;

/// The data of a short stream of each operation whose answers are read.
fn stream_of(operation: Operation) -> Vec<String> {
    let data = match operation.as_str() {
        "chat" => vec![
            json!({"model": "m", "choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hi"}}]}),
            json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": "{}"}}]}}]}),
            json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
            json!({"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}),
        ],
        "completions" => vec![
            json!({"model": "m", "choices": [{"index": 0, "text": "Hi"}]}),
            json!({"choices": [{"index": 0, "text": "", "finish_reason": "stop"}]}),
        ],
        "responses" => vec![
            json!({"type": "response.created", "response": {"model": "m", "output": []}}),
            json!({"type": "response.output_text.delta", "output_index": 0, "delta": "Hi"}),
            json!({"type": "response.completed", "response": {"model": "m", "status": "completed", "output": [
                {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]}]}}),
        ],
        "messages" => vec![
            json!({"type": "message_start", "message": {"model": "m", "content": [], "usage": {"input_tokens": 1}}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}}),
            json!({"type": "message_delta", "delta": {"stop_reason": "stop"}, "usage": {"output_tokens": 2}}),
            json!({"type": "message_stop"}),
        ],
        "generate_content" => vec![
            json!({"candidates": [{"content": {"parts": [{"text": "H"}]}}]}),
            json!({"candidates": [{"content": {"parts": [{"text": "i"}]}, "finishReason": "STOP"}]}),
        ],
        "cohere_chat" => vec![
            json!({"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant", "content": []}}}),
            json!({"type": "content-start", "index": 0, "delta": {"message": {"content": {"type": "text", "text": ""}}}}),
            json!({"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Hi"}}}}),
            json!({"type": "content-end", "index": 0}),
            json!({"type": "message-end", "delta": {"finish_reason": "COMPLETE", "usage": {"tokens": {"input_tokens": 1}}}}),
        ],
        _ => vec![],
    };
    data.iter().map(Value::to_string).collect()
}

fn read_operation() -> impl Strategy<Value = Operation> {
    prop::sample::select(vec![
        Operation::CHAT_COMPLETIONS,
        Operation::COMPLETIONS,
        Operation::RESPONSES,
        Operation::MESSAGES,
        Operation::GENERATE_CONTENT,
        Operation::COHERE_CHAT,
    ])
}

proptest! {
    #[test]
    fn a_stream_reads_the_same_when_line_ends_and_comments_are_mixed(
        operation in read_operation(),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r"]), 64),
        comments in prop::collection::vec(prop::sample::select(vec![
            "", ":", ": keep-alive", ": {\"choices\": []}", "id: 3", "retry: 100"]), 64),
        bom in any::<bool>(),
    ) {
        let data = stream_of(operation);
        let plain: String = data.iter().map(|data| format!("data: {data}\n\n")).collect();
        let mut ends = ends.into_iter();
        let mut text = String::from(if bom { "\u{feff}" } else { "" });
        for (data, comment) in data.iter().zip(comments) {
            // The end of the line before must not join with an LF to form a CRLF.
            let end = ends.next().unwrap_or("\n");
            if !comment.is_empty() {
                text += &format!("{comment}{end}");
            }
            text += &format!("data: {data}{end}{end}");
        }
        let expected = read(operation, true, plain.as_bytes());
        prop_assert_eq!(&expected.as_ref().unwrap().content, "Hi");
        prop_assert_eq!(read(operation, true, text.as_bytes()), expected);
        prop_assert!(ended_well(operation, text.as_bytes()) != Some(false));
    }

    #[test]
    fn a_stream_has_not_ended_when_it_is_cut_before_its_marker(
        operation in read_operation(), cut in 0.0f64..1.0
    ) {
        let data = stream_of(operation);
        let last = data.iter().position(|data| {
            ["finish_reason", "message_stop", "completed", "finishReason"]
                .iter()
                .any(|mark| data.contains(mark))
        });
        let before: String = data[..last.unwrap()]
            .iter()
            .map(|data| format!("data: {data}\n\n"))
            .collect();
        let at = (before.len() as f64 * cut) as usize;
        prop_assert!(Some(true) != ended_well(operation, &before.as_bytes()[..at]));
        prop_assert!(Some(true) != ended_well(operation, before.as_bytes()));
    }

    #[test]
    fn reading_never_panics_when_bytes_are_anything(
        bytes in prop::collection::vec(any::<u8>(), 0..300), streamed in any::<bool>()
    ) {
        for operation in Operation::all() {
            read(operation, streamed, &bytes);
            ended_well(operation, &bytes);
            let _ = to_complete(operation, &bytes);
            let _ = to_stream(operation, &bytes, streamed);
        }
    }

    #[test]
    fn reading_never_panics_when_streams_are_mangled(
        operation in read_operation(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes: Vec<u8> = stream_of(operation)
            .iter()
            .flat_map(|data| format!("data: {data}\n\n").into_bytes())
            .collect();
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes.truncate(cut.index(bytes.len()) + 1);
        read(operation, true, &bytes);
        ended_well(operation, &bytes);
        let _ = to_complete(operation, &bytes);
    }

    #[test]
    fn reading_never_panics_when_json_has_any_shape(value in json_value(), streamed in any::<bool>()) {
        let plain = value.to_string();
        let event = format!("data: {plain}\n\n");
        for operation in Operation::all() {
            read(operation, false, plain.as_bytes());
            read(operation, true, event.as_bytes());
            let _ = to_complete(operation, event.as_bytes());
            let _ = to_stream(operation, plain.as_bytes(), streamed);
        }
    }
}

/// The names that the readers look for.
const NAMES: &[&str] = &[
    "choices",
    "index",
    "delta",
    "message",
    "content",
    "tool_calls",
    "function",
    "arguments",
    "usage",
    "x_groq",
    "output",
    "type",
    "content_block",
    "partial_json",
    "input",
    "response",
    "candidates",
    "parts",
    "text",
    "logprobs",
    "data",
    "embedding",
    "citation",
    "finish_reason",
    "event_type",
    "embeddings",
    "citationMetadata",
    "functionCall",
    "usageMetadata",
    "promptFeedback",
];

/// The words that the readers look for.
const WORDS: &[&str] = &[
    "message_start",
    "content_block_start",
    "message_stop",
    "text",
    "tool_use",
    "response.completed",
    "function_call",
    "message",
    "message-start",
    "content-start",
    "content-delta",
    "tool-call-delta",
    "message-end",
    "stream-end",
    "x",
];

/// JSON made of the names that the readers look for, in any places.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        Just(json!(u64::MAX)),
        prop::sample::select(WORDS).prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 48, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(NAMES), inner), 0..6).prop_map(|members| {
                let named = members.into_iter().map(|(name, value)| (name.to_owned(), value));
                Value::Object(named.collect())
            }),
        ]
    })
}

#[test]
fn huge_counts_do_not_overflow() {
    let big = u64::MAX;
    let bodies = [
        (
            Operation::CHAT_COMPLETIONS,
            json!({"choices": [], "usage": {
            "prompt_tokens": big, "completion_tokens": big,
            "completion_tokens_details": {"reasoning_tokens": big}}}),
        ),
        (
            Operation::MESSAGES,
            json!({"content": [], "usage": {
            "input_tokens": big, "cache_read_input_tokens": big, "output_tokens": big}}),
        ),
        (
            Operation::GENERATE_CONTENT,
            json!({"candidates": [], "usageMetadata": {
            "promptTokenCount": big, "thoughtsTokenCount": big, "candidatesTokenCount": big}}),
        ),
    ];
    for (operation, body) in bodies {
        let usage = read(operation, false, body.to_string().as_bytes()).unwrap().usage;
        assert_eq!(usage.unwrap().total_tokens, big);
    }
}

#[test]
fn operations_that_are_not_read_give_nothing() {
    let body = br#"{"message":{"content":"hi"},"done":true}"#;
    for operation in [Operation::SPEECH, Operation::OTHER, Operation::RERANK] {
        assert_eq!(read(operation, false, body), None);
        assert_eq!(ended_well(operation, body), None);
    }
}

#[test]
fn complete_answer_that_is_read_is_one_json_document() {
    // It has the members by which each operation recognises its answer.
    let document = json!({
        "id": "a", "model": "m", "type": "message", "object": "response", "status": "completed",
        "choices": [{"index": 0, "text": "Hi", "message": {"content": "Hi"}}],
        "candidates": [{"content": {"parts": [{"text": "Hi"}]}}],
        "output": {"message": {"content": [{"text": "Hi"}]}},
        "message": {"role": "assistant", "content": "Hi"}, "response": "Hi", "text": "Hi",
        "content": [{"type": "text", "text": "Hi"}], "data": [{"embedding": [0.5]}],
        "embeddings": [[0.5]], "embedding": {"values": [0.5]}, "usage": {"input_tokens": 1},
        "totalTokens": 1, "input_tokens": 1, "results": [{"index": 0, "relevance_score": 0.5}],
        "role": "assistant", "done": true, "stop_reason": "end_turn", "finish_reason": "stop",
    });
    let document = document.to_string();
    let mut known = 0;
    for operation in Operation::all() {
        let is_read = |text: &str| super::read_answer(operation, None, text.as_bytes()).is_some();
        known += usize::from(is_read(&document));
        let cut = &document[..document.len() - 1];
        let text = document.as_str();
        for other in [cut, "Hi", "", "data: {}\n\n", &[text, text].concat(), &[text, "x"].concat()]
        {
            assert!(!is_read(other), "{operation:?}: {other}");
        }
    }
    assert!(known >= 14, "{known}");
}
