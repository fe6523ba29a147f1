//! OpenAI, and everything that speaks its dialect: Azure, Groq, OpenRouter, Mistral,
//! DeepSeek, xAI, Together, Fireworks.

pub(super) mod audio;
pub(super) mod chat;
mod chunk;
pub(super) mod completions;
mod dialect;
pub(super) mod embeddings;
mod error;
pub(super) mod responses;

pub(super) use error::{error, natural};

use super::request_head::{PathShape, RequestHead, decoded, has_header};
use super::{Operation, Provider};

/// What is asked for; `None` for a path that is none of OpenAI's resources.
pub(super) fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let operation = match seen.method {
        "POST" => posted(seen.path),
        _ => None,
    };
    let mut shape = PathShape::new(Provider::OpenAi, operation.or_else(|| resource(seen))?);
    shape.model = deployment(seen.path);
    Some(shape)
}

fn posted(path: &str) -> Option<Operation> {
    let ends = |suffix| path.ends_with(suffix);
    Some(match () {
        () if ends("/chat/completions") => Operation::ChatCompletions,
        () if ends("/completions") => Operation::Completions,
        () if ends("/responses") => Operation::Responses,
        () if ends("/embeddings") => Operation::Embeddings,
        () if ends("/audio/speech") => Operation::Speech,
        () if ends("/audio/transcriptions") || ends("/audio/translations") => {
            Operation::Transcription
        }
        () if ends("/images/generations") || ends("/images/edits") => Operation::Images,
        () if ends("/images/variations") => Operation::Images,
        () => return None,
    })
}

/// Files and batches, whatever is done with them. Others have such paths, too.
fn resource(seen: &RequestHead) -> Option<Operation> {
    let foreign = ["anthropic-version", "x-goog-api-key", "x-goog-api-client"];
    if foreign.iter().any(|name| has_header(seen.headers, name)) {
        return None;
    }
    let rest = seen.path.strip_prefix("/openai").unwrap_or(seen.path);
    let rest = rest.strip_prefix("/v1").unwrap_or(rest);
    match rest.split('/').nth(1)? {
        "files" => Some(Operation::Files),
        "batches" => Some(Operation::Batches),
        _ => None,
    }
}

/// Azure's deployment, which stands for the model.
pub(super) fn deployment(path: &str) -> Option<String> {
    const MOUNT: &[u8] = b"/openai/deployments/";
    // Most paths are no longer than that: nothing is prepared to search them.
    let at = path.as_bytes().windows(MOUNT.len()).position(|part| part == MOUNT)?;
    let rest = path.get(at + MOUNT.len()..)?;
    decoded(rest.split('/').next()?)
}
