//! Cohere.

pub(super) mod chat;
pub(super) mod embed;

use serde_json::{Value, json};

use super::recognise::{Seen, Shape};
use super::{Operation, Provider};

/// What is asked for; `None` for a path that is none of Cohere's own.
pub(super) fn recognise(seen: &Seen) -> Option<Shape> {
    let ends = |suffixes: [&str; 2]| suffixes.iter().any(|suffix| seen.path.ends_with(suffix));
    let operation = match () {
        () if seen.method != "POST" => return None,
        () if ends(["/v2/chat", "/v1/chat"]) => Operation::CohereChat,
        () if ends(["/v2/embed", "/v1/embed"]) => Operation::CohereEmbed,
        () if ends(["/v2/rerank", "/v1/rerank"]) => Operation::Rerank,
        () => return None,
    };
    Some(Shape::new(Provider::Cohere, operation))
}

/// The body of an error.
pub(super) fn error(named: &str) -> Value {
    json!({ "message": named })
}

/// The body of an error of Cohere's own.
pub(super) fn natural(status: u16, message: Option<&str>, id: &str) -> Value {
    let usual = match status {
        401 => "invalid api token",
        402 => "Please add or update your payment method to continue.",
        403 => "This API key has no access to the requested resource.",
        404 => "model not found",
        429 => "You have exceeded the rate limit. Please wait and try again later.",
        503 => "The service is temporarily unavailable.",
        504 => "The request timed out.",
        500.. => "internal server error",
        _ => "invalid request",
    };
    json!({ "id": id, "message": message.unwrap_or(usual) })
}
