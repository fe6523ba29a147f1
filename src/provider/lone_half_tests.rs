use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::test_calls::{format_of, judge, read, to_complete, to_stream};
use crate::{Framing, ModeError, Operation, reframe};

const CHAT: Operation = Operation::CHAT_COMPLETIONS;

/// A stream of chats with these texts between quotes.
fn chat_stream(texts: &[&str]) -> Vec<u8> {
    let chunk = |text: &&str| {
        format!(
            "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\
             \"finish_reason\":null}}]}}\n\n"
        )
    };
    let end = "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}],\
               \"usage\":{\"prompt_tokens\":8,\"completion_tokens\":2}}\n\ndata: [DONE]\n\n";
    (texts.iter().map(chunk).collect::<String>() + end).into_bytes()
}

fn chat(text: &str) -> Vec<u8> {
    format!(
        "{{\"choices\":[{{\"index\":0,\"message\":{{\"role\":\"assistant\",\"content\":\"{text}\"}},\
         \"finish_reason\":\"stop\"}}],\"usage\":{{\"prompt_tokens\":8,\"completion_tokens\":2}}}}"
    )
    .into_bytes()
}

fn judged(body: &[u8], media: &str) -> bool {
    judge(CHAT, media, body).is_failure()
}

#[test]
fn halves_in_neighbouring_pieces_are_one_character() {
    let stream = chat_stream(&[r"\ud83d", r"\ude00!", r"\uD83D\uDE00 \\ud83d"]);
    let answer = read(CHAT, true, &stream).unwrap();
    assert_eq!(answer.content, "\u{1f600}!\u{1f600} \\ud83d");
    assert_eq!(answer.usage.unwrap().prompt_tokens, 8);
    let complete = to_complete(CHAT, &stream).unwrap();
    assert_eq!(read(CHAT, false, &complete), Some(answer));
    assert!(!judged(&stream, "text/event-stream"));
}

#[test]
fn half_that_stays_alone_is_read_as_unknown_and_written_as_it_was() {
    for text in [r"cut \ud83d", r"\ude00 cut", r"a\ud83d\ud83db", r"\ude00\ud83d"] {
        let lone = text.matches("\\u").count();
        let stream = chat_stream(&["x", text]);
        let complete = chat(text);
        for (streamed, bytes) in [(true, &stream), (false, &complete)] {
            let answer = read(CHAT, streamed, bytes).unwrap();
            assert_eq!(answer.content.matches('\u{fffd}').count(), lone, "{text}");
            assert_eq!(answer.finish_reason.as_deref(), Some("stop"));
            assert!(answer.usage.is_some());
        }
        let merged = String::from_utf8(to_complete(CHAT, &stream).unwrap()).unwrap();
        assert!(merged.contains(&format!("\"x{text}\"")), "{merged}");
        let split = to_stream(CHAT, &complete, true).unwrap().concat();
        assert_eq!(read(CHAT, true, &split), read(CHAT, false, &complete));
        assert!(!judged(&complete, "application/json"));
    }
}

#[test]
fn halves_in_arguments_are_read_however_they_are_escaped() {
    let arguments = |text: &str| {
        let body = format!(
            r#"{{"choices":[{{"message":{{"tool_calls":[{{"id":"c","function":
            {{"name":"f","arguments":"{text}"}}}}]}}}}]}}"#
        );
        read(CHAT, false, body.as_bytes()).unwrap().tool_calls[0].arguments.clone()
    };
    assert_eq!(arguments(r#"{\"a\":\"\ud83d\"}"#), json!({"a": "\u{fffd}"}));
    assert_eq!(arguments(r#"{\"a\":\"\\ud83d\"}"#), json!({"a": "\u{fffd}"}));
    assert_eq!(arguments(r#"{\"a\":\"\\ud83d\\ude00\"}"#), json!({"a": "\u{1f600}"}));
}

#[test]
fn private_characters_of_the_answer_stay() {
    for (own, read_as) in [
        ("\u{e000}", "\u{e000}"),
        (r"\ue7ff", "\u{e7ff}"),
        ("\u{e800}\u{e001}", "\u{e800}\u{e001}"),
    ] {
        let answer = read(CHAT, false, &chat(&format!("{own}\\ud800"))).unwrap();
        assert_eq!(answer.content, format!("{read_as}\u{fffd}"));
    }
    assert!(HalfMarks::mark_halves("\"\\ud800 \u{e000}\u{e800}\u{f000}\"".as_bytes()).is_none());
}

#[test]
fn form_without_a_place_for_half_of_a_character_is_refused() {
    let body = br#"{"output":{"message":{"role":"assistant","content":[{"text":"\ud83d"}]}},
        "stopReason":"end_turn"}"#;
    let format = format_of(Operation::CONVERSE, true);
    let refused = crate::to_stream(&format, body).unwrap_err();
    assert_eq!(refused, ModeError::HalfCharacter { operation: "Converse" });
    assert!(refused.to_string().contains("half of a character"));
    let event = br#"data: {"candidates":[{"content":{"parts":[{"text":"\ud83d"}]}}]}"#;
    let stream = [&event[..], b"\n\n"].concat();
    let framings = (Framing::Sse, Framing::Array);
    let array = reframe(Operation::GENERATE_CONTENT, framings, &stream, true).unwrap();
    assert_eq!(array[0].0, stream.len());
    assert!(String::from_utf8(array[0].1.clone()).unwrap().contains("\"\\ud83d\""));
}

proptest! {
    #[test]
    fn any_units_are_read_as_python_reads_them(units in prop::collection::vec(
        prop_oneof![Just(0x41_u16), 0xd7fe_u16..0xe002, Just(0xdbff), Just(0xdc00)], 0..12))
    {
        let text: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let expected: String = char::decode_utf16(units.iter().copied())
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        prop_assert_eq!(parse_lossy(&format!("\"{text}\"")), Some(json!(expected)));
    }
}
