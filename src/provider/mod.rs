//! The providers' wire shapes: which operation a request asks for, what an
//! answer says, how an error looks to that provider's SDK.
//!
//! Reading is tolerant: an unknown field or event is skipped. The stored bytes
//! stay the truth; nothing here is ever served in their place unless a caller
//! asks for the other mode of delivery.
//!
//! Each provider has a folder: what it recognises and how it writes errors in its
//! `mod.rs`, and a file for each operation that is read or written, with a `WIRE`
//! that says how. [`recognise()`] tells what a request asks for, [`read`] what an
//! answer says, [`to_complete`] and [`to_stream`] change the mode of delivery,
//! [`write()`] makes an answer of what was said alone, [`error_body()`] writes an error
//! in the provider's shape, [`natural_error()`] one of the provider's own, and
//! [`directory`] lists the upstreams loomrec knows.

mod answer_draft;
mod anthropic;
mod bedrock;
mod cohere;
pub mod credential;
pub mod directory;
mod error_body;
mod error_request;
pub mod framing;
mod gemini;
mod json_view;
mod mode;
mod ollama;
mod openai;
mod provider_error;
pub mod recognise;
mod request_head;
mod response_format;
mod stream_error;
mod synthesis;
mod table;
mod wire;

pub use directory::{KnownUpstream, upstream_for};
pub use error_body::{error_body, error_headers};
pub use error_request::ErrorRequest;
pub use framing::{EventFrame, Framing};
pub use mode::{has_ended, reframe, to_complete, to_stream, write};
pub use provider_error::{ProviderError, natural_error, natural_error_after};
pub use recognise::{delivery, mount, recognise};
pub use request_head::RequestHead;
pub use response_format::{ModeError, ResponseFormat, TranscriptFormat, VectorTypes};
pub use stream_error::stream_error;
pub use synthesis::{AnswerPart, SynthesizedEvents, synthesize, unended, whole};

use json_view::JsonView;
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
    /// `/audio/speech`
    Speech,
    /// `/audio/transcriptions` and `/audio/translations`
    Transcription,
    /// `/images/generations`, `/images/edits` and `/images/variations`
    Images,
    /// `/files` and what is below it
    Files,
    /// `/batches` and what is below it
    Batches,
    /// `/messages` of Anthropic
    Messages,
    /// `/messages/count_tokens` of Anthropic
    CountTokens,
    /// `/messages/batches` of Anthropic, and what is below it
    MessageBatches,
    /// `:generateContent` and `:streamGenerateContent`
    GenerateContent,
    /// `:embedContent` and `:batchEmbedContents`
    EmbedContent,
    /// `:countTokens`
    GeminiCountTokens,
    /// `/model/{id}/converse` and `/converse-stream` of Bedrock
    Converse,
    /// `/model/{id}/invoke` and `/invoke-with-response-stream` of Bedrock
    Invoke,
    /// `/v2/chat` and `/v1/chat` of Cohere
    CohereChat,
    /// `/v2/embed` and `/v1/embed` of Cohere
    CohereEmbed,
    /// `/v2/rerank` and `/v1/rerank`
    Rerank,
    /// `/api/chat` of Ollama
    OllamaChat,
    /// `/api/generate` of Ollama
    OllamaGenerate,
    /// `/api/embed` and `/api/embeddings` of Ollama
    OllamaEmbed,
    /// Any other method and path: forwarded and recorded all the same.
    Other,
}

/// A request, recognised.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RecognisedCall {
    /// Whose wire shape it has.
    pub provider: Provider,
    /// What it asks for.
    pub operation: Operation,
    /// The model asked for: from the body, or from the path where it stands there.
    pub model: Option<String>,
    /// Whether the answer is asked for as a stream.
    pub streamed: bool,
    /// What the key is formed over when the form is tagged (see
    /// [`crate::identity::KeyForm::Tagged`]); `None` where the form is AgentLoom's chat.
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
    pub usage: Option<TokenUsage>,
    /// The provider's own word for why it ended.
    pub finish_reason: Option<String>,
    /// The tool calls of the first choice.
    pub tool_calls: Vec<ToolCall>,
    /// Embedding vectors, for operations that return them as numbers.
    pub embeddings: Vec<Vec<f64>>,
}

/// Token counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenUsage {
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

impl TokenUsage {
    /// The input tokens in three parts: plain ones, those read from a cache, and those
    /// written to one. Their sum is that of all, whatever was told of the parts.
    pub fn input_parts(&self) -> (u64, u64, u64) {
        let cached = self.cached_tokens.min(self.prompt_tokens);
        let written = self.cache_write_tokens.min(self.prompt_tokens - cached);
        (self.prompt_tokens - cached - written, cached, written)
    }
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
    /// Every provider.
    pub const ALL: [Self; 7] = [
        Self::OpenAi,
        Self::Anthropic,
        Self::Gemini,
        Self::Bedrock,
        Self::Ollama,
        Self::Cohere,
        Self::Unknown,
    ];

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
    /// All of them.
    pub const ALL: [Self; 24] = [
        Self::ChatCompletions,
        Self::Completions,
        Self::Responses,
        Self::Embeddings,
        Self::Speech,
        Self::Transcription,
        Self::Images,
        Self::Files,
        Self::Batches,
        Self::Messages,
        Self::CountTokens,
        Self::MessageBatches,
        Self::GenerateContent,
        Self::EmbedContent,
        Self::GeminiCountTokens,
        Self::Converse,
        Self::Invoke,
        Self::CohereChat,
        Self::CohereEmbed,
        Self::Rerank,
        Self::OllamaChat,
        Self::OllamaGenerate,
        Self::OllamaEmbed,
        Self::Other,
    ];

    /// A name for people, as the provider's own documentation has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ChatCompletions => "Chat Completions",
            Self::Completions => "Completions",
            Self::Responses => "Responses",
            Self::Embeddings => "Embeddings",
            Self::Speech => "Speech",
            Self::Transcription => "Transcriptions",
            Self::Images => "Images",
            Self::Files => "Files",
            Self::Batches => "Batches",
            Self::Messages => "Messages",
            Self::CountTokens => "Count Tokens",
            Self::MessageBatches => "Message Batches",
            Self::GenerateContent => "Generate Content",
            Self::EmbedContent => "Embed Content",
            Self::GeminiCountTokens => "Gemini's Count Tokens",
            Self::Converse => "Converse",
            Self::Invoke => "a Bedrock model",
            Self::CohereChat => "Cohere chat",
            Self::CohereEmbed => "Cohere embeddings",
            Self::Rerank => "Rerank",
            Self::OllamaChat => "Ollama chat",
            Self::OllamaGenerate => "Ollama generate",
            Self::OllamaEmbed => "Ollama embeddings",
            Self::Other => "this endpoint",
        }
    }

    /// The same, where it is one that is known.
    pub fn known(self) -> Option<&'static str> {
        (self != Self::Other).then(|| self.name())
    }

    /// A word for tables and JSON.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ChatCompletions => "chat",
            Self::Completions => "completions",
            Self::Responses => "responses",
            Self::Embeddings => "embeddings",
            Self::Speech => "speech",
            Self::Transcription => "transcription",
            Self::Images => "images",
            Self::Files => "files",
            Self::Batches => "batches",
            Self::Messages => "messages",
            Self::CountTokens => "count_tokens",
            Self::MessageBatches => "message_batches",
            Self::GenerateContent => "generate_content",
            Self::EmbedContent => "embed_content",
            Self::GeminiCountTokens => "gemini_count_tokens",
            Self::Converse => "converse",
            Self::Invoke => "invoke",
            Self::CohereChat => "cohere_chat",
            Self::CohereEmbed => "cohere_embed",
            Self::Rerank => "rerank",
            Self::OllamaChat => "ollama_chat",
            Self::OllamaGenerate => "ollama_generate",
            Self::OllamaEmbed => "ollama_embed",
            Self::Other => "other",
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
    fn from_doc<D: JsonView>(id: &str, name: &str, arguments: Option<&D>) -> Self {
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
/// `framing` is that of a stream, `None` for a complete answer. A stream that was
/// cut gives what arrived of it.
pub fn read(operation: Operation, framing: Option<Framing>, bytes: &[u8]) -> Option<Answer> {
    let wire = table::wire(operation);
    match framing {
        Some(framing) => wire.read_stream?(framing, bytes),
        None => wire.read?(bytes),
    }
}

/// What a complete answer of this media type (without parameters) says: [`read`], and
/// transcriptions that are no JSON but the very text.
pub fn read_complete(operation: Operation, media: &str, bytes: &[u8]) -> Option<Answer> {
    let plain = || openai::audio::plain(media, bytes);
    let plain = if operation == Operation::Transcription { plain() } else { None };
    plain.or_else(|| read(operation, None, bytes))
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
mod test_calls;
#[cfg(test)]
mod tests;
