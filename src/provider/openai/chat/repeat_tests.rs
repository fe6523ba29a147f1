//! Chunks and answers that hold their content twice.

use serde_json::{Value, json};

use crate::test_calls::{read, to_complete};
use crate::{Answer, Operation};

fn stream(choices: &[Value]) -> Vec<u8> {
    let chunk = |choice| json!({ "id": "1", "model": "m", "choices": [choice] });
    choices.iter().map(|choice| format!("data: {}\n\n", chunk(choice))).collect::<String>().into()
}

/// The answer of a stream, and of the complete answer that it is turned into.
fn read_both(operation: Operation, choices: &[Value]) -> Answer {
    let stream = stream(choices);
    let answer = read(operation, true, &stream).unwrap();
    let complete = to_complete(operation, &stream).unwrap();
    assert_eq!(read(operation, false, &complete), Some(answer.clone()));
    answer
}

#[test]
fn content_beside_a_delta_is_not_read_again() {
    for repeated in [
        json!([{"text": "Hi"}, {"text": " you"}, {"text": null}]),
        json!([{"message": {"content": "Hi"}}, {"message": {"content": "Hi you"}}, {}]),
    ] {
        let deltas = json!([
            {"index": 0, "delta": {"role": "assistant", "content": "Hi"}, "finish_reason": null},
            {"index": 0, "delta": {"content": " you"}, "finish_reason": null},
            {"index": 0, "delta": {}, "finish_reason": "stop"}
        ]);
        let mut choices = deltas.as_array().unwrap().clone();
        for (choice, more) in choices.iter_mut().zip(repeated.as_array().unwrap()) {
            choice.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        }
        assert_eq!(read_both(Operation::CHAT_COMPLETIONS, &choices).content, "Hi you");
        let complete = to_complete(Operation::CHAT_COMPLETIONS, &stream(&choices)).unwrap();
        let body: Value = serde_json::from_slice(&complete).unwrap();
        let choice = &body["choices"][0];
        assert_eq!(choice["message"], json!({"role": "assistant", "content": "Hi you"}));
        assert_eq!(choice.get("text"), None);
    }
}

#[test]
fn message_is_read_where_the_deltas_are_empty() {
    let choice = |text: &str, finish| {
        let message = json!({"role": "assistant", "content": text});
        json!({"index": 0, "delta": {"content": ""}, "message": message, "finish_reason": finish})
    };
    let choices = [choice("Hi", Value::Null), choice("Hi you", json!("stop"))];
    assert_eq!(read_both(Operation::CHAT_COMPLETIONS, &choices).content, "Hi you");
}

#[test]
fn legacy_completions_are_read_by_their_texts() {
    let choice = |text: &str, finish: Value| json!({"index": 0, "text": text, "delta": {"content": text}, "finish_reason": finish});
    let choices = [choice("Hi", Value::Null), choice(" you", json!("stop"))];
    assert_eq!(read_both(Operation::COMPLETIONS, &choices).content, "Hi you");
}

#[test]
fn text_beside_a_message_is_not_read_again() {
    let body = json!({"choices": [
        {"index": 0, "text": "Hi", "message": {"content": "Hi"}, "finish_reason": "stop"}
    ]});
    let answer = read(Operation::CHAT_COMPLETIONS, false, body.to_string().as_bytes()).unwrap();
    assert_eq!(answer.content, "Hi");
}

#[test]
fn custom_tools_are_named_beside_an_empty_function() {
    let named = json!({"id": "c1", "type": "custom", "index": 0, "function": null,
        "custom": {"name": "sql", "input": "SELECT"}});
    let more = json!({"index": 0, "custom": {"input": " 1"}});
    let choices = [
        json!({"index": 0, "delta": {"tool_calls": [named]}, "finish_reason": null}),
        json!({"index": 0, "delta": {"tool_calls": [more]}, "finish_reason": "tool_calls"}),
    ];
    let answer = read_both(Operation::CHAT_COMPLETIONS, &choices);
    assert_eq!(answer.tool_calls[0].name, "sql");
    assert_eq!(answer.tool_calls[0].arguments, json!({"_raw": "SELECT 1"}));
}
