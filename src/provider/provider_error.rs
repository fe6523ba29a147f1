//! The writer of errors as a provider itself would send them: its body, its words for the status,
//! and the headers that its SDK reads.
//!
//! If the format has an id, it is made from the status and the message, so that the same error has
//! the same id in every run.

use super::Provider;
use super::provider_row::ErrorRequest;

/// An error as the provider sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderError {
    /// The HTTP status.
    pub status: u16,
    /// The headers that belong to it, its media type first.
    pub headers: Vec<(&'static str, String)>,
    /// The body: JSON, or the page of a gateway.
    pub body: Vec<u8>,
}

/// Returns a provider's own error for a status, in the dialect of the upstream of this name. If
/// `message` is `None`, the provider's usual message is used.
pub fn natural_error(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
) -> ProviderError {
    ErrorRequest { message, ..ErrorRequest::new(provider, upstream, status) }.write_error()
}

/// Returns such an error with the number of seconds after which to retry, for providers that send
/// it: in a header or, for Gemini, in the body.
pub fn natural_error_after(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
    seconds: u64,
) -> ProviderError {
    let retry_after_ms = Some(seconds.saturating_mul(1000));
    let error_request = ErrorRequest::new(provider, upstream, status);
    ErrorRequest { message, retry_after_ms, ..error_request }.write_error()
}

impl ErrorRequest<'_> {
    /// Writes the error. A 502 without message and kind is a gateway's page, except for OpenRouter,
    /// which has a text for it.
    pub fn write_error(&self) -> ProviderError {
        let row = &self.provider.row().errors;
        let wordless = self.message.is_none() && self.kind.is_none();
        let page = self.status == 502 && wordless && self.upstream != "openrouter";
        let (media, body) = if page {
            ("text/html", row.gateway_page.as_bytes().to_vec())
        } else {
            (row.media, (row.natural)(self).to_string().into_bytes())
        };
        let mut headers = vec![("content-type", media.to_owned())];
        if !page {
            (row.identify)(self, &mut headers);
        }
        if self.status == 429 {
            (row.limit)(self, &mut headers);
        }
        if let Some(wait) = self.retry_after_ms {
            (row.retry)(self, wait, &mut headers);
        }
        ProviderError { status: self.status, headers, body }
    }
}

#[cfg(test)]
mod status_tests;
#[cfg(test)]
mod tests;
