//! The shapes whose streams are no server-sent events: Bedrock's and Ollama's.

use super::*;
use crate::provider::test_calls::{to_complete, to_stream};

const FRAMED: [Operation; 4] =
    [Operation::Converse, Operation::Invoke, Operation::OllamaChat, Operation::OllamaGenerate];

/// What each can tell of an answer, and the word that it ends with.
fn told(operation: Operation, mut answer: Answer) -> Answer {
    let called = !answer.tool_calls.is_empty();
    let bedrock = matches!(operation, Operation::Converse | Operation::Invoke);
    let word = match (bedrock, called) {
        (true, true) => "tool_use",
        (true, false) => "end_turn",
        (false, _) => "stop",
    };
    answer.finish_reason = Some(word.to_owned());
    if operation == Operation::Converse {
        answer.model = None;
    }
    if let Some(usage) = &mut answer.usage {
        if operation != Operation::Invoke {
            usage.reasoning_tokens = 0;
        }
        if !bedrock {
            usage.cached_tokens = 0;
        }
    }
    answer
}

#[test]
fn a_finish_reason_is_said_in_bedrocks_and_ollamas_words() {
    use Operation::*;
    for (found, operation, expected) in [
        ("stop", Converse, "end_turn"),
        ("length", Converse, "max_tokens"),
        ("refusal", Converse, "content_filtered"),
        ("guardrail_intervened", Converse, "guardrail_intervened"),
        ("guardrail_intervened", ChatCompletions, "content_filter"),
        ("malformed_tool_use", Converse, "malformed_tool_use"),
        ("max_tokens", OllamaChat, "length"),
        ("end_turn", OllamaGenerate, "stop"),
        ("load", OllamaChat, "load"),
        ("stop", Invoke, "end_turn"),
    ] {
        let ended = round(operation, &words("x", Some(found))).finish_reason;
        assert_eq!(ended.as_deref(), Some(expected), "{found} for {operation:?}");
    }
    let ended = round(OllamaChat, &calling("c", json!({}), Some("tool_calls"))).finish_reason;
    assert_eq!(ended.as_deref(), Some("stop"));
    let ended = round(ChatCompletions, &calling("c", json!({}), Some("stop"))).finish_reason;
    assert_eq!(ended.as_deref(), Some("stop"), "OpenAI's own word stays");
}

#[test]
fn ids_are_of_the_seed_alone_in_bedrocks_and_ollamas_calls() {
    let answer = calling("", json!({}), None);
    for (operation, prefix) in [
        (Operation::Converse, "tooluse_"),
        (Operation::Invoke, "toolu_"),
        (Operation::OllamaChat, "call_"),
    ] {
        let id = |seed: &str| {
            let body = complete(operation, &answer, seed).unwrap();
            read(operation, false, &body).unwrap().tool_calls.remove(0).id
        };
        assert!(id("one").starts_with(prefix) && id("one") == id("one"));
        assert_ne!(id("one"), id("other"));
    }
}

proptest! {
    #[test]
    fn any_answer_reads_back_as_it_was_in_either_delivery(
        answer in answers(), written in 0u64..1000, seed in "\\PC{0,8}",
    ) {
        for operation in FRAMED {
            let mut answer = answer.clone();
            if operation == Operation::OllamaGenerate {
                answer.tool_calls.clear();
            }
            if let Some(usage) = &mut answer.usage
                && matches!(operation, Operation::Converse | Operation::Invoke)
            {
                usage.prompt_tokens += written;
                usage.total_tokens += written;
                usage.cache_write_tokens = written;
            }
            let body = complete(operation, &answer, &seed).unwrap();
            let expected = Some(told(operation, answer));
            prop_assert_eq!(&read(operation, false, &body), &expected);
            let stream = to_stream(operation, &body, true).unwrap().concat();
            prop_assert_eq!(&read(operation, true, &stream), &expected);
            prop_assert_eq!(ended_well(operation, &stream), Some(true));
            let again: Value = serde_json::from_slice(&to_complete(operation, &stream).unwrap()).unwrap();
            prop_assert_eq!(again, serde_json::from_slice::<Value>(&body).unwrap());
        }
    }

    #[test]
    fn building_bedrocks_and_ollamas_never_panics_when_counts_are_anything(
        counts in any::<[u64; 6]>(), finish in prop::option::of("\\PC{0,12}"),
        arguments in prop_oneof![
            Just(Value::Null), Just(json!([1])), "\\PC{0,9}".prop_map(Value::from), arguments()],
    ) {
        let mut answer = calling("", arguments, finish.as_deref());
        answer.usage = Some(TokenUsage {
            prompt_tokens: counts[0], completion_tokens: counts[1], total_tokens: counts[2],
            reasoning_tokens: counts[3], cached_tokens: counts[4], cache_write_tokens: counts[5],
        });
        for operation in [Operation::Converse, Operation::Invoke, Operation::OllamaChat] {
            let body = complete(operation, &answer, "").unwrap();
            let stream = to_stream(operation, &body, true).unwrap().concat();
            prop_assert_eq!(read(operation, true, &stream).unwrap().tool_calls.len(), 1);
        }
    }
}
