//! What a query string says beside its credentials.
//!
//! The key and the recording leave out the same parameters, so that a recorded
//! request hashes as the live one did.

use std::borrow::Cow;

use percent_encoding::percent_decode_str;

/// Names of parameters that carry a credential, in lower case.
const CREDENTIALS: [&str; 9] = [
    "access_token",
    "api-key",
    "api_key",
    "apikey",
    "key",
    "sig",
    "subscription-key",
    "token",
    "x-goog-api-key",
];

/// Beginnings of parameter names that belong to a signed URL, in lower case. All
/// of a signature goes, its date too: it is another one at every call.
const SIGNATURES: [&str; 6] = [
    "x-amz-",
    "x-goog-algorithm",
    "x-goog-credential",
    "x-goog-date",
    "x-goog-expires",
    "x-goog-sign",
];

/// Whether a query parameter of this raw name carries a credential, or a part of
/// a URL's signature. The name is compared decoded and without regard to case.
pub fn is_credential(name: &str) -> bool {
    let name = decoded(name).to_ascii_lowercase();
    CREDENTIALS.contains(&name.as_str())
        || SIGNATURES.iter().any(|signature| name.starts_with(signature))
}

/// The raw query with the parameters that carry credentials left out; the others
/// stay as they came, in their order.
pub fn without_credentials(query: &str) -> String {
    kept(query, |name, _| !is_credential(name))
}

/// What of a query enters the key: no credentials, and no `alt=sse` where that
/// only chooses the mode of delivery.
pub(super) fn identity(query: &str, delivery: bool) -> String {
    kept(query, |name, value| {
        let streams = delivery && decoded(name) == "alt" && decoded(value) == "sse";
        !streams && !is_credential(name)
    })
}

fn kept(query: &str, keep: impl Fn(&str, &str) -> bool) -> String {
    let parameters = query.split('&').filter(|parameter| {
        let (name, value) = parameter.split_once('=').unwrap_or((parameter, ""));
        keep(name, value)
    });
    parameters.collect::<Vec<_>>().join("&")
}

fn decoded(text: &str) -> Cow<'_, str> {
    percent_decode_str(text).decode_utf8_lossy()
}
