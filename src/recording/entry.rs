//! One recorded exchange.
//!
//! [`Entry::to_json`] and [`Entry::parse`] convert it to and from its form in the file. The
//! summary fields are read tolerantly, loomrec's fields strictly. Fields that are neither are kept.

mod answer;
mod client_left;
mod decode;
mod encode;
mod field;
mod question;
mod read;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::body::ResponsePayload;
pub use super::entry_field::EntryError;
use super::header_names::HeaderNames;
use super::message::RecordedMessage;
use super::request_text::{is_text_type, unpacked_text};
pub use answer::CodedBody;
pub use client_left::ClientLeft;
pub use field::{KNOWN_FIELDS, USAGE_FIELDS};
use loomrec_identity::{RequestKey, RunValues, multipart};
use loomrec_provider::{TokenUsage, ToolCall, directory};
pub use question::RecognisedRequest;
pub use read::EntryReadError;

/// The field of an entry that holds the probabilities of chaos faults.
pub const CHAOS: &str = "chaos";

/// One recorded exchange: summary fields, and the exact request and response.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The answer's text.
    pub content: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Token counts.
    pub usage: Option<TokenUsage>,
    /// Cost in US dollars; absent if the model's price is not known. Older recordings have 0.0
    /// instead.
    pub cost_usd: Option<f64>,
    /// Milliseconds from the request's arrival to the end of the answer.
    pub latency_ms: Option<f64>,
    /// The finish reason in the provider's own words.
    pub finish_reason: Option<String>,
    /// Tool calls, with their arguments as objects.
    pub tool_calls: Vec<ToolCall>,
    /// Embedding vectors of a plain entry.
    pub embeddings: Vec<Vec<f64>>,
    /// The key of its request.
    pub request_hash: Option<RequestKey>,
    /// The provider's name, a summary field.
    pub provider: Option<String>,
    /// The upstream's name.
    pub upstream: Option<String>,
    /// The scheme, host and port that it was sent to; absent if that is the upstream's public
    /// address.
    pub upstream_origin: Option<String>,
    /// The preset that it was recorded with, and its version: `claude-code 4`.
    pub preset: Option<String>,
    /// The values of its run that are in its request, such as the working directory.
    pub run_values: RunValues,
    /// The session in which it was recorded.
    pub session: Option<String>,
    /// When the request arrived: RFC 3339, UTC, microseconds. Three more digits distinguish the
    /// recorders of one run.
    pub recorded_at: Option<String>,
    /// When the answer ended: RFC 3339, UTC, microseconds. Absent if no other call of its recorder was
    /// open at the same time.
    pub ended_at: Option<String>,
    /// When its answer was edited by hand: RFC 3339, UTC, microseconds.
    pub edited_at: Option<String>,
    /// The request, without secrets.
    pub request: Option<RecordedRequest>,
    /// The response; absent in a plain entry.
    pub response: Option<RecordedResponse>,
    /// What both sides sent after the response's head, in order; none for most exchanges.
    pub messages: Vec<RecordedMessage>,
    /// How much of the answer the client got, if it left before the end of it.
    pub client_left: Option<ClientLeft>,
    /// A fault that takes the place of the response, kept unchanged.
    pub fault: Option<Value>,
    /// Fields that this version does not know, kept unchanged.
    pub extra: Map<String, Value>,
    /// Whether its text can be read in more than one way: a member occurs twice, and only the last
    /// was read.
    pub is_ambiguous: bool,
}

impl Entry {
    /// Returns the approximate number of bytes it holds: its bodies, and the texts that may be
    /// long.
    pub fn approximate_size(&self) -> usize {
        let content = self.content.as_ref().map_or(0, String::len);
        let numbers: usize = self.embeddings.iter().map(|row| 8 * row.len()).sum();
        let calls = self.tool_calls.iter().map(|call| &call.arguments);
        let messages: usize = self.messages.iter().map(|one| one.payload.as_bytes().len()).sum();
        let values = calls.chain(&self.fault).chain(self.extra.values());
        self.body_size() + messages + content + numbers + values.map(value_size).sum::<usize>()
    }
}

/// Returns the approximate number of bytes a value holds.
fn value_size(value: &Value) -> usize {
    let within = match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(value_size).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + value_size(value)).sum()
        }
    };
    within + 1
}

/// A request as recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecordedRequest {
    /// The method, in upper case.
    pub method: String,
    /// The raw path after the upstream's mount, percent-encoded as the client sent it.
    pub path: String,
    /// The raw query without credentials; empty if there was none.
    pub query: String,
    /// Allow-listed headers, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The names of headers that were sent but are not stored.
    pub other_headers: HeaderNames,
    /// The body's text, without its content encoding and after redaction.
    pub body: Bytes,
    /// The compressed bytes that are stored instead of the text: of a request without a header that
    /// names its coding, and of requests that earlier versions recorded.
    pub packed: Option<Bytes>,
}

impl RecordedRequest {
    /// Whether its query asks for server-sent events.
    pub fn asks_for_events(&self) -> bool {
        self.query.split('&').any(|parameter| parameter == "alt=sse")
    }

    /// Returns the bytes that are stored as its body.
    pub(crate) fn stored_body(&self) -> &Bytes {
        self.packed.as_ref().unwrap_or(&self.body)
    }

    /// Sets the body to one that was stored.
    pub(crate) fn set_stored_body(&mut self, stored: Bytes) {
        let text = unpacked_text(self.content_type(), &stored);
        (self.body, self.packed) = match text {
            Some(text) => (text, Some(stored)),
            None => (stored, None),
        };
    }

    /// Returns the body as it is sent again, without a content encoding: its text, unless it is a
    /// file that is compressed by itself.
    pub fn body_to_send(&self) -> &Bytes {
        let kind = self.content_type();
        let is_file = !is_text_type(kind) && multipart::boundary_range(kind).is_none();
        self.packed.as_ref().filter(|_| is_file).unwrap_or(&self.body)
    }

    /// Sets the body to this text.
    pub fn set_text(&mut self, text: Bytes) {
        (self.body, self.packed) = (text, None);
    }
}

/// A response as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedResponse {
    /// The HTTP status.
    pub status: u16,
    /// The reason phrase, if it is not the usual one of the status.
    pub reason: Option<String>,
    /// End-to-end headers in order, with names in lower case and repeats kept.
    pub headers: Vec<(String, String)>,
    /// The end-to-end fields that follow the body, in order, with names in lower case.
    pub trailers: Vec<(String, String)>,
    /// The bytes and their timing.
    pub payload: ResponsePayload,
    /// How it ended.
    pub end: ResponseEnd,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEnd {
    /// It is complete.
    Complete,
    /// The upstream cut it in this way.
    UpstreamAbort(RecordedCut),
    /// The client left, and the rest could not be drained. It is served only if the entry says how
    /// much the client got: see [`Entry::client_left`].
    ClientAbort,
    /// It was larger than the limit for copies. Never served.
    Truncated,
}

/// How a connection was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordedCut {
    /// Closed before the body's end.
    Close,
    /// A TCP reset.
    Reset,
}

impl Entry {
    /// Whether it holds an answer that a replay may serve, regardless of its fault.
    pub fn has_answer(&self) -> bool {
        match &self.response {
            Some(response) => self.can_serve(response),
            None => {
                self.content.is_some() || !self.tool_calls.is_empty() || !self.embeddings.is_empty()
            }
        }
    }

    /// Whether a replay may serve it. It must hold a response that a client got, in full or up to a
    /// known point, or a fault, or neither, as a plain entry.
    pub fn is_servable(&self) -> bool {
        match &self.response {
            Some(response) => self.fault.is_some() || self.can_serve(response),
            None => true,
        }
    }

    /// Whether it holds the part of `response` that its client got.
    fn can_serve(&self, response: &RecordedResponse) -> bool {
        match response.end {
            ResponseEnd::Complete | ResponseEnd::UpstreamAbort(_) => true,
            ResponseEnd::ClientAbort => self.client_left.is_some(),
            ResponseEnd::Truncated => false,
        }
    }
}

impl Entry {
    /// Whether it declares a fault, or rates of chaos.
    pub fn declares_fault(&self) -> bool {
        self.fault.is_some() || self.extra.contains_key(CHAOS)
    }

    /// Whether no client got anything of its answer. Such a take is served after all others of its
    /// request, and never replaces one that a client got.
    pub fn is_undelivered(&self) -> bool {
        self.client_left.is_some_and(|left| left.got_nothing(self.answer_status().unwrap_or(200)))
    }

    /// Returns the host of its provider that it was recorded at; see [`directory::provider_host`].
    pub fn provider_host(&self) -> Option<&str> {
        directory::provider_host(self.upstream.as_deref()?, self.upstream_origin.as_deref())
    }

    /// Whether a take like this never replaces one that a client got and that succeeded.
    pub fn is_lesser_take(&self) -> bool {
        self.is_failure() || self.is_undelivered()
    }
}

impl RecordedResponse {
    /// Cuts the response to what its client got. It then ends where the client left.
    pub fn cut_to(&mut self, left: ClientLeft) {
        let mut room = usize::try_from(left.bytes.unwrap_or(0)).unwrap_or(usize::MAX);
        let chunks = self.payload.chunks_mut();
        for chunk in chunks.iter_mut() {
            chunk.data.truncate(room);
            room -= chunk.data.len();
        }
        chunks.retain(|chunk| !chunk.data.is_empty());
        self.end = ResponseEnd::ClientAbort;
    }
}

impl std::fmt::Display for RecordedCut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Close => "the connection was closed before the end of the body",
            Self::Reset => "the connection was reset",
        })
    }
}

impl std::error::Error for RecordedCut {}

#[cfg(test)]
#[path = "entry_tests.rs"]
mod tests;
