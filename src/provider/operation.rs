//! What a request asks for, and all that is known of it: a row in its provider's folder.
//! [`super::table`] lists the providers.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde_json::{Map, Value};

use super::answer::Answer;
use super::answer_draft::{AnswerDraft, FinishWords};
use super::answer_form::{ModeError, TranscriptFormat, VectorTypes};
use super::answer_shape::AnswerShape;
use super::conversation::Conversation;
use super::framing::{EventFrame, Framing};
use loomrec_identity::Json;

/// A JSON object.
pub(super) type ObjectView = Map<String, Value>;

/// What a request asks for. What is known of it is its row.
#[derive(Clone, Copy)]
pub struct Operation(&'static OperationRow);

/// What a request asks of the form of its answer.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFormat<'a> {
    /// The operation.
    pub operation: Operation,
    /// The upstream's name: it tells apart those that share a shape.
    pub upstream: &'a str,
    /// The model asked for.
    pub model: Option<&'a str>,
    /// How its streams are framed.
    pub framing: Framing,
    /// Whether a stream is to tell its usage, where that is a choice
    /// (`stream_options.include_usage`).
    pub usage: bool,
    /// Whether vectors are asked for in base64 (`encoding_format`).
    pub base64: bool,
    /// Of what types vectors are asked for (Cohere's `embedding_types`).
    pub vectors: VectorTypes,
    /// How many texts vectors are asked for of, where that can be told.
    pub inputs: Option<usize>,
    /// How many choices are asked for: without an end marker, a stream of fewer was cut.
    pub choices: usize,
    /// What form a transcription is asked for in (`response_format`).
    pub transcript: TranscriptFormat,
    /// What the call's key is formed over
    /// ([`RecognisedCall::target`](super::RecognisedCall::target)): for many operations the
    /// path, which can say more of the form than the operation does.
    pub target: Option<&'a str>,
}

/// An error in the middle of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamError<'a> {
    /// What the call asked for.
    pub asked: &'a ResponseFormat<'a>,
    /// The status that the error would have had as the call's own answer.
    pub status: u16,
    /// The provider's word for it; made from the status where none is given.
    pub kind: Option<&'a str>,
    /// What the error says.
    pub message: &'a str,
    /// The event's number, for streams whose events are numbered.
    pub place: u64,
}

type Read = fn(&[u8]) -> Option<Answer>;
type ReadText = fn(&str, &[u8]) -> Option<Answer>;
type ReadStream = fn(Framing, &[u8]) -> Option<Answer>;
type Merge = fn(Framing, &[u8]) -> Option<MergedStream>;
type Split = fn(&ResponseFormat<'_>, ObjectView) -> Option<Vec<EventFrame>>;
type Write = fn(&ResponseFormat<'_>, &AnswerDraft<'_>) -> Result<Value, ModeError>;

/// What is known of an operation: how it is named, and how its requests and answers are
/// read and written. What is `None` is not done.
pub(super) struct OperationRow {
    /// A name for people, as the provider's own documentation has it.
    pub(super) name: &'static str,
    /// A word for tables and JSON.
    pub(super) word: &'static str,
    /// OpenTelemetry's name of the operation, or the word where it has none; `None` where
    /// no model is asked.
    pub(super) semantic: Option<&'static str>,
    /// Whether `stream`, `stream_options` and `alt` only choose how the answer is
    /// delivered, and so are no part of its identity.
    pub(super) delivery: bool,
    /// Whether no tokens are charged.
    pub(super) is_free: bool,
    /// The framing of the streams that a request with this raw query and target asks for.
    pub(super) framing: fn(&str, Option<&str>) -> Framing,
    /// Whether a stream may come as one JSON array.
    pub(super) streams_arrays: bool,
    /// How many choices a request asks for, where it says.
    pub(super) choices: fn(&Json<'_>) -> Option<usize>,
    /// How many texts a request wants vectors of; `None` for operations without vectors.
    pub(super) inputs: Option<fn(&Json<'_>) -> Option<usize>>,
    /// The form that a transcription is asked for in.
    pub(super) transcript: fn(&[u8]) -> TranscriptFormat,
    /// Whether the texts that vectors are wanted of are the request's `input`, and each
    /// vector is the `embedding` of one of the answer's `data`.
    pub(super) embeds_input: bool,
    /// The conversation that a request holds; `None` for a body that holds none.
    pub(super) conversation: Option<fn(&ObjectView) -> Option<Conversation>>,
    /// Reads a complete body that is no JSON, by its media type.
    pub(super) read_text: Option<ReadText>,
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
    /// The name of a stream's first event, where events have names.
    pub(super) first_event: Option<&'static str>,
    /// Writes the event by which a stream tells of an error.
    pub(super) stream_error: fn(&StreamError<'_>) -> EventFrame,
    /// Where a complete answer says what; `None` for a body that says nothing in words.
    pub(super) shape: fn(&Value) -> Option<&'static AnswerShape>,
    /// Why an answer ended, in the operation's words.
    pub(super) finish: Option<&'static FinishWords>,
    /// The names of the token counts in an answer.
    pub(super) usage_names: UsageNames,
}

/// The names that an answer gives its token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageNames {
    /// Of the input.
    pub input: &'static str,
    /// Of the output.
    pub output: &'static str,
    /// Of both, where it is told.
    pub total: Option<&'static str>,
}

/// A stream's events, merged into the body that the complete answer would have had.
pub(super) struct MergedStream {
    pub(super) body: ObjectView,
    /// The stream's own end marker was there.
    pub(super) ended: bool,
    /// An error event, or an event that does not parse, was among the events.
    pub(super) failed: bool,
}

impl Operation {
    pub(super) const fn new(row: &'static OperationRow) -> Self {
        Self(row)
    }

    pub(super) const fn row(self) -> &'static OperationRow {
        self.0
    }

    /// A name for people, as the provider's own documentation has it.
    pub fn name(self) -> &'static str {
        self.0.name
    }

    /// The same, where it is one that is known.
    pub fn known(self) -> Option<&'static str> {
        (self != Self::OTHER).then(|| self.name())
    }

    /// A word for tables and JSON.
    pub fn as_str(self) -> &'static str {
        self.0.word
    }

    /// OpenTelemetry's name of the operation, or its word where the conventions have none;
    /// `None` where no model is asked.
    pub fn semantic(self) -> Option<&'static str> {
        self.0.semantic
    }

    /// Whether no tokens are charged for its answers.
    pub fn is_free(self) -> bool {
        self.0.is_free
    }

    /// Whether its answers are vectors.
    pub fn makes_vectors(self) -> bool {
        self.0.inputs.is_some()
    }

    /// Whether its answers may be text that is no JSON.
    pub fn may_be_text(self) -> bool {
        self.0.read_text.is_some()
    }

    /// Whether its streams may come as one JSON array.
    pub fn streams_arrays(self) -> bool {
        self.0.streams_arrays
    }

    /// Whether the texts that vectors are wanted of are the request's `input`, and each
    /// vector is the `embedding` of one of the answer's `data`.
    pub fn embeds_input(self) -> bool {
        self.0.embeds_input
    }

    /// The name of a stream's first event, where events have names.
    pub fn first_event(self) -> Option<&'static str> {
        self.0.first_event
    }

    /// The names of the token counts in an answer.
    pub fn usage_names(self) -> UsageNames {
        self.0.usage_names
    }

    /// Where a complete answer with this body says what; `None` where it says nothing in
    /// words.
    pub fn answer_shape(self, body: &Value) -> Option<&'static AnswerShape> {
        (self.0.shape)(body)
    }

    /// The conversation that a request with this body holds; `None` where it holds none.
    pub fn conversation(self, body: &[u8]) -> Option<Conversation> {
        let body: Value = serde_json::from_slice(body).ok()?;
        self.0.conversation?(body.as_object()?)
    }
}

impl PartialEq for Operation {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0)
    }
}

impl Eq for Operation {}

impl Hash for Operation {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.0).hash(state);
    }
}

impl fmt::Debug for Operation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.0.word)
    }
}
