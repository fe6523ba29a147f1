//! The reasons for which calls fail, in words that all providers share, and what each provider
//! makes of them.

/// Why a provider fails a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorReason {
    /// Too many calls.
    RateLimited,
    /// No key, or one that is not accepted.
    AuthenticationFailed,
    /// A request that is not valid.
    InvalidRequest,
    /// A provider that does not work for the moment.
    Unavailable,
    /// A provider that has too much to do.
    Overloaded,
    /// A conversation that is too long for the model.
    ContextLengthExceeded,
    /// Content that a policy forbids.
    ContentFiltered,
    /// A provider that was too slow for itself.
    TimedOut,
    /// Something that the model cannot do.
    UnsupportedFeature,
    /// Anything else.
    Unknown,
}

/// An error that a provider sends for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReasonedError {
    /// The status.
    pub status: u16,
    /// The provider's type or code; `None` if it follows from the status.
    pub kind: Option<&'static str>,
    /// The message; `None` if it is the usual one for status and type.
    pub message: Option<&'static str>,
}

impl ErrorReason {
    /// The error as most providers send it.
    pub(super) fn usual_error(self) -> ReasonedError {
        let (status, message) = match self {
            Self::RateLimited => (429, None),
            Self::AuthenticationFailed => (401, None),
            Self::InvalidRequest => (400, None),
            Self::Unavailable | Self::Overloaded => (503, None),
            Self::ContextLengthExceeded => (400, Some("The maximum context length is exceeded.")),
            Self::ContentFiltered => (400, Some("The response was filtered by a content policy.")),
            Self::TimedOut => (504, None),
            Self::UnsupportedFeature => (400, Some("The model does not support this feature.")),
            Self::Unknown => (500, None),
        };
        ReasonedError { status, kind: None, message }
    }

    /// Returns the words for it where no provider has a message.
    pub fn plain_words(self) -> &'static str {
        match self {
            Self::RateLimited => "rate limited",
            Self::AuthenticationFailed => "authentication failed",
            Self::InvalidRequest => "invalid request",
            Self::Unavailable => "unavailable",
            Self::Overloaded => "overloaded",
            Self::ContextLengthExceeded => "context length exceeded",
            Self::ContentFiltered => "content filtered",
            Self::TimedOut => "timed out",
            Self::UnsupportedFeature => "unsupported feature",
            Self::Unknown => "unknown error",
        }
    }
}
