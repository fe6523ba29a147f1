//! The providers' wire shapes: which operation a request asks for, what an
//! answer says, how an error looks to that provider's SDK.
//!
//! Reading is tolerant: an unknown field or event is skipped. The stored bytes
//! stay the truth; nothing here is ever served in their place unless a caller
//! asks for the other mode of delivery.

use serde_json::Value;

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
#[derive(Clone, Debug, PartialEq, Eq)]
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
