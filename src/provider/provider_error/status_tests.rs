use serde_json::Value;

use super::tests::PROVIDERS;
use super::*;
use crate::Framing;

/// The word for an error, from the place where each format has it.
fn word(error: &ProviderError) -> String {
    if let Some((_, kind)) = error.headers.iter().find(|(name, _)| *name == "x-amzn-errortype") {
        return kind.clone();
    }
    let Ok(body) = serde_json::from_slice::<Value>(&error.body) else { return "a page".to_owned() };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let at = |pointer: &str| body.pointer(pointer).and_then(text);
    let code = at("/error/code").or_else(|| at("/code"));
    let kind = at("/error/type").or_else(|| at("/error/status")).or_else(|| at("/type"));
    match (kind, code) {
        (Some(kind), Some(code)) if kind != code => format!("{kind}/{code}"),
        (Some(word), _) | (None, Some(word)) => word,
        (None, None) => at("/error").or_else(|| at("/message")).unwrap_or_default(),
    }
}

/// Statuses, and the word that each of these providers has for it.
const WORDS: [(u16, [&str; 6]); 14] = [
    // OpenAI, Azure, Anthropic, Gemini, Bedrock, Groq.
    (
        400,
        [
            "invalid_request_error",
            "invalid_request_error",
            "invalid_request_error",
            "INVALID_ARGUMENT",
            "ValidationException",
            "invalid_request_error",
        ],
    ),
    (
        401,
        [
            "invalid_request_error/invalid_api_key",
            "401",
            "authentication_error",
            "UNAUTHENTICATED",
            "AccessDeniedException",
            "invalid_request_error/invalid_api_key",
        ],
    ),
    (
        403,
        [
            "invalid_request_error",
            "403",
            "permission_error",
            "PERMISSION_DENIED",
            "AccessDeniedException",
            "invalid_request_error",
        ],
    ),
    (
        404,
        [
            "invalid_request_error/model_not_found",
            "DeploymentNotFound",
            "not_found_error",
            "NOT_FOUND",
            "ResourceNotFoundException",
            "invalid_request_error/model_not_found",
        ],
    ),
    (
        408,
        [
            "server_error",
            "server_error",
            "timeout_error",
            "DEADLINE_EXCEEDED",
            "ModelTimeoutException",
            "invalid_request_error",
        ],
    ),
    (
        409,
        [
            "invalid_request_error",
            "invalid_request_error",
            "conflict_error",
            "ABORTED",
            "ConflictException",
            "invalid_request_error",
        ],
    ),
    (
        413,
        [
            "server_error",
            "server_error",
            "request_too_large",
            "INVALID_ARGUMENT",
            "ValidationException",
            "invalid_request_error",
        ],
    ),
    (
        422,
        [
            "invalid_request_error",
            "invalid_request_error",
            "invalid_request_error",
            "INVALID_ARGUMENT",
            "ValidationException",
            "invalid_request_error",
        ],
    ),
    (
        429,
        [
            "requests/rate_limit_exceeded",
            "429",
            "rate_limit_error",
            "RESOURCE_EXHAUSTED",
            "ThrottlingException",
            "requests/rate_limit_exceeded",
        ],
    ),
    (
        500,
        [
            "server_error",
            "server_error",
            "api_error",
            "INTERNAL",
            "InternalServerException",
            "internal_server_error",
        ],
    ),
    (502, ["a page"; 6]),
    (
        503,
        [
            "server_error",
            "server_error",
            "api_error",
            "UNAVAILABLE",
            "ServiceUnavailableException",
            "internal_server_error",
        ],
    ),
    (
        504,
        [
            "server_error",
            "server_error",
            "timeout_error",
            "DEADLINE_EXCEEDED",
            "InternalServerException",
            "internal_server_error",
        ],
    ),
    (
        529,
        [
            "server_error",
            "server_error",
            "overloaded_error",
            "UNAVAILABLE",
            "ServiceUnavailableException",
            "internal_server_error",
        ],
    ),
];

#[test]
fn each_provider_has_its_own_word_for_a_status() {
    let columns = [
        (Provider::OPEN_AI, "openai"),
        (Provider::OPEN_AI, "azure"),
        (Provider::ANTHROPIC, "anthropic"),
        (Provider::GEMINI, "gemini"),
        (Provider::BEDROCK, "bedrock"),
        (Provider::OPEN_AI, "groq"),
    ];
    for (status, words) in WORDS {
        for ((provider, upstream), expected) in columns.into_iter().zip(words) {
            let error = natural_error(provider, upstream, status, None);
            assert_eq!(word(&error), expected, "{upstream} {status}");
            let media = if status == 502 { "text/html" } else { "application/json" };
            assert!(error.headers[0].1.starts_with(media), "{upstream} {status}");
        }
        for (provider, upstream) in [(Provider::COHERE, "cohere"), (Provider::OLLAMA, "ollama")] {
            let said = word(&natural_error(provider, upstream, status, None));
            assert_eq!((said == "a page", said.is_empty()), (status == 502, false), "{said}");
        }
    }
    assert_eq!(word(&natural_error(Provider::OPEN_AI, "openrouter", 502, None)), "");
}

#[test]
fn a_kind_takes_the_place_of_the_usual_word() {
    let told = |provider, upstream, status, kind| {
        let asked =
            ErrorRequest { kind: Some(kind), ..ErrorRequest::new(provider, upstream, status) };
        asked.write_error()
    };
    let openai = |kind| told(Provider::OPEN_AI, "openai", 429, kind);
    let quota: Value = serde_json::from_slice(&openai("insufficient_quota").body).unwrap();
    assert_eq!(quota["error"]["type"], "insufficient_quota");
    assert_eq!(quota["error"]["code"], "insufficient_quota");
    let message = quota["error"]["message"].as_str().unwrap();
    assert!(message.starts_with("You exceeded your current quota"));
    let limits = |error: &ProviderError| {
        error.headers.iter().filter(|(name, _)| name.starts_with("x-ratelimit-")).count()
    };
    assert_eq!((limits(&openai("insufficient_quota")), limits(&openai("tokens"))), (0, 6));
    for (kind, expected) in [
        ("tokens", "tokens/rate_limit_exceeded"),
        ("rate_limit_exceeded", "requests/rate_limit_exceeded"),
        ("context_length_exceeded", "invalid_request_error/context_length_exceeded"),
        ("of_my_own", "of_my_own/rate_limit_exceeded"),
    ] {
        assert_eq!(word(&openai(kind)), expected);
    }
    for (provider, upstream, status, kind, message) in [
        (Provider::ANTHROPIC, "anthropic", 503, "overloaded_error", "Overloaded"),
        (Provider::GEMINI, "gemini", 400, "FAILED_PRECONDITION", "Request contains an inv"),
        (Provider::BEDROCK, "bedrock", 429, "ModelNotReadyException", "The model is not ready"),
        (Provider::OPEN_AI, "groq", 429, "insufficient_quota", "You exceeded"),
        (Provider::OPEN_AI, "deepseek", 400, "of_mine/invalid_request_error", "The request"),
        (Provider::OPEN_AI, "fireworks", 429, "of_mine", "You have"),
        (Provider::OPEN_AI, "mistral", 500, "of_mine", "Internal"),
        (Provider::OPEN_AI, "xai", 500, "of_mine", "Internal"),
        (Provider::OPEN_AI, "azure", 429, "RateLimitReached", "Requests have"),
    ] {
        let asked = kind.split('/').next().unwrap();
        let error = told(provider, upstream, status, asked);
        assert!(String::from_utf8_lossy(&error.body).contains(message), "{upstream}");
        if upstream != "xai" {
            assert_eq!(word(&error), kind, "{upstream}");
        }
    }
    let filter = told(Provider::OPEN_AI, "azure", 400, "content_filter");
    let filter: Value = serde_json::from_slice(&filter.body).unwrap();
    assert_eq!(filter["error"]["innererror"]["code"], "ResponsibleAIPolicyViolation");
}

#[test]
fn limits_are_told_in_headers_by_a_429_alone() {
    let names = |provider, upstream, status| -> Vec<String> {
        let asked = ErrorRequest {
            now_s: 1_795_000_000,
            retry_after_ms: Some(60_000),
            ..ErrorRequest::new(provider, upstream, status)
        };
        let headers = asked.write_error().headers.into_iter();
        let limits = headers.filter(|(name, _)| name.contains("ratelimit"));
        limits.map(|(name, value)| format!("{name}: {value}")).collect()
    };
    let openai = names(Provider::OPEN_AI, "openai", 429);
    assert!(openai.contains(&"x-ratelimit-remaining-requests: 0".to_owned()), "{openai:?}");
    assert!(openai.contains(&"x-ratelimit-reset-requests: 1m0s".to_owned()), "{openai:?}");
    assert_eq!(names(Provider::OPEN_AI, "groq", 429), openai);
    let anthropic = names(Provider::ANTHROPIC, "anthropic", 429);
    assert_eq!(anthropic.len(), 12);
    let reset = "anthropic-ratelimit-requests-reset: 2026-11-18T11:07:40Z".to_owned();
    assert!(anthropic.contains(&reset), "{anthropic:?}");
    assert_eq!(names(Provider::OPEN_AI, "azure", 429).len(), 2);
    for provider in [Provider::GEMINI, Provider::BEDROCK, Provider::COHERE, Provider::OLLAMA] {
        assert!(names(provider, "", 429).is_empty());
    }
    for provider in PROVIDERS {
        assert!(names(provider, "openai", 500).is_empty());
    }
}

#[test]
fn requests_are_named_as_each_provider_names_them() {
    let header = |provider, upstream, name: &str| {
        let error = natural_error(provider, upstream, 500, None);
        error.headers.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone())
    };
    let uuid = header(Provider::BEDROCK, "bedrock", "x-amzn-requestid").unwrap();
    let groups: Vec<usize> = uuid.split('-').map(str::len).collect();
    assert_eq!(groups, [8, 4, 4, 4, 12]);
    assert!(header(Provider::ANTHROPIC, "anthropic", "request-id").unwrap().starts_with("req_"));
    assert!(header(Provider::OPEN_AI, "openai", "x-request-id").unwrap().starts_with("req_"));
    assert!(header(Provider::OPEN_AI, "azure", "apim-request-id").is_some());
    assert!(header(Provider::OPEN_AI, "azure", "x-ms-region").is_some());
}

#[test]
fn geminis_array_of_events_has_its_error_in_an_array() {
    let asked = ErrorRequest {
        framing: Some(Framing::Array),
        ..ErrorRequest::new(Provider::GEMINI, "gemini", 429)
    };
    let body: Value = serde_json::from_slice(&asked.write_error().body).unwrap();
    assert_eq!(body[0]["error"]["status"], "RESOURCE_EXHAUSTED");
    let events = ErrorRequest { framing: Some(Framing::Sse), ..asked };
    let body: Value = serde_json::from_slice(&events.write_error().body).unwrap();
    assert_eq!(body["error"]["code"], 429);
}
