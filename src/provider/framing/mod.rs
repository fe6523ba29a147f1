//! The framings of streams: how events are encoded in bytes, and found in them.
//!
//! [`events`] iterates over a buffer in any framing; [`Framing::write_events`] encodes events. What
//! a stream's events say is up to the reader and writer of each operation.

mod array;
mod buffer_events;
mod event;
mod event_splitter;
mod event_stream;
mod json_lines;
mod split_state;
mod sse;

pub use buffer_events::{BufferEvents, event_stream_messages, events, sse_lines};
pub use event::{EventFrame, StreamEvent};
pub use event_splitter::EventSplitter;
pub(crate) use event_stream::is_message_start as is_event_stream;
pub use event_stream::{BufferMessage, unchanged_ends};
pub use split_state::{EventEnd, OpenEvent};

/// The way in which a stream separates its events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON value per line, as Ollama sends them.
    Lines,
    /// The elements of one JSON array, as Gemini sends them without `alt=sse`.
    Array,
    /// AWS's `application/vnd.amazon.eventstream`.
    EventStream,
}

/// The media types of streams.
const MEDIA: [(&str, Framing); 6] = [
    ("text/event-stream", Framing::Sse),
    ("application/x-ndjson", Framing::Lines),
    ("application/ndjson", Framing::Lines),
    ("application/jsonl", Framing::Lines),
    ("application/stream+json", Framing::Lines),
    ("application/vnd.amazon.eventstream", Framing::EventStream),
];

impl Framing {
    /// The framing for a media type (without parameters, in any case); `None` for all others, such
    /// as `application/json`.
    pub fn of_media(media: &str) -> Option<Self> {
        let named = MEDIA.iter().find(|(known, _)| media.eq_ignore_ascii_case(known));
        named.map(|(_, framing)| *framing)
    }

    /// The value of `content-type` for a stream of this framing.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Sse => "text/event-stream; charset=utf-8",
            Self::Lines => "application/x-ndjson",
            Self::Array => "application/json; charset=UTF-8",
            Self::EventStream => "application/vnd.amazon.eventstream",
        }
    }

    /// The bytes of a whole stream, one chunk per event.
    pub fn write_events(self, frames: &[EventFrame]) -> Vec<Vec<u8>> {
        match self {
            Self::Sse => frames.iter().map(sse::write_event).collect(),
            Self::Lines => frames.iter().map(json_lines::write_event).collect(),
            Self::Array => array::write_events(frames),
            Self::EventStream => frames.iter().map(event_stream::write_event).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Operation;

    #[test]
    fn a_media_type_names_its_framing_in_any_case() {
        assert_eq!(Framing::of_media("Text/Event-Stream"), Some(Framing::Sse));
        assert_eq!(Framing::of_media("application/X-NDJSON"), Some(Framing::Lines));
        assert_eq!(Framing::of_media("application/json"), None);
        let array = |operation| Framing::from_answer(operation, "Application/JSON", b" [{}]");
        assert_eq!(array(Operation::GENERATE_CONTENT), Some(Framing::Array));
        assert_eq!(array(Operation::MESSAGES), None);
    }

    #[test]
    fn an_event_is_one_line_for_every_reader_whatever_ends_a_line_elsewhere() {
        let data = json!({ "a": "x\u{85}y\u{2028}z\u{2029}\u{b}\u{1e}\n\r" });
        for framing in [Framing::Sse, Framing::Lines] {
            let bytes = framing.write_events(&[EventFrame::unnamed(data.clone())]).concat();
            let text = std::str::from_utf8(&bytes).unwrap();
            let ends = ['\r', '\u{b}', '\u{c}', '\u{1c}', '\u{1d}', '\u{1e}', '\u{85}'];
            assert!(!text.contains(ends) && !text.contains(['\u{2028}', '\u{2029}']), "{text:?}");
            assert_eq!(text.trim_end_matches('\n').lines().count(), 1, "{text:?}");
            assert_eq!(events(framing, &bytes).next().unwrap().json_data(), Some(data.clone()));
        }
    }
}
