//! The form of an answer: streamed or complete, and how a stream is framed. A call gets a take of
//! its own form as long as one is left.

use loomrec_provider::{Framing, RecognisedCall};
use loomrec_recording::entry::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;

/// The form that a take was recorded in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordedMode {
    /// Whether it was asked for as a stream.
    pub(super) streamed: bool,
    /// Whether its answer really is a stream.
    pub(super) is_stream: bool,
    /// Whether its answer is a success.
    success: bool,
    /// Whether a Gemini stream was asked for as events (`alt=sse`), instead of as an array of
    /// answers. Both have the same hash, but a client of one cannot read the other. `None` for any
    /// other call.
    events: Option<bool>,
}

/// The form that a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RequestedMode {
    /// A complete answer.
    Complete,
    /// A stream.
    Stream,
    /// A stream, explicitly as server-sent events.
    Events,
}

impl RequestedMode {
    /// The number of forms.
    pub(super) const COUNT: usize = 3;

    /// Returns the form that `observed` asks for.
    pub(super) fn from_request(observed: &NormalizedRequest) -> Self {
        match observed.call.streamed {
            false => Self::Complete,
            true if observed.asks_for_events() => Self::Events,
            true => Self::Stream,
        }
    }

    /// Whether it is a stream of either framing.
    pub(super) fn is_streamed(self) -> bool {
        self != Self::Complete
    }
}

impl RecordedMode {
    /// Returns the form of `entry`. `call` is what its request asks for, if the request is
    /// recorded.
    pub(super) fn from_entry(entry: &Entry, call: Option<&RecognisedCall>) -> Self {
        let is =
            |name: &str| entry.answer_media().is_some_and(|media| media.eq_ignore_ascii_case(name));
        let streamed = call.map_or_else(|| is("text/event-stream"), |call| call.streamed);
        // The first bytes of events show it, and the media types of JSON and of events. Any other
        // answer counts as what its request asked for (Ollama's lines of JSON, Bedrock's event
        // stream).
        let begins_as_events =
            |call: &RecognisedCall| Framing::begins_as_events(call.operation, &start_of(entry));
        let is_stream = match () {
            () if is("text/event-stream") || call.is_some_and(begins_as_events) => true,
            () if is("application/json") => streamed && is_array(entry),
            () => streamed,
        };
        let framed = |call: &&RecognisedCall| call.operation.streams_arrays() && call.streamed;
        let events = call.filter(framed).and_then(|_| entry.asks_for_events());
        let success = entry.has_good_status();
        Self { streamed, is_stream, success, events }
    }

    /// Whether it is the wanted form, framing included.
    pub(super) fn fits(self, wanted: RequestedMode) -> bool {
        self.streamed == wanted.is_streamed() && !self.is_framed_otherwise(wanted)
    }

    /// Whether it is a stream in the other framing. An error stays as it was recorded.
    pub(super) fn must_reframe(self, wanted: RequestedMode) -> bool {
        self.success && self.is_framed_otherwise(wanted)
    }

    /// Whether the call wants the other delivery. An error is the same in both, and so is an answer
    /// that is not what its request asked for.
    pub(super) fn must_change_mode(self, wanted: RequestedMode) -> bool {
        let streamed = wanted.is_streamed();
        self.success && self.streamed != streamed && self.is_stream != streamed
    }

    fn is_framed_otherwise(self, wanted: RequestedMode) -> bool {
        let asked = wanted == RequestedMode::Events;
        wanted.is_streamed() && self.events.is_some_and(|events| events != asked)
    }
}

/// Whether an answer is a JSON array, as Gemini's streams are. No complete answer is one.
fn is_array(entry: &Entry) -> bool {
    recorded_bytes(entry).find(|byte| !byte.is_ascii_whitespace()) == Some(b'[')
}

/// Returns the first bytes of an answer.
fn start_of(entry: &Entry) -> Vec<u8> {
    const MOST: usize = 64;
    recorded_bytes(entry).take(MOST).collect()
}

/// Returns the bytes of an answer, one after the other.
fn recorded_bytes(entry: &Entry) -> impl Iterator<Item = u8> {
    let chunks = entry.answer_chunks().unwrap_or_default().iter();
    chunks.flat_map(|chunk| chunk.data.iter().copied())
}
