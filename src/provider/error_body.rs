//! Writes errors in the shape that a provider's SDK turns into its own typed
//! exception, with our message where the exception shows it.

use serde_json::{Value, json};

use super::Provider;

/// An error's JSON body. `kind` names the error (`RecordingMismatchError`): the
/// message begins with it, since some SDKs show nothing but the message, and where
/// the shape has a field of its own for it, it stands there too.
pub fn error_body(provider: Provider, status: u16, kind: &str, message: &str) -> Vec<u8> {
    let named =
        if message.starts_with(kind) { message.to_owned() } else { format!("{kind}: {message}") };
    let body: Value = match provider {
        Provider::OpenAi | Provider::Unknown => json!({
            "error": { "message": named, "type": kind, "param": null, "code": kind }
        }),
        Provider::Anthropic => json!({
            "type": "error",
            "error": { "type": anthropic_type(status), "message": named }
        }),
        Provider::Gemini => json!({
            "error": {
                "code": status,
                "message": named,
                "status": google_status(status),
                "details": [{
                    "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                    "reason": kind,
                    "domain": "loomrec"
                }]
            }
        }),
        // The header carries the kind, and boto3 shows both.
        Provider::Bedrock => json!({ "message": message }),
        Provider::Cohere => json!({ "message": named }),
        Provider::Ollama => json!({ "error": named }),
    };
    body.to_string().into_bytes()
}

/// The headers that belong to [`error_body()`]: its media type, and Bedrock's
/// error type, without which boto3 knows the error by its status alone.
pub fn error_headers(provider: Provider, kind: &str) -> Vec<(&'static str, String)> {
    let mut headers = vec![("content-type", "application/json".to_owned())];
    if provider == Provider::Bedrock {
        headers.push(("x-amzn-errortype", kind.to_owned()));
    }
    headers
}

/// Anthropic's word for a status.
fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// Google's canonical code for a status.
fn google_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}

#[cfg(test)]
mod tests;
