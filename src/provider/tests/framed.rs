//! Tests of mangled streams that are not server-sent events.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::test_calls::framing;

const FRAMED: [Operation; 4] =
    [Operation::CONVERSE, Operation::INVOKE, Operation::OLLAMA_CHAT, Operation::OLLAMA_GENERATE];

/// The names of events and members that only these streams have.
const NAMES: [&str; 12] = [
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "messageStop",
    "metadata",
    "toolUse",
    "reasoningContent",
    "contentBlockIndex",
    "start",
    "output",
    "generation",
    "outputs",
];

fn whole(operation: Operation) -> (Vec<u8>, usize) {
    let answer = Answer { content: "Hi you two".to_owned(), ..Answer::default() };
    let body = super::super::test_calls::write(operation, &answer, "seed").unwrap();
    let chunks = to_stream(operation, &body, true).unwrap();
    // Bedrock sends the counts after the end.
    let behind = usize::from(operation == Operation::CONVERSE);
    let last = chunks[..chunks.len() - 1 - behind].concat().len();
    (chunks.concat(), last)
}

/// Objects with these names around JSON of any shape.
fn named_value() -> impl Strategy<Value = Value> {
    let names = prop::sample::select(NAMES.to_vec());
    let members = prop::collection::vec((names, json_value()), 0..4);
    members.prop_map(|members| {
        Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    })
}

proptest! {
    #[test]
    fn a_framed_stream_invents_no_end_when_it_is_cut_or_mangled(
        operation in prop::sample::select(FRAMED.to_vec()),
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let (mut bytes, last) = whole(operation);
        let plain = read(operation, true, &bytes).unwrap();
        prop_assert!(plain.content == "Hi you two" && ended_well(operation, &bytes) == Some(true));
        bytes.truncate(cut.index(last));
        prop_assert!(ended_well(operation, &bytes) != Some(true));
        let mut bytes = whole(operation).0;
        for (place, byte) in edits {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        read(operation, true, &bytes);
        let changed = to_complete(operation, &bytes);
        // Checksums cover every byte of an event stream.
        if framing(operation) == Framing::EventStream && bytes != whole(operation).0 {
            prop_assert!(changed.is_err());
        }
    }

    #[test]
    fn reading_never_panics_when_framed_events_have_any_shape(
        name in prop::sample::select(NAMES.to_vec()), values in prop::collection::vec(named_value(), 0..4),
    ) {
        let frames = |value: fn(&Value) -> Value| -> Vec<framing::EventFrame> {
            values.iter().map(|data| framing::EventFrame::named(name, value(data))).collect()
        };
        let chunk = |value: &Value| json!({ "bytes": STANDARD.encode(value.to_string()) });
        let streams = [
            (Operation::CONVERSE, Framing::EventStream.write_events(&frames(Value::clone)).concat()),
            (Operation::INVOKE, Framing::EventStream.write_events(&frames(chunk)).concat()),
            (Operation::OLLAMA_CHAT, Framing::Lines.write_events(&frames(Value::clone)).concat()),
            (Operation::OLLAMA_GENERATE, Framing::Lines.write_events(&frames(Value::clone)).concat()),
        ];
        for (operation, bytes) in &streams {
            read(*operation, true, bytes);
            let _ = to_complete(*operation, bytes);
        }
        for value in &values {
            for operation in FRAMED {
                let plain = value.to_string();
                read(operation, false, plain.as_bytes());
                let _ = to_stream(operation, plain.as_bytes(), true);
            }
        }
    }
}

#[test]
fn huge_counts_of_framed_answers_do_not_overflow() {
    let big = u64::MAX;
    for (operation, body) in [
        (
            Operation::CONVERSE,
            json!({ "output": { "message": {} }, "usage": {
            "inputTokens": big, "outputTokens": big, "cacheReadInputTokens": big } }),
        ),
        (
            Operation::INVOKE,
            json!({ "generation": "", "prompt_token_count": big, "generation_token_count": big }),
        ),
        (
            Operation::OLLAMA_CHAT,
            json!({ "message": {}, "prompt_eval_count": big, "eval_count": big }),
        ),
    ] {
        let bytes = body.to_string();
        let usage = read(operation, false, bytes.as_bytes()).unwrap().usage;
        assert_eq!(usage.unwrap().total_tokens, big);
        let stream = to_stream(operation, bytes.as_bytes(), true).unwrap().concat();
        assert_eq!(read(operation, true, &stream).unwrap().usage.unwrap().total_tokens, big);
    }
}
