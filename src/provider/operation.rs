//! Whose wire shape a request has, and what it asks for.

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
