//! The operations, and what is known of each: a row in its provider's folder. [`super::table`]
//! lists the providers.

use std::fmt;
use std::hash::{Hash, Hasher};

use serde_json::{Map, Value};

use super::adapter::AdapterRow;
use super::answer::Answer;
use super::answer_draft::{AnswerDraft, FinishWords};
use super::answer_form::{ModeError, TranscriptFormat, VectorTypes};
use super::answer_outcome::OutcomeRules;
use super::answer_shape::AnswerShape;
use super::conversation::Conversation;
use super::framing::{EventFrame, Framing};
use super::tool_result::FindToolResults;
use loomrec_identity::{AdapterInputs, Json, KeyReduction, ToolResultPlace};

/// A JSON object.
pub(super) type ObjectView = Map<String, Value>;

/// One kind of call that a provider offers. Its properties are in its row.
#[derive(Clone, Copy)]
pub struct Operation(&'static OperationRow);

/// The format of the answer that a request asks for.
#[derive(Clone, Copy, Debug)]
pub struct ResponseFormat<'a> {
    /// The operation.
    pub operation: Operation,
    /// The upstream's name, because upstreams with the same provider differ.
    pub upstream: &'a str,
    /// The requested model.
    pub model: Option<&'a str>,
    /// The framing of the stream.
    pub framing: Framing,
    /// Whether a stream carries its usage, if that is a choice (`stream_options.include_usage`).
    pub usage: bool,
    /// Whether vectors are requested in base64 (`encoding_format`).
    pub base64: bool,
    /// The requested types of vectors (Cohere's `embedding_types`).
    pub vectors: VectorTypes,
    /// How many texts the request sends to be embedded, if that is known.
    pub inputs: Option<usize>,
    /// How many choices are requested. A stream with fewer and without an end marker was cut.
    pub choices: usize,
    /// The requested format of a transcription (`response_format`).
    pub transcript: TranscriptFormat,
    /// The target in the call's key ([`RecognisedCall::target`](super::RecognisedCall::target)).
    /// For many operations it is the path, which can say more about the format than the operation
    /// does.
    pub target: Option<&'a str>,
}

/// An error in the middle of a stream.
#[derive(Clone, Copy, Debug)]
pub struct StreamError<'a> {
    /// The format that the call asked for.
    pub format: &'a ResponseFormat<'a>,
    /// The status that the error would have as a complete response.
    pub status: u16,
    /// The provider's word for it; derived from the status if `None`.
    pub kind: Option<&'a str>,
    /// The message.
    pub message: &'a str,
    /// The event's number, for streams whose events are numbered.
    pub place: u64,
}

/// Members of an answer, each by its path from the root. `*` is every element of an array.
pub type AddressMembers = &'static [&'static [&'static str]];

type ReadBody = fn(&[u8]) -> Option<Answer>;
type ReadText = fn(&str, &[u8]) -> Option<Answer>;
type ReadStream = fn(Framing, &[u8]) -> Option<Answer>;
type Merge = fn(Framing, &[u8]) -> Option<MergedStream>;
type Split = fn(&ResponseFormat<'_>, ObjectView) -> Option<Vec<EventFrame>>;
type WriteBody = fn(&ResponseFormat<'_>, &AnswerDraft<'_>) -> Result<Value, ModeError>;

/// The properties of an operation: its names, and the functions that read and write its requests
/// and answers. `None` means that a function is not supported.
pub(super) struct OperationRow {
    /// A name for people, as the provider's own documentation has it.
    pub(super) name: &'static str,
    /// A word for tables and JSON.
    pub(super) word: &'static str,
    /// OpenTelemetry's name of the operation, or the word if it has none; `None` if no model is
    /// called.
    pub(super) semantic: Option<&'static str>,
    /// Whether `stream`, `stream_options` and `alt` only choose the mode of delivery, so that the
    /// key leaves them out.
    pub(super) delivery: bool,
    /// Whether earlier versions did not know the operation, and so made other keys of its calls.
    pub(super) was_unknown: bool,
    /// What keys leave out of its requests, beside rules.
    pub(super) reduction: Option<&'static KeyReduction>,
    /// Whether the operation is free of charge.
    pub(super) is_free: bool,
    /// Whether a request that names no model asks none, and so is free of charge.
    pub(super) is_free_unnamed: bool,
    /// Whether it calls tools, so that answers are their results.
    pub(super) has_tool_results: bool,
    /// The framing of the streams for a request with this raw query and target.
    pub(super) framing: fn(&str, Option<&str>) -> Framing,
    /// Whether a stream may come as one JSON array.
    pub(super) streams_arrays: bool,
    /// How many choices a request asks for, if it says so.
    pub(super) choices: fn(&Json<'_>) -> Option<usize>,
    /// How many texts a request sends to be embedded; `None` for operations without vectors.
    pub(super) inputs: Option<fn(&Json<'_>) -> Option<usize>>,
    /// The requested format of a transcription.
    pub(super) transcript: fn(&[u8]) -> TranscriptFormat,
    /// Whether the texts to embed are the request's `input`, and each vector is the `embedding` of
    /// an element of the answer's `data`.
    pub(super) embeds_input: bool,
    /// The conversation in a request's body; its result is `None` for a body without one.
    pub(super) conversation: Option<fn(&ObjectView) -> Option<Conversation>>,
    /// The places of the results of tools whose calls are in the same request.
    pub(super) tool_results: Option<FindToolResults>,
    /// How the requests of an adapter are read back.
    pub(super) adapter: Option<&'static AdapterRow>,
    /// Reads a complete body that is not JSON, by its media type.
    pub(super) read_text: Option<ReadText>,
    /// Reads a complete body; returns `None` for bytes that are not such an answer.
    pub(super) read: Option<ReadBody>,
    /// Reads a stream, or what arrived of it.
    pub(super) read_stream: Option<ReadStream>,
    /// Whether an event of a stream carries a piece of the answer's text.
    pub(super) event_has_text: fn(&Value) -> bool,
    /// Merges a stream into the body of the complete answer.
    pub(super) merge: Option<Merge>,
    /// Splits the body of a complete answer into the events of a stream.
    pub(super) split: Option<Split>,
    /// Writes the body of a complete answer from its content.
    pub(super) write: Option<WriteBody>,
    /// The name of a stream's first event, if events have names.
    pub(super) first_event: Option<&'static str>,
    /// Writes the event for an error in a stream.
    pub(super) stream_error: fn(&StreamError<'_>) -> EventFrame,
    /// The places of content in a complete answer; `None` for a body without text.
    pub(super) shape: fn(&Value) -> Option<&'static AnswerShape>,
    /// The operation's finish reasons.
    pub(super) finish: Option<&'static FinishWords>,
    /// The names of the token counts in an answer.
    pub(super) usage_names: UsageNames,
    /// How its answers end and fail.
    pub(super) outcome: OutcomeRules,
    /// The members of complete answers that hold an address of the API itself, to which clients
    /// send a request.
    pub(super) addresses: AddressMembers,
}

/// The names that an answer gives its token counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UsageNames {
    /// The name of the input count.
    pub input: &'static str,
    /// The name of the output count.
    pub output: &'static str,
    /// The name of their total, if there is one.
    pub total: Option<&'static str>,
}

/// A stream's events, merged into the body of the complete answer.
pub(super) struct MergedStream {
    pub(super) body: ObjectView,
    /// Whether the stream came to its own end.
    pub(super) ended: bool,
    /// Whether there was an error event, or an event that does not parse.
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

    /// Its name, unless it is [`Self::OTHER`].
    pub fn known_name(self) -> Option<&'static str> {
        (self != Self::OTHER).then(|| self.name())
    }

    /// A word for tables and JSON.
    pub fn as_str(self) -> &'static str {
        self.0.word
    }

    /// OpenTelemetry's name of the operation, or its word if the conventions have none; `None` if
    /// no model is called.
    pub fn semantic_name(self) -> Option<&'static str> {
        self.0.semantic
    }

    /// Whether earlier versions did not know the operation, and so made other keys of its calls.
    pub fn was_unknown(self) -> bool {
        self.0.was_unknown
    }

    /// Whether the operation is free of charge.
    pub fn is_free(self) -> bool {
        self.0.is_free
    }

    /// Whether a request that names no model asks none, and so is free of charge.
    pub fn is_free_unnamed(self) -> bool {
        self.0.is_free_unnamed
    }

    /// Whether answers are results of tools, as their server sends them.
    pub fn has_tool_results(self) -> bool {
        self.0.has_tool_results
    }

    /// Whether its answers are vectors.
    pub fn makes_vectors(self) -> bool {
        self.0.inputs.is_some()
    }

    /// Whether its answers may be text that is not JSON.
    pub fn may_be_text(self) -> bool {
        self.0.read_text.is_some()
    }

    /// Whether its streams may come as one JSON array.
    pub fn streams_arrays(self) -> bool {
        self.0.streams_arrays
    }

    /// Whether the texts to embed are the request's `input`, and each vector is the `embedding` of
    /// an element of the answer's `data`.
    pub fn embeds_input(self) -> bool {
        self.0.embeds_input
    }

    /// The name of a stream's first event, if events have names.
    pub fn first_event(self) -> Option<&'static str> {
        self.0.first_event
    }

    /// The names of the token counts in an answer.
    pub fn usage_names(self) -> UsageNames {
        self.0.usage_names
    }

    /// The places of content in a complete answer with this body; `None` if it has no text.
    pub fn answer_shape(self, body: &Value) -> Option<&'static AnswerShape> {
        (self.0.shape)(body)
    }

    /// The headers that the adapter sends and that keys are made of; `None` if it has no
    /// adapter for this operation.
    pub fn adapter_headers(self) -> Option<&'static [(&'static str, &'static str)]> {
        self.0.adapter.map(|adapter| adapter.headers)
    }

    /// What the adapter can have been given to send this body for this model; `None` if it
    /// cannot have sent it.
    pub fn adapter_inputs<'a>(
        self,
        body: &'a Json<'a>,
        model: &'a str,
    ) -> Option<AdapterInputs<'a>> {
        (self.0.adapter?.inputs)(body, model)
    }

    /// The conversation in a request with this body; `None` if there is none.
    pub fn read_conversation(self, body: &[u8]) -> Option<Conversation> {
        let body: Value = serde_json::from_slice(body).ok()?;
        self.0.conversation?(body.as_object()?)
    }

    /// The places of the results of tools in a request with this body, if the request also has the
    /// calls that they are the results of.
    pub fn tool_results(self, body: &Json<'_>) -> Vec<ToolResultPlace> {
        self.0.tool_results.map_or_else(Vec::new, |find| find(body))
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
