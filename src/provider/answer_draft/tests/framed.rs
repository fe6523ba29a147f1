//! Tests of the formats whose streams are not server-sent events: Bedrock's and Ollama's.

use super::*;
use crate::test_calls::{to_complete, to_stream};

const FRAMED: [Operation; 4] =
    [Operation::CONVERSE, Operation::INVOKE, Operation::OLLAMA_CHAT, Operation::OLLAMA_GENERATE];

/// The answer reduced to what each operation can express, with the finish reason that it ends with.
fn told(operation: Operation, mut answer: Answer) -> Answer {
    let called = !answer.tool_calls.is_empty();
    let bedrock = [Operation::CONVERSE, Operation::INVOKE].contains(&operation);
    let word = match (bedrock, called) {
        (true, true) => "tool_use",
        (true, false) => "end_turn",
        (false, _) => "stop",
    };
    answer.finish_reason = Some(word.to_owned());
    if operation == Operation::CONVERSE {
        answer.model = None;
    }
    if let Some(usage) = &mut answer.usage {
        if operation != Operation::INVOKE {
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
    for (found, operation, expected) in [
        ("stop", Operation::CONVERSE, "end_turn"),
        ("length", Operation::CONVERSE, "max_tokens"),
        ("refusal", Operation::CONVERSE, "content_filtered"),
        ("guardrail_intervened", Operation::CONVERSE, "guardrail_intervened"),
        ("guardrail_intervened", Operation::CHAT_COMPLETIONS, "content_filter"),
        ("malformed_tool_use", Operation::CONVERSE, "malformed_tool_use"),
        ("max_tokens", Operation::OLLAMA_CHAT, "length"),
        ("end_turn", Operation::OLLAMA_GENERATE, "stop"),
        ("load", Operation::OLLAMA_CHAT, "load"),
        ("stop", Operation::INVOKE, "end_turn"),
    ] {
        let ended = round(operation, &words("x", Some(found))).finish_reason;
        assert_eq!(ended.as_deref(), Some(expected), "{found} for {operation:?}");
    }
    let ended =
        round(Operation::OLLAMA_CHAT, &calling("c", json!({}), Some("tool_calls"))).finish_reason;
    assert_eq!(ended.as_deref(), Some("stop"));
    let ended =
        round(Operation::CHAT_COMPLETIONS, &calling("c", json!({}), Some("stop"))).finish_reason;
    assert_eq!(ended.as_deref(), Some("stop"), "OpenAI's own word stays");
}

#[test]
fn ids_are_of_the_seed_alone_in_bedrocks_and_ollamas_calls() {
    let answer = calling("", json!({}), None);
    for (operation, prefix) in [
        (Operation::CONVERSE, "tooluse_"),
        (Operation::INVOKE, "toolu_"),
        (Operation::OLLAMA_CHAT, "call_"),
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
            if operation == Operation::OLLAMA_GENERATE {
                answer.tool_calls.clear();
            }
            if let Some(usage) = &mut answer.usage
                && [Operation::CONVERSE, Operation::INVOKE].contains(&operation)
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
        for operation in [Operation::CONVERSE, Operation::INVOKE, Operation::OLLAMA_CHAT] {
            let body = complete(operation, &answer, "").unwrap();
            let stream = to_stream(operation, &body, true).unwrap().concat();
            prop_assert_eq!(read(operation, true, &stream).unwrap().tool_calls.len(), 1);
        }
    }
}
