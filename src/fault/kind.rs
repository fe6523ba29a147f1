//! The faults there are.

use serde_json::Value;

/// How long a call hangs where nothing else is said, in milliseconds.
pub const HANG_MS: u64 = 600_000;

/// Something that goes wrong with one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Silence, then the connection is closed with no answer.
    Timeout {
        /// For how long.
        after_ms: u64,
    },
    /// Accepted and never answered, until the client leaves.
    Hang {
        /// The connection is closed after this long.
        max_ms: u64,
    },
    /// The same, under mcptest's name for a server that is stuck.
    Wedged {
        /// The connection is closed after this long.
        max_ms: u64,
    },
    /// The true answer, late.
    Slow {
        /// By how much.
        delay_ms: u64,
    },
    /// The first calls of a key get another fault, the later ones the true answer.
    RecoverAfter {
        /// How many.
        failures: u32,
        /// What they get.
        fault: Box<Fault>,
    },
    /// An error status.
    HttpError(HttpError),
    /// 200, and a body that does not parse.
    MalformedResponse {
        /// The body; one of loomrec's where none is given.
        raw: Option<String>,
    },
    /// The answer ends early.
    StreamTruncate(Truncation),
    /// A TCP reset before a byte of answer.
    ConnectionReset,
    /// A clean close before a byte of answer.
    ConnectionDrop,
    /// The answer says that it was cut off by its length.
    PartialResponse {
        /// The text that is left of it; all of it where none is given.
        content: Option<String>,
    },
    /// The answer's tool call is broken.
    ToolCallFault {
        /// How.
        mode: ToolFault,
    },
    /// A pause in the answer.
    StreamStall {
        /// Behind what.
        after: FaultPoint,
        /// For how long; `None` until the client leaves.
        for_ms: Option<u64>,
    },
    /// The answer comes at no more than this rate.
    Throttle {
        /// The rate.
        bytes_per_second: u64,
    },
    /// The answer comes in slices that heed neither characters nor events.
    Slice {
        /// Bytes a slice.
        bytes: usize,
        /// Between two slices.
        delay_ms: u64,
    },
    /// One event of the stream is broken.
    StreamGarble {
        /// Which event, from 0.
        chunk: usize,
        /// How.
        how: GarbleKind,
    },
    /// A Content-Length that is not the body's.
    WrongLength {
        /// By how much it is more (or less).
        by: i64,
    },
    /// A body said to be gzip that does not inflate.
    BadEncoding,
    /// aimock's: 500, `chaos_drop`.
    Drop,
    /// aimock's: 200 and a body that does not parse; a stream, from some event on.
    Malformed,
    /// aimock's: the connection is destroyed.
    Disconnect,
}

/// An error status, and what is told with it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpError {
    /// The status.
    pub status_code: u16,
    /// Headers beside, or in place of, the provider's.
    pub headers: Vec<(String, String)>,
    /// The body: text as it is, anything else as JSON; the provider's own error where
    /// none is given.
    pub body: Option<Value>,
    /// The message of the provider's own error.
    pub message: Option<String>,
    /// The provider's word for the error, where it is not the usual one of the status.
    pub code: Option<String>,
    /// Seconds after which the call may be made again.
    pub retry_after: Option<f64>,
    /// The same in milliseconds, in OpenAI's and Azure's header.
    pub retry_after_ms: Option<u64>,
    /// What the SDKs of OpenAI and Anthropic are told to do.
    pub x_should_retry: Option<bool>,
}

/// Where in an answer's body something happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FaultPoint {
    /// Not said: behind the first event of a stream, in the middle of any other body.
    #[default]
    Unsaid,
    /// Behind so many chunks, as they were recorded or as they come.
    Chunks(usize),
    /// Behind so many events of a stream (those that carry something).
    Events(usize),
    /// Behind so many bytes.
    Bytes(u64),
}

/// An answer that ends early.
#[derive(Clone, Debug, PartialEq)]
pub struct Truncation {
    /// Behind what.
    pub after: FaultPoint,
    /// How.
    pub raise: TruncationEnd,
    /// The status that an error event tells of; 500 where none is given.
    pub status_code: Option<u16>,
    /// Its message.
    pub message: Option<String>,
}

/// How an answer ends early.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TruncationEnd {
    /// A TCP reset.
    #[default]
    Reset,
    /// A close without the body's terminator.
    Close,
    /// A well-ended body that lacks the stream's end marker.
    CleanEof,
    /// The provider's own error within the stream, then a well-ended body.
    ErrorEvent,
    /// Nothing more, on an open connection.
    Stall,
}

/// How a tool call is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ToolFault {
    /// The arguments are cut short.
    #[default]
    InvalidJson,
    /// The first argument is not there.
    MissingArgument,
    /// The tool has another name.
    UnknownTool,
    /// The first argument is of another type.
    WrongType,
}

/// How an event is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GarbleKind {
    /// What it carries does not parse.
    #[default]
    BrokenData,
    /// It comes twice.
    Duplicated,
    /// It and the next one change places.
    Reordered,
    /// It is not there.
    Dropped,
    /// What ends it is not there, so that it runs into the next.
    MissingTerminator,
    /// Its checksum is wrong, where the framing has one.
    Checksum,
}

impl Fault {
    /// Its type, as it is declared.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Timeout { .. } => "timeout",
            Self::Hang { .. } => "hang",
            Self::Wedged { .. } => "wedged",
            Self::Slow { .. } => "slow",
            Self::RecoverAfter { .. } => "recover_after",
            Self::HttpError(_) => "http_error",
            Self::MalformedResponse { .. } => "malformed_response",
            Self::StreamTruncate(_) => "stream_truncate",
            Self::ConnectionReset => "connection_reset",
            Self::ConnectionDrop => "connection_drop",
            Self::PartialResponse { .. } => "partial_response",
            Self::ToolCallFault { .. } => "tool_call_fault",
            Self::StreamStall { .. } => "stream_stall",
            Self::Throttle { .. } => "throttle",
            Self::Slice { .. } => "slice",
            Self::StreamGarble { .. } => "stream_garble",
            Self::WrongLength { .. } => "wrong_length",
            Self::BadEncoding => "bad_encoding",
            Self::Drop => "drop",
            Self::Malformed => "malformed",
            Self::Disconnect => "disconnect",
        }
    }

    /// Whether it needs no true answer: it stands in its place, and no upstream is
    /// asked.
    pub fn replaces(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. }
                | Self::Hang { .. }
                | Self::Wedged { .. }
                | Self::HttpError(_)
                | Self::MalformedResponse { .. }
                | Self::ConnectionReset
                | Self::ConnectionDrop
                | Self::Drop
                | Self::Disconnect
        )
    }

    /// Whether the client gets the true answer after all, whole and in order, only
    /// later or in other pieces: such a call was answered well.
    pub fn only_delays(&self) -> bool {
        matches!(
            self,
            Self::Slow { .. }
                | Self::Throttle { .. }
                | Self::Slice { .. }
                | Self::StreamStall { for_ms: Some(_), .. }
        )
    }

    /// Whether a client may get a status below 400 under it: a part of an answer at least, or
    /// a text of whoever declares it.
    pub fn may_succeed(&self) -> bool {
        match self {
            Self::RecoverAfter { .. }
            | Self::MalformedResponse { .. }
            | Self::Malformed
            | Self::StreamTruncate(_)
            | Self::PartialResponse { .. }
            | Self::ToolCallFault { .. }
            | Self::StreamStall { .. }
            | Self::StreamGarble { .. }
            | Self::Slow { .. }
            | Self::Throttle { .. }
            | Self::Slice { .. }
            | Self::WrongLength { .. }
            | Self::BadEncoding => true,
            Self::HttpError(error) => error.status_code < 400,
            Self::Timeout { .. }
            | Self::Hang { .. }
            | Self::Wedged { .. }
            | Self::ConnectionReset
            | Self::ConnectionDrop
            | Self::Drop
            | Self::Disconnect => false,
        }
    }

    /// Whether it can apply to a connection that has sent no request yet.
    pub fn needs_no_request(&self) -> bool {
        matches!(
            self,
            Self::Timeout { .. }
                | Self::Hang { .. }
                | Self::Wedged { .. }
                | Self::ConnectionReset
                | Self::ConnectionDrop
                | Self::Disconnect
        )
    }
}
