//! How the events of a stream are put into bytes, and found there again.
//!
//! [`events`] walks over a buffer of any framing; [`Framing::write`] puts events into
//! bytes. What a stream's events say is the business of each operation's own reader
//! and writer.

mod array;
mod event_stream;
mod lines;
pub(super) mod sse;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

use super::Operation;
pub use event_stream::{Message, kept, messages};

/// A way to put the events of a stream into bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// A JSON value a line, as Ollama sends them.
    Lines,
    /// The elements of one JSON array, as Gemini sends them without `alt=sse`.
    Array,
    /// AWS's `application/vnd.amazon.eventstream`.
    EventStream,
}

/// One event of a stream, in its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// Its exact bytes, in the buffer.
    pub range: Range<usize>,
    /// Its type, where the framing carries one: the value of its last `event:` line,
    /// or the header `:event-type`, or that of an exception.
    pub name: Option<&'a str>,
    /// What it carries; `None` where it carries nothing (a comment, a stray blank line).
    pub data: Option<Cow<'a, [u8]>>,
    /// Whether its end was there; only a buffer's last event can lack it.
    pub finished: bool,
    /// Whether the framing itself says that this is an error, or that its bytes were
    /// changed on the way (a checksum).
    pub failed: bool,
}

impl Event<'_> {
    /// The data as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(self.data.as_deref()?).ok()
    }

    /// Whether the data is OpenAI's end marker, `[DONE]`.
    pub fn is_done(&self) -> bool {
        self.data.as_deref().is_some_and(|data| data.trim_ascii() == b"[DONE]")
    }
}

/// An event that is to be put into bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Its type, for framings that carry one, where the stream names its events.
    pub name: Option<&'static str>,
    /// What it carries; `None` stands for `[DONE]`.
    pub data: Option<Value>,
    /// Whether it is an exception, for framings that tell these from events.
    pub exception: bool,
}

impl Frame {
    /// An event without a type.
    pub(super) fn unnamed(data: Value) -> Self {
        Self { name: None, data: Some(data), exception: false }
    }

    /// An event of a type.
    pub(super) fn named(name: &'static str, data: Value) -> Self {
        Self { name: Some(name), data: Some(data), exception: false }
    }

    /// An exception of a type, which ends the stream.
    pub fn exception(name: &'static str, data: Value) -> Self {
        Self { name: Some(name), data: Some(data), exception: true }
    }

    /// OpenAI's end marker.
    pub(super) fn done() -> Self {
        Self { name: None, data: None, exception: false }
    }
}

/// Walks over the events of a buffer, in order. An event that is cut is the last.
pub fn events(framing: Framing, bytes: &[u8]) -> Box<dyn Iterator<Item = Event<'_>> + '_> {
    match framing {
        Framing::Sse => Box::new(sse::events(bytes)),
        Framing::Lines => Box::new(lines::events(bytes)),
        Framing::Array => Box::new(array::events(bytes)),
        Framing::EventStream => Box::new(event_stream::events(bytes)),
    }
}

impl Framing {
    /// The framing that a media type (without parameters) names; `None` for one that
    /// names none, `application/json` among them.
    pub fn of_media(media: &str) -> Option<Self> {
        match media {
            "text/event-stream" => Some(Self::Sse),
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/stream+json" => Some(Self::Lines),
            "application/vnd.amazon.eventstream" => Some(Self::EventStream),
            _ => None,
        }
    }

    /// The framing of the streams that a request for `operation` with this raw query
    /// asks for.
    pub fn asked(operation: Operation, query: &str) -> Self {
        let events = || query.split('&').any(|parameter| parameter == "alt=sse");
        match operation {
            Operation::GenerateContent if !events() => Self::Array,
            Operation::OllamaChat | Operation::OllamaGenerate => Self::Lines,
            Operation::Converse | Operation::Invoke => Self::EventStream,
            _ => Self::Sse,
        }
    }

    /// The framing of an answer to such a request, by its media type and its first
    /// bytes; `None` where it is no stream.
    pub fn answered(operation: Operation, media: &str, body: &[u8]) -> Option<Self> {
        let array = operation == Operation::GenerateContent
            && media == "application/json"
            && body.trim_ascii_start().first() == Some(&b'[');
        if array { Some(Self::Array) } else { Self::of_media(media) }
    }

    /// The value of `content-type` for a stream of this framing.
    pub fn media(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream; charset=utf-8",
            Self::Lines => "application/x-ndjson",
            Self::Array => "application/json; charset=UTF-8",
            Self::EventStream => "application/vnd.amazon.eventstream",
        }
    }

    /// The bytes of a whole stream, a chunk an event.
    pub fn write(self, frames: &[Frame]) -> Vec<Vec<u8>> {
        match self {
            Self::Sse => frames.iter().map(sse::write).collect(),
            Self::Lines => frames.iter().map(lines::write).collect(),
            Self::Array => array::write(frames),
            Self::EventStream => frames.iter().map(event_stream::write).collect(),
        }
    }
}
