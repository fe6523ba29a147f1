//! The headers by which a provider tells of a limit that has been reached.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::ErrorRequest;
use crate::provider::Provider;

/// What a limit allows; the numbers are those of a small account.
const REQUESTS: u64 = 500;
const TOKENS: u64 = 30_000;
/// How much is left of what has not been used up.
const LEFT: u64 = 29_000;

/// When a limit is over where nobody says it, in milliseconds.
const USUAL_WAIT: u64 = 1000;

/// Adds the headers of a 429.
pub(super) fn add_limit_headers(
    asked: &ErrorRequest<'_>,
    headers: &mut Vec<(&'static str, String)>,
) {
    let wait = asked.retry_after_ms.unwrap_or(USUAL_WAIT);
    let tokens = asked.kind == Some("tokens");
    let (requests_left, tokens_left) = if tokens { (REQUESTS - 1, 0) } else { (0, LEFT) };
    match (asked.provider, asked.upstream) {
        // An account without money is not told when to come again.
        (Provider::OpenAi, _) if asked.kind == Some("insufficient_quota") => {}
        (Provider::OpenAi, "azure") => {
            headers.push(("x-ratelimit-remaining-requests", requests_left.to_string()));
            headers.push(("x-ratelimit-remaining-tokens", tokens_left.to_string()));
        }
        (Provider::OpenAi, "xai" | "mistral" | "openrouter" | "deepseek") => {}
        (Provider::OpenAi, "together" | "fireworks") => {}
        (Provider::OpenAi, _) => {
            headers.push(("x-ratelimit-limit-requests", REQUESTS.to_string()));
            headers.push(("x-ratelimit-limit-tokens", TOKENS.to_string()));
            headers.push(("x-ratelimit-remaining-requests", requests_left.to_string()));
            headers.push(("x-ratelimit-remaining-tokens", tokens_left.to_string()));
            headers.push(("x-ratelimit-reset-requests", duration(wait)));
            headers.push(("x-ratelimit-reset-tokens", duration(wait)));
        }
        (Provider::Anthropic, _) => anthropic(asked, wait, headers),
        _ => {}
    }
}

fn anthropic(asked: &ErrorRequest<'_>, wait: u64, headers: &mut Vec<(&'static str, String)>) {
    let over = asked.now_s.saturating_add(wait.div_ceil(1000));
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
        LEFT,
    );
    tell(
        [
            "anthropic-ratelimit-input-tokens-limit",
            "anthropic-ratelimit-input-tokens-remaining",
            "anthropic-ratelimit-input-tokens-reset",
        ],
        TOKENS,
        LEFT,
    );
    tell(
        [
            "anthropic-ratelimit-output-tokens-limit",
            "anthropic-ratelimit-output-tokens-remaining",
            "anthropic-ratelimit-output-tokens-reset",
        ],
        TOKENS,
        LEFT,
    );
}

/// Milliseconds as OpenAI writes them: `12ms`, `1.5s`, `6m0s`.
fn duration(ms: u64) -> String {
    if ms < 1000 {
        return format!("{ms}ms");
    }
    let (seconds, rest) = (ms / 1000, ms % 1000);
    let rest = if rest == 0 { String::new() } else { format!(".{rest:03}") };
    let below = format!("{}{}s", seconds % 60, rest.trim_end_matches('0'));
    match (seconds / 3600, seconds / 60 % 60) {
        (0, 0) => below,
        (0, minutes) => format!("{minutes}m{below}"),
        (hours, minutes) => format!("{hours}h{minutes}m{below}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_written_as_openai_writes_them() {
        let written = [0, 12, 1000, 1500, 59_999, 360_000, 3_600_000, 90_061_001].map(duration);
        let expected = ["0ms", "12ms", "1s", "1.5s", "59.999s", "6m0s", "1h0m0s", "25h1m1.001s"];
        assert_eq!(written, expected);
    }
}
