//! Which headers and query parameters are stored.
//!
//! Of a request, only the few headers that change an answer: a program can send
//! any other, with anything in it. Of a response, all but those that belong to
//! the connection, set a cookie, or name whose account it was. Of a query, all
//! but credentials, in the order and spelling they came.

/// The request headers that are stored.
const REQUEST: [&str; 5] =
    ["content-type", "accept", "anthropic-version", "anthropic-beta", "openai-beta"];

/// Headers that belong to one connection only (RFC 9110 section 7.6.1, and the
/// older ones still seen); so do those that `connection` names.
pub const HOP_BY_HOP: [&str; 9] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// The other response headers that are not stored: they set a cookie, or name
/// whose account it was.
const ACCOUNT: [&str; 6] = [
    "set-cookie",
    "set-cookie2",
    "openai-organization",
    "openai-project",
    "anthropic-organization-id",
    "anthropic-workspace-id",
];

/// Whether a request header of this name, in lower case, is stored.
pub fn stores(name: &str) -> bool {
    REQUEST.contains(&name)
}

/// What of a response's headers may be stored: those that are not of this
/// connection (by their name, or because `Connection` names them), nor private.
pub(super) fn end_to_end(headers: &[(String, String)]) -> impl Iterator<Item = (String, &String)> {
    let named: Vec<String> = headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("connection"))
        .flat_map(|(_, value)| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    headers.iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).filter(
        move |(name, _)| {
            let name = name.as_str();
            !HOP_BY_HOP.contains(&name)
                && !ACCOUNT.contains(&name)
                && !named.iter().any(|other| other == name)
        },
    )
}
