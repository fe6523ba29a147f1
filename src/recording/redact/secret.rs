//! The very credentials of one request, to be found again in whatever encoding
//! they come back.

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use memchr::memmem::Finder;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::identity::query;

/// Shorter values are too likely to be ordinary text.
const SHORTEST: usize = 8;

/// Values that programs send where no key is needed: no secrets, and words that
/// a prompt may well contain. The stand-in for a missing key is not among them: it
/// takes the key's place wherever the program puts it, and must match there too.
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

/// A header whose name contains one of these carries a credential.
const TELLING: [&str; 9] = [
    "auth",
    "api-key",
    "apikey",
    "subscription-key",
    "token",
    "secret",
    "password",
    "signature",
    "credential",
];

/// Headers that name whose account it is, and sessions.
const PRIVATE: [&str; 6] = [
    "openai-organization",
    "openai-project",
    "anthropic-workspace-id",
    "anthropic-user-profile-id",
    "mcp-session-id",
    "x-goog-iam-authority-selector",
];

/// What RFC 3986 lets stand unescaped.
const ESCAPED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The credentials of a request, or of several. They are never printed.
#[derive(Clone, Default)]
pub struct Secrets {
    values: BTreeSet<String>,
    /// One for each value in each of its encodings.
    finders: Vec<Finder<'static>>,
}

impl Secrets {
    /// The credentials in a request's headers and raw query.
    pub fn of(headers: &[(String, String)], query: &str) -> Self {
        let mut secrets = Self::default();
        for (name, value) in headers {
            secrets.add_header(&name.to_ascii_lowercase(), value.trim());
        }
        for parameter in query.split('&') {
            let Some((name, value)) = parameter.split_once('=') else {
                continue;
            };
            if query::is_credential(name) && !is_stamp(name) {
                secrets.add(value);
                secrets.add(&percent_decode_str(value).decode_utf8_lossy());
            }
        }
        secrets
    }

    /// Whether a header of this name, in lower case, is looked at for credentials.
    pub fn may_be_in(header: &str) -> bool {
        matches!(header, "cookie" | "sec-websocket-protocol")
            || PRIVATE.contains(&header)
            || TELLING.iter().any(|part| header.contains(part))
    }

    /// Adds the credentials of another request.
    pub fn extend(&mut self, other: &Self) {
        for value in &other.values {
            self.add(value);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Each of them, in order.
    pub(crate) fn values(&self) -> impl Iterator<Item = &str> {
        self.values.iter().map(String::as_str)
    }

    /// A single one.
    pub(crate) fn of_value(value: &str) -> Self {
        let mut secrets = Self::default();
        secrets.add(value);
        secrets
    }

    /// Whether all of them are plain ASCII.
    pub(crate) fn is_ascii(&self) -> bool {
        self.values.iter().all(|value| value.is_ascii())
    }

    /// Whether one of them stands in the bytes.
    pub(super) fn are_in(&self, bytes: &[u8]) -> bool {
        self.finders.iter().any(|finder| finder.find(bytes).is_some())
    }

    /// Where they stand.
    pub(super) fn find(&self, bytes: &[u8], ranges: &mut Vec<Range<usize>>) {
        for finder in &self.finders {
            let length = finder.needle().len();
            ranges.extend(finder.find_iter(bytes).map(|at| at..at + length));
        }
    }

    fn add_header(&mut self, name: &str, value: &str) {
        if name == "cookie" {
            for cookie in value.split(';') {
                let (_, value) = cookie.split_once('=').unwrap_or(("", cookie));
                self.add(value.trim().trim_matches('"'));
            }
        } else if name == "sec-websocket-protocol" {
            for protocol in value.split(',') {
                if let Some(key) = protocol.trim().strip_prefix("openai-insecure-api-key.") {
                    self.add(key);
                }
            }
        } else if PRIVATE.contains(&name) {
            self.add(value);
        } else if TELLING.iter().any(|part| name.contains(part)) {
            self.add_authorization(value);
        }
    }

    /// Adds what an authorization holds: the value behind its scheme, and the
    /// parts of that which are secret by themselves.
    fn add_authorization(&mut self, value: &str) {
        let (scheme, rest) = match value.split_once(' ') {
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
        if !scheme.eq_ignore_ascii_case("basic") {
            return;
        }
        let decoded = STANDARD
            .decode(rest)
            .or_else(|_| STANDARD_NO_PAD.decode(rest))
            .ok()
            .and_then(|bytes| String::from_utf8(bytes).ok());
        if let Some(pair) = decoded {
            // Some services take the key as the user's name.
            for half in pair.splitn(2, ':') {
                self.add(half);
            }
        }
    }

    fn add(&mut self, value: &str) {
        let known = PLACEHOLDERS.iter().any(|placeholder| placeholder.eq_ignore_ascii_case(value));
        if value.len() < SHORTEST || known || !self.values.insert(value.to_owned()) {
            return;
        }
        for text in encodings(value) {
            self.finders.push(Finder::new(text.as_bytes()).into_owned());
        }
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.values.len())
    }
}

/// Whether a parameter belongs to a signed URL without being secret: when and
/// how it was signed. Such words may stand in any text.
fn is_stamp(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["date", "expires", "algorithm", "signedheaders"].iter().any(|end| name.ends_with(end))
}

/// The value as it is, and as JSON, a URL and base64 would write it.
fn encodings(value: &str) -> BTreeSet<String> {
    let mut texts = BTreeSet::from([value.to_owned()]);
    let json = serde_json::Value::from(value).to_string();
    if let Some(inner) = json.get(1..json.len() - 1) {
        texts.insert(inner.to_owned());
        texts.insert(inner.replace('/', "\\/"));
    }
    let percent = utf8_percent_encode(value, &ESCAPED).to_string();
    texts.insert(lower_escapes(&percent));
    texts.insert(percent);
    for before in 0..3 {
        texts.extend(base64_core(value, before));
    }
    texts
}

/// A percent-encoded text with the hex digits of its escapes in lower case.
fn lower_escapes(percent: &str) -> String {
    let mut pieces = percent.split('%');
    let mut out = pieces.next().unwrap_or_default().to_owned();
    for piece in pieces {
        let (hex, rest) = piece.split_at_checked(2).unwrap_or((piece, ""));
        out.push('%');
        out.push_str(&hex.to_ascii_lowercase());
        out.push_str(rest);
    }
    out
}

/// The characters that base64 gives for the value wherever it stands `before`
/// bytes behind a multiple of three, in both alphabets: those which depend on
/// nothing around it.
fn base64_core(value: &str, before: usize) -> Vec<String> {
    let mut bytes = vec![0; before];
    bytes.extend_from_slice(value.as_bytes());
    let start = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    [STANDARD_NO_PAD.encode(&bytes), URL_SAFE_NO_PAD.encode(&bytes)]
        .iter()
        .filter_map(|text| text.get(start..end).map(str::to_owned))
        .collect()
}
