//! The providers' wire shapes: which operation a request asks for, what an
//! answer says, how an error looks to that provider's SDK.
//!
//! Reading is tolerant: an unknown field or event is skipped. The stored bytes
//! stay the truth; nothing here is ever served in their place unless a caller
//! asks for the other mode of delivery.
//!
//! [`recognise()`] tells what a request asks for, [`read`] what an answer says,
//! [`ended_well`] whether a stream came to its own end, [`mod@delivery`] turns a
//! stream into the complete answer and back, [`plain`] builds an answer from what
//! was said alone, [`error_body()`] writes an error in the provider's shape, and
//! [`directory`] lists the upstreams loomrec knows.

mod anthropic;
pub mod delivery;
pub mod directory;
mod doc;
mod embedding;
pub mod error_body;
mod gemini;
mod openai_chat;
mod openai_responses;
pub mod plain;
pub mod recognise;
pub mod sse;

pub use delivery::{ModeError, to_complete, to_stream};
pub use directory::{Upstream, upstream_for};
pub use error_body::{error_body, error_headers};
pub use recognise::{Seen, delivery, place, recognise};

use doc::Doc;
use serde_json::Value;

/// Deepest nesting of a tool call's arguments: the reader of the file stops at 128
/// levels, some of which are the file's own.
const DEPTH_LIMIT: usize = 100;

/// A family of wire shapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Provider {
    /// OpenAI and everything that speaks its dialect.
    OpenAi,
    /// Anthropic's Messages API.
    Anthropic,
    /// Google Gemini and Vertex.
    Gemini,
    /// AWS Bedrock runtime.
    Bedrock,
    /// Ollama's native API.
    Ollama,
    /// Cohere.
    Cohere,
    /// Nothing we know by its shape.
    Unknown,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// `/chat/completions`
    ChatCompletions,
    /// `/completions`
    Completions,
    /// `/responses`
    Responses,
    /// `/embeddings`
    Embeddings,
    /// `/messages` of Anthropic
    Messages,
    /// `/messages/count_tokens` of Anthropic
    CountTokens,
    /// `:generateContent` and `:streamGenerateContent`
    GenerateContent,
    /// `:embedContent` and `:batchEmbedContents`
    EmbedContent,
    /// `/api/chat` and `/api/generate` of Ollama
    OllamaChat,
    /// `/v2/chat` and `/v1/chat` of Cohere
    CohereChat,
    /// `/model/{id}/converse` and its kin on Bedrock
    BedrockModel,
    /// Any other method and path: forwarded and recorded all the same.
    Other,
}

/// A request, recognised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Whose wire shape it has.
    pub provider: Provider,
    /// What it asks for.
    pub operation: Operation,
    /// The model asked for: from the body, or from the path where it stands there.
    pub model: Option<String>,
    /// Whether the answer is asked for as a stream.
    pub streamed: bool,
    /// What the key is formed over when the form is tagged (see
    /// [`crate::identity::Form::Tagged`]); `None` where the form is AgentLoom's chat.
    pub target: Option<String>,
}

/// What an answer says, assembled from a complete body or a whole stream.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The text of the first choice.
    pub content: String,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
    /// Tokens, where the answer tells them.
    pub usage: Option<Usage>,
    /// The provider's own word for why it ended.
    pub finish_reason: Option<String>,
    /// The tool calls of the first choice.
    pub tool_calls: Vec<ToolCall>,
    /// Embedding vectors, for operations that return them as numbers.
    pub embeddings: Vec<Vec<f64>>,
}

/// Token counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// All input tokens, cached ones included.
    pub prompt_tokens: u64,
    /// All output tokens, reasoning included.
    pub completion_tokens: u64,
    /// Their sum, or the provider's own total.
    pub total_tokens: u64,
    /// Output tokens spent on reasoning.
    pub reasoning_tokens: u64,
    /// Input tokens read from a cache.
    pub cached_tokens: u64,
    /// Input tokens written to a cache.
    pub cache_write_tokens: u64,
}

/// One tool call.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolCall {
    /// The provider's id, or `""` where it gives none.
    pub id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments: an object; `{"_raw": "…"}` where they are not one.
    pub arguments: Value,
}

impl Provider {
    /// The provider's name, as it stands in a recording.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Bedrock => "bedrock",
            Self::Ollama => "ollama",
            Self::Cohere => "cohere",
            Self::Unknown => "unknown",
        }
    }
}

impl Operation {
    /// A name for people, as the provider's own documentation has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "Chat Completions",
            Self::Completions => "Completions",
            Self::Responses => "Responses",
            Self::Embeddings => "Embeddings",
            Self::Messages => "Messages",
            Self::CountTokens => "Count Tokens",
            Self::GenerateContent => "Generate Content",
            Self::EmbedContent => "Embed Content",
            Self::OllamaChat => "Ollama chat",
            Self::CohereChat => "Cohere chat",
            Self::BedrockModel => "a Bedrock model",
            Self::Other => "this endpoint",
        }
    }
}

impl ToolCall {
    /// A tool call whose arguments came as text, as OpenAI sends them. No text
    /// at all means no arguments; text that is not a JSON object is kept under
    /// `_raw`, so that a broken call stays visible.
    fn from_text(id: &str, name: &str, arguments: &str) -> Self {
        let arguments = match serde_json::from_str(arguments) {
            Ok(object @ Value::Object(_)) if depth(&object) <= DEPTH_LIMIT => object,
            _ if arguments.trim().is_empty() => Value::Object(serde_json::Map::new()),
            _ => serde_json::json!({ "_raw": arguments }),
        };
        Self { id: id.to_owned(), name: name.to_owned(), arguments }
    }

    /// A tool call whose arguments came as a JSON value, as Anthropic and Gemini
    /// send them.
    fn from_doc<D: Doc>(id: &str, name: &str, arguments: Option<&D>) -> Self {
        let Some(arguments) = arguments.filter(|arguments| !arguments.is_nothing()) else {
            return Self::from_text(id, name, "");
        };
        if let Some(text) = arguments.string() {
            return Self::from_text(id, name, &text);
        }
        let arguments = arguments.owned();
        if arguments.is_object() && depth(&arguments) <= DEPTH_LIMIT {
            return Self { id: id.to_owned(), name: name.to_owned(), arguments };
        }
        Self::from_text(id, name, &arguments.to_string())
    }
}

/// What an answer says, or `None` where the operation is not one that is read or
/// the bytes are not such an answer (an error body, for one).
///
/// `streamed_body` tells whether the bytes are a stream of server-sent events,
/// as their media type says. A stream that was cut gives what arrived of it.
pub fn read(operation: Operation, streamed_body: bool, bytes: &[u8]) -> Option<Answer> {
    match (operation, streamed_body) {
        (Operation::ChatCompletions | Operation::Completions, true) => openai_chat::stream(bytes),
        (Operation::ChatCompletions | Operation::Completions, false) => {
            doc::whole(bytes, |json| openai_chat::complete(json), openai_chat::complete)
        }
        (Operation::Responses, true) => openai_responses::stream(bytes),
        (Operation::Responses, false) => {
            doc::whole(bytes, |json| openai_responses::complete(json), openai_responses::complete)
        }
        (Operation::Embeddings, false) => {
            doc::whole(bytes, |json| embedding::openai(json), embedding::openai)
        }
        (Operation::Messages, true) => anthropic::stream(bytes),
        (Operation::Messages, false) => {
            doc::whole(bytes, |json| anthropic::complete(json), anthropic::complete)
        }
        (Operation::GenerateContent, true) => gemini::stream(bytes),
        (Operation::GenerateContent, false) => gemini::whole(bytes),
        (Operation::EmbedContent, false) => {
            doc::whole(bytes, |json| embedding::gemini(json), embedding::gemini)
        }
        _ => None,
    }
}

/// Whether a stream carried its own end marker: `[DONE]` or a finish reason for
/// every choice, `message_stop`, a terminal Responses event, a `finishReason`.
///
/// An error event is no end marker. Operations whose streams are not read give
/// `true`: nothing speaks against their end.
pub fn ended_well(operation: Operation, bytes: &[u8]) -> bool {
    match operation {
        Operation::ChatCompletions | Operation::Completions => {
            openai_chat::merge(bytes).is_some_and(|merged| merged.ended)
        }
        Operation::Responses => openai_responses::ended(bytes),
        Operation::Messages => anthropic::merge(bytes).is_some_and(|merged| merged.ended),
        Operation::GenerateContent => gemini::ended(bytes),
        _ => true,
    }
}

/// A stream's events, merged into the body that the complete answer would have had.
struct Merged {
    body: serde_json::Map<String, Value>,
    /// The stream's own end marker was there.
    ended: bool,
    /// An error event, or an event that does not parse, was among the events.
    failed: bool,
}

fn value(bytes: &[u8]) -> Option<Value> {
    serde_json::from_slice(bytes).ok()
}

/// How deep arrays and objects nest.
fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
