//! What a scripted call is made of.

use bytes::Bytes;

use loomrec_provider::TokenUsage;

/// One entry of a scripted call.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum ScriptEntry {
    /// Text.
    Text(String),
    /// A tool call.
    ToolCall {
        /// Its id; `""` where one is to be made.
        id: String,
        /// The tool.
        name: String,
        /// The arguments' JSON text, or the beginning of it.
        arguments: String,
    },
    /// More of a tool call's arguments.
    ToolCallDelta {
        /// The index of the call's entry.
        call: usize,
        /// What follows.
        text: String,
    },
    /// Tokens used.
    Usage(TokenUsage),
    /// Bytes of the stream, as they are.
    RawChunk(Bytes),
    /// Why the answer ends; it is over with this.
    Finish(String),
    /// An error; it is over with this.
    Error(ScriptFailure),
    /// Milliseconds before the next entry.
    Delay(f64),
}

impl ScriptEntry {
    /// Whether what stands behind it is never said.
    pub(super) fn is_last(&self) -> bool {
        matches!(self, Self::Finish(_) | Self::Error(_))
    }
}

/// An error that a call fails with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ScriptFailure {
    pub(super) status: u16,
    /// The provider's word for it.
    pub(super) kind: Option<String>,
    pub(super) message: String,
}

/// The first calls fail, as if the provider were busy for a moment.
#[derive(Debug)]
pub(super) struct RetryPhase {
    /// The first call that does not fail.
    pub(super) until: u64,
    /// What they get.
    pub(super) failure: ScriptFailure,
}
