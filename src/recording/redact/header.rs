//! The choice of headers that are stored.
//!
//! Of a request, only headers that change an answer are stored: a program can send any other header
//! with any content. Of a response, all headers are stored except those that belong to the
//! connection, set a cookie, or identify an account. Of a query, everything is stored except
//! credentials, with its order and spelling unchanged.

use super::credentials::CallCredentials;
use loomrec_identity::header;

/// Headers that belong to one connection only (RFC 9110 section 7.6.1, and older ones that are
/// still in use). The headers that `connection` names belong to it too.
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

/// Other response headers that are not stored: they set a cookie, or identify an account.
const ACCOUNT: [&str; 6] = [
    "set-cookie",
    "set-cookie2",
    "openai-organization",
    "openai-project",
    "anthropic-organization-id",
    "anthropic-workspace-id",
];

/// Whether a request header with this name (in lower case) is stored.
pub fn is_stored_header(name: &str) -> bool {
    matches!(name, "content-type" | "accept") || header::is_stored(name)
}

/// Headers that identity rules cannot name: they belong to the connection, or say how the body is
/// to be read.
const FIXED: [&str; 6] =
    ["accept-encoding", "content-encoding", "content-length", "content-type", "expect", "host"];

/// Returns the lower-case name of a header that rules may leave out of keys.
///
/// # Errors
/// If a rule must not name this header. The error says why.
pub fn ignorable_name(name: &str) -> Result<String, &'static str> {
    let name = name.trim().to_ascii_lowercase();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 64 || !name.bytes().all(plain) {
        return Err("this cannot be the name of a header");
    }
    if HOP_BY_HOP.contains(&name.as_str()) || FIXED.contains(&name.as_str()) {
        return Err("this header belongs to the connection, or says how the body is read");
    }
    if name.starts_with("x-loomrec-") {
        return Err("headers that begin with x-loomrec- are loomrec's own");
    }
    Ok(name)
}

/// Returns the lower-case name of a header that rules may add to keys. Its value is stored, so it
/// must not be a credential.
///
/// # Errors
/// If a rule must not name this header. The error says why.
pub fn identity_name(name: &str) -> Result<String, &'static str> {
    let name = ignorable_name(name)?;
    if CallCredentials::may_be_in(&name) && !header::is_stored(&name) {
        return Err("a header of this name is taken for a credential, and never kept");
    }
    Ok(name)
}

/// Returns the response headers that may be stored: those that neither belong to this connection
/// (by their name, or because `Connection` names them) nor are private.
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
