//! Tells what a request asks for, by the end of its path and its method.
//!
//! Paths are compared as they came, never re-encoded; only a model's name is
//! percent-decoded. OpenAI's SDKs disagree on whether the base URL ends with `/v1`,
//! so no target of that shape begins with it. What is not recognised is [`Operation::Other`] and is
//! forwarded and recorded all the same.

use super::request_head::{PathShape, RequestHead, has_header};
use super::{
    Operation, Provider, RecognisedCall, anthropic, bedrock, cohere, gemini, ollama, openai,
};

/// Recognises a request.
pub fn recognise(seen: &RequestHead) -> RecognisedCall {
    let shape = shape(seen);
    let (provider, operation) = (shape.provider, shape.operation);
    RecognisedCall {
        provider,
        operation,
        streamed: shape.streamed.unwrap_or_else(|| streamed(seen, provider)),
        target: target(seen, provider, operation),
        model: shape.model.or_else(|| seen.body_model.map(str::to_owned)),
    }
}

/// Whether `stream`, `stream_options` and `alt` only choose how the answer of
/// this operation is delivered, and so are no part of its identity.
pub fn delivery(operation: Operation) -> bool {
    match operation {
        Operation::ChatCompletions
        | Operation::Completions
        | Operation::Responses
        | Operation::Messages
        | Operation::GenerateContent
        | Operation::OllamaChat
        | Operation::OllamaGenerate
        | Operation::CohereChat
        | Operation::Converse
        | Operation::Invoke => true,
        Operation::Embeddings
        | Operation::Speech
        | Operation::Transcription
        | Operation::Images
        | Operation::Files
        | Operation::Batches
        | Operation::CountTokens
        | Operation::MessageBatches
        | Operation::EmbedContent
        | Operation::GeminiCountTokens
        | Operation::CohereEmbed
        | Operation::Rerank
        | Operation::OllamaEmbed
        | Operation::Other => false,
    }
}

/// Asks each provider in turn: those first whose paths are theirs alone.
fn shape(seen: &RequestHead) -> PathShape {
    gemini::recognise(seen)
        .or_else(|| bedrock::recognise(seen))
        .or_else(|| anthropic::recognise(seen))
        .or_else(|| ollama::recognise(seen))
        .or_else(|| cohere::recognise(seen))
        .or_else(|| openai::recognise(seen))
        .unwrap_or_else(|| {
            let mut shape = PathShape::new(other_provider(seen), Operation::Other);
            shape.model = openai::deployment(seen.path);
            shape
        })
}

/// Whose errors a request expects that is not recognised otherwise.
fn other_provider(seen: &RequestHead) -> Provider {
    let header = |name| has_header(seen.headers, name);
    let path = seen.path;
    let known = |paths: &[&str]| paths.iter().any(|known| path.ends_with(known));
    if header("anthropic-version") {
        Provider::Anthropic
    } else if header("x-goog-api-key") || header("x-goog-api-client") {
        Provider::Gemini
    } else if path.contains("/openai/deployments/") {
        Provider::OpenAi
    } else if path.starts_with("/v1beta/") || path.starts_with("/v1beta1/") {
        Provider::Gemini
    } else if path.starts_with("/api/") && !path.starts_with("/api/v1/") {
        Provider::Ollama
    } else if known(&["/v2/embed", "/v1/embed", "/v2/rerank", "/v1/rerank"]) {
        Provider::Cohere
    } else if path.starts_with("/v1/") || path.starts_with("/openai/") {
        Provider::OpenAi
    } else {
        Provider::Unknown
    }
}

fn streamed(seen: &RequestHead, provider: Provider) -> bool {
    // Ollama streams unless it is told not to.
    let default = provider == Provider::Ollama
        && ["/api/chat", "/api/generate", "/api/pull", "/api/push", "/api/create"]
            .iter()
            .any(|path| seen.path.ends_with(path));
    seen.body_stream.unwrap_or(default)
}

/// What the key is formed over; `None` for the form that AgentLoom hashes too.
fn target(seen: &RequestHead, provider: Provider, operation: Operation) -> Option<String> {
    let path = seen.path;
    let verb = |from: &str, to: &str| {
        let stem = path.strip_suffix(from);
        stem.map_or_else(|| path.to_owned(), |stem| format!("{stem}{to}"))
    };
    let own = anthropic::own_path(path).is_some();
    Some(match operation {
        Operation::ChatCompletions
            if seen.query.is_empty() && openai::deployment(path).is_none() =>
        {
            return None;
        }
        Operation::Messages if own => "anthropic.messages".to_owned(),
        Operation::CountTokens if own => "anthropic.count_tokens".to_owned(),
        Operation::Messages => verb(":streamRawPredict", ":rawPredict"),
        Operation::GenerateContent => verb(":streamGenerateContent", ":generateContent"),
        Operation::Converse => verb("/converse-stream", "/converse"),
        Operation::Invoke => verb("/invoke-with-response-stream", "/invoke"),
        _ if provider == Provider::OpenAi => unversioned(path).to_owned(),
        _ => path.to_owned(),
    })
}

/// Where a chat path is mounted: what is left of it without its
/// `/chat/completions` and a `/v1` at its start. Two mounts of one upstream differ
/// in it; two ways to split one base URL do not.
pub fn mount(path: &str) -> &str {
    unversioned(path.strip_suffix("/chat/completions").unwrap_or(path))
}

/// The path without a first segment `v1`.
fn unversioned(path: &str) -> &str {
    let rest = path.strip_prefix("/v1");
    rest.filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(path)
}

#[cfg(test)]
mod tests;
