//! The head of a request, as providers recognise it, and what its path tells.

use percent_encoding::percent_decode_str;

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

/// A path's segment, percent-decoded; `None` where it is empty.
pub(super) fn decoded(segment: &str) -> Option<String> {
    let name = percent_decode_str(segment).decode_utf8_lossy().into_owned();
    (!name.is_empty()).then_some(name)
}

/// A path that ends with the verb `to` where it ended with `from`, which only chooses the
/// delivery.
pub(super) fn with_verb(path: &str, from: &str, to: &str) -> String {
    let stem = path.strip_suffix(from);
    stem.map_or_else(|| path.to_owned(), |stem| format!("{stem}{to}"))
}

/// Whether a path is one of Azure's deployments, under whichever prefix.
pub(super) fn is_deployment(path: &str) -> bool {
    path.contains("/openai/deployments/")
}

pub(super) fn has_header(headers: &[(String, String)], name: &str) -> bool {
    headers.iter().any(|(found, _)| found == name)
}
