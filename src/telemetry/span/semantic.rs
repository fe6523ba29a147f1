//! The names that OpenTelemetry's semantic conventions give to providers, operations and
//! methods.

use crate::engine::RequestSummary;
use crate::provider::{Operation, Provider};

/// What a call asks a model for; `None` where it asks for something else, such as a list.
pub(super) fn operation(operation: Operation) -> Option<&'static str> {
    Some(match operation {
        Operation::ChatCompletions
        | Operation::Responses
        | Operation::Messages
        | Operation::Converse
        | Operation::CohereChat
        | Operation::OllamaChat => "chat",
        Operation::Completions | Operation::OllamaGenerate => "text_completion",
        Operation::GenerateContent => "generate_content",
        Operation::Embeddings
        | Operation::EmbedContent
        | Operation::CohereEmbed
        | Operation::OllamaEmbed => "embeddings",
        // The conventions have no words for these.
        Operation::Invoke
        | Operation::Speech
        | Operation::Transcription
        | Operation::Images
        | Operation::Rerank => operation.as_str(),
        Operation::Files
        | Operation::Batches
        | Operation::CountTokens
        | Operation::MessageBatches
        | Operation::GeminiCountTokens
        | Operation::Other => return None,
    })
}

/// Whom it asks: the upstream, where it is one of the conventions', else whose API it
/// speaks.
pub(super) fn system(facts: &RequestSummary) -> Option<&'static str> {
    Some(match (facts.upstream.as_str(), facts.provider) {
        ("openai", _) => "openai",
        ("anthropic", _) => "anthropic",
        ("gemini", _) => "gcp.gemini",
        ("vertex", _) => "gcp.vertex_ai",
        ("azure", _) => "azure.ai.openai",
        ("mistral", _) => "mistral_ai",
        ("cohere", _) => "cohere",
        ("groq", _) => "groq",
        ("deepseek", _) => "deepseek",
        ("xai", _) => "x_ai",
        ("bedrock", _) => "aws.bedrock",
        ("openrouter", _) => "openrouter",
        ("together", _) => "together",
        ("fireworks", _) => "fireworks",
        (_, Provider::OpenAi) => "openai",
        (_, Provider::Anthropic) => "anthropic",
        (_, Provider::Gemini) => "gcp.gemini",
        (_, Provider::Bedrock) => "aws.bedrock",
        (_, Provider::Cohere) => "cohere",
        (_, Provider::Ollama) => "ollama",
        (_, Provider::Unknown) => return None,
    })
}

/// A method that the conventions know.
pub(super) fn method(method: &str) -> Option<&'static str> {
    const KNOWN: [&str; 10] =
        ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method)
}
