//! One recorded exchange.
//!
//! [`Entry::to_json`] and [`Entry::parse`] are its form in the file. AgentLoom's
//! own fields are read as tolerantly as AgentLoom reads them, ours strictly;
//! fields that neither knows are kept.

mod decode;
mod encode;
mod field;
mod read;

use bytes::Bytes;
use serde_json::{Map, Value};

use super::body::ResponsePayload;
pub use super::entry_field::EntryError;
use super::header_names::HeaderNames;
pub(crate) use field::{KNOWN, USAGE};
use loomrec_identity::RequestKey;
use loomrec_provider::{TokenUsage, ToolCall};
pub use read::EntryReadError;

/// The field of an entry that holds rates of chance, as in aimock's fixtures.
pub const CHAOS: &str = "chaos";

/// One recorded exchange: AgentLoom's summary fields, and the exact request and
/// response beside them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entry {
    /// The answer's text.
    pub content: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Token counts.
    pub usage: Option<TokenUsage>,
    /// Cost in US dollars; absent where the model's price is not known. Older recordings
    /// have 0.0 there.
    pub cost_usd: Option<f64>,
    /// Milliseconds from the request's arrival to the end of the answer.
    pub latency_ms: Option<f64>,
    /// The provider's own word.
    pub finish_reason: Option<String>,
    /// Tool calls, arguments as objects.
    pub tool_calls: Vec<ToolCall>,
    /// Embedding vectors of a plain entry.
    pub embeddings: Vec<Vec<f64>>,
    /// The key of the request that was answered.
    pub request_hash: Option<RequestKey>,
    /// The provider's name, as AgentLoom reads it.
    pub provider: Option<String>,
    /// The upstream's name.
    pub upstream: Option<String>,
    /// The session it was recorded in.
    pub session: Option<String>,
    /// When the request arrived: RFC 3339, UTC, microseconds; three more
    /// digits tell apart the recorders of one run.
    pub recorded_at: Option<String>,
    /// The request, freed of secrets.
    pub request: Option<RecordedRequest>,
    /// The response; absent in a plain AgentLoom entry.
    pub response: Option<RecordedResponse>,
    /// A fault that stands in place of the response, kept as it is.
    pub fault: Option<Value>,
    /// Fields this version does not know, kept as they are.
    pub extra: Map<String, Value>,
    /// Whether its text could be read in more than one way: a member stands there twice, and
    /// only the last was read.
    pub is_ambiguous: bool,
}

impl Entry {
    /// Whether the call failed: its answer is an error, or did not come to its end.
    pub fn is_failure(&self) -> bool {
        let failed = |response: &RecordedResponse| {
            response.status >= 400 || response.end != ResponseEnd::Complete
        };
        self.fault.is_none() && self.response.as_ref().is_some_and(failed)
    }

    /// About how many bytes it holds: its bodies, and the texts that may be long.
    pub fn weight(&self) -> usize {
        let request = self.request.as_ref().map_or(0, |request| request.body.len());
        let response = self.response.as_ref().map_or(0, |response| response.payload.len());
        let content = self.content.as_ref().map_or(0, String::len);
        let numbers: usize = self.embeddings.iter().map(|row| 8 * row.len()).sum();
        let calls = self.tool_calls.iter().map(|call| &call.arguments);
        let values = calls.chain(&self.fault).chain(self.extra.values());
        request + response + content + numbers + values.map(weight).sum::<usize>()
    }
}

/// About how many bytes a value holds.
fn weight(value: &Value) -> usize {
    let within = match value {
        Value::Null | Value::Bool(_) => 0,
        Value::Number(number) => number.as_str().len(),
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(weight).sum(),
        Value::Object(members) => {
            members.iter().map(|(name, value)| name.len() + weight(value)).sum()
        }
    };
    within + 1
}

/// A request as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedRequest {
    /// Upper case.
    pub method: String,
    /// The raw path behind the upstream's mount, percent-encoding as it came.
    pub path: String,
    /// The raw query without credentials; empty where there was none.
    pub query: String,
    /// Allow-listed headers, lower-case names.
    pub headers: Vec<(String, String)>,
    /// The names of headers that came too and are not stored.
    pub other_headers: HeaderNames,
    /// The body's bytes, after redaction.
    pub body: Bytes,
}

/// A response as recorded.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedResponse {
    /// The HTTP status.
    pub status: u16,
    /// End-to-end headers, lower-case names, in order, repeats kept.
    pub headers: Vec<(String, String)>,
    /// The bytes and their timing.
    pub payload: ResponsePayload,
    /// How it ended.
    pub end: ResponseEnd,
}

/// How a response ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResponseEnd {
    /// In full.
    Complete,
    /// The upstream cut it: how.
    UpstreamAbort(RecordedCut),
    /// The client left and the rest could not be drained; never served.
    ClientAbort,
    /// Larger than the copy's limit; never served.
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
    /// Whether it holds an answer that a replay may serve, whatever its fault.
    pub fn has_answer(&self) -> bool {
        match &self.response {
            Some(response) => {
                !matches!(response.end, ResponseEnd::ClientAbort | ResponseEnd::Truncated)
            }
            None => {
                self.content.is_some() || !self.tool_calls.is_empty() || !self.embeddings.is_empty()
            }
        }
    }

    /// Whether a replay may serve it: it holds a response that came to its own
    /// end, a fault, or, as a plain AgentLoom entry, neither.
    pub fn is_servable(&self) -> bool {
        match &self.response {
            Some(response) => {
                self.fault.is_some()
                    || !matches!(response.end, ResponseEnd::ClientAbort | ResponseEnd::Truncated)
            }
            None => true,
        }
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
