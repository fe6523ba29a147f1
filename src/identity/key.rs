//! The request key: SHA-256 over a request's canonical text, as 64 lower-case
//! hex digits.
//!
//! A chat completion's text is that of plain entries: `extra`, `max_tokens`, `messages`,
//! `model` and `temperature` of the body. Any other request's is
//!
//! ```text
//! {"body": …, "headers": {…}, "loomrec": "request/1", "method": …, "query": …, "target": …}
//! ```
//!
//! in the same serialisation. `loomrec` is the domain tag: no chat text has it, and another version
//! of this form will carry another one. `body` is `null` if the body is empty, `{"json": value}` if
//! it is plain JSON sent as such (see [`RequestParts::json_body`]), `{"multipart": [part, …]}` if
//! it parses as multipart (see [`multipart`]), else `{"length": n, "sha256": hex}`. `headers` holds
//! the headers that change an answer (see `identity::header`, repeats joined with `,`) and the
//! media type of `content-type`, as far as they are present. A chat completion with any of the
//! former takes this form too, because the text of plain entries cannot hold them. `query` is the
//! stored query, which holds no credentials; in it and in `target`, equal percent-encodings have
//! one spelling (see `identity::percent`). What the rules ignore is removed before the body is used
//! in any other way.

use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

use super::canonical::{self, write_text_members};
use super::digest::{self, HexDigest, sha256_hex};
use super::header::KeyGeneration;
use super::json::Json;
use super::json_text::JsonStr;
use super::request_parts::{KeyForm, RequestParts};
use super::rules::{DELIVERY, IdentityRules};
use super::{multipart, percent, query};

/// The identity of a request: SHA-256 over its canonical text, as 64 lower-case
/// hex digits.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestKey(HexDigest);

impl RequestKey {
    /// The key of a request under these rules.
    pub fn from_parts(parts: &RequestParts<'_>, rules: &IdentityRules) -> Self {
        Self::of_parsed(parts, parts.json_body().as_ref(), rules)
    }

    /// The key of a request whose body has already been parsed. `body` is the result of
    /// [`RequestParts::json_body`] or [`parse`](super::reader::parse), or `None` if the body is not
    /// plain JSON.
    pub fn of_parsed(
        parts: &RequestParts<'_>,
        body: Option<&Json<'_>>,
        rules: &IdentityRules,
    ) -> Self {
        Self(sha256_hex(&text_of(parts, body, rules, KeyGeneration::CURRENT)))
    }

    /// The keys that this request had before keys covered all headers that change an answer, and
    /// before equal percent-encodings had one spelling. Recordings of that time use them.
    pub fn of_earlier_versions(parts: &RequestParts<'_>, rules: &IdentityRules) -> [Self; 3] {
        let body = parts.json_body();
        KeyGeneration::EARLIER
            .map(|version| Self(sha256_hex(&text_of(parts, body.as_ref(), rules, version))))
    }

    /// The key with these 64 lower-case hex digits; `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let hex = text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        if hex { text.as_bytes().try_into().ok().map(Self) } else { None }
    }

    /// The digest as bytes.
    pub fn to_bytes(&self) -> [u8; 32] {
        digest::to_bytes(&self.0)
    }

    /// The key with this digest.
    pub fn from_bytes(digest: &[u8; 32]) -> Self {
        Self(digest::to_hex(digest))
    }

    /// The key with these digits.
    pub(super) fn from_hex(hex: HexDigest) -> Self {
        Self(hex)
    }

    /// The 64 hex digits.
    pub fn as_str(&self) -> &str {
        digest::as_text(&self.0)
    }

    /// The first 12 digits: enough for a person to tell keys apart.
    pub fn short_form(&self) -> &str {
        self.as_str().get(..12).unwrap_or_default()
    }
}

impl Hash for RequestKey {
    /// Hashes all digits, because the author of a recording chooses its keys and may choose many
    /// with the same beginning.
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write(&self.0);
    }
}

impl fmt::Display for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for RequestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RequestKey({})", self.short_form())
    }
}

/// The text that a request's key is the SHA-256 of: one line of ASCII.
pub fn canonical_text(parts: &RequestParts<'_>, rules: &IdentityRules) -> Vec<u8> {
    text_of(parts, parts.json_body().as_ref(), rules, KeyGeneration::CURRENT)
}

fn text_of(
    parts: &RequestParts<'_>,
    body: Option<&Json<'_>>,
    rules: &IdentityRules,
    generation: KeyGeneration,
) -> Vec<u8> {
    let mut out = Vec::with_capacity(parts.body.len() + parts.body.len() / 8 + 256);
    let body = body.filter(|_| parts.offers_json());
    match body {
        Some(body) if has_chat_body(parts, body) && generation.is_plain(parts, rules) => {
            write_chat(body, rules, &mut out);
        }
        _ => write_tagged(parts, body, (rules, generation), &mut out),
    }
    out
}

/// Whether the key is that of plain entries, made of the body alone.
pub(super) fn is_chat(parts: &RequestParts<'_>, body: &Json<'_>, rules: &IdentityRules) -> bool {
    has_chat_body(parts, body) && KeyGeneration::CURRENT.is_plain(parts, rules)
}

fn has_chat_body(parts: &RequestParts<'_>, body: &Json<'_>) -> bool {
    parts.form == KeyForm::Chat && body.is_object()
}

/// Whether a top-level member only chooses the mode of delivery.
fn is_delivery(key: &JsonStr<'_>) -> bool {
    DELIVERY.iter().any(|name| *key == *name)
}

/// Whether a top-level member of the body is part of the key, before rules.
pub(super) fn keeps_member(parts: &RequestParts<'_>, name: &JsonStr<'_>) -> bool {
    !(is_delivery_ignored(parts) && is_delivery(name))
}

/// The members that the chat text always has; `null` if they are absent.
pub(super) const NAMED: [&str; 4] = ["max_tokens", "messages", "model", "temperature"];

fn write_chat(body: &Json<'_>, rules: &IdentityRules, out: &mut Vec<u8>) {
    let ignored = rules.scoped_rules();
    out.extend_from_slice(b"{\"extra\": ");
    let extra = |key: &JsonStr<'_>| !is_delivery(key) && !NAMED.iter().any(|name| *key == *name);
    canonical::write_members(body.as_object().unwrap_or_default(), &ignored, extra, out);
    for name in NAMED {
        out.extend_from_slice(b", \"");
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\": ");
        match (body.get(name), ignored.for_member(JsonStr::from(name))) {
            (Some(value), Some(inner)) => canonical::write_kept(value, &inner, out),
            _ => out.extend_from_slice(b"null"),
        }
    }
    out.push(b'}');
}

fn write_tagged(
    parts: &RequestParts<'_>,
    body: Option<&Json<'_>>,
    (rules, generation): (&IdentityRules, KeyGeneration),
    out: &mut Vec<u8>,
) {
    let headers = generation.key_headers(parts, rules);
    out.extend_from_slice(b"{\"body\": ");
    write_body_of(parts, body, (rules, generation), out);
    out.extend_from_slice(b", \"headers\": ");
    write_text_members(headers.iter().map(|(name, value)| (*name, value.as_str())), out);
    out.extend_from_slice(b", \"loomrec\": \"request/1\", \"method\": ");
    canonical::write_string(JsonStr::from(parts.method), out);
    out.extend_from_slice(b", \"query\": ");
    let (query, target) = match generation < KeyGeneration::Fourth {
        true => (sent_query(parts), sent_target(parts).into()),
        false => (query_of(parts), tagged_target(parts)),
    };
    canonical::write_string(JsonStr::from(&*query), out);
    out.extend_from_slice(b", \"target\": ");
    canonical::write_string(JsonStr::from(&*target), out);
    out.push(b'}');
}

/// Appends the value of `body` in the tagged form.
pub(super) fn write_body(
    parts: &RequestParts<'_>,
    body: Option<&Json<'_>>,
    rules: &IdentityRules,
    out: &mut Vec<u8>,
) {
    write_body_of(parts, body, (rules, KeyGeneration::CURRENT), out);
}

fn write_body_of(
    parts: &RequestParts<'_>,
    body: Option<&Json<'_>>,
    (rules, generation): (&IdentityRules, KeyGeneration),
    out: &mut Vec<u8>,
) {
    if parts.body.is_empty() {
        return out.extend_from_slice(b"null");
    }
    let reduced = body.zip(parts.key_reduction()).map(|(body, reduction)| (reduction.body)(body));
    if let Some(value) = reduced.as_ref().or(body) {
        out.extend_from_slice(b"{\"json\": ");
        match value.as_object() {
            Some(members) => {
                let keep = |name: &JsonStr<'_>| keeps_member(parts, name);
                canonical::write_members(members, &rules.scoped_rules(), keep, out);
            }
            None => canonical::write_kept(value, &rules.scoped_rules(), out),
        }
        return out.push(b'}');
    }
    let content_type = parts.header_values("content-type").next().unwrap_or_default();
    let is_later = |parts: &[multipart::MultipartPart]| {
        generation < KeyGeneration::Third && multipart::is_of_later_keys(parts)
    };
    let found = multipart::parse(content_type, parts.body);
    if let Some(found) = found.filter(|found| !is_later(found)) {
        out.extend_from_slice(b"{\"multipart\": ");
        multipart::write_parts(&found, out);
        return out.push(b'}');
    }
    let (length, hash) = (parts.body.len(), sha256_hex(parts.body));
    let hash = digest::as_text(&hash);
    out.extend_from_slice(format!("{{\"length\": {length}, \"sha256\": \"{hash}\"}}").as_bytes());
}

/// The headers that enter the key, sorted by name.
pub(super) fn key_headers<'a>(
    parts: &RequestParts<'a>,
    rules: &IdentityRules,
) -> Vec<(&'a str, String)> {
    KeyGeneration::CURRENT.key_headers(parts, rules)
}

/// The part of the query that enters the key.
pub(super) fn query_of(parts: &RequestParts<'_>) -> String {
    percent::one_spelling(&sent_query(parts)).into_owned()
}

/// The part of the query that enters the key, as it was sent.
fn sent_query(parts: &RequestParts<'_>) -> String {
    query::key_part(parts.query, is_delivery_ignored(parts))
}

/// The value of `target` in the tagged form.
pub(super) fn tagged_target<'a>(parts: &RequestParts<'a>) -> Cow<'a, str> {
    percent::one_spelling(sent_target(parts))
}

/// The target as it was sent.
fn sent_target<'a>(parts: &RequestParts<'a>) -> &'a str {
    match parts.form {
        KeyForm::Chat => "chat",
        KeyForm::Tagged { target, .. } | KeyForm::Reduced { target, .. } => target,
    }
}

/// Whether the mode of delivery is left out of this request's key.
pub(super) fn is_delivery_ignored(parts: &RequestParts<'_>) -> bool {
    match parts.form {
        KeyForm::Chat => true,
        KeyForm::Tagged { delivery, .. } => delivery,
        KeyForm::Reduced { .. } => false,
    }
}
