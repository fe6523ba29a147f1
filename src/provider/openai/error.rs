//! The errors of OpenAI, and of those that speak its dialect with error shapes of
//! their own.

use serde_json::{Value, json};

/// The body of an error of ours.
pub(in crate::provider) fn error(kind: &str, named: &str) -> Value {
    json!({ "error": { "message": named, "type": kind, "param": null, "code": kind } })
}

/// The body of an error as the upstream of this name sends it.
pub(in crate::provider) fn natural(
    upstream: &str,
    status: u16,
    message: Option<&str>,
    id: &str,
) -> Value {
    match upstream {
        "azure" => azure(status, message),
        "xai" => {
            let (code, usual) = xai(status);
            json!({ "code": code, "error": message.unwrap_or(usual) })
        }
        "mistral" => mistral(status, message, id),
        "openrouter" => {
            json!({ "error": { "message": message.unwrap_or(openrouter(status)), "code": status } })
        }
        "groq" => groq(status, message),
        "deepseek" => {
            let (kind, usual) = deepseek(status);
            shape(message.unwrap_or(usual), kind, json!("invalid_request_error"))
        }
        "together" => {
            let mut body = openai(status, message);
            body["id"] = id.into();
            body
        }
        "fireworks" => fireworks(status, message),
        _ => openai(status, message),
    }
}

fn shape(message: &str, kind: &str, code: Value) -> Value {
    json!({ "error": { "message": message, "type": kind, "param": null, "code": code } })
}

fn openai(status: u16, message: Option<&str>) -> Value {
    let (kind, code, usual) = match status {
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
        429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached for requests."),
        503 => {
            ("server_error", None, "The engine is currently overloaded, please try again later.")
        }
        500.. => ("server_error", None, "The server had an error while processing your request."),
        _ => ("invalid_request_error", None, "The request could not be processed."),
    };
    shape(message.unwrap_or(usual), kind, code.into())
}

/// Azure's gateway has words of its own; what the model's own service refuses comes
/// as OpenAI says it.
fn azure(status: u16, message: Option<&str>) -> Value {
    let (code, usual) = match status {
        401 => ("401", "Access denied due to invalid subscription key or wrong API endpoint."),
        403 => ("403", "Access denied due to the resource's network rules."),
        404 => ("DeploymentNotFound", "The API deployment for this resource does not exist."),
        429 => (
            "429",
            "Requests have exceeded the call rate limit of your current pricing tier. Please retry later.",
        ),
        _ => return openai(status, message),
    };
    json!({ "error": { "code": code, "message": message.unwrap_or(usual) } })
}

/// xAI says what gRPC says of the canonical code, beside a text of its own.
fn xai(status: u16) -> (&'static str, &'static str) {
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

fn mistral(status: u16, message: Option<&str>, id: &str) -> Value {
    let (kind, code, usual) = match status {
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
        "type": kind, "param": null, "code": code
    })
}

fn openrouter(status: u16) -> &'static str {
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

fn groq(status: u16, message: Option<&str>) -> Value {
    let (kind, code, usual) = match status {
        401 => ("invalid_request_error", Some("invalid_api_key"), "Invalid API Key"),
        404 => ("invalid_request_error", Some("model_not_found"), "The model does not exist."),
        429 => ("requests", Some("rate_limit_exceeded"), "Rate limit reached."),
        503 => ("internal_server_error", None, "Service Unavailable"),
        500.. => ("internal_server_error", None, "Internal Server Error"),
        _ => ("invalid_request_error", None, "The request is not valid."),
    };
    let mut error = json!({ "message": message.unwrap_or(usual), "type": kind });
    if let Some(code) = code {
        error["code"] = code.into();
    }
    json!({ "error": error })
}

fn deepseek(status: u16) -> (&'static str, &'static str) {
    match status {
        401 => ("authentication_error", "Authentication Fails (no such user)"),
        402 => ("unknown_error", "Insufficient Balance"),
        429 => ("rate_limit_reached_error", "Rate limit reached."),
        503 => ("service_unavailable_error", "Service is too busy."),
        500.. => ("internal_server_error", "The server encountered an issue."),
        _ => ("invalid_request_error", "The request is not valid."),
    }
}

fn fireworks(status: u16, message: Option<&str>) -> Value {
    let (kind, usual) = match status {
        401 => ("unauthorized", "The API key you provided is invalid."),
        404 => ("not_found", "Model not found, inaccessible, and/or not deployed"),
        429 => ("rate_limit_exceeded", "You have exceeded your usage limits."),
        503 => ("service_unavailable", "Service unavailable."),
        500.. => ("internal_server_error", "server had an error while processing your request"),
        _ => ("invalid_request_error", "The request is not valid."),
    };
    let message = message.unwrap_or(usual);
    json!({ "error": { "object": "error", "type": kind, "code": kind, "message": message } })
}
