//! Tells what a request asks for, by the end of its path and its method.
//!
//! Paths are compared as they came, never re-encoded; only a model's name is
//! percent-decoded. OpenAI's SDKs disagree on whether the base URL ends with `/v1`,
//! so no target of that shape begins with it. What is not recognised is [`Operation::OTHER`] and is
//! forwarded and recorded all the same.

use super::provider_row::PathShape;
use super::request_head::RequestHead;
use super::{Operation, Provider, RecognisedCall, openai};

/// Recognises a request.
pub fn recognise(seen: &RequestHead) -> RecognisedCall {
    let shape = shape(seen);
    let (provider, operation) = (shape.provider, shape.operation);
    let row = provider.row();
    let unasked = || seen.body_stream.unwrap_or_else(|| (row.streams_unasked)(seen.path));
    RecognisedCall {
        provider,
        operation,
        streamed: shape.streamed.unwrap_or_else(unasked),
        target: (row.target)(seen, operation),
        model: shape.model.or_else(|| seen.body_model.map(str::to_owned)),
    }
}

/// Whether `stream`, `stream_options` and `alt` only choose how the answer of
/// this operation is delivered, and so are no part of its identity.
pub fn delivery(operation: Operation) -> bool {
    operation.row().delivery
}

/// Asks each provider in turn, those that were added last first.
fn shape(seen: &RequestHead) -> PathShape {
    let known = Provider::ALL.iter().rev().find_map(|provider| (provider.row().recognise)(seen));
    known.unwrap_or_else(|| {
        let mut shape = PathShape::new(other_provider(seen), Operation::OTHER);
        shape.model = openai::deployment(seen.path);
        shape
    })
}

/// Whose errors a request expects that is not recognised otherwise: headers tell it before
/// the path does.
fn other_provider(seen: &RequestHead) -> Provider {
    let by_header = Provider::ALL.iter().find(|known| (known.row().has_header)(seen.headers));
    let by_path = || Provider::ALL.iter().rev().find(|known| (known.row().has_path)(seen.path));
    by_header.or_else(by_path).copied().unwrap_or(Provider::UNKNOWN)
}

/// Where a chat path is mounted: what is left of it without its
/// `/chat/completions` and a `/v1` at its start. Two mounts of one upstream differ
/// in it; two ways to split one base URL do not.
pub fn mount(path: &str) -> &str {
    openai::unversioned(path.strip_suffix("/chat/completions").unwrap_or(path))
}

#[cfg(test)]
mod tests;
