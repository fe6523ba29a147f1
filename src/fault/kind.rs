//! The types of faults.

use serde_json::Value;

use super::tool_fault::{ToolCallChange, ToolResultMode};
use super::truncation::{FaultPoint, Truncation, TruncationEnd};

/// The default time for which a call hangs, in milliseconds.
pub const HANG_MS: u64 = 600_000;

/// A fault: what goes wrong with one call.
#[derive(Clone, Debug, PartialEq)]
pub enum Fault {
    /// Sends nothing, then closes the connection without an answer.
    Timeout {
        /// For how long it sends nothing, in milliseconds.
        after_ms: u64,
    },
    /// Accepts the call and never answers it, until the client leaves.
    Hang {
        /// The connection is closed after this many milliseconds.
        max_ms: u64,
    },
    /// The same as `Hang`, under the name of a server that is stuck.
    Wedged {
        /// The connection is closed after this many milliseconds.
        max_ms: u64,
    },
    /// Delays the true answer.
    Slow {
        /// By how many milliseconds.
        delay_ms: u64,
    },
    /// Gives the first calls of a key, or of an upstream, another fault, and the later ones the true
    /// answer.
    RecoverAfter {
        /// How many calls get the fault.
        failures: u32,
        /// What is counted.
        per: CountPer,
        /// The fault that they get.
        fault: Box<Fault>,
    },
    /// Sends an error status.
    HttpError(HttpError),
    /// Sends a 200 with a body that does not parse.
    MalformedResponse {
        /// The body; if `None`, a default.
        raw: Option<String>,
    },
    /// Ends the answer early.
    StreamTruncate(Truncation),
    /// Resets the TCP connection before a byte of the answer.
    ConnectionReset,
    /// Closes the connection cleanly before a byte of the answer.
    ConnectionDrop,
    /// Makes the answer say that it was cut off by its length.
    PartialResponse {
        /// The text that the answer keeps; if `None`, all of it.
        content: Option<String>,
    },
    /// Changes the answer's tool call.
    ToolCallFault {
        /// How it is changed.
        change: ToolCallChange,
    },
    /// Breaks the result of a tool, as its server sends it.
    ToolResultFault {
        /// How it is broken.
        mode: ToolResultMode,
        /// The text of a tool that failed; if `None`, a default.
        message: Option<String>,
    },
    /// Pauses the answer.
    StreamStall {
        /// Where the pause comes.
        after: FaultPoint,
        /// For how many milliseconds; if `None`, until the client leaves.
        for_ms: Option<u64>,
    },
    /// Sends the answer at a limited rate.
    Throttle {
        /// The highest rate.
        bytes_per_second: u64,
    },
    /// Sends the answer in slices that may split characters and events.
    Slice {
        /// Bytes per slice.
        bytes: usize,
        /// Milliseconds between two slices.
        delay_ms: u64,
    },
    /// Breaks one event of the stream.
    StreamGarble {
        /// The index of the event, from 0.
        chunk: usize,
        /// How it is broken.
        how: GarbleKind,
    },
    /// Announces a Content-Length that is not the body's.
    WrongLength {
        /// By how much it is larger; smaller if negative.
        by: i64,
    },
    /// Announces a body as gzip that does not inflate.
    BadEncoding,
    /// Sends a 500 with the code `chaos_drop`.
    Drop,
    /// Sends a 429 with the code `chaos_ratelimit`.
    RateLimit,
    /// Sends a 200 with a body that does not parse.
    Malformed {
        /// Whether the body replaces a stream too. Otherwise a stream breaks from some event on.
        whole: bool,
    },
    /// Destroys the connection.
    Disconnect,
}

/// Among which calls it is counted how often a fault happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountPer {
    /// The calls of a key, or of a step if the rule names steps.
    #[default]
    Key,
    /// The calls of an upstream, whatever they ask.
    Upstream,
    /// All calls of a run, or of a session.
    Run,
}

impl CountPer {
    /// The words, and their meaning.
    pub(super) const WORDS: [(&'static str, Self); 3] =
        [("key", Self::Key), ("upstream", Self::Upstream), ("run", Self::Run)];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Upstream => "upstream",
            Self::Run => "run",
        }
    }
}

/// An error status, and its headers and body.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HttpError {
    /// The status.
    pub status_code: u16,
    /// Headers to add to the provider's own, or to replace them.
    pub headers: Vec<(String, String)>,
    /// The body: a string as it is, anything else as JSON. If `None`, the provider's own error.
    pub body: Option<Value>,
    /// The message of the provider's own error.
    pub message: Option<String>,
    /// The provider's code for the error, if it is not the usual one of the status.
    pub code: Option<String>,
    /// Seconds after which the client may retry.
    pub retry_after: Option<f64>,
    /// The same in milliseconds, for the header of OpenAI and Azure.
    pub retry_after_ms: Option<u64>,
    /// The header that makes the SDKs of OpenAI and Anthropic retry or not.
    pub x_should_retry: Option<bool>,
}

/// How an event is broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GarbleKind {
    /// Its data does not parse.
    #[default]
    BrokenData,
    /// It is sent twice.
    Duplicated,
    /// It changes places with the next event.
    Reordered,
    /// It is left out.
    Dropped,
    /// Its terminator is missing, so that it runs into the next event.
    MissingTerminator,
    /// Its checksum is wrong, if the framing has one.
    Checksum,
}

impl Fault {
    /// The name of its type, as it is declared.
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
            Self::ToolResultFault { .. } => "tool_result_fault",
            Self::StreamStall { .. } => "stream_stall",
            Self::Throttle { .. } => "throttle",
            Self::Slice { .. } => "slice",
            Self::StreamGarble { .. } => "stream_garble",
            Self::WrongLength { .. } => "wrong_length",
            Self::BadEncoding => "bad_encoding",
            Self::Drop => "drop",
            Self::RateLimit => "rate_limit",
            Self::Malformed { .. } => "malformed",
            Self::Disconnect => "disconnect",
        }
    }

    /// Whether it replaces the true answer, so that no upstream is called.
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
                | Self::RateLimit
                | Self::Malformed { whole: true }
                | Self::ToolResultFault { mode: ToolResultMode::ServerDies, .. }
                | Self::Disconnect
        )
    }

    /// Whether it changes what the answer says, so that the whole answer is read first.
    pub fn rewrites(&self) -> bool {
        matches!(
            self,
            Self::PartialResponse { .. }
                | Self::ToolCallFault { .. }
                | Self::ToolResultFault { .. }
        )
    }

    /// Whether it depends on the answer whether it can happen.
    pub fn depends_on_answer(&self) -> bool {
        match self {
            Self::RecoverAfter { fault, .. } => fault.depends_on_answer(),
            // In the uniform form, the stream of an upstream passes, and only tools have results.
            Self::Malformed { .. } | Self::ToolResultFault { .. } => true,
            Self::Slow { .. } => false,
            other => !other.replaces(),
        }
    }

    /// Returns for how many milliseconds a client hears nothing, if that is what the fault does.
    pub fn silence_ms(&self) -> Option<u64> {
        match self {
            Self::Hang { max_ms: ms }
            | Self::Wedged { max_ms: ms }
            | Self::Timeout { after_ms: ms }
            | Self::Slow { delay_ms: ms } => Some(*ms),
            _ => None,
        }
    }

    /// Whether the client still gets the true answer, whole and in order, only later or in other
    /// pieces. Such a call counts as answered well.
    pub fn only_delays(&self) -> bool {
        matches!(
            self,
            Self::Slow { .. }
                | Self::Throttle { .. }
                | Self::Slice { .. }
                | Self::StreamStall { for_ms: Some(_), .. }
        )
    }

    /// The exception that it names, as Python calls it.
    pub fn exception_name(&self) -> Option<&'static str> {
        match self {
            Self::StreamTruncate(truncation) => truncation.exception,
            _ => None,
        }
    }

    /// Whether it ends the answer with the provider's own error.
    pub fn ends_in_error_event(&self) -> bool {
        matches!(self, Self::StreamTruncate(Truncation { raise: TruncationEnd::ErrorEvent, .. }))
    }

    /// Moves the place in the answer where it happens to the one that is used if none is given.
    pub fn move_to_default_point(&mut self) {
        if let Self::StreamTruncate(Truncation { after, .. }) | Self::StreamStall { after, .. } =
            self
        {
            *after = FaultPoint::Default;
        }
    }

    /// Counts only events that carry text, where the place is given as a number of chunks.
    pub fn count_chunks_by_text(&mut self) {
        if let Self::StreamTruncate(Truncation { after, .. }) | Self::StreamStall { after, .. } =
            self
            && let FaultPoint::Chunks(count) = *after
        {
            *after = FaultPoint::TextEvents(count);
        }
    }

    /// Whether the client may get a status below 400: at least a part of the true answer, or a body
    /// that the fault declares.
    pub fn may_succeed(&self) -> bool {
        match self {
            Self::RecoverAfter { .. }
            | Self::MalformedResponse { .. }
            | Self::Malformed { .. }
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
            Self::ToolResultFault { mode, .. } => *mode != ToolResultMode::ServerDies,
            Self::HttpError(error) => error.status_code < 400,
            Self::Timeout { .. }
            | Self::Hang { .. }
            | Self::Wedged { .. }
            | Self::ConnectionReset
            | Self::ConnectionDrop
            | Self::Drop
            | Self::RateLimit
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
