//! Whether an event of a stream carries a piece of the answer's text.

use serde_json::Value;

use super::framing::{Framing, events};
use super::operation::Operation;

impl Operation {
    /// Whether the first event in `bytes` carries a piece of the answer's text. Roles, thoughts,
    /// tool calls, counts and end markers are not text.
    pub fn event_has_text(self, framing: Framing, bytes: &[u8]) -> bool {
        let data = match framing {
            // An element that does not stand at the beginning of the array.
            Framing::Array => serde_json::from_slice(trimmed_element(bytes)).ok(),
            _ => events(framing, bytes)
                .find(|event| event.data.is_some())
                .filter(|event| !event.failed)
                .and_then(|event| event.json_data()),
        };
        data.is_some_and(|data| (self.row().event_has_text)(&data))
    }
}

/// Returns an element of an array without what precedes it.
fn trimmed_element(bytes: &[u8]) -> &[u8] {
    let separates = |byte: &u8| byte.is_ascii_whitespace() || matches!(byte, b'[' | b',');
    let start = bytes.iter().position(|byte| !separates(byte)).unwrap_or(bytes.len());
    &bytes[start..]
}

/// Whether one of these places holds a text that is not empty.
pub(super) fn holds_text(event: &Value, places: &[&str]) -> bool {
    let said = |place: &&str| event.pointer(place).and_then(Value::as_str);
    places.iter().filter_map(said).any(|text| !text.is_empty())
}

/// Whether `member` of the event is this word, and one of these places holds a text.
pub(super) fn holds_text_of(event: &Value, member: &str, word: &str, places: &[&str]) -> bool {
    event.get(member).and_then(Value::as_str) == Some(word) && holds_text(event, places)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_calls::{format_of, framing};
    use crate::{Answer, ToolCall, to_stream, write_answer};
    use serde_json::json;

    /// Whether each event of the stream of an answer carries text.
    fn texts(operation: Operation, answer: &Answer) -> Vec<bool> {
        let format = format_of(operation, true);
        let complete = write_answer(&format, answer, "seed").unwrap();
        let stream = to_stream(&format, &complete).unwrap();
        stream.iter().map(|event| operation.event_has_text(framing(operation), event)).collect()
    }

    const OPERATIONS: [Operation; 10] = [
        Operation::CHAT_COMPLETIONS,
        Operation::COMPLETIONS,
        Operation::RESPONSES,
        Operation::MESSAGES,
        Operation::GENERATE_CONTENT,
        Operation::CONVERSE,
        Operation::INVOKE,
        Operation::COHERE_CHAT,
        Operation::OLLAMA_CHAT,
        Operation::OLLAMA_GENERATE,
    ];

    #[test]
    fn as_many_events_carry_text_as_the_text_has_pieces() {
        for operation in OPERATIONS {
            let said = |text: &str| {
                let content = text.to_owned();
                let texts = texts(operation, &Answer { content, ..Answer::default() });
                texts.iter().filter(|has_text| **has_text).count()
            };
            let name = operation.name();
            let [one, more] = ["Mock response 1 2 3", "Mock response 1 2 3 4 5"].map(said);
            assert!(one > 1, "{name}: {one}");
            assert_eq!(more, one + 2, "{name}");
            assert_eq!(said(""), 0, "{name}");
        }
    }

    #[test]
    fn tool_calls_are_not_text() {
        for operation in OPERATIONS {
            let call = ToolCall {
                id: "c1".to_owned(),
                name: "weather".to_owned(),
                arguments: json!({ "city": "Rome" }),
            };
            let answer = Answer { tool_calls: vec![call], ..Answer::default() };
            let format = format_of(operation, true);
            if write_answer(&format, &answer, "seed").is_ok() {
                assert!(texts(operation, &answer).iter().all(|has_text| !has_text));
            }
        }
    }

    #[test]
    fn events_that_carry_something_else_have_no_text() {
        for (operation, event) in [
            (Operation::CHAT_COMPLETIONS, json!({"choices": [{"delta": {"role": "assistant"}}]})),
            (Operation::CHAT_COMPLETIONS, json!({"choices": [], "usage": {"prompt_tokens": 1}})),
            (
                Operation::CHAT_COMPLETIONS,
                json!({"choices": [{"delta": {"reasoning_content": "Hm"}}]}),
            ),
            (
                Operation::RESPONSES,
                json!({"type": "response.reasoning_summary_text.delta", "delta": "Hm"}),
            ),
            (
                Operation::MESSAGES,
                json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "Hm"}}),
            ),
            (
                Operation::GENERATE_CONTENT,
                json!({"candidates": [{"content": {"parts": [{"text": "Hm", "thought": true}]}}]}),
            ),
            (Operation::OLLAMA_CHAT, json!({"message": {"content": "", "thinking": "Hm"}})),
        ] {
            let bytes =
                Framing::Sse.write_events(&[crate::EventFrame::unnamed(event.clone())]).concat();
            assert!(!operation.event_has_text(Framing::Sse, &bytes), "{event}");
        }
        let done = b"data: [DONE]\n\n";
        assert!(!Operation::CHAT_COMPLETIONS.event_has_text(Framing::Sse, done));
    }

    #[test]
    fn elements_of_an_array_are_read_wherever_they_stand() {
        let element = br#"{"candidates": [{"content": {"parts": [{"text": "Hi"}]}}]}"#;
        for before in [&b"["[..], b",\r\n", b"[\n  ", b""] {
            let bytes = [before, element].concat();
            assert!(Operation::GENERATE_CONTENT.event_has_text(Framing::Array, &bytes));
        }
    }
}
