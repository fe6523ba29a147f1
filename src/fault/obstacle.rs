//! Why a fault that was decided for a call could not happen to its answer.

use super::rewrite::NotApplicable;

/// Why a fault could not happen to an answer. Messages read after "the fault did not happen: ".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultObstacle {
    /// There is no answer that the fault could change.
    #[error("the call has no recorded answer")]
    NoAnswer,
    /// The answer has no body by its nature.
    #[error("the answer has no body")]
    NoBody,
    /// The body has no bytes.
    #[error("the answer has no bytes")]
    Empty,
    /// The fault changes events, and the answer is not a stream of events.
    #[error("the answer is not a stream of events")]
    NoStream,
    /// The events of the answer have no checksum.
    #[error("the events of the answer have no checksum")]
    NoChecksum,
    /// The answer ends before the place, or at it.
    #[error("the answer has {has} {unit}; the {what} is at {place}")]
    TooShort {
        /// How many units the answer has.
        has: u64,
        /// What is counted.
        unit: PlaceUnit,
        /// What happens at the place: `cut`, `pause` or `broken event`.
        what: &'static str,
        /// The place.
        place: u64,
    },
    /// The message that was to come after the next one was alone.
    #[error("no message followed it within a second")]
    NoNextMessage,
    /// The event has no end that could be left out.
    #[error("the event has no terminator")]
    NoTerminator,
    /// The event is too long to be held.
    #[error("an event of the answer is larger than {mib} MiB")]
    LargeEvent {
        /// The limit.
        mib: usize,
    },
    /// Nothing can be sent in smaller pieces, or later.
    #[error("no chunk of the answer has more than {bytes} bytes")]
    SmallChunks {
        /// The bytes of a slice.
        bytes: usize,
    },
    /// The length that would be announced is the true one.
    #[error("the length that it announces is the true one")]
    TrueLength,
    /// The true length is not known when the head is sent.
    #[error("the length of a live stream is not known before its end")]
    UnknownLength,
    /// The uniform form lets a stream of an upstream pass.
    #[error("under aimock's name it lets a live stream pass")]
    LiveStream,
    /// The answer is too large to be rewritten.
    #[error("the answer is larger than {mib} MiB")]
    LargeAnswer {
        /// The limit.
        mib: usize,
    },
    /// The answer is not whole, so that it cannot be rewritten.
    #[error("the answer was cut")]
    CutAnswer,
    /// The answer has no place for the change.
    #[error(transparent)]
    NotApplicable(#[from] NotApplicable),
    /// The client left before the place.
    #[error("the client left before it")]
    ClientLeft,
}

/// What the place of a fault is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceUnit {
    /// Bytes.
    Bytes,
    /// Chunks, as they were recorded or as they come.
    Chunks,
    /// Events that carry something.
    Events,
    /// Events that carry text.
    TextEvents,
    /// Messages of a WebSocket.
    Messages,
}

impl std::fmt::Display for PlaceUnit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Bytes => "bytes",
            Self::Chunks => "chunks",
            Self::Events => "events",
            Self::TextEvents => "events with text",
            Self::Messages => "messages",
        })
    }
}
