//! The head of a request, as providers recognise it, and what its path tells.

use percent_encoding::percent_decode_str;

use super::{Operation, Provider};

/// What is looked at in a request.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
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

/// What the path alone tells.
pub(super) struct PathShape {
    pub(super) provider: Provider,
    pub(super) operation: Operation,
    /// The model, where the path names it.
    pub(super) model: Option<String>,
    /// The mode of delivery, where the path says it.
    pub(super) streamed: Option<bool>,
}

impl PathShape {
    pub(super) fn new(provider: Provider, operation: Operation) -> Self {
        Self { provider, operation, model: None, streamed: None }
    }
}

/// A path's segment, percent-decoded; `None` where it is empty.
pub(super) fn decoded(segment: &str) -> Option<String> {
    let name = percent_decode_str(segment).decode_utf8_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

pub(super) fn has_header(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(found, _)| found == name)
}
