use serde_json::{Value, json};

use super::*;

fn body(provider: Provider, status: u16) -> Value {
    let bytes = error_body(provider, status, "RecordingMismatchError", "no such call");
    serde_json::from_slice(&bytes).unwrap()
}

#[test]
fn the_shape_is_the_providers_when_it_is_known() {
    let kind = "RecordingMismatchError";
    let named = "RecordingMismatchError: no such call";
    let openai = json!({
        "error": {"message": named, "type": kind, "param": null, "code": kind}
    });
    assert_eq!(body(Provider::OPEN_AI, 422), openai);
    assert_eq!(body(Provider::UNKNOWN, 422), openai);
    let anthropic = json!({
        "type": "error", "error": {"type": "invalid_request_error", "message": named}
    });
    assert_eq!(body(Provider::ANTHROPIC, 422), anthropic);
    let gemini = body(Provider::GEMINI, 422);
    assert_eq!(gemini["error"]["code"], 422);
    assert_eq!(gemini["error"]["status"], "INVALID_ARGUMENT");
    assert_eq!(gemini["error"]["message"], named);
    let bedrock = json!({ "message": "no such call" });
    assert_eq!(body(Provider::BEDROCK, 422), bedrock);
    assert_eq!(body(Provider::COHERE, 422), json!({ "message": named }));
    assert_eq!(body(Provider::OLLAMA, 422), json!({ "error": named }));
}

#[test]
fn the_word_for_the_error_follows_the_status() {
    let kind = |status| body(Provider::ANTHROPIC, status)["error"]["type"].clone();
    assert_eq!(kind(429), "rate_limit_error");
    assert_eq!(kind(502), "api_error");
    assert_eq!(kind(529), "overloaded_error");
    let status = |status| body(Provider::GEMINI, status)["error"]["status"].clone();
    assert_eq!(status(429), "RESOURCE_EXHAUSTED");
    assert_eq!(status(502), "UNAVAILABLE");
    assert_eq!(status(500), "INTERNAL");
}

#[test]
fn the_kind_is_not_repeated_when_the_message_begins_with_it() {
    let bytes = error_body(Provider::OLLAMA, 422, "Miss", "Miss: gone");
    assert_eq!(bytes, br#"{"error":"Miss: gone"}"#);
}

#[test]
fn bedrock_names_the_kind_in_a_header() {
    let headers = error_headers(Provider::BEDROCK, "Miss");
    assert_eq!(headers[1], ("x-amzn-errortype", "Miss".to_owned()));
    let json = ("content-type", "application/json".to_owned());
    assert_eq!(error_headers(Provider::OPEN_AI, "Miss"), [json]);
}
