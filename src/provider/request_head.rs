//! The head of a request, by which providers recognise it, and the parts of its path.

use percent_encoding::percent_decode_str;

use super::mcp::RpcMethod;

/// The parts of a request that recognition uses.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// The HTTP method, upper case.
    pub method: &'a str,
    /// The raw path after the upstream's mount.
    pub path: &'a str,
    /// The raw query without its `?`.
    pub query: &'a str,
    /// The headers, names in lower case.
    pub headers: &'a [(String, String)],
    /// The body's top-level `model`, if it is a string.
    pub body_model: Option<&'a str>,
    /// The body's top-level `stream`, if it is a boolean.
    pub body_stream: Option<bool>,
    /// Whether the body has a top-level list of `messages`.
    pub has_messages: bool,
    /// What it asks for in JSON-RPC, by its body or its headers.
    pub rpc: Option<&'a RpcMethod>,
}

/// A path's segment, percent-decoded; `None` if it is empty.
pub(super) fn decode_segment(segment: &str) -> Option<String> {
    let name = percent_decode_str(segment).decode_utf8_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

/// The path with its last part `from` replaced by `to`, if it ends with `from`. The two verbs
/// differ only in the mode of delivery.
pub(super) fn with_verb(path: &str, from: &str, to: &str) -> String {
    let stem = path.strip_suffix(from);
    stem.map_or_else(|| path.to_owned(), |stem| format!("{stem}{to}"))
}

/// Whether a path is below one of Azure's deployments, with any prefix.
pub(super) fn is_deployment(path: &str) -> bool {
    path.contains("/openai/deployments/")
}

pub(super) fn has_header(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(found, _)| found == name)
}
