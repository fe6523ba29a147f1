use serde_json::{Value, json};

use super::*;
use crate::{Operation, ResponseFormat, test_calls};

fn told(format: &ResponseFormat<'_>, status: u16, kind: Option<&str>, message: &str) -> EventFrame {
    stream_error(&StreamError { format, status, kind, message, place: 7 })
}

fn event(operation: Operation, kind: Option<&str>) -> EventFrame {
    told(&test_calls::format_of(operation, false), 429, kind, "slow down")
}

fn data(operation: Operation) -> Value {
    event(operation, None).data.unwrap()
}

#[test]
fn the_event_is_the_one_that_its_provider_sends() {
    let chat = json!({"error": {"message": "slow down", "type": "rate_limit_exceeded",
        "param": null, "code": null}});
    assert_eq!(data(Operation::CHAT_COMPLETIONS), chat);
    assert_eq!(data(Operation::COMPLETIONS), chat);
    let responses = json!({"type": "error", "code": "rate_limit_exceeded",
        "message": "slow down", "param": null, "sequence_number": 7});
    assert_eq!(event(Operation::RESPONSES, None), EventFrame::named("error", responses));
    let message = json!({"type": "error",
        "error": {"type": "rate_limit_error", "message": "slow down"}});
    assert_eq!(event(Operation::MESSAGES, None), EventFrame::named("error", message));
    let gemini = json!({"error": {"code": 429, "message": "slow down",
        "status": "RESOURCE_EXHAUSTED"}});
    assert_eq!(event(Operation::GENERATE_CONTENT, None), EventFrame::unnamed(gemini));
    assert_eq!(data(Operation::OLLAMA_CHAT), json!({"error": "slow down"}));
    let exception = EventFrame::exception("throttlingException", json!({"message": "slow down"}));
    assert_eq!(event(Operation::CONVERSE, None), exception);
    assert_eq!(data(Operation::COHERE_CHAT)["delta"]["error"], "slow down");
}

#[test]
fn the_word_given_is_told_where_the_event_has_a_place_for_one() {
    let told = |operation| event(operation, Some("overloaded_error")).data.unwrap();
    assert_eq!(told(Operation::MESSAGES)["error"]["type"], "overloaded_error");
    assert_eq!(told(Operation::CHAT_COMPLETIONS)["error"]["type"], "overloaded_error");
    assert_eq!(told(Operation::RESPONSES)["code"], "overloaded_error");
    let timeout = event(Operation::CONVERSE, Some("ModelTimeoutException"));
    assert_eq!(timeout.name, Some("modelTimeoutException"));
    assert_eq!(event(Operation::CONVERSE, Some("none of them")).name, Some("throttlingException"));
}

#[test]
fn coheres_first_version_ends_its_stream_with_the_error() {
    let mut format = test_calls::format_of(Operation::COHERE_CHAT, false);
    format.target = Some("/v1/chat");
    let data = told(&format, 500, None, "gone").data.unwrap();
    assert_eq!((&data["event_type"], &data["is_finished"]), (&json!("stream-end"), &json!(true)));
    assert_eq!((&data["finish_reason"], &data["error"]), (&json!("ERROR"), &json!("gone")));
}

#[test]
fn openrouter_tells_of_it_beside_a_choice() {
    let mut format = test_calls::format_of(Operation::CHAT_COMPLETIONS, false);
    format.upstream = "openrouter";
    let data = told(&format, 502, None, "gone").data.unwrap();
    assert_eq!(data["error"], json!({"code": 502, "message": "gone"}));
    assert_eq!(data["choices"][0]["finish_reason"], "error");
}
