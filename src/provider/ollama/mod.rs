//! Ollama's own API.

pub(super) mod chat;
pub(super) mod embed;
pub(super) mod generate;
mod turn;

use serde_json::{Value, json};

use super::request_head::{PathShape, RequestHead};
use super::{Operation, Provider};

/// What is asked for; `None` for a path that is none of Ollama's that are read.
pub(super) fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let ends = |suffix| seen.path.ends_with(suffix);
    let operation = match () {
        () if seen.method != "POST" => return None,
        () if ends("/api/chat") => Operation::OllamaChat,
        () if ends("/api/generate") => Operation::OllamaGenerate,
        () if ends("/api/embed") || ends("/api/embeddings") => Operation::OllamaEmbed,
        () => return None,
    };
    Some(PathShape::new(Provider::Ollama, operation))
}

/// The body of an error.
pub(super) fn error(named: &str) -> Value {
    json!({ "error": named })
}

/// The body of an error of Ollama's own.
pub(super) fn natural(status: u16, message: Option<&str>) -> Value {
    let usual = match status {
        401 => "unauthorized",
        403 => "forbidden",
        404 => "model not found, try pulling it first",
        429 => "too many requests",
        503 => "server busy, please try again. maximum pending requests exceeded",
        500.. => "an error was encountered while running the model",
        _ => "invalid request",
    };
    error(message.unwrap_or(usual))
}
