//! The errors of OpenAI, and of the upstreams with its dialect but other error formats.

use serde_json::{Value, json};

use crate::provider_row::ErrorRequest;

/// The body of one of loomrec's errors.
pub(crate) fn own_body(kind: &str, named: &str) -> Value {
    json!({ "error": { "message": named, "type": kind, "param": null, "code": kind } })
}

/// The body of an error as this upstream sends it.
pub(crate) fn natural_body(error_request: &ErrorRequest<'_>, id: &str) -> Value {
    let ErrorRequest { status, kind, message, .. } = *error_request;
    match error_request.upstream {
        "azure" => azure_body(error_request),
        "xai" => {
            let (code, usual) = xai_texts(status);
            json!({ "code": kind.unwrap_or(code), "error": message.unwrap_or(usual) })
        }
        "mistral" => mistral_body(status, kind, message, id),
        "openrouter" => {
            json!({ "error": { "message": message.unwrap_or(openrouter_message(status)), "code": status } })
        }
        "groq" => groq_body(error_request),
        "deepseek" => {
            let (usually, usual) = deepseek_texts(status);
            let code = json!("invalid_request_error");
            error_object(message.unwrap_or(usual), kind.unwrap_or(usually), code)
        }
        "together" => {
            let mut body = openai_body(error_request);
            body["id"] = id.into();
            body
        }
        "fireworks" => fireworks_body(status, kind, message),
        _ => openai_body(error_request),
    }
}

fn error_object(message: &str, kind: &str, code: Value) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

/// OpenAI's error for a name.
struct NamedError {
    /// The name: a type or a code.
    name: &'static str,
    kind: &'static str,
    code: &'static str,
    param: Option<&'static str>,
    usual: &'static str,
}

/// The errors whose type and code follow from one word.
const NAMED: [NamedError; 8] = [
    NamedError {
        name: "insufficient_quota",
        kind: "insufficient_quota",
        code: "insufficient_quota",
        param: None,
        usual: "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
    },
    NamedError {
        name: "rate_limit_exceeded",
        kind: "requests",
        code: "rate_limit_exceeded",
        param: None,
        usual: "Rate limit reached for requests.",
    },
    NamedError {
        name: "requests",
        kind: "requests",
        code: "rate_limit_exceeded",
        param: None,
        usual: "Rate limit reached for requests.",
    },
    NamedError {
        name: "tokens",
        kind: "tokens",
        code: "rate_limit_exceeded",
        param: None,
        usual: "Rate limit reached for tokens.",
    },
    NamedError {
        name: "invalid_api_key",
        kind: "invalid_request_error",
        code: "invalid_api_key",
        param: None,
        usual: "Incorrect API key provided.",
    },
    NamedError {
        name: "model_not_found",
        kind: "invalid_request_error",
        code: "model_not_found",
        param: None,
        usual: "The model does not exist or you do not have access to it.",
    },
    NamedError {
        name: "context_length_exceeded",
        kind: "invalid_request_error",
        code: "context_length_exceeded",
        param: Some("messages"),
        usual: "This model's maximum context length is exceeded. Please reduce the length of the messages.",
    },
    NamedError {
        name: "unsupported_country_region_territory",
        kind: "request_forbidden",
        code: "unsupported_country_region_territory",
        param: None,
        usual: "Country, region, or territory not supported",
    },
];

fn openai_body(error_request: &ErrorRequest<'_>) -> Value {
    let named = error_request.kind.and_then(|kind| NAMED.iter().find(|named| named.name == kind));
    if let Some(named) = named {
        let message = error_request.message.unwrap_or(named.usual);
        return json!({ "error": {
            "message": message, "type": named.kind, "param": named.param, "code": named.code
        } });
    }
    let (kind, code, usual) = match error_request.status {
        401 => ("invalid_request_error", Some("invalid_api_key"), "Incorrect API key provided."),
        403 => {
            ("invalid_request_error", None, "You have insufficient permissions for this operation.")
        }
        404 => (
            "invalid_request_error",
            Some("model_not_found"),
            "The model does not exist or you do not have access to it.",
        ),
        408 => ("server_error", None, "Request timed out."),
        413 => ("server_error", None, "Maximum content size limit exceeded."),
        429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached for requests."),
        503 => {
            ("server_error", None, "The engine is currently overloaded, please try again later.")
        }
        500.. => ("server_error", None, "The server had an error while processing your request."),
        _ => ("invalid_request_error", None, "The request could not be processed."),
    };
    error_object(
        error_request.message.unwrap_or(usual),
        error_request.kind.unwrap_or(kind),
        code.into(),
    )
}

/// Azure's gateway has its own errors; those of the model service itself have OpenAI's format.
fn azure_body(error_request: &ErrorRequest<'_>) -> Value {
    let told = |code: &str, usual: &str| {
        json!({ "error": {
        "code": error_request.kind.unwrap_or(code), "message": error_request.message.unwrap_or(usual)
    } })
    };
    match error_request.status {
        400 if error_request.kind == Some("content_filter") => {
            filtered_prompt_body(error_request.message)
        }
        401 => told("401", "Access denied due to invalid subscription key or wrong API endpoint."),
        403 => told("403", "Access denied due to the resource's network rules."),
        404 => told("DeploymentNotFound", "The API deployment for this resource does not exist."),
        429 => {
            let usual = "Requests have exceeded the call rate limit of your current pricing tier.";
            match error_request.retry_after_ms.map(|ms| ms.div_ceil(1000)) {
                Some(wait) => told("429", &format!("{usual} Please retry after {wait} seconds.")),
                None => told("429", &format!("{usual} Please retry later.")),
            }
        }
        _ => openai_body(error_request),
    }
}

/// The error of Azure's prompt filter.
fn filtered_prompt_body(message: Option<&str>) -> Value {
    let usual = "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry.";
    let clear = json!({ "filtered": false, "severity": "safe" });
    json!({ "error": {
        "message": message.unwrap_or(usual), "type": null, "param": "prompt",
        "code": "content_filter", "status": 400,
        "innererror": {
            "code": "ResponsibleAIPolicyViolation",
            "content_filter_result": {
                "hate": clear, "self_harm": clear, "sexual": clear,
                "violence": { "filtered": true, "severity": "medium" }
            }
        }
    } })
}

/// xAI sends gRPC's text for the canonical code, and a text of its own.
fn xai_texts(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => (
            "The request does not have valid authentication credentials for the operation",
            "No valid API key was provided.",
        ),
        403 => (
            "The caller does not have permission to execute the specified operation",
            "The team of this API key has no access.",
        ),
        404 => ("Some requested entity was not found", "The model does not exist."),
        429 => ("Some resource has been exhausted", "Too many requests. Please slow down."),
        503 => ("The service is currently unavailable", "The service is temporarily unavailable."),
        500.. => ("Internal error", "Internal error."),
        _ => ("Client specified an invalid argument", "The request was not valid."),
    }
}

fn mistral_body(status: u16, kind: Option<&str>, message: Option<&str>, id: &str) -> Value {
    let (usually, code, usual) = match status {
        401 => {
            let message = message.unwrap_or("Unauthorized");
            return json!({ "message": message, "request_id": id });
        }
        422 => {
            let told = message.unwrap_or("Input should be valid");
            let detail = json!([{ "type": "value_error", "loc": ["body"], "msg": told }]);
            return json!({
                "object": "error", "message": { "detail": detail },
                "type": "invalid_request_error", "param": null, "code": null
            });
        }
        429 => ("rate_limited", Some("1300"), "Rate limit exceeded"),
        503 => ("unavailable", None, "Service unavailable."),
        500.. => ("internal_server_error", None, "Internal server error."),
        _ => ("invalid_request_error", None, "The request is not valid."),
    };
    json!({
        "object": "error", "message": message.unwrap_or(usual),
        "type": kind.unwrap_or(usually), "param": null, "code": code
    })
}

fn openrouter_message(status: u16) -> &'static str {
    match status {
        401 => "No auth credentials found",
        402 => "Insufficient credits",
        403 => "Your input was flagged by moderation",
        404 => "No endpoints found for this model.",
        408 => "Request timed out",
        429 => "Rate limit exceeded",
        502 => "Provider returned error",
        503 => "No available model provider meets your routing requirements",
        500.. => "Internal Server Error",
        _ => "Bad request",
    }
}

fn groq_body(error_request: &ErrorRequest<'_>) -> Value {
    if error_request.kind.is_some_and(|kind| NAMED.iter().any(|named| named.name == kind)) {
        return openai_body(error_request);
    }
    let (kind, code, usual) = match error_request.status {
        401 => ("invalid_request_error", Some("invalid_api_key"), "Invalid API Key"),
        404 => ("invalid_request_error", Some("model_not_found"), "The model does not exist."),
        429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached."),
        503 => ("internal_server_error", None, "Service Unavailable"),
        500.. => ("internal_server_error", None, "Internal Server Error"),
        _ => ("invalid_request_error", None, "The request is not valid."),
    };
    let (message, kind) =
        (error_request.message.unwrap_or(usual), error_request.kind.unwrap_or(kind));
    let mut error = json!({ "message": message, "type": kind });
    if let Some(code) = code {
        error["code"] = code.into();
    }
    json!({ "error": error })
}

fn deepseek_texts(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("authentication_error", "Authentication Fails (no such user)"),
        402 => ("unknown_error", "Insufficient Balance"),
        429 => ("rate_limit_reached_error", "Rate limit reached."),
        503 => ("service_unavailable_error", "Service is too busy."),
        500.. => ("internal_server_error", "The server encountered an issue."),
        _ => ("invalid_request_error", "The request is not valid."),
    }
}

fn fireworks_body(status: u16, kind: Option<&str>, message: Option<&str>) -> Value {
    let (usually, usual) = match status {
        401 => ("unauthorized", "The API key you provided is invalid."),
        404 => ("not_found", "Model not found, inaccessible, and/or not deployed"),
        429 => ("rate_limit_exceeded", "You have exceeded your usage limits."),
        503 => ("service_unavailable", "Service unavailable."),
        500.. => ("internal_server_error", "server had an error while processing your request"),
        _ => ("invalid_request_error", "The request is not valid."),
    };
    let (message, kind) = (message.unwrap_or(usual), kind.unwrap_or(usually));
    json!({ "error": { "object": "error", "type": kind, "code": kind, "message": message } })
}
