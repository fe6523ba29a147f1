//! The credentials that a request carries, and the search for them in everything that is kept of
//! it.

mod escape;
mod layer;
mod run;
mod search;
mod tree;
mod wide;

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;
use std::sync::OnceLock;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use percent_encoding::percent_decode_str;
use url::Url;

use super::MARK;
use loomrec_identity::query::{QueryRules, is_token};
use loomrec_identity::{header, subprotocol};
use search::{CredentialSearch, SHORTEST};

/// Values that programs send when no key is needed. They are not secrets, and a prompt may well
/// contain such words. The stand-in that loomrec sets for a missing key is not among them: the
/// program puts it wherever the key belongs, and it must match there too.
const PLACEHOLDERS: [&str; 10] = [
    "not-needed",
    "lm-studio",
    "anything",
    "placeholder",
    "dummy-key",
    "test-key",
    "fake-key",
    "sk-no-key-required",
    "no-key-required",
    "undefined",
];

/// A header whose name contains one of these words carries a credential.
const TELLING: [&str; 10] = [
    "auth",
    "access-key",
    "api-key",
    "apikey",
    "subscription-key",
    "token",
    "secret",
    "password",
    "signature",
    "credential",
];

/// Headers whose names end with `key` carry no credential if they contain one of these words.
const OTHER_KEYS: [&str; 5] = ["idempotency", "cache", "websocket", "partition", "routing"];

/// Headers that identify an account or a session.
const PRIVATE: [&str; 6] = [
    "openai-organization",
    "openai-project",
    "anthropic-workspace-id",
    "anthropic-user-profile-id",
    "mcp-session-id",
    "x-goog-iam-authority-selector",
];

/// The credentials of a request, or of several. They are never printed.
#[derive(Clone, Default)]
pub struct CallCredentials {
    values: BTreeSet<String>,
    /// The search, which is built at its first use.
    search: OnceLock<CredentialSearch>,
}

impl CallCredentials {
    /// Collects the credentials in a request's headers and raw query, for a known provider.
    pub fn for_known_provider(headers: &[(String, String)], query: &str) -> Self {
        Self::of_request(headers, query, QueryRules::KNOWN)
    }

    /// Collects the credentials in a request's headers and raw query.
    pub fn of_request(headers: &[(String, String)], query: &str, rules: QueryRules<'_>) -> Self {
        let mut secrets = Self::default();
        for (name, value) in headers {
            secrets.add_header(&name.to_ascii_lowercase(), value.trim());
        }
        for value in rules.credentials(query) {
            secrets.add(value);
            secrets.add(&percent_decode_str(value).decode_utf8_lossy());
        }
        secrets
    }

    /// Adds the user and the password of an upstream's address, which are sent to the upstream.
    pub fn add_address(&mut self, address: &Url) {
        for part in [address.username(), address.password().unwrap_or_default()] {
            self.add(part);
            self.add(&percent_decode_str(part).decode_utf8_lossy());
        }
    }

    /// Whether a header with this name (in lower case) is searched for credentials.
    pub fn may_be_in(header: &str) -> bool {
        matches!(header, "cookie" | subprotocol::SUBPROTOCOLS)
            || PRIVATE.contains(&header)
            || header_names_a_credential(header)
    }

    /// Adds the credentials of another request.
    pub fn extend(&mut self, other: &Self) {
        for value in &other.values {
            self.add(value);
        }
    }

    /// Whether there are no credentials.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the credentials in order.
    pub fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(String::as_str)
    }

    /// Returns a set with a single credential.
    pub fn of_value(value: &str) -> Self {
        let mut secrets = Self::default();
        secrets.add(value);
        secrets
    }

    /// Whether one of them is in the bytes, in any encoding.
    pub(super) fn are_in(&self, bytes: &[u8]) -> bool {
        !self.is_empty() && self.prepared_search().is_match(bytes)
    }

    /// Whether one of them may be in the bytes, in any encoding. If this is false, no part of the
    /// bytes contains one either.
    pub(super) fn could_be_in(&self, bytes: &[u8]) -> bool {
        !self.is_empty() && self.prepared_search().may_match(bytes)
    }

    /// Whether one of them is in a text that was composed of parts which were cleaned of them. It
    /// looks for them as they are and as base64, and, if JSON escapes one of their characters, also
    /// in the unescaped text.
    pub(super) fn are_in_again(&self, bytes: &[u8]) -> bool {
        !self.is_empty() && self.prepared_search().is_match_again(bytes)
    }

    /// Appends the ranges where they are, in any encoding. The ranges are unordered and may repeat.
    pub(super) fn find_ranges(&self, bytes: &[u8], ranges: &mut Vec<Range<usize>>) {
        if !self.is_empty() {
            self.prepared_search().find_ranges(bytes, ranges);
        }
    }

    fn prepared_search(&self) -> &CredentialSearch {
        self.search.get_or_init(|| CredentialSearch::new(&self.values))
    }

    fn add_header(&mut self, name: &str, value: &str) {
        // An export holds such a digest for a header whose value was never kept.
        if header::is_digest(value) && header::changes_answers(name) {
            return;
        }
        if name == "cookie" {
            for cookie in value.split(';') {
                let (_, value) = cookie.split_once('=').unwrap_or(("", cookie));
                self.add(value.trim().trim_matches('"'));
            }
        } else if name == subprotocol::SUBPROTOCOLS {
            subprotocol::offered_keys(value).for_each(|(_, key)| self.add(key));
            for protocol in value.split(',').map(str::trim) {
                protocol.split('.').filter(|part| is_token(part)).for_each(|key| self.add(key));
            }
        } else if PRIVATE.contains(&name) {
            self.add(value);
        } else if header_names_a_credential(name) {
            self.add_authorization(value);
        }
    }

    /// Adds the credentials in an authorization: the value after its scheme, and the parts of the
    /// value that are secret by themselves.
    fn add_authorization(&mut self, value: &str) {
        let (scheme, rest) = match value.split_once(|letter: char| letter.is_ascii_whitespace()) {
            Some((scheme, rest)) => (scheme, rest.trim()),
            None => ("", value),
        };
        if scheme.eq_ignore_ascii_case("AWS4-HMAC-SHA256") {
            for field in rest.split(',') {
                match field.trim().split_once('=') {
                    Some(("Credential", scope)) => {
                        self.add(scope.split('/').next().unwrap_or_default());
                    }
                    Some(("Signature", signature)) => self.add(signature),
                    _ => {}
                }
            }
            return;
        }
        self.add(rest);
        for field in rest.split(',').map(str::trim) {
            self.add_field(field);
        }
        if !scheme.eq_ignore_ascii_case("basic") {
            return;
        }
        let decoded = STANDARD
            .decode(rest)
            .or_else(|_| STANDARD_NO_PAD.decode(rest))
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(pair) = decoded {
            // Some services use the key as the user's name.
            for half in pair.splitn(2, ':') {
                self.add(half);
            }
        }
    }

    /// Adds the credential in one field of an authorization: `KEY`, `id:KEY`, `key=KEY`,
    /// `signature="KEY"`.
    fn add_field(&mut self, field: &str) {
        match field.split_once('=') {
            // An `=` at the end belongs to base64.
            Some((name, value)) if !value.trim_end_matches('=').is_empty() => {
                let name = name.trim().to_ascii_lowercase();
                if name == "response" || names_a_credential(&name) {
                    self.add(value.trim().trim_matches('"'));
                }
            }
            _ => {
                self.add(field);
                if let Some((id, key)) = field.split_once(':') {
                    self.add(key);
                    self.add(if is_token(id) { id } else { "" });
                }
            }
        }
    }

    fn add(&mut self, value: &str) {
        let known = PLACEHOLDERS.iter().any(|placeholder| placeholder.eq_ignore_ascii_case(value))
            || is_part_of_mark(value);
        if value.len() >= SHORTEST && !known && self.values.insert(value.to_owned()) {
            self.search = OnceLock::new();
        }
    }
}

/// Whether a header with this name (in lower case) carries a credential. A version, as that of
/// `x-token-version`, is none.
fn header_names_a_credential(name: &str) -> bool {
    names_a_credential(name) && !header::is_of_later_keys(name)
}

/// Whether a header or a field with this name (in lower case) carries a credential.
fn names_a_credential(name: &str) -> bool {
    let is_key = name.ends_with("key") && !OTHER_KEYS.iter().any(|part| name.contains(part));
    is_key || TELLING.iter().any(|part| name.contains(part))
}

/// Whether a value is part of the mark that loomrec itself writes in place of a credential. Such a
/// value would be found wherever something was removed.
fn is_part_of_mark(value: &str) -> bool {
    MARK.to_ascii_lowercase().contains(&value.to_ascii_lowercase())
}

impl fmt::Debug for CallCredentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

#[cfg(test)]
#[path = "credentials/tests.rs"]
mod tests;
