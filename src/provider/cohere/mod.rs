//! Cohere.

pub(super) mod chat;
pub(super) mod embed;

use serde_json::{Value, json};

use super::error_request::ErrorRequest;
use super::json_view::JsonView;
use super::request_head::{PathShape, RequestHead};
use super::response_format::ResponseFormat;
use super::{Operation, Provider, TokenUsage};

/// What is asked for; `None` for a path that is none of Cohere's own.
pub(super) fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let ends = |suffixes: [&str; 2]| suffixes.iter().any(|suffix| seen.path.ends_with(suffix));
    let operation = match () {
        () if seen.method != "POST" => return None,
        () if ends(["/v2/chat", "/v1/chat"]) => Operation::CohereChat,
        () if ends(["/v2/embed", "/v1/embed"]) => Operation::CohereEmbed,
        () if ends(["/v2/rerank", "/v1/rerank"]) => Operation::Rerank,
        () => return None,
    };
    Some(PathShape::new(Provider::Cohere, operation))
}

/// Whether an answer of the first version is asked for.
pub(super) fn is_first(asked: &ResponseFormat<'_>) -> bool {
    asked.target.is_some_and(|path| path.ends_with("/v1/chat") || path.ends_with("/v1/embed"))
}

/// The body of an error.
pub(super) fn error(named: &str) -> Value {
    json!({ "message": named })
}

/// The counts of `usage`, or of `meta` where an answer has that: its tokens, else the
/// units that are billed; `None` where it tells neither.
fn usage<D: JsonView>(told: &D) -> Option<TokenUsage> {
    let of = |name: &str| told.member(name).filter(|counts| counts.is_map());
    let counts = of("tokens").or_else(|| of("billed_units"))?;
    let (prompt, completion) = (count(counts, "input_tokens"), count(counts, "output_tokens"));
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: prompt.saturating_add(completion),
        cached_tokens: count(told, "cached_tokens"),
        ..TokenUsage::default()
    })
}

/// A count, which Cohere may write with a decimal point.
fn count<D: JsonView>(object: &D, name: &str) -> u64 {
    let Some(number) = object.member(name) else { return 0 };
    // A fraction of a token and a number below zero are no counts.
    let decimal = || number.float().filter(|number| number.fract() == 0.0).map(|it| it as u64);
    number.whole().or_else(decimal).unwrap_or(0)
}

/// The counts as Cohere tells them.
fn counts(usage: TokenUsage) -> Value {
    let tokens = json!({
        "input_tokens": usage.prompt_tokens, "output_tokens": usage.completion_tokens
    });
    json!({ "billed_units": tokens, "tokens": tokens })
}

/// The body of an error of Cohere's own.
pub(super) fn natural(asked: &ErrorRequest<'_>, id: &str) -> Value {
    let usual = match asked.status {
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
    json!({ "id": id, "message": asked.message.unwrap_or(usual) })
}
