//! The entries of a scripted call.

use bytes::Bytes;

use super::failure::ScriptFailure;
use loomrec_provider::TokenUsage;

/// One entry of a scripted call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScriptEntry {
    /// Text.
    Text(String),
    /// A tool call.
    ToolCall {
        /// Its id; `""` if one is to be made.
        id: String,
        /// The tool.
        name: String,
        /// The JSON text of the arguments, or its beginning.
        arguments: String,
    },
    /// More of a tool call's arguments.
    ToolCallDelta {
        /// The index of the call's entry.
        call: usize,
        /// The text that follows.
        text: String,
    },
    /// Tokens used.
    Usage(TokenUsage),
    /// Bytes of the stream, unchanged.
    RawChunk(Bytes),
    /// The finish reason. It ends the answer.
    Finish(String),
    /// An error. It ends a complete answer; in a stream, entries may follow.
    Error(ScriptFailure),
    /// Milliseconds before the next entry.
    Delay(f64),
    /// The model that the answer names.
    Model(String),
    /// The id of the request, for the provider's own header.
    RequestId(String),
}

impl ScriptEntry {
    /// Whether entries after it are never sent.
    pub(super) fn is_last(&self) -> bool {
        match self {
            Self::Finish(_) => true,
            Self::Error(failure) => failure.ends_stream(),
            _ => false,
        }
    }
}

/// The phase in which the first calls fail, as if the provider were busy for a moment.
#[derive(Debug)]
pub(super) struct RetryPhase {
    /// The first call that does not fail.
    pub(super) until: u64,
    /// What these calls get.
    pub(super) failure: ScriptFailure,
}
