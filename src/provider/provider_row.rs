//! Whose wire shape a request has, and all that is known of that provider: a row in its own
//! folder. [`super::table`] lists the providers.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde_json::Value;

use super::credential::KeyCarrier;
use super::framing::Framing;
use super::operation::Operation;
use super::request_head::RequestHead;

/// Headers of an answer.
pub(super) type HeaderList = Vec<(&'static str, String)>;

/// A family of wire shapes. What is known of it is its row.
#[derive(Clone, Copy)]
pub struct Provider(&'static ProviderRow);

/// A request, recognised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecognisedCall {
    /// Whose wire shape it has.
    pub provider: Provider,
    /// What it asks for.
    pub operation: Operation,
    /// The model asked for: from the body, or from the path where it stands there.
    pub model: Option<String>,
    /// Whether the answer is asked for as a stream.
    pub streamed: bool,
    /// What the key is formed over when the form is tagged (see
    /// [`loomrec_identity::KeyForm::Tagged`]); `None` where the form is AgentLoom's chat.
    pub target: Option<String>,
}

/// What the path alone tells.
pub(super) struct PathShape {
    pub(super) provider: Provider,
    pub(super) operation: Operation,
    /// The model, where the path names it.
    pub(super) model: Option<String>,
    /// The mode of delivery, where the path says it.
    pub(super) streamed: Option<bool>,
}

impl PathShape {
    pub(super) fn new(provider: Provider, operation: Operation) -> Self {
        Self { provider, operation, model: None, streamed: None }
    }
}

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

/// What is known of a provider: a family of wire shapes.
pub(super) struct ProviderRow {
    /// The name, as it stands in a recording.
    pub(super) name: &'static str,
    /// OpenTelemetry's name of the provider, for upstreams that have no name there.
    pub(super) semantic: Option<&'static str>,
    /// The operations, in the order of the documentation.
    pub(super) operations: &'static [Operation],
    /// Tells the shape of a request; `None` for one that is not this provider's.
    pub(super) recognise: fn(&RequestHead<'_>) -> Option<PathShape>,
    /// Whether the headers show the provider of a request that is not recognised.
    pub(super) has_header: fn(&[(String, String)]) -> bool,
    /// Whether a path shows the provider of a request that is not recognised.
    pub(super) has_path: fn(&str) -> bool,
    /// Whether the answer at this path is a stream unless the request says otherwise.
    pub(super) streams_unasked: fn(&str) -> bool,
    /// What the key of a request is formed over; `None` for AgentLoom's form.
    pub(super) target: fn(&RequestHead<'_>, Operation) -> Option<String>,
    /// How a key is shown where the upstream is not known by name.
    pub(super) key_carrier: KeyCarrier,
    /// Whether tool calls have ids of their own.
    pub(super) call_ids: bool,
    /// How errors look.
    pub(super) errors: ErrorRow,
}

/// An error of loomrec's own.
pub(super) struct OwnError<'a> {
    pub(super) status: u16,
    /// The error's name.
    pub(super) kind: &'a str,
    pub(super) message: &'a str,
    /// The message behind its name.
    pub(super) named: &'a str,
}

/// How a provider's errors look.
pub(super) struct ErrorRow {
    /// Writes the body of an error of loomrec's own.
    pub(super) own: fn(&OwnError<'_>) -> Value,
    /// Writes the body of an error as the provider sends it.
    pub(super) natural: fn(&ErrorRequest<'_>) -> Value,
    /// The media type of [`Self::natural`].
    pub(super) media: &'static str,
    /// The header that names an error of loomrec's own.
    pub(super) kind_header: Option<&'static str>,
    /// Adds the headers that name the request, or the error.
    pub(super) identify: fn(&ErrorRequest<'_>, &mut HeaderList),
    /// Adds the headers of a limit that was reached.
    pub(super) limit: fn(&ErrorRequest<'_>, &mut HeaderList),
    /// Adds the headers that say after how many milliseconds to try again.
    pub(super) retry: fn(&ErrorRequest<'_>, u64, &mut HeaderList),
    /// Whether an error of this status says after which time to try again.
    pub(super) tells_wait: fn(u16) -> bool,
    /// The page of the gateway in front of the provider, for a 502 without words.
    pub(super) gateway_page: &'static str,
}

impl Provider {
    pub(super) const fn new(row: &'static ProviderRow) -> Self {
        Self(row)
    }

    pub(super) const fn row(self) -> &'static ProviderRow {
        self.0
    }

    /// The provider's name, as it stands in a recording.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// OpenTelemetry's name of the provider.
    pub fn semantic(self) -> Option<&'static str> {
        self.0.semantic
    }

    /// How an upstream that is not known by name is shown a key, by the shape of what it
    /// is asked.
    pub fn key_carrier(self) -> KeyCarrier {
        self.0.key_carrier
    }

    /// Whether its tool calls have ids of their own.
    pub fn has_call_ids(self) -> bool {
        self.0.call_ids
    }

    /// Whether it says with an error of this status after which time to try again.
    pub fn tells_wait(self, status: u16) -> bool {
        (self.0.errors.tells_wait)(status)
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
