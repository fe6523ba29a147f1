//! The table rows of Cohere and its operations, and how its requests are recognised.

use serde_json::{Value, json};

use super::{chat, embed};
use crate::answer_outcome::OutcomeRules;
use crate::operation::{Operation, OperationRow};
use crate::provider_row::{ErrorRequest, ErrorRow, PathShape, Provider, ProviderRow};
use crate::request_head::RequestHead;

impl Provider {
    /// Cohere.
    pub const COHERE: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// `/v2/chat` and `/v1/chat` of Cohere
    pub const COHERE_CHAT: Self = Self::new(&chat::ROW);
    /// `/v2/embed` and `/v1/embed` of Cohere
    pub const COHERE_EMBED: Self = Self::new(&embed::ROW);
    /// `/v2/rerank` and `/v1/rerank`
    pub const RERANK: Self = Self::new(&RERANK);
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "cohere",
    semantic: Some("cohere"),
    operations: &[Operation::COHERE_CHAT, Operation::COHERE_EMBED, Operation::RERANK],
    recognise,
    has_path: |path| {
        let own = ["/v2/embed", "/v1/embed", "/v2/rerank", "/v1/rerank"];
        own.iter().any(|own| path.ends_with(own))
    },
    errors: ErrorRow {
        own: |told| json!({ "message": told.named }),
        natural: |error_request| natural_body(error_request, &error_request.uuid()),
        ..ErrorRow::PLAIN
    },
    ..ProviderRow::UNNAMED
};

static RERANK: OperationRow = OperationRow {
    name: "Rerank",
    word: "rerank",
    semantic: Some("rerank"),
    outcome: OutcomeRules::JSON,
    ..OperationRow::UNREAD
};

/// Recognises Cohere's own paths; `None` for any other.
fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let ends = |suffixes: [&str; 2]| suffixes.iter().any(|suffix| seen.path.ends_with(suffix));
    let operation = match () {
        () if seen.method != "POST" => return None,
        // A chat in OpenAI's format, such as Writer's: Cohere's v1 has one `message`.
        () if seen.has_messages && ends(["/v1/chat"; 2]) => return None,
        () if ends(["/v2/chat", "/v1/chat"]) => Operation::COHERE_CHAT,
        () if ends(["/v2/embed", "/v1/embed"]) => Operation::COHERE_EMBED,
        () if ends(["/v2/rerank", "/v1/rerank"]) => Operation::RERANK,
        () => return None,
    };
    Some(PathShape::new(Provider::COHERE, operation))
}

/// The body of an error as Cohere sends it.
fn natural_body(error_request: &ErrorRequest<'_>, id: &str) -> Value {
    let usual = match error_request.status {
        401 => "invalid api token",
        402 => "Please add or update your payment method to continue.",
        403 => "This API key has no access to the requested resource.",
        404 => "model not found",
        429 => "You have exceeded the rate limit. Please wait and try again later.",
        503 => "The service is temporarily unavailable.",
        408 | 504 => "The request timed out.",
        409 => "the request conflicts with another",
        413 => "the request is too large",
        500.. => "internal server error",
        _ => "invalid request",
    };
    json!({ "id": id, "message": error_request.message.unwrap_or(usual) })
}
