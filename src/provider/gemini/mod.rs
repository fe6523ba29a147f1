//! Google Gemini and Vertex.

pub(super) mod count_tokens;
pub(super) mod embed;
pub(super) mod generate;

use serde_json::{Value, json};

use super::recognise::{Seen, Shape, decoded};
use super::{Operation, Provider};

/// Gemini and Vertex: `…/models/MODEL:verb`.
pub(super) fn recognise(seen: &Seen) -> Option<Shape> {
    // OpenAI's fine-tuned models have colons in their names: GET /models/ft:NAME.
    if seen.method != "POST" {
        return None;
    }
    let (parent, last) = seen.path.rsplit_once('/')?;
    let (model, verb) = last.rsplit_once(':')?;
    let tuned = parent.ends_with("/tunedModels");
    if !tuned && !parent.ends_with("/models") && !parent.ends_with("/endpoints") {
        return None;
    }
    let claude = parent.ends_with("/publishers/anthropic/models");
    let (provider, operation) = match verb {
        "generateContent" | "streamGenerateContent" => {
            (Provider::Gemini, Operation::GenerateContent)
        }
        "embedContent" | "batchEmbedContents" => (Provider::Gemini, Operation::EmbedContent),
        "countTokens" => (Provider::Gemini, Operation::GeminiCountTokens),
        "rawPredict" | "streamRawPredict" if claude && model == "count-tokens" => {
            (Provider::Anthropic, Operation::CountTokens)
        }
        "rawPredict" | "streamRawPredict" if claude => (Provider::Anthropic, Operation::Messages),
        _ => (Provider::Gemini, Operation::Other),
    };
    let mut shape = Shape::new(provider, operation);
    if operation != Operation::CountTokens {
        let model = decoded(model);
        shape.model = if tuned { model.map(|model| format!("tunedModels/{model}")) } else { model };
    }
    shape.streamed = Some(verb.starts_with("stream"));
    Some(shape)
}

/// The body of an error.
pub(super) fn error(status: u16, kind: &str, named: &str) -> Value {
    json!({
        "error": {
            "code": status,
            "message": named,
            "status": code(status),
            "details": [{
                "@type": "type.googleapis.com/google.rpc.ErrorInfo",
                "reason": kind,
                "domain": "loomrec"
            }]
        }
    })
}

/// The body of an error of Google's own; it tells after how many seconds the call may
/// be tried again where that is given.
pub(super) fn natural(status: u16, message: Option<&str>, retry: Option<u64>) -> Value {
    let usual = match status {
        401 => "Request had invalid authentication credentials.",
        403 => "The caller does not have permission",
        404 => "The requested entity was not found.",
        429 => "Resource has been exhausted (e.g. check quota).",
        502 | 503 => "The model is overloaded. Please try again later.",
        504 => "The request timed out. Please try again.",
        500.. => "An internal error has occurred. Please retry.",
        _ => "Request contains an invalid argument.",
    };
    let mut error = json!({
        "code": status, "message": message.unwrap_or(usual), "status": code(status)
    });
    if let Some(seconds) = retry {
        error["details"] = json!([{
            "@type": "type.googleapis.com/google.rpc.RetryInfo",
            "retryDelay": format!("{seconds}s")
        }]);
    }
    json!({ "error": error })
}

/// Google's canonical code for a status.
fn code(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
}
