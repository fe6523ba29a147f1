use serde_json::{Value, json};

use super::*;

pub(super) const PROVIDERS: [Provider; 7] = [
    Provider::OPEN_AI,
    Provider::ANTHROPIC,
    Provider::GEMINI,
    Provider::BEDROCK,
    Provider::OLLAMA,
    Provider::COHERE,
    Provider::UNKNOWN,
];

const DIALECTS: [&str; 9] = [
    "openai",
    "azure",
    "xai",
    "mistral",
    "openrouter",
    "groq",
    "deepseek",
    "together",
    "fireworks",
];

fn body(provider: Provider, upstream: &str, status: u16, message: Option<&str>) -> Value {
    serde_json::from_slice(&natural_error(provider, upstream, status, message).body).unwrap()
}

fn openai(upstream: &str, status: u16) -> Value {
    body(Provider::OPEN_AI, upstream, status, Some("no"))
}

#[test]
fn openais_words_follow_the_status() {
    let error = |kind: &str, code: Value| json!({ "error": { "message": "no", "type": kind, "param": null, "code": code } });
    let invalid = "invalid_request_error";
    assert_eq!(openai("openai", 400), error(invalid, Value::Null));
    assert_eq!(openai("", 401), error(invalid, json!("invalid_api_key")));
    assert_eq!(openai("mine", 429), error("requests", json!("rate_limit_exceeded")));
    assert_eq!(openai("openai", 503), error("server_error", Value::Null));
    assert_eq!(body(Provider::UNKNOWN, "x", 500, Some("no")), error("server_error", Value::Null));
}

#[test]
fn dialects_have_error_shapes_of_their_own() {
    assert_eq!(openai("azure", 429), json!({"error": {"code": "429", "message": "no"}}));
    assert_eq!(openai("azure", 400), openai("openai", 400));
    let exhausted = json!({"code": "Some resource has been exhausted", "error": "no"});
    assert_eq!(openai("xai", 429), exhausted);
    let limited = json!({
        "object": "error", "message": "no", "type": "rate_limited", "param": null, "code": "1300"
    });
    assert_eq!(openai("mistral", 429), limited);
    assert_eq!(openai("mistral", 401)["message"], "no");
    assert_eq!(openai("mistral", 422)["message"]["detail"][0]["msg"], "no");
    assert_eq!(openai("openrouter", 402), json!({"error": {"message": "no", "code": 402}}));
    assert_eq!(
        openai("groq", 500),
        json!({"error": {"message": "no", "type": "internal_server_error"}})
    );
    assert_eq!(openai("deepseek", 402)["error"]["type"], "unknown_error");
    assert_eq!(openai("together", 429)["error"]["code"], "rate_limit_exceeded");
    assert_eq!(openai("fireworks", 500)["error"]["code"], "internal_server_error");
}

#[test]
fn other_providers_say_it_in_their_own_shape() {
    let anthropic = natural_error(Provider::ANTHROPIC, "anthropic", 529, None);
    let told: Value = serde_json::from_slice(&anthropic.body).unwrap();
    assert_eq!(told["error"], json!({"type": "overloaded_error", "message": "Overloaded"}));
    assert_eq!(anthropic.headers[1], ("request-id", told["request_id"].as_str().unwrap().into()));
    assert_eq!(
        body(Provider::GEMINI, "gemini", 503, Some("no")),
        json!({"error": {"code": 503, "message": "no", "status": "UNAVAILABLE"}})
    );
    let bedrock = natural_error(Provider::BEDROCK, "bedrock", 429, Some("no"));
    assert_eq!(bedrock.body, br#"{"message":"no"}"#);
    assert_eq!(bedrock.headers[1], ("x-amzn-errortype", "ThrottlingException".to_owned()));
    assert_eq!(body(Provider::COHERE, "cohere", 429, Some("no"))["message"], "no");
    assert_eq!(body(Provider::OLLAMA, "ollama", 404, Some("no")), json!({"error": "no"}));
}

#[test]
fn the_time_to_wait_stands_where_the_provider_puts_it() {
    let after = |provider| natural_error_after(provider, "", 429, None, 34);
    let gemini = after(Provider::GEMINI);
    let told: Value = serde_json::from_slice(&gemini.body).unwrap();
    let details = told["error"]["details"].as_array().unwrap();
    assert!(details[0]["@type"].as_str().unwrap().ends_with("google.rpc.QuotaFailure"));
    assert!(details[2]["@type"].as_str().unwrap().ends_with("google.rpc.RetryInfo"));
    assert_eq!(details[2]["retryDelay"], "34s");
    assert_eq!(gemini.headers.len(), 1);
    let half = ErrorRequest {
        retry_after_ms: Some(1500),
        ..ErrorRequest::new(Provider::GEMINI, "vertex", 429)
    };
    let told: Value = serde_json::from_slice(&half.write_error().body).unwrap();
    assert_eq!(told["error"]["details"][0]["retryDelay"], "1.500s");
    let openai = natural_error_after(Provider::OPEN_AI, "openai", 429, None, 34);
    assert!(openai.headers.contains(&("retry-after-ms", "34000".to_owned())));
    let azure = natural_error_after(Provider::OPEN_AI, "azure", 429, None, 34);
    assert!(String::from_utf8(azure.body).unwrap().contains("retry after 34 seconds"));
    for provider in [Provider::OPEN_AI, Provider::ANTHROPIC, Provider::BEDROCK] {
        assert_eq!(after(provider).headers.last(), Some(&("retry-after", "34".to_owned())));
        assert_eq!(after(provider).body, natural_error(provider, "", 429, None).body);
    }
}

#[test]
fn every_error_is_json_with_a_message_and_always_the_same() {
    for provider in PROVIDERS {
        for upstream in DIALECTS {
            for status in [0, 200, 400, 401, 403, 404, 408, 422, 424, 429, 500, 502, 503, 529, 999]
            {
                let error = natural_error(provider, upstream, status, None);
                assert_eq!(error, natural_error(provider, upstream, status, None));
                assert_eq!((error.status, error.headers[0].0), (status, "content-type"));
                let told = natural_error(provider, upstream, status, Some("Qu\"ite é own"));
                assert!(serde_json::from_slice::<Value>(&told.body).unwrap().is_object());
                let told = String::from_utf8(told.body).unwrap();
                assert!(told.contains("Qu\\\"ite é own"), "{told}");
                let page = status == 502 && upstream != "openrouter";
                assert_eq!(serde_json::from_slice::<Value>(&error.body).is_err(), page);
            }
        }
    }
}
