//! What can be done with the answers of an operation.

use serde_json::{Map, Value};

use super::Answer;
use super::answer_draft::AnswerDraft;
use super::framing::{EventFrame, Framing};
use super::response_format::{ModeError, ResponseFormat};

/// A JSON object.
pub(super) type ObjectView = Map<String, Value>;

type Read = fn(&[u8]) -> Option<Answer>;
type ReadStream = fn(Framing, &[u8]) -> Option<Answer>;
type Merge = fn(Framing, &[u8]) -> Option<MergedStream>;
type Split = fn(&ResponseFormat<'_>, ObjectView) -> Option<Vec<EventFrame>>;
type Write = fn(&ResponseFormat<'_>, &AnswerDraft<'_>) -> Result<Value, ModeError>;

/// How the answers of one operation are read and written; what is `None` is not done.
#[derive(Clone, Copy, Default)]
pub(super) struct OperationWire {
    /// Reads a complete body; gives `None` for bytes that are no such answer.
    pub(super) read: Option<Read>,
    /// Reads a stream, or what arrived of it.
    pub(super) read_stream: Option<ReadStream>,
    /// Merges a stream into the body of the complete answer.
    pub(super) merge: Option<Merge>,
    /// Splits the body of a complete answer into the events of a stream.
    pub(super) split: Option<Split>,
    /// Writes the body of a complete answer that says what was said.
    pub(super) write: Option<Write>,
}

/// A stream's events, merged into the body that the complete answer would have had.
pub(super) struct MergedStream {
    pub(super) body: ObjectView,
    /// The stream's own end marker was there.
    pub(super) ended: bool,
    /// An error event, or an event that does not parse, was among the events.
    pub(super) failed: bool,
}
