//! Writes the errors that a provider itself would have sent: its body, its words for
//! the status, and the headers that its SDK reads.
//!
//! Where a shape has an id, it is made of the status and the message: the same error
//! has the same id on every run.

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

/// A provider's own error for a status, in the dialect of the upstream of this name.
/// Without a message it is the one that the provider usually gives.
pub fn natural_error(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
) -> ProviderError {
    ErrorRequest { message, ..ErrorRequest::new(provider, upstream, status) }.write()
}

/// The same, of a provider that says after how many seconds the call may be tried
/// again: in a header, or, as Gemini does it, in the body.
pub fn natural_error_after(
    provider: Provider,
    upstream: &str,
    status: u16,
    message: Option<&str>,
    seconds: u64,
) -> ProviderError {
    let retry_after_ms = Some(seconds.saturating_mul(1000));
    let asked = ErrorRequest::new(provider, upstream, status);
    ErrorRequest { message, retry_after_ms, ..asked }.write()
}

impl ErrorRequest<'_> {
    /// The error as it is sent. A status of 502 without words is a gateway's page, but
    /// for OpenRouter, which has words of its own for it.
    pub fn write(&self) -> ProviderError {
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
