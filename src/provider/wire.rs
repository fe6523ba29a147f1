//! What can be done with the answers of an operation.

use serde_json::{Map, Value};

use super::Answer;
use super::asked::{Asked, ModeError};
use super::framing::{Frame, Framing};
use super::words::Said;

/// A JSON object.
pub(super) type Object = Map<String, Value>;

type Read = fn(&[u8]) -> Option<Answer>;
type ReadStream = fn(Framing, &[u8]) -> Option<Answer>;
type Merge = fn(Framing, &[u8]) -> Option<Merged>;
type Split = fn(&Asked<'_>, Object) -> Option<Vec<Frame>>;
type Write = fn(&Asked<'_>, &Said<'_>) -> Result<Value, ModeError>;

/// How the answers of one operation are read and written; what is `None` is not done.
#[derive(Clone, Copy, Default)]
pub(super) struct Wire {
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
pub(super) struct Merged {
    pub(super) body: Object,
    /// The stream's own end marker was there.
    pub(super) ended: bool,
    /// An error event, or an event that does not parse, was among the events.
    pub(super) failed: bool,
}
