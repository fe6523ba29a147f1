//! The recognition of requests, by the end of their path and their method; of JSON-RPC, by the body.
//!
//! Paths are compared as they came, never re-encoded; only a model's name is percent-decoded.
//! OpenAI's SDKs disagree on whether the base URL ends with `/v1`, so targets in OpenAI's format
//! never begin with it. An unrecognised request is [`Operation::OTHER`]; it is forwarded and
//! recorded all the same.

use super::provider_row::PathShape;
use super::request_head::RequestHead;
use super::{Operation, Provider, RecognisedCall, mcp, openai};
use loomrec_identity::KeyReduction;

/// Recognises a request.
pub fn recognise_request(seen: &RequestHead) -> RecognisedCall {
    let shape = path_shape(seen);
    let (provider, operation) = (shape.provider, shape.operation);
    let row = provider.row();
    // A GET or DELETE is of no operation.
    let may_be_rpc = operation == Operation::OTHER || operation.row().reduction.is_some();
    let unasked = || seen.body_stream.unwrap_or_else(|| (row.streams_unasked)(seen.path));
    RecognisedCall {
        provider,
        operation,
        streamed: shape.streamed.unwrap_or_else(unasked),
        target: (row.target)(seen, operation),
        model: shape.model.or_else(|| seen.body_model.map(str::to_owned)),
        rpc: seen.rpc.filter(|_| may_be_rpc).cloned(),
    }
}

/// Whether `stream`, `stream_options` and `alt` only choose the mode of delivery for this
/// operation, so that the key leaves them out.
pub fn has_delivery_mode(operation: Operation) -> bool {
    operation.row().delivery
}

/// What keys leave out of the requests of an operation, beside rules.
pub fn key_reduction(operation: Operation) -> Option<&'static KeyReduction> {
    operation.row().reduction
}

/// Asks each provider in turn, beginning with the last in the table.
fn path_shape(seen: &RequestHead) -> PathShape {
    let known = Provider::ALL.iter().rev().find_map(|provider| (provider.row().recognise)(seen));
    let is_other = known.as_ref().is_none_or(|shape| shape.operation == Operation::OTHER);
    let known = if is_other { mcp::recognise(seen).or(known) } else { known };
    known.unwrap_or_else(|| {
        let mut shape = PathShape::new(other_provider(seen), Operation::OTHER);
        shape.model = openai::deployment_name(seen.path);
        shape
    })
}

/// The provider whose errors an unrecognised request expects. Headers take precedence over the
/// path.
fn other_provider(seen: &RequestHead) -> Provider {
    let by_header = Provider::ALL.iter().find(|known| (known.row().has_header)(seen.headers));
    let by_path = || Provider::ALL.iter().rev().find(|known| (known.row().has_path)(seen.path));
    by_header.or_else(by_path).copied().unwrap_or(Provider::UNKNOWN)
}

/// The mount of a chat path: the path without `/chat/completions`, and without a `/v1` at its
/// start. Two mounts of one upstream differ in it; two ways to split one base URL do not.
pub fn chat_mount(path: &str) -> &str {
    openai::unversioned_path(path.strip_suffix("/chat/completions").unwrap_or(path))
}

/// Whether a path begins with `/v1`, which is not part of a key.
pub fn begins_with_version(path: &str) -> bool {
    openai::unversioned_path(path).len() < path.len()
}

#[cfg(test)]
mod tests;
