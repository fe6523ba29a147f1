//! Tells what a request asks for, by the end of its path and its method.
//!
//! Paths are compared as they came, never re-encoded; only a model's name is
//! percent-decoded. OpenAI's SDKs disagree on whether the base URL ends with `/v1`,
//! so no target of that shape begins with it. What is not recognised is [`Operation::Other`] and is
//! forwarded and recorded all the same.

use percent_encoding::percent_decode_str;

use super::{Call, Operation, Provider};

/// What is looked at in a request.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The HTTP method, upper case.
    pub method: &'a str,
    /// The raw path behind the upstream's mount.
    pub path: &'a str,
    /// The raw query without its `?`.
    pub query: &'a str,
    /// The headers, names in lower case.
    pub headers: &'a [(String, String)],
    /// The body's top-level `model`, where it is text.
    pub body_model: Option<&'a str>,
    /// The body's top-level `stream`, where it is a boolean.
    pub body_stream: Option<bool>,
}

/// Recognises a request.
pub fn recognise(seen: &Seen) -> Call {
    let shape = shape(seen);
    let (provider, operation) = (shape.provider, shape.operation);
    Call {
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
        | Operation::CohereChat
        | Operation::BedrockModel => true,
        Operation::Embeddings
        | Operation::CountTokens
        | Operation::EmbedContent
        | Operation::Other => false,
    }
}

/// What the path alone tells.
struct Shape {
    provider: Provider,
    operation: Operation,
    /// The model, where the path names it.
    model: Option<String>,
    /// The mode of delivery, where the path says it.
    streamed: Option<bool>,
}

impl Shape {
    fn new(provider: Provider, operation: Operation) -> Self {
        Self { provider, operation, model: None, streamed: None }
    }
}

fn shape(seen: &Seen) -> Shape {
    let post = seen.method == "POST";
    if let Some(shape) = google(seen.path, post)
        .or_else(|| bedrock(seen.path, post))
        .or_else(|| messages(seen, post))
    {
        return shape;
    }
    let ends = |suffix| seen.path.ends_with(suffix);
    let mut shape = match () {
        () if !post => Shape::new(other_provider(seen), Operation::Other),
        () if ends("/chat/completions") => Shape::new(Provider::OpenAi, Operation::ChatCompletions),
        () if ends("/completions") => Shape::new(Provider::OpenAi, Operation::Completions),
        () if ends("/responses") => Shape::new(Provider::OpenAi, Operation::Responses),
        () if ends("/api/chat") || ends("/api/generate") => {
            Shape::new(Provider::Ollama, Operation::OllamaChat)
        }
        () if ends("/api/embeddings") => Shape::new(Provider::Ollama, Operation::Other),
        () if ends("/embeddings") => Shape::new(Provider::OpenAi, Operation::Embeddings),
        () if ends("/v2/chat") || ends("/v1/chat") => {
            Shape::new(Provider::Cohere, Operation::CohereChat)
        }
        () => Shape::new(other_provider(seen), Operation::Other),
    };
    shape.model = deployment(seen.path);
    shape
}

fn decoded(segment: &str) -> Option<String> {
    let name = percent_decode_str(segment).decode_utf8_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

/// Azure's deployment, which stands for the model.
fn deployment(path: &str) -> Option<String> {
    const MOUNT: &[u8] = b"/openai/deployments/";
    // Most paths are no longer than that: nothing is prepared to search them.
    let at = path.as_bytes().windows(MOUNT.len()).position(|part| part == MOUNT)?;
    let rest = path.get(at + MOUNT.len()..)?;
    decoded(rest.split('/').next()?)
}

/// Gemini and Vertex: `…/models/MODEL:verb`.
fn google(path: &str, post: bool) -> Option<Shape> {
    // OpenAI's fine-tuned models have colons in their names: GET /models/ft:NAME.
    if !post {
        return None;
    }
    let (parent, last) = path.rsplit_once('/')?;
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

/// Bedrock's runtime: `/model/ID/verb`, the id percent-encoded or not.
fn bedrock(path: &str, post: bool) -> Option<Shape> {
    let (rest, verb) = path.rsplit_once('/')?;
    let (_, id) = rest.split_once("/model/")?;
    let operation = match verb {
        "converse" | "converse-stream" | "invoke" | "invoke-with-response-stream" if post => {
            Operation::BedrockModel
        }
        "count-tokens" | "invoke-with-bidirectional-stream" => Operation::Other,
        _ => return None,
    };
    let mut shape = Shape::new(Provider::Bedrock, operation);
    shape.model = decoded(id);
    shape.streamed = Some(verb.ends_with("-stream"));
    Some(shape)
}

/// Anthropic's Messages. Other paths than its own need its version header: OpenAI
/// has `/threads/ID/messages`.
fn messages(seen: &Seen, post: bool) -> Option<Shape> {
    let operation = match anthropic_path(seen.path) {
        Some(operation) => operation,
        None if !has_header(seen.headers, "anthropic-version") => return None,
        None if seen.path.ends_with("/messages") => Operation::Messages,
        None if seen.path.ends_with("/messages/count_tokens") => Operation::CountTokens,
        None => return None,
    };
    let operation = if post { operation } else { Operation::Other };
    Some(Shape::new(Provider::Anthropic, operation))
}

/// The operation of the three spellings of each of Anthropic's own paths: SDKs
/// disagree on whether the base URL ends with `/v1`.
fn anthropic_path(path: &str) -> Option<Operation> {
    match path {
        "/v1/messages" | "/messages" | "/v1/v1/messages" => Some(Operation::Messages),
        "/v1/messages/count_tokens" | "/messages/count_tokens" | "/v1/v1/messages/count_tokens" => {
            Some(Operation::CountTokens)
        }
        _ => None,
    }
}

fn has_header(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(found, _)| found == name)
}

/// Whose errors a request expects that is not recognised otherwise.
fn other_provider(seen: &Seen) -> Provider {
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

fn streamed(seen: &Seen, provider: Provider) -> bool {
    // Ollama streams unless it is told not to.
    let default = provider == Provider::Ollama
        && ["/api/chat", "/api/generate", "/api/pull", "/api/push", "/api/create"]
            .iter()
            .any(|path| seen.path.ends_with(path));
    seen.body_stream.unwrap_or(default)
}

/// What the key is formed over; `None` for the form that AgentLoom hashes too.
fn target(seen: &Seen, provider: Provider, operation: Operation) -> Option<String> {
    let path = seen.path;
    let verb = |from: &str, to: &str| {
        let stem = path.strip_suffix(from);
        stem.map_or_else(|| path.to_owned(), |stem| format!("{stem}{to}"))
    };
    let own = anthropic_path(path).is_some();
    Some(match operation {
        Operation::ChatCompletions if seen.query.is_empty() && deployment(path).is_none() => {
            return None;
        }
        Operation::Messages if own => "anthropic.messages".to_owned(),
        Operation::CountTokens if own => "anthropic.count_tokens".to_owned(),
        Operation::Messages => verb(":streamRawPredict", ":rawPredict"),
        Operation::GenerateContent => verb(":streamGenerateContent", ":generateContent"),
        Operation::BedrockModel if path.ends_with("/converse-stream") => {
            verb("/converse-stream", "/converse")
        }
        Operation::BedrockModel => verb("/invoke-with-response-stream", "/invoke"),
        _ if provider == Provider::OpenAi => unversioned(path).to_owned(),
        _ => path.to_owned(),
    })
}

/// Where a chat path is mounted: what is left of it without its
/// `/chat/completions` and a `/v1` at its start. Two mounts of one upstream differ
/// in it; two ways to split one base URL do not.
pub fn place(path: &str) -> &str {
    unversioned(path.strip_suffix("/chat/completions").unwrap_or(path))
}

/// The path without a first segment `v1`.
fn unversioned(path: &str) -> &str {
    let rest = path.strip_prefix("/v1");
    rest.filter(|rest| rest.is_empty() || rest.starts_with('/')).unwrap_or(path)
}

#[cfg(test)]
mod tests;
