//! The headers in which OpenAI and its dialects report a limit that was reached.

use crate::error_request::{REQUESTS, TOKENS, TOKENS_LEFT};
use crate::provider_row::ErrorRequest;
use crate::provider_row::HeaderList;

/// Adds the headers of a 429.
pub(super) fn add_headers(error_request: &ErrorRequest<'_>, headers: &mut HeaderList) {
    let wait = error_request.limit_wait();
    let tokens = error_request.kind == Some("tokens");
    let (requests_left, tokens_left) = if tokens { (REQUESTS - 1, 0) } else { (0, TOKENS_LEFT) };
    match error_request.upstream {
        // An account without credit gets no time to retry.
        _ if error_request.kind == Some("insufficient_quota") => {}
        "azure" => {
            headers.push(("x-ratelimit-remaining-requests", requests_left.to_string()));
            headers.push(("x-ratelimit-remaining-tokens", tokens_left.to_string()));
        }
        "xai" | "mistral" | "openrouter" | "deepseek" | "together" | "fireworks" => {}
        _ => {
            headers.push(("x-ratelimit-limit-requests", REQUESTS.to_string()));
            headers.push(("x-ratelimit-limit-tokens", TOKENS.to_string()));
            headers.push(("x-ratelimit-remaining-requests", requests_left.to_string()));
            headers.push(("x-ratelimit-remaining-tokens", tokens_left.to_string()));
            headers.push(("x-ratelimit-reset-requests", duration_text(wait)));
            headers.push(("x-ratelimit-reset-tokens", duration_text(wait)));
        }
    }
}

/// Adds the headers that say when to try again.
pub(super) fn add_retry(error_request: &ErrorRequest<'_>, wait: u64, headers: &mut HeaderList) {
    if matches!(error_request.upstream, "openai" | "azure") {
        headers.push(("retry-after-ms", wait.to_string()));
    }
    headers.push(("retry-after", wait.div_ceil(1000).to_string()));
}

/// Milliseconds as OpenAI writes them: `12ms`, `1.5s`, `6m0s`.
fn duration_text(ms: u64) -> String {
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
        let written =
            [0, 12, 1000, 1500, 59_999, 360_000, 3_600_000, 90_061_001].map(duration_text);
        let expected = ["0ms", "12ms", "1s", "1.5s", "59.999s", "6m0s", "1h0m0s", "25h1m1.001s"];
        assert_eq!(written, expected);
    }
}
