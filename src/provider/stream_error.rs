//! Writes the event by which a stream that has begun tells of an error.

use serde_json::{Value, json};

use super::framing::EventFrame;
use super::response_format::ResponseFormat;
use super::{Operation, anthropic, cohere, gemini};

/// The event of an error in the middle of a stream, as that provider's SDK knows it.
///
/// `status` is the status the error would have had as the call's own answer; `kind` is
/// the provider's word for it, made from the status where none is given; `place` is the
/// event's number, for streams whose events are numbered.
pub fn stream_error(
    asked: &ResponseFormat<'_>,
    status: u16,
    kind: Option<&str>,
    message: &str,
    place: u64,
) -> EventFrame {
    match asked.operation {
        Operation::Responses => {
            let code = kind.unwrap_or_else(|| openai_kind(status));
            let data = json!({
                "type": "error", "code": code, "message": message, "param": null,
                "sequence_number": place
            });
            EventFrame::named("error", data)
        }
        Operation::Messages => {
            let mut data = anthropic::error(status, message);
            set(&mut data["error"]["type"], kind);
            EventFrame::named("error", data)
        }
        Operation::GenerateContent => {
            let mut data = gemini::error(status, "", message);
            set(&mut data["error"]["status"], kind);
            if let Some(error) = data["error"].as_object_mut() {
                error.shift_remove("details");
            }
            EventFrame::unnamed(data)
        }
        Operation::OllamaChat | Operation::OllamaGenerate => {
            EventFrame::unnamed(json!({ "error": message }))
        }
        Operation::Converse | Operation::Invoke => {
            EventFrame::exception(exception(status, kind), json!({ "message": message }))
        }
        Operation::CohereChat if cohere::is_first(asked) => {
            let answer = json!({ "text": "", "finish_reason": "ERROR" });
            EventFrame::unnamed(json!({
                "is_finished": true, "event_type": "stream-end", "finish_reason": "ERROR",
                "error": message, "response": answer
            }))
        }
        Operation::CohereChat => {
            let delta = json!({ "finish_reason": "ERROR", "error": message });
            let data = json!({ "type": "message-end", "delta": delta });
            EventFrame::named("message-end", data)
        }
        _ if asked.upstream == "openrouter" => openrouter(asked, status, message),
        _ => {
            let kind = kind.unwrap_or_else(|| openai_kind(status));
            let error = json!({ "message": message, "type": kind, "param": null, "code": null });
            EventFrame::unnamed(json!({ "error": error }))
        }
    }
}

fn set(slot: &mut Value, kind: Option<&str>) {
    if let Some(kind) = kind {
        *slot = kind.into();
    }
}

/// OpenRouter's error is a chunk like any other, with the error beside the choice.
fn openrouter(asked: &ResponseFormat<'_>, status: u16, message: &str) -> EventFrame {
    let choice = json!({ "index": 0, "delta": { "content": "" }, "finish_reason": "error" });
    EventFrame::unnamed(json!({
        "id": "gen-error",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": asked.model,
        "error": { "code": status, "message": message },
        "choices": [choice]
    }))
}

/// OpenAI's word for a status.
fn openai_kind(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

/// Bedrock's exceptions in a stream.
const EXCEPTIONS: [&str; 6] = [
    "throttlingException",
    "modelStreamErrorException",
    "internalServerException",
    "serviceUnavailableException",
    "validationException",
    "modelTimeoutException",
];

/// Bedrock's word for an error: the one given where it is one of them, in any case.
fn exception(status: u16, kind: Option<&str>) -> &'static str {
    let given = kind
        .and_then(|kind| EXCEPTIONS.iter().find(|known| known.eq_ignore_ascii_case(kind)).copied());
    given.unwrap_or(match status {
        429 => "throttlingException",
        424 => "modelStreamErrorException",
        408 | 504 => "modelTimeoutException",
        503 | 529 => "serviceUnavailableException",
        400..=499 => "validationException",
        _ => "internalServerException",
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::provider::test_calls;

    fn event(operation: Operation, kind: Option<&str>) -> EventFrame {
        stream_error(&test_calls::asked(operation, false), 429, kind, "slow down", 7)
    }

    fn data(operation: Operation) -> Value {
        event(operation, None).data.unwrap()
    }

    #[test]
    fn the_event_is_the_one_that_its_provider_sends() {
        let chat = json!({"error": {"message": "slow down", "type": "rate_limit_exceeded",
            "param": null, "code": null}});
        assert_eq!(data(Operation::ChatCompletions), chat);
        assert_eq!(data(Operation::Completions), chat);
        let responses = json!({"type": "error", "code": "rate_limit_exceeded",
            "message": "slow down", "param": null, "sequence_number": 7});
        assert_eq!(event(Operation::Responses, None), EventFrame::named("error", responses));
        let message = json!({"type": "error",
            "error": {"type": "rate_limit_error", "message": "slow down"}});
        assert_eq!(event(Operation::Messages, None), EventFrame::named("error", message));
        let gemini = json!({"error": {"code": 429, "message": "slow down",
            "status": "RESOURCE_EXHAUSTED"}});
        assert_eq!(event(Operation::GenerateContent, None), EventFrame::unnamed(gemini));
        assert_eq!(data(Operation::OllamaChat), json!({"error": "slow down"}));
        let exception =
            EventFrame::exception("throttlingException", json!({"message": "slow down"}));
        assert_eq!(event(Operation::Converse, None), exception);
        assert_eq!(data(Operation::CohereChat)["delta"]["error"], "slow down");
    }

    #[test]
    fn the_word_given_is_told_where_the_event_has_a_place_for_one() {
        let told = |operation| event(operation, Some("overloaded_error")).data.unwrap();
        assert_eq!(told(Operation::Messages)["error"]["type"], "overloaded_error");
        assert_eq!(told(Operation::ChatCompletions)["error"]["type"], "overloaded_error");
        assert_eq!(told(Operation::Responses)["code"], "overloaded_error");
        let timeout = event(Operation::Converse, Some("ModelTimeoutException"));
        assert_eq!(timeout.name, Some("modelTimeoutException"));
        assert_eq!(
            event(Operation::Converse, Some("none of them")).name,
            Some("throttlingException")
        );
    }

    #[test]
    fn coheres_first_version_ends_its_stream_with_the_error() {
        let mut asked = test_calls::asked(Operation::CohereChat, false);
        asked.target = Some("/v1/chat");
        let data = stream_error(&asked, 500, None, "gone", 0).data.unwrap();
        assert_eq!(
            (&data["event_type"], &data["is_finished"]),
            (&json!("stream-end"), &json!(true))
        );
        assert_eq!((&data["finish_reason"], &data["error"]), (&json!("ERROR"), &json!("gone")));
    }

    #[test]
    fn openrouter_tells_of_it_beside_a_choice() {
        let mut asked = test_calls::asked(Operation::ChatCompletions, false);
        asked.upstream = "openrouter";
        let data = stream_error(&asked, 502, None, "gone", 0).data.unwrap();
        assert_eq!(data["error"], json!({"code": 502, "message": "gone"}));
        assert_eq!(data["choices"][0]["finish_reason"], "error");
    }
}
