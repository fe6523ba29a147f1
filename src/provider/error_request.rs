//! An error that a provider is asked to write in its own shape.

use super::{Framing, Provider};

/// An error that a provider is to send.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRequest<'a> {
    /// Whose shape it has.
    pub provider: Provider,
    /// The upstream's name: it tells apart those that share a shape.
    pub upstream: &'a str,
    /// The HTTP status.
    pub status: u16,
    /// The provider's own word for it, its type or its code: `insufficient_quota`,
    /// `overloaded_error`, `ServiceQuotaExceededException`. Without one it is the usual
    /// one for the status.
    pub kind: Option<&'a str>,
    /// Without a message it is the one that the provider usually gives.
    pub message: Option<&'a str>,
    /// After how many milliseconds the call may be tried again. It is told where the
    /// provider tells it: in a header, or, as Gemini does it, in the body.
    pub retry_after_ms: Option<u64>,
    /// The framing of the stream that was asked for; `None` where none was.
    pub framing: Option<Framing>,
    /// When it is sent, in seconds since 1970: some limits say when they are over.
    pub now_s: u64,
}

impl<'a> ErrorRequest<'a> {
    /// The usual error for a status, not of a stream, sent in 1970.
    pub fn new(provider: Provider, upstream: &'a str, status: u16) -> Self {
        Self {
            provider,
            upstream,
            status,
            kind: None,
            message: None,
            retry_after_ms: None,
            framing: None,
            now_s: 0,
        }
    }
}
