//! The errors of a script: why a call fails, and what of it a client sees.

use loomrec_provider::{ErrorReason, Provider, ReasonedError};
use loomrec_recording::entry::RecordedCut;

/// How long a client is kept waiting that is to run into its own timeout, in milliseconds.
const SILENCE_MS: f64 = 600_000.0;

/// The type of the error of a script that has no answer.
const NO_RESPONSE: &str = "no_scripted_response";

/// An error that a call fails with, or that comes in its stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptFailure {
    pub(super) reason: FailureReason,
    /// The status; that of the reason if `None`.
    pub(super) status: Option<u16>,
    /// The provider's name for it; that of the reason if `None`.
    pub(super) kind: Option<String>,
    /// The message; the provider's usual one if `None`.
    pub(super) message: Option<String>,
    /// Milliseconds after which to retry.
    pub(super) retry_after_ms: Option<u64>,
    /// The id of the request.
    pub(super) request_id: Option<String>,
    /// Whether it comes in the stream even where nothing was said before.
    pub(super) is_event: bool,
}

/// Why a call fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FailureReason {
    /// The provider says so.
    Provider(ErrorReason),
    /// The script has no answer, or says so.
    NoScriptedResponse,
    /// The answer does not parse.
    Malformed,
    /// The network fails.
    Network,
    /// The stream breaks off.
    Cancelled,
    /// The stream falls silent.
    Silence,
}

/// What a client sees of a failure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum FailureForm {
    /// The provider's error: a status and a body, or an event of a stream.
    Told,
    /// A body, or an event, that does not parse.
    Malformed,
    /// Nothing more: the connection ends after this many milliseconds.
    Cut(f64, RecordedCut),
}

impl FailureReason {
    /// Any reason.
    pub(super) const UNKNOWN: Self = Self::Provider(ErrorReason::Unknown);
    /// A provider that does not work for the moment.
    pub(super) const UNAVAILABLE: Self = Self::Provider(ErrorReason::Unavailable);

    /// The words for a reason in scripts, and those that mean the same.
    pub(super) const WORDS: [(&'static str, Self); 15] = [
        ("rate_limited", Self::Provider(ErrorReason::RateLimited)),
        ("authentication_failed", Self::Provider(ErrorReason::AuthenticationFailed)),
        ("invalid_request", Self::Provider(ErrorReason::InvalidRequest)),
        ("provider_unavailable", Self::UNAVAILABLE),
        ("context_length_exceeded", Self::Provider(ErrorReason::ContextLengthExceeded)),
        ("content_filter", Self::Provider(ErrorReason::ContentFiltered)),
        ("timeout", Self::Provider(ErrorReason::TimedOut)),
        ("network_error", Self::Network),
        ("malformed_response", Self::Malformed),
        ("unsupported_feature", Self::Provider(ErrorReason::UnsupportedFeature)),
        ("no_scripted_response", Self::NoScriptedResponse),
        ("unknown", Self::UNKNOWN),
        ("unauthorized", Self::Provider(ErrorReason::AuthenticationFailed)),
        ("overloaded", Self::Provider(ErrorReason::Overloaded)),
        ("network", Self::Network),
    ];

    /// The words for the reasons of a `stream_error`.
    pub(super) const STREAM_WORDS: [(&'static str, Self); 5] = [
        ("adapter_error", Self::UNKNOWN),
        ("cancelled", Self::Cancelled),
        ("timeout", Self::Silence),
        ("malformed_event", Self::Malformed),
        ("unknown", Self::UNKNOWN),
    ];

    pub(super) fn form(self) -> FailureForm {
        match self {
            Self::Network => FailureForm::Cut(0.0, RecordedCut::Reset),
            Self::Cancelled => FailureForm::Cut(0.0, RecordedCut::Close),
            Self::Silence => FailureForm::Cut(SILENCE_MS, RecordedCut::Close),
            Self::Malformed => FailureForm::Malformed,
            Self::Provider(_) | Self::NoScriptedResponse => FailureForm::Told,
        }
    }

    /// Returns the error that a provider sends for it.
    fn error_of(self, provider: Provider) -> ReasonedError {
        match self {
            Self::Provider(reason) => provider.error_for(reason),
            Self::NoScriptedResponse => ReasonedError {
                status: 422,
                kind: Some(NO_RESPONSE),
                message: Some("no scripted response"),
            },
            _ => provider.error_for(ErrorReason::Unknown),
        }
    }

    /// The words for it where there is no other message.
    fn default_message(self) -> &'static str {
        match self {
            Self::Provider(reason) => reason.plain_words(),
            _ => "scripted error",
        }
    }
}

impl ScriptFailure {
    /// Returns a failure with all that its reason implies.
    pub(super) fn new(reason: FailureReason) -> Self {
        Self {
            reason,
            status: None,
            kind: None,
            message: None,
            retry_after_ms: None,
            request_id: None,
            is_event: false,
        }
    }

    /// Whether nothing can follow it in a stream.
    pub(super) fn ends_stream(&self) -> bool {
        matches!(self.reason.form(), FailureForm::Cut(..))
    }

    pub(super) fn status(&self, provider: Provider) -> u16 {
        self.status.unwrap_or_else(|| self.reason.error_of(provider).status)
    }

    pub(super) fn kind(&self, provider: Provider) -> Option<&str> {
        self.kind.as_deref().or_else(|| self.reason.error_of(provider).kind)
    }

    /// Returns the message, if it is not the provider's usual one for the status.
    pub(super) fn message(&self, provider: Provider) -> Option<&str> {
        self.message.as_deref().or_else(|| self.reason.error_of(provider).message)
    }

    /// Returns the message of its event in a stream.
    pub(super) fn event_message(&self, provider: Provider) -> &str {
        self.message(provider).unwrap_or_else(|| self.reason.default_message())
    }
}
