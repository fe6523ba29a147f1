//! An exchange as a file of another tool holds it.

use bytes::Bytes;

use crate::{Chunk, Entry, ResponseEnd};
use loomrec_provider::Answer;

/// What is found in a file, one after the other.
#[derive(Clone, Debug, PartialEq)]
pub enum FoundItem {
    /// An exchange.
    Exchange(Box<ForeignExchange>),
    /// A call of whose answer the file holds the words alone.
    Words(Box<TextExchange>),
    /// An entry that needs no more than a name.
    Entry(Box<NamedEntry>),
    /// Something that cannot become an entry.
    Left(SkippedItem),
}

/// What is left out, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedItem {
    /// Where it stands, as people find it there: `interaction 3`.
    pub place: String,
    /// Why, in a few words.
    pub reason: String,
    /// Whether a call is lost by that.
    pub cause: SkipCause,
}

impl SkippedItem {
    /// Something that is no call, or none that can be replayed.
    pub fn no_call(place: String, reason: impl Into<String>) -> Self {
        Self { place, reason: reason.into(), cause: SkipCause::NoCall }
    }

    /// A call that the file does not hold whole.
    pub fn damaged(place: String, reason: impl Into<String>) -> Self {
        Self { place, reason: reason.into(), cause: SkipCause::Damaged }
    }
}

/// What is the matter with something that is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkipCause {
    /// It is no call, or none that can be replayed.
    NoCall,
    /// It is a call whose bodies the file does not hold, or not as they were.
    Damaged,
}

/// A request and its response.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignExchange {
    /// Where it stands, as people find it there: `interaction 3`.
    pub place: String,
    /// What was asked.
    pub request: ForeignRequest,
    /// What came back.
    pub response: ForeignResponse,
    /// When the request was sent, in any of the spellings that are seen.
    pub started: Option<String>,
    /// Milliseconds from there to the first byte of the answer.
    pub first_ms: Option<f64>,
    /// Milliseconds from there to the end of the answer.
    pub duration_ms: Option<f64>,
    /// What loomrec itself wrote beside it.
    pub own: Option<OwnDetails>,
    /// What of it the file does not hold, in a few words each.
    pub lost: Vec<&'static str>,
}

/// A request, and the words of what came back.
#[derive(Clone, Debug, PartialEq)]
pub struct TextExchange {
    /// Where it stands, as people find it there: `line 3`.
    pub place: String,
    /// What was asked.
    pub request: ForeignRequest,
    /// What was said to it.
    pub said: TextAnswer,
    /// What loomrec itself knows of the request.
    pub own: Option<OwnDetails>,
    /// When the request was sent, in any of the spellings that are seen.
    pub started: Option<String>,
    /// Milliseconds from there to the end of the answer.
    pub duration_ms: Option<f64>,
    /// What of it the file does not hold, in a few words each.
    pub lost: Vec<&'static str>,
}

/// What was said to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum TextAnswer {
    /// An answer.
    Answer(Answer),
    /// An error, which gets the shape of its provider.
    Error {
        /// The HTTP status.
        status: u16,
        /// The provider's own word for it.
        kind: Option<String>,
        /// Its words.
        message: Option<String>,
    },
}

/// An entry under the name it has in its file.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedEntry {
    /// Where it stands: its key.
    pub place: String,
    /// The key, which may be that of a further take.
    pub key: String,
    /// The entry.
    pub entry: Entry,
    /// What of it has another meaning now, in a few words each.
    pub lost: Vec<&'static str>,
}

/// A request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ForeignRequest {
    /// In any case.
    pub method: String,
    /// The whole address, with scheme and query.
    pub url: String,
    /// Names in any case, credentials and all.
    pub headers: Vec<(String, String)>,
    /// The bytes.
    pub body: Bytes,
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub struct ForeignResponse {
    /// The HTTP status; 0 where there was none.
    pub status: u16,
    /// Names in any case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub content: ResponseContent,
    /// How many bytes the body has by the file's own account, beside the headers.
    pub size: Option<u64>,
    /// How it ended.
    pub end: ResponseEnd,
}

/// A response's body.
#[derive(Clone, Debug, PartialEq)]
pub enum ResponseContent {
    /// As it went over the wire, compressed where the headers say so. Some tools
    /// unpack it and leave the header, which is understood.
    Wire(Bytes),
    /// Unpacked, whatever the headers say.
    Plain(Bytes),
    /// As it went over the wire, with boundaries and times.
    Chunks(Vec<Chunk>),
}

/// What loomrec's own exports say beside an exchange, so that nothing is lost on the
/// way back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnDetails {
    /// The upstream's name.
    pub upstream: Option<String>,
    /// The raw path behind its mount.
    pub path: Option<String>,
    /// The session it was recorded in.
    pub session: Option<String>,
    /// The step it was recorded under.
    pub step: Option<String>,
}
