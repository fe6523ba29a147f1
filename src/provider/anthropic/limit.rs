//! The headers in which Anthropic reports a limit that was reached.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error_request::{REQUESTS, TOKENS, TOKENS_LEFT};
use crate::provider_row::ErrorRequest;
use crate::provider_row::HeaderList;

/// Adds the headers of a 429.
pub(super) fn add_headers(error_request: &ErrorRequest<'_>, headers: &mut HeaderList) {
    let over = error_request.now_s.saturating_add(error_request.limit_wait().div_ceil(1000));
    let reset = i64::try_from(over)
        .ok()
        .and_then(|over| OffsetDateTime::from_unix_timestamp(over).ok())
        .and_then(|over| over.format(&Rfc3339).ok());
    let mut tell = |[limit, remaining, name]: [&'static str; 3], most: u64, left: u64| {
        headers.push((limit, most.to_string()));
        headers.push((remaining, left.to_string()));
        if let Some(reset) = &reset {
            headers.push((name, reset.clone()));
        }
    };
    tell(
        [
            "anthropic-ratelimit-requests-limit",
            "anthropic-ratelimit-requests-remaining",
            "anthropic-ratelimit-requests-reset",
        ],
        REQUESTS,
        0,
    );
    tell(
        [
            "anthropic-ratelimit-tokens-limit",
            "anthropic-ratelimit-tokens-remaining",
            "anthropic-ratelimit-tokens-reset",
        ],
        TOKENS,
        TOKENS_LEFT,
    );
    tell(
        [
            "anthropic-ratelimit-input-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
        ],
        TOKENS,
        TOKENS_LEFT,
    );
    tell(
        [
            "anthropic-ratelimit-output-tokens-limit",
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
        ],
        TOKENS,
        TOKENS_LEFT,
    );
}
