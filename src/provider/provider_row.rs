//! The providers, and what is known of each: a row in its own folder. [`super::table`] lists them.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use serde_json::Value;

use super::credential::KeyCarrier;
use super::error_reason::{ErrorReason, ReasonedError};
use super::framing::Framing;
use super::mcp::RpcMethod;
use super::operation::Operation;
use super::request_head::RequestHead;

/// Headers of an answer.
pub(super) type HeaderList = Vec<(&'static str, String)>;

/// A family of wire formats. Its properties are in its row.
#[derive(Clone, Copy)]
pub struct Provider(&'static ProviderRow);

/// A recognised request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecognisedCall {
    /// The provider whose wire format it has.
    pub provider: Provider,
    /// The operation that it asks for.
    pub operation: Operation,
    /// The requested model: from the path if it is there, else from the body.
    pub model: Option<String>,
    /// Whether the answer is requested as a stream.
    pub streamed: bool,
    /// The target in the tagged form of the key (see [`loomrec_identity::KeyForm::Tagged`]); `None`
    /// if the key has the form of a chat.
    pub target: Option<String>,
    /// What it asks for in JSON-RPC, if that is its operation.
    pub rpc: Option<RpcMethod>,
}

impl RecognisedCall {
    /// Returns the word of the operation, and of JSON-RPC the method and the tool:
    /// `mcp tools/call search`.
    pub fn operation_words(&self) -> Cow<'static, str> {
        self.name_with_method(self.operation.as_str())
    }

    /// Returns the name of the operation for people, and of JSON-RPC the method and the tool.
    pub fn operation_title(&self) -> Cow<'static, str> {
        self.name_with_method(self.operation.name())
    }

    fn name_with_method(&self, operation: &'static str) -> Cow<'static, str> {
        match &self.rpc {
            Some(method) => format!("{operation} {method}").into(),
            None => operation.into(),
        }
    }
}

/// The information in a path alone.
pub(super) struct PathShape {
    pub(super) provider: Provider,
    pub(super) operation: Operation,
    /// The model, if the path names it.
    pub(super) model: Option<String>,
    /// The mode of delivery, if the path says it.
    pub(super) streamed: Option<bool>,
}

impl PathShape {
    pub(super) fn new(provider: Provider, operation: Operation) -> Self {
        Self { provider, operation, model: None, streamed: None }
    }
}

/// A request for an error that a provider would send.
#[derive(Clone, Copy, Debug)]
pub struct ErrorRequest<'a> {
    /// The provider whose format it has.
    pub provider: Provider,
    /// The upstream's name, because upstreams with the same provider differ.
    pub upstream: &'a str,
    /// The HTTP status.
    pub status: u16,
    /// The provider's own type or code for it: `insufficient_quota`, `overloaded_error`,
    /// `ServiceQuotaExceededException`. If `None`, the usual one for the status is used.
    pub kind: Option<&'a str>,
    /// The message; if `None`, the provider's usual one is used.
    pub message: Option<&'a str>,
    /// Milliseconds after which to retry. They are written where the provider has them: in a header
    /// or, for Gemini, in the body.
    pub retry_after_ms: Option<u64>,
    /// The framing of the requested stream; `None` if none was requested.
    pub framing: Option<Framing>,
    /// The id of the request; if `None`, one is made from the error.
    pub request_id: Option<&'a str>,
    /// When it is sent, in seconds since 1970, because some limits name the time at which they end.
    pub now_s: u64,
}

/// The properties of a provider: a family of wire formats.
pub(super) struct ProviderRow {
    /// The name, as recordings store it.
    pub(super) name: &'static str,
    /// OpenTelemetry's name of the provider, for upstreams that have none.
    pub(super) semantic: Option<&'static str>,
    /// The operations, in the order of the documentation.
    pub(super) operations: &'static [Operation],
    /// Recognises the path of a request; `None` if it is not this provider's.
    pub(super) recognise: fn(&RequestHead<'_>) -> Option<PathShape>,
    /// Whether the headers show that an unrecognised request is for this provider.
    pub(super) has_header: fn(&[(String, String)]) -> bool,
    /// Whether a path shows that an unrecognised request is for this provider.
    pub(super) has_path: fn(&str) -> bool,
    /// Whether the answer at this path is a stream unless the request says otherwise.
    pub(super) streams_unasked: fn(&str) -> bool,
    /// The target in a request's key; `None` for the form of a chat.
    pub(super) target: fn(&RequestHead<'_>, Operation) -> Option<String>,
    /// How a key is sent to an upstream whose name is unknown.
    pub(super) key_carrier: KeyCarrier,
    /// Whether tool calls have their own ids.
    pub(super) call_ids: bool,
    /// The formats of errors.
    pub(super) errors: ErrorRow,
}

/// One of loomrec's own errors.
pub(super) struct OwnError<'a> {
    pub(super) status: u16,
    /// The error's name.
    pub(super) kind: &'a str,
    pub(super) message: &'a str,
    /// The message with the error's name before it.
    pub(super) named: &'a str,
}

/// The formats of a provider's errors.
pub(super) struct ErrorRow {
    /// Writes the body of one of loomrec's own errors.
    pub(super) own: fn(&OwnError<'_>) -> Value,
    /// Returns the headers of an answer without a body that is one of loomrec's own errors. `None` if
    /// errors have a body.
    pub(super) own_head: Option<fn(&OwnError<'_>) -> HeaderList>,
    /// Writes the body of an error as the provider sends it.
    pub(super) natural: fn(&ErrorRequest<'_>) -> Value,
    /// The media type of [`Self::natural`].
    pub(super) media: &'static str,
    /// The header that names one of loomrec's own errors.
    pub(super) kind_header: Option<&'static str>,
    /// Adds the headers that name the request or the error.
    pub(super) identify: fn(&ErrorRequest<'_>, &mut HeaderList),
    /// Returns the error that the provider sends for a reason, from the one that most send.
    pub(super) reason: fn(ErrorReason, ReasonedError) -> ReasonedError,
    /// Adds the headers of a limit that was reached.
    pub(super) limit: fn(&ErrorRequest<'_>, &mut HeaderList),
    /// Adds the headers that say after how many milliseconds to retry.
    pub(super) retry: fn(&ErrorRequest<'_>, u64, &mut HeaderList),
    /// Whether an error of this status says when to retry.
    pub(super) sends_retry_after: fn(u16) -> bool,
    /// The page of the gateway in front of the provider, for a 502 without message and kind.
    pub(super) gateway_page: &'static str,
}

impl Provider {
    pub(super) const fn new(row: &'static ProviderRow) -> Self {
        Self(row)
    }

    pub(super) const fn row(self) -> &'static ProviderRow {
        self.0
    }

    /// The provider's name, as recordings store it.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// OpenTelemetry's name of the provider.
    pub fn semantic_name(self) -> Option<&'static str> {
        self.0.semantic
    }

    /// How a key is sent to an upstream whose name is unknown, but whose wire format is this
    /// provider's.
    pub fn key_carrier(self) -> KeyCarrier {
        self.0.key_carrier
    }

    /// Whether its tool calls have their own ids.
    pub fn has_call_ids(self) -> bool {
        self.0.call_ids
    }

    /// Returns the error that it sends for a reason.
    pub fn error_for(self, reason: ErrorReason) -> ReasonedError {
        (self.0.errors.reason)(reason, reason.usual_error())
    }

    /// Whether its errors of this status say when to retry.
    pub fn sends_retry_after(self, status: u16) -> bool {
        (self.0.errors.sends_retry_after)(status)
    }
}

impl PartialEq for Provider {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Provider {}

impl Hash for Provider {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

impl fmt::Debug for Provider {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.name)
    }
}
