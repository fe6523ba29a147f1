//! How an answer ends early, and the places in answers at which faults strike.

/// The place in an answer's body at which a fault strikes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultPoint {
    /// Not given: after the first event of a stream, in the middle of any other body.
    #[default]
    Default,
    /// After this many chunks, as they were recorded or as they come.
    Chunks(usize),
    /// After this many events of a stream that carry data.
    Events(usize),
    /// After this many events of a stream that carry a piece of the answer's text.
    TextEvents(usize),
    /// After this many bytes.
    Bytes(u64),
}

/// An early end of an answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Truncation {
    /// Where the answer ends.
    pub after: FaultPoint,
    /// How it ends.
    pub raise: TruncationEnd,
    /// The exception by whose name `raise` was given.
    pub exception: Option<&'static str>,
    /// The status of the error event; 500 if `None`.
    pub status_code: Option<u16>,
    /// The message of the error event.
    pub message: Option<String>,
    /// With what a WebSocket is closed; `None` for no close frame.
    pub close: Option<SocketClose>,
}

/// How an answer ends early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TruncationEnd {
    /// With a TCP reset.
    #[default]
    Reset,
    /// With a close before the body's terminator.
    Close,
    /// With a clean end of the body, but without the stream's end marker.
    CleanEof,
    /// With the provider's own error in the stream, then a clean end of the body.
    ErrorEvent,
    /// With silence on an open connection.
    Stall,
}

/// What the close frame of a WebSocket says (RFC 6455, section 5.5.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketClose {
    /// The code.
    pub code: u16,
    /// The reason; often empty.
    pub reason: String,
}

impl Default for SocketClose {
    /// The close of a peer that is done.
    fn default() -> Self {
        Self { code: 1000, reason: String::new() }
    }
}
