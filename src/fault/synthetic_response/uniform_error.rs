//! The errors of chaos that are the same for every provider.

use super::SyntheticResponse;

/// The body for a dropped request.
pub(super) const DROPPED: &str =
    r#"{"error":{"message":"Chaos: request dropped","type":"server_error","code":"chaos_drop"}}"#;

/// The body for a limited request.
const LIMITED: &str = r#"{"error":{"message":"Chaos: rate limit exceeded","type":"rate_limit_error","code":"chaos_ratelimit"}}"#;

/// The headers of a 429, which are the same for every provider.
const LIMITS: [(&str, &str); 7] = [
    ("retry-after", "1"),
    ("x-ratelimit-limit-requests", "60"),
    ("x-ratelimit-limit-tokens", "150000"),
    ("x-ratelimit-remaining-requests", "0"),
    ("x-ratelimit-remaining-tokens", "0"),
    ("x-ratelimit-reset-requests", "1s"),
    ("x-ratelimit-reset-tokens", "6m0s"),
];

/// Makes the response to a limited request.
pub(super) fn rate_limit() -> SyntheticResponse {
    let mut limited = SyntheticResponse::with_body(429, "application/json", LIMITED);
    LIMITS.iter().for_each(|(name, value)| limited.set_header(name, *value));
    limited
}
