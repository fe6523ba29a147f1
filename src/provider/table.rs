//! What is done with the answers of each operation: one table, which the readers,
//! the writers and the documentation all go by.

use super::wire::OperationWire;
use super::{Operation, anthropic, bedrock, cohere, gemini, ollama, openai};

/// Nothing is done with these answers.
const NONE: OperationWire =
    OperationWire { read: None, read_stream: None, merge: None, split: None, write: None };

/// What is done with the answers of `operation`.
pub(super) fn wire(operation: Operation) -> &'static OperationWire {
    match operation {
        Operation::ChatCompletions => &openai::chat::WIRE,
        Operation::Completions => &openai::completions::WIRE,
        Operation::Responses => &openai::responses::WIRE,
        Operation::Embeddings => &openai::embeddings::WIRE,
        Operation::Transcription => &openai::audio::WIRE,
        Operation::Messages => &anthropic::messages::WIRE,
        Operation::CountTokens => &anthropic::count_tokens::WIRE,
        Operation::GenerateContent => &gemini::generate::WIRE,
        Operation::EmbedContent => &gemini::embed::WIRE,
        Operation::GeminiCountTokens => &gemini::count_tokens::WIRE,
        Operation::Converse => &bedrock::converse::WIRE,
        Operation::Invoke => &bedrock::invoke::WIRE,
        Operation::CohereChat => &cohere::chat::WIRE,
        Operation::CohereEmbed => &cohere::embed::WIRE,
        Operation::OllamaChat => &ollama::chat::WIRE,
        Operation::OllamaGenerate => &ollama::generate::WIRE,
        Operation::OllamaEmbed => &ollama::embed::WIRE,
        Operation::Speech
        | Operation::Images
        | Operation::Files
        | Operation::Batches
        | Operation::MessageBatches
        | Operation::Rerank
        | Operation::Other => &NONE,
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
