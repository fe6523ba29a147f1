//! An exchange in the file of another tool.

use bytes::Bytes;

use super::carried_fields::CarriedFields;
use loomrec_fault::ChaosRates;
use loomrec_identity::RunValues;
use loomrec_provider::Answer;
use loomrec_recording::{Chunk, Entry, EntryError, HeaderNames, RecordedMessage, ResponseEnd};

/// An item in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundItem {
    /// An exchange.
    Exchange(Box<ForeignExchange>),
    /// A call with only the text of its answer.
    Words(Box<TextExchange>),
    /// An entry that only needs a name.
    Entry(Box<NamedEntry>),
    /// An item that cannot become an entry.
    Left(SkippedItem),
}

/// What an item counts in addition to its bodies, in bytes.
const ITEM_COST: usize = 1 << 10;

impl FoundItem {
    /// Returns roughly how many bytes it takes.
    pub fn approximate_size(&self) -> usize {
        let bodies = match self {
            Self::Exchange(exchange) => {
                let ForeignExchange { request, response, .. } = &**exchange;
                request.body.len() + response.content.approximate_size()
            }
            Self::Words(words) => {
                let TextExchange { request, .. } = &**words;
                request.body.len() * 2
            }
            Self::Entry(_) => ITEM_COST * 16,
            Self::Left(_) => 0,
        };
        bodies + ITEM_COST
    }
}

impl ResponseContent {
    /// Returns roughly how many bytes it takes.
    fn approximate_size(&self) -> usize {
        match self {
            Self::Wire(body) | Self::Plain(body) => body.len(),
            Self::Chunks(chunks) => {
                chunks.iter().map(|chunk| chunk.data.len() + ITEM_COST / 16).sum()
            }
        }
    }
}

/// An item that is left out, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedItem {
    /// Its place for people: `interaction 3`.
    pub place: String,
    /// The reason in a few words.
    pub reason: String,
    /// Whether a call is lost by leaving it out.
    pub cause: SkipCause,
}

impl SkippedItem {
    /// Returns an item that is not a call, or not one that can be replayed.
    pub fn no_call(place: String, reason: impl Into<String>) -> Self {
        Self { place, reason: reason.into(), cause: SkipCause::NoCall }
    }

    /// Returns a call that the file does not hold completely.
    pub fn damaged(place: String, reason: impl Into<String>) -> Self {
        Self { place, reason: reason.into(), cause: SkipCause::Damaged }
    }
}

/// Why an item is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipCause {
    /// It is not a call, or not one that can be replayed.
    NoCall,
    /// It is a call whose original bodies the file does not hold.
    Damaged,
}

/// A request and its response.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignExchange {
    /// Its place for people: `interaction 3`.
    pub place: String,
    /// The request.
    pub request: ForeignRequest,
    /// The response.
    pub response: ForeignResponse,
    /// When the request was sent, in any of the known formats.
    pub started: Option<String>,
    /// Milliseconds from then to the first byte of the answer.
    pub first_ms: Option<f64>,
    /// Milliseconds from then to the end of the answer.
    pub duration_ms: Option<f64>,
    /// What loomrec itself exported with it.
    pub own: Option<OwnDetails>,
    /// What both sides sent over a WebSocket after the response.
    pub messages: Vec<RecordedMessage>,
    /// The parts that the file does not hold, in a few words each.
    pub lost: Vec<&'static str>,
}

/// A request, and the text of its answer.
#[derive(Clone, Debug, PartialEq)]
pub struct TextExchange {
    /// Its place for people: `line 3`.
    pub place: String,
    /// The request.
    pub request: ForeignRequest,
    /// The answer.
    pub said: TextAnswer,
    /// What loomrec itself knows of the request.
    pub own: Option<OwnDetails>,
    /// When the request was sent, in any of the known formats.
    pub started: Option<String>,
    /// Milliseconds from then to the end of the answer.
    pub duration_ms: Option<f64>,
    /// The rates at which faults happen to the answer.
    pub chaos: Option<ChaosRates>,
    /// The parts that the file does not hold, in a few words each.
    pub lost: Vec<&'static str>,
}

/// The answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum TextAnswer {
    /// An answer.
    Answer(Answer),
    /// An error, which gets the shape of its provider.
    Error {
        /// The HTTP status.
        status: u16,
        /// The provider's name for the error.
        kind: Option<String>,
        /// Its message.
        message: Option<String>,
    },
}

/// An entry under its name in the file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedEntry {
    /// Its place: its key.
    pub place: String,
    /// The key, which may be that of a further take.
    pub key: String,
    /// The entry.
    pub entry: Entry,
    /// The parts that have another meaning now, in a few words each.
    pub lost: Vec<&'static str>,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignRequest {
    /// The method, in upper or lower case.
    pub method: String,
    /// The full URL, with scheme and query.
    pub url: String,
    /// Headers in any case, including credentials.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// The length of the body that the file states apart from the headers.
    pub size: Option<u64>,
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignResponse {
    /// The HTTP status; 0 if there was none.
    pub status: u16,
    /// The reason phrase. An empty one counts as not known, since HTTP/2 has none.
    pub reason: Option<String>,
    /// Headers in any case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub content: ResponseContent,
    /// The length of the body that the file states apart from the headers.
    pub size: Option<u64>,
    /// How it ended.
    pub end: ResponseEnd,
}

impl ForeignResponse {
    /// Returns a whole response with these bytes, and with nothing else that files state.
    pub(super) fn from_body(status: u16, headers: Vec<(String, String)>, body: Bytes) -> Self {
        let (content, end) = (ResponseContent::Wire(body), ResponseEnd::Complete);
        Self { status, reason: None, headers, content, size: None, end }
    }
}

impl ForeignExchange {
    /// Returns an exchange whose times the file does not state.
    pub(super) fn without_times(
        place: &str,
        request: ForeignRequest,
        response: ForeignResponse,
    ) -> Self {
        Self {
            place: place.to_owned(),
            request,
            response,
            started: None,
            first_ms: None,
            duration_ms: None,
            own: None,
            messages: Vec::new(),
            lost: Vec::new(),
        }
    }

    /// Returns the exchange with what its file cannot give, each named once.
    pub(super) fn with_lost(self, mut lost: Vec<&'static str>) -> Self {
        lost.sort_unstable();
        lost.dedup();
        Self { lost, ..self }
    }
}

/// A response's body.
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseContent {
    /// As it was sent, compressed if the headers say so. Some tools decode it but keep the header;
    /// this is recognised.
    Wire(Bytes),
    /// Decoded, whatever the headers say.
    Plain(Bytes),
    /// As it was sent, with boundaries and times.
    Chunks(Vec<Chunk>),
}

/// Data that loomrec's own exports add to an exchange, so that nothing is lost when it is imported
/// again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnDetails {
    /// The upstream's name.
    pub upstream: Option<String>,
    /// The scheme, host and port that it was sent to, unless that is the upstream's public address.
    pub upstream_origin: Option<String>,
    /// The values of its run.
    pub run_values: RunValues,
    /// The raw path after its mount.
    pub path: Option<String>,
    /// The session in which it was recorded.
    pub session: Option<String>,
    /// The step under which it was recorded.
    pub step: Option<String>,
    /// The names of the headers of its request that are not stored.
    pub other_headers: HeaderNames,
    /// The fields that only loomrec knows.
    pub carried: CarriedFields,
}

impl OwnDetails {
    /// Gives an entry that was made of the call what only loomrec knows of it.
    ///
    /// # Errors
    /// If a field has the wrong type.
    pub(super) fn complete_entry(self, entry: &mut Entry) -> Result<(), EntryError> {
        entry.set_unstored_headers(self.other_headers);
        self.carried.add_to(entry)
    }
}
