//! The table rows of Ollama and its operations, and how its requests are recognised.

use serde_json::{Value, json};

use super::{chat, embed, generate};
use crate::operation::Operation;
use crate::provider_row::{ErrorRow, PathShape, Provider, ProviderRow};
use crate::request_head::{RequestHead, is_deployment};

impl Provider {
    /// Ollama's native API.
    pub const OLLAMA: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// `/api/chat` of Ollama
    pub const OLLAMA_CHAT: Self = Self::new(&chat::ROW);
    /// `/api/generate` of Ollama
    pub const OLLAMA_GENERATE: Self = Self::new(&generate::ROW);
    /// `/api/embed` and `/api/embeddings` of Ollama
    pub const OLLAMA_EMBED: Self = Self::new(&embed::ROW);
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "ollama",
    semantic: Some("ollama"),
    operations: &[Operation::OLLAMA_CHAT, Operation::OLLAMA_GENERATE, Operation::OLLAMA_EMBED],
    recognise,
    has_path: |path| {
        path.starts_with("/api/") && !path.starts_with("/api/v1/") && !is_deployment(path)
    },
    streams_unasked: |path| {
        let streamed = ["/api/chat", "/api/generate", "/api/pull", "/api/push", "/api/create"];
        streamed.iter().any(|streamed| path.ends_with(streamed))
    },
    errors: ErrorRow {
        own: |told| own_body(told.named),
        natural: |error_request| natural_body(error_request.status, error_request.message),
        media: "application/json; charset=utf-8",
        sends_retry_after: |_| false,
        ..ErrorRow::PLAIN
    },
    ..ProviderRow::UNNAMED
};

/// Recognises Ollama's paths; `None` for any other.
fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let ends = |suffix| seen.path.ends_with(suffix);
    let operation = match () {
        () if seen.method != "POST" => return None,
        () if ends("/api/chat") => Operation::OLLAMA_CHAT,
        () if ends("/api/generate") => Operation::OLLAMA_GENERATE,
        () if ends("/api/embed") || ends("/api/embeddings") => Operation::OLLAMA_EMBED,
        () => return None,
    };
    Some(PathShape::new(Provider::OLLAMA, operation))
}

/// The body of one of loomrec's errors.
fn own_body(named: &str) -> Value {
    json!({ "error": named })
}

/// The body of an error as Ollama sends it.
fn natural_body(status: u16, message: Option<&str>) -> Value {
    let usual = match status {
        401 => "unauthorized",
        403 => "forbidden",
        404 => "model not found, try pulling it first",
        429 => "too many requests",
        503 => "server busy, please try again. maximum pending requests exceeded",
        500.. => "an error was encountered while running the model",
        _ => "invalid request",
    };
    own_body(message.unwrap_or(usual))
}
