//! Perplexity's errors: OpenAI's format, with the status as the code.

use serde_json::{Value, json};

use crate::provider_row::ErrorRequest;

/// The body of one of loomrec's errors.
pub(super) fn own_body(message: &str, kind: &str, status: u16) -> Value {
    json!({ "error": { "message": message, "type": kind, "code": status } })
}

/// The body of an error as Perplexity sends it.
pub(super) fn natural_body(error_request: &ErrorRequest<'_>) -> Value {
    let (kind, usual) = match error_request.status {
        401 => ("invalid_api_key", "Invalid API key provided."),
        403 => ("forbidden", "This API key has no access to the requested resource."),
        404 => ("not_found", "Not Found"),
        429 => {
            ("request_rate_limit_exceeded", "Request rate limit exceeded, please try again later.")
        }
        503 => ("service_unavailable", "The service is temporarily unavailable."),
        500.. => ("internal_error", "Internal server error."),
        _ => ("invalid_request", "The request is not valid."),
    };
    let (message, kind) =
        (error_request.message.unwrap_or(usual), error_request.kind.unwrap_or(kind));
    own_body(message, kind, error_request.status)
}
