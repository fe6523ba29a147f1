//! Anthropic's errors.

use serde_json::{Value, json};

use crate::provider_row::ErrorRequest;

/// The body of one of loomrec's errors.
pub(super) fn own_body(status: u16, named: &str) -> Value {
    json!({ "type": "error", "error": { "type": error_kind(status), "message": named } })
}

/// The body of an error as Anthropic sends it.
pub(super) fn natural_body(error_request: &ErrorRequest<'_>, id: &str) -> Value {
    let kind = error_request.kind.unwrap_or_else(|| error_kind(error_request.status));
    let usual = match (kind, error_request.status) {
        ("authentication_error", _) => "invalid x-api-key",
        ("billing_error", _) => "Your credit balance is too low to access the Anthropic API.",
        ("permission_error", _) => {
            "Your API key does not have permission to use the specified resource."
        }
        ("not_found_error", _) => "The requested resource could not be found.",
        ("conflict_error", _) => "The request conflicts with the current state of the resource.",
        ("request_too_large", _) => "Request exceeds the maximum allowed number of bytes.",
        ("rate_limit_error", _) => "This request would exceed your organization's rate limit.",
        ("timeout_error", _) => "The request timed out while processing.",
        ("overloaded_error", _) => "Overloaded",
        (_, 500..) => "Internal server error",
        _ => "The request is not valid.",
    };
    let message = error_request.message.unwrap_or(usual);
    json!({ "type": "error", "error": { "type": kind, "message": message }, "request_id": id })
}

/// Anthropic's word for a status.
fn error_kind(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        409 => "conflict_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        408 | 504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}
