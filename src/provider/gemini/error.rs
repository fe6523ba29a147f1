//! Google's errors.

use serde_json::{Value, json};

use crate::provider_row::ErrorRequest;

/// The body of one of loomrec's errors.
pub(super) fn own_body(status: u16, kind: &str, named: &str) -> Value {
    json!({
        "error": {
            "code": status,
            "message": named,
            "status": canonical_code(status),
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": kind,
                "domain": "loomrec"
            }]
        }
    })
}

/// The body of an error as Google sends it. Its details hold the quota that was used up and the
/// time after which to retry.
pub(super) fn natural_body(error_request: &ErrorRequest<'_>) -> Value {
    let status = error_request.kind.unwrap_or_else(|| canonical_code(error_request.status));
    let usual = match status {
        "UNAUTHENTICATED" => "Request had invalid authentication credentials.",
        "PERMISSION_DENIED" => "The caller does not have permission",
        "NOT_FOUND" => "The requested entity was not found.",
        "ABORTED" => "The operation was aborted.",
        "RESOURCE_EXHAUSTED" => "Resource has been exhausted (e.g. check quota).",
        "UNAVAILABLE" => "The model is overloaded. Please try again later.",
        "DEADLINE_EXCEEDED" => "The request timed out. Please try again.",
        "INTERNAL" => "An internal error has occurred. Please retry.",
        _ => "Request contains an invalid argument.",
    };
    let mut error = json!({
        "code": error_request.status, "message": error_request.message.unwrap_or(usual), "status": status
    });
    let mut details = Vec::new();
    // Vertex sends no details.
    if error_request.status == 429 && error_request.upstream != "vertex" {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            "violations": [{
                "quotaMetric": "generativelanguage.googleapis.com/generate_content_free_tier_requests",
                "quotaId": "GenerateRequestsPerMinutePerProjectPerModel-FreeTier"
            }]
        }));
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.Help",
            "links": [{
                "description": "Learn more about Gemini API quotas",
                "url": "https://ai.google.dev/gemini-api/docs/rate-limits"
            }]
        }));
    }
    if let Some(ms) = error_request.retry_after_ms {
        details.push(json!({
            "@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay_text(ms)
        }));
    }
    if !details.is_empty() {
        error["details"] = Value::Array(details);
    }
    json!({ "error": error })
}

/// Milliseconds as Google writes them: `34s`, `1.500s`.
fn delay_text(ms: u64) -> String {
    match ms % 1000 {
        0 => format!("{}s", ms / 1000),
        rest => format!("{}.{rest:03}s", ms / 1000),
    }
}

/// Google's canonical code for a status.
fn canonical_code(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 | 529 => "UNAVAILABLE",
        408 | 504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}
