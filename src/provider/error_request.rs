//! Requests for an error in a provider's own format.

use super::answer_draft;
use super::provider_row::{ErrorRequest, Provider};

/// The number of requests that a limit allows; the numbers are those of a small account.
pub(super) const REQUESTS: u64 = 500;
/// The number of tokens that a limit allows.
pub(super) const TOKENS: u64 = 30_000;
/// How many tokens are left of a limit that is not used up.
pub(super) const TOKENS_LEFT: u64 = 29_000;

/// The default time until a limit is over, in milliseconds.
const USUAL_WAIT: u64 = 1000;

impl<'a> ErrorRequest<'a> {
    /// The usual error for a status, not in a stream, sent in 1970.
    pub fn new(provider: Provider, upstream: &'a str, status: u16) -> Self {
        Self {
            provider,
            upstream,
            status,
            kind: None,
            message: None,
            retry_after_ms: None,
            framing: None,
            request_id: None,
            now_s: 0,
        }
    }

    /// Milliseconds until the limit is over.
    pub(super) fn limit_wait(&self) -> u64 {
        self.retry_after_ms.unwrap_or(USUAL_WAIT)
    }

    /// Returns the given id of the request, or makes one for this error, the same in every run.
    pub(super) fn id_with_prefix(&self, prefix: &str) -> String {
        self.request_id.map_or_else(|| self.made_id(prefix), str::to_owned)
    }

    fn made_id(&self, prefix: &str) -> String {
        answer_draft::make_id(prefix, usize::from(self.status), self.message.unwrap_or_default())
    }

    /// Returns the given id of the request, or makes one that is a UUID.
    pub(super) fn uuid(&self) -> String {
        if let Some(given) = self.request_id {
            return given.to_owned();
        }
        let digits =
            self.made_id("") + &answer_draft::make_id("", usize::from(self.status), "uuid");
        let group = |from: usize, to: usize| digits.get(from..to).unwrap_or_default();
        let groups = [group(0, 8), group(8, 12), group(12, 16), group(16, 20), group(20, 32)];
        groups.join("-")
    }
}

/// Returns the headers in which a provider names a request, with this id; none if it has no such
/// header.
pub fn request_id_headers(
    provider: Provider,
    upstream: &str,
    request_id: &str,
) -> Vec<(&'static str, String)> {
    let named =
        ErrorRequest { request_id: Some(request_id), ..ErrorRequest::new(provider, upstream, 200) };
    let mut headers = Vec::new();
    (provider.row().errors.identify)(&named, &mut headers);
    headers.retain(|(_, value)| value == request_id);
    headers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error_reason::ErrorReason;

    #[test]
    fn a_request_is_named_in_the_headers_of_its_provider() {
        let headers = |provider, upstream| {
            let headers = request_id_headers(provider, upstream, "req_7");
            headers.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(headers(Provider::OPEN_AI, "openai"), ["x-request-id"]);
        assert_eq!(headers(Provider::OPEN_AI, "azure"), ["apim-request-id", "x-request-id"]);
        assert_eq!(headers(Provider::ANTHROPIC, "anthropic"), ["request-id"]);
        assert_eq!(headers(Provider::BEDROCK, "bedrock"), ["x-amzn-requestid"]);
        assert!(headers(Provider::GEMINI, "gemini").is_empty());
    }

    #[test]
    fn an_error_carries_the_given_id_in_headers_and_body() {
        let asked = ErrorRequest {
            request_id: Some("req_7"),
            ..ErrorRequest::new(Provider::ANTHROPIC, "anthropic", 429)
        };
        let error = asked.write_error();
        assert!(error.headers.contains(&("request-id", "req_7".to_owned())));
        let body: serde_json::Value = serde_json::from_slice(&error.body).unwrap();
        assert_eq!(body["request_id"], "req_7");
    }

    #[test]
    fn each_provider_has_its_own_status_and_words_where_they_differ() {
        let told = |reason: ErrorReason, provider: Provider| {
            let error = provider.error_for(reason);
            (error.status, error.kind)
        };
        let (long, filtered) = (ErrorReason::ContextLengthExceeded, ErrorReason::ContentFiltered);
        for provider in [Provider::OPEN_AI, Provider::UNKNOWN] {
            assert_eq!(told(long, provider), (400, Some("context_length_exceeded")));
            assert_eq!(told(filtered, provider), (400, Some("content_filter")));
        }
        assert_eq!(told(ErrorReason::Overloaded, Provider::ANTHROPIC).0, 529);
        assert_eq!(told(ErrorReason::Overloaded, Provider::GEMINI).0, 503);
        assert_eq!(told(ErrorReason::AuthenticationFailed, Provider::BEDROCK).0, 403);
        assert_eq!(told(ErrorReason::TimedOut, Provider::BEDROCK).0, 408);
        assert_eq!(told(ErrorReason::TimedOut, Provider::COHERE).0, 504);
        for provider in [Provider::ANTHROPIC, Provider::GEMINI, Provider::BEDROCK] {
            let error = provider.error_for(long);
            assert_eq!((error.status, error.kind), (400, None));
            let message = error.message.unwrap_or_default().to_lowercase();
            assert!(message.contains("too long") || message.contains("exceeds"), "{message}");
        }
    }
}
