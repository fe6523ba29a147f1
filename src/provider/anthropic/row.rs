//! The table rows of Anthropic and its operations, and how its requests are recognised.

use super::error::{natural_body, own_body};
use super::usage_names::USAGE;
use super::{complete, count_tokens, limit, messages};
use crate::credential::KeyCarrier;
use crate::error_reason::{ErrorReason, ReasonedError};
use crate::operation::{Operation, OperationRow};
use crate::provider_row::{ErrorRow, OwnError, PathShape, Provider, ProviderRow};
use crate::request_head::{RequestHead, has_header, with_verb};
use crate::row_default::CLOUDFLARE_PAGE;

impl Provider {
    /// Anthropic's Messages API.
    pub const ANTHROPIC: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// `/messages` of Anthropic
    pub const MESSAGES: Self = Self::new(&messages::ROW);
    /// `/complete` of Anthropic
    pub const TEXT_COMPLETIONS: Self = Self::new(&complete::ROW);
    /// `/messages/count_tokens` of Anthropic
    pub const COUNT_TOKENS: Self = Self::new(&count_tokens::ROW);
    /// `/messages/batches` of Anthropic, and what is below it
    pub const MESSAGE_BATCHES: Self = Self::new(&BATCHES);
}

fn reason(reason: ErrorReason, usual: ReasonedError) -> ReasonedError {
    let with = |message| ReasonedError { message: Some(message), ..usual };
    match reason {
        ErrorReason::Overloaded => ReasonedError { status: 529, ..usual },
        ErrorReason::ContextLengthExceeded => {
            with("prompt is too long: 210000 tokens > 200000 maximum")
        }
        ErrorReason::ContentFiltered => with("Output blocked by content filtering policy"),
        _ => usual,
    }
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "anthropic",
    semantic: Some("anthropic"),
    operations: &[
        Operation::MESSAGES,
        Operation::COUNT_TOKENS,
        Operation::MESSAGE_BATCHES,
        Operation::TEXT_COMPLETIONS,
    ],
    recognise,
    has_header: |headers| has_header(headers, "anthropic-version"),
    target: |seen, operation| Some(target(seen.path, operation)),
    key_carrier: KeyCarrier::Header("x-api-key"),
    errors: ErrorRow {
        own: |told: &OwnError<'_>| own_body(told.status, told.named),
        natural: |error_request| natural_body(error_request, &error_request.id_with_prefix("req_")),
        identify: |error_request, headers| {
            headers.push(("request-id", error_request.id_with_prefix("req_")))
        },
        reason,
        limit: limit::add_headers,
        sends_retry_after: |status| matches!(status, 429 | 503 | 529),
        gateway_page: CLOUDFLARE_PAGE,
        ..ErrorRow::PLAIN
    },
    ..ProviderRow::UNNAMED
};

static BATCHES: OperationRow = OperationRow {
    name: "Message Batches",
    word: "message_batches",
    usage_names: USAGE,
    addresses: &[&["results_url"], &["data", "*", "results_url"]],
    ..OperationRow::UNREAD
};

/// Recognises Anthropic's Messages. At other paths than its own its version header is required,
/// because OpenAI has `/threads/ID/messages`.
fn recognise(seen: &RequestHead) -> Option<PathShape> {
    if is_batch_path(seen) {
        return Some(PathShape::new(Provider::ANTHROPIC, Operation::MESSAGE_BATCHES));
    }
    let operation = match own_path(seen.path) {
        Some(operation) => operation,
        None if !has_header(seen.headers, "anthropic-version") => return None,
        None if seen.path.ends_with("/messages") => Operation::MESSAGES,
        None if seen.path.ends_with("/messages/count_tokens") => Operation::COUNT_TOKENS,
        None => return None,
    };
    let operation = if seen.method == "POST" { operation } else { Operation::OTHER };
    Some(PathShape::new(Provider::ANTHROPIC, operation))
}

/// The operation of one of Anthropic's own paths. Each has three spellings, because SDKs disagree
/// on whether the base URL ends with `/v1`.
fn own_path(path: &str) -> Option<Operation> {
    match path {
        "/v1/messages" | "/messages" | "/v1/v1/messages" => Some(Operation::MESSAGES),
        "/v1/messages/count_tokens" | "/messages/count_tokens" | "/v1/v1/messages/count_tokens" => {
            Some(Operation::COUNT_TOKENS)
        }
        "/v1/complete" => Some(Operation::TEXT_COMPLETIONS),
        _ => None,
    }
}

/// The target in a request's key: one name for all spellings of a path.
fn target(path: &str, operation: Operation) -> String {
    let own = own_path(path).is_some();
    if operation == Operation::MESSAGES && own {
        "anthropic.messages".to_owned()
    } else if operation == Operation::COUNT_TOKENS && own {
        "anthropic.count_tokens".to_owned()
    } else if operation == Operation::MESSAGES {
        with_verb(path, ":streamRawPredict", ":rawPredict")
    } else {
        path.to_owned()
    }
}

/// Whether a path is one of Anthropic's batches, or below them.
fn is_batch_path(seen: &RequestHead) -> bool {
    let Some((before, rest)) = seen.path.split_once("/messages/batches") else { return false };
    let own = matches!(before, "" | "/v1" | "/v1/v1");
    (rest.is_empty() || rest.starts_with('/'))
        && (own || has_header(seen.headers, "anthropic-version"))
}
