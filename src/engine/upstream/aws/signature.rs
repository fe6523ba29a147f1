//! The signature of a request (AWS's documentation, "Create a signed AWS API request").

use std::collections::BTreeMap;

use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use ring::hmac;
use subtle::ConstantTimeEq as _;
use time::format_description::StaticFormatDescription;
use time::macros::format_description;
use time::{Duration, OffsetDateTime, PrimitiveDateTime, UtcOffset};

use super::scope::{AwsScope, canonical_value};
use loomrec_identity::{digest_text, sha256_text};

/// What a canonical request encodes: everything but letters, digits and these.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same in a path, whose slashes stay.
const ENCODED_IN_PATH: &AsciiSet = &ENCODED.remove(b'/');

/// The header with the hash of the body.
const BODY_HASH: &str = "x-amz-content-sha256";
/// The header with the time.
const TIME: &str = "x-amz-date";

/// The format of that time.
const TIME_FORMAT: StaticFormatDescription =
    format_description!("[year][month][day]T[hour][minute][second]Z");

/// How far the time of a signature may be from ours.
const MOST_APART: Duration = Duration::minutes(15);

/// What a signature is made of.
struct SigningInput<'a> {
    method: &'a Method,
    uri: &'a Uri,
    covered: &'a BTreeMap<String, String>,
    body_hash: &'a str,
    /// The time, as `20261122T101112Z`.
    time: &'a str,
    day: &'a str,
}

impl SigningInput<'_> {
    /// Returns the names of the headers that it covers.
    fn signed_headers(&self) -> String {
        self.covered.keys().map(String::as_str).collect::<Vec<_>>().join(";")
    }

    /// Returns what limits a signature to its day, region and service.
    fn credential_scope(&self, scope: &AwsScope) -> String {
        format!("{}/{}/{}/aws4_request", self.day, scope.region, scope.service)
    }

    /// Returns the signature with this secret.
    fn compute_signature(&self, scope: &AwsScope, secret: &str) -> String {
        let Self { method, uri, covered, body_hash, time, day } = self;
        let headers: String =
            covered.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let (path, query, names) = (path_of(uri), query_of(uri), self.signed_headers());
        let canonical = format!("{method}\n{path}\n{query}\n{headers}\n{names}\n{body_hash}");
        let place = self.credential_scope(scope);
        let hash = sha256_text(canonical.as_bytes());
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{place}\n{hash}");
        let first = hmac_sha256(format!("AWS4{secret}").as_bytes(), day);
        let parts = place.split('/').skip(1);
        let key = parts.fold(first, |key, part| hmac_sha256(&key, part));
        digest_text(&hmac_sha256(&key, &text))
    }
}

/// Whether the client of a call has made its signature with this secret, over this body and a short
/// time ago. Otherwise anybody who can call loomrec, or who saw a call, could have calls signed with
/// the keys of its user.
pub(in crate::upstream) fn is_signed_with(
    (method, body): (&Method, &[u8]),
    scope: &AwsScope,
    secret: &str,
    now: OffsetDateTime,
) -> bool {
    let Ok(uri) = scope.target.parse() else { return false };
    let stated = |name: &str| scope.covered.get(name).map(String::as_str);
    let own_hash = sha256_text(body);
    let is_of_body = stated(BODY_HASH).is_none_or(|hash| hash == own_hash);
    if !is_of_body || !is_recent(stated(TIME).unwrap_or_default(), now) {
        return false;
    }
    let input = SigningInput {
        method,
        uri: &uri,
        covered: &scope.covered,
        body_hash: &own_hash,
        time: stated(TIME).unwrap_or_default(),
        day: &scope.day,
    };
    input.compute_signature(scope, secret).as_bytes().ct_eq(scope.signature.as_bytes()).into()
}

/// Whether a signature was made at about this time.
fn is_recent(time: &str, now: OffsetDateTime) -> bool {
    let made = PrimitiveDateTime::parse(time, TIME_FORMAT);
    made.is_ok_and(|made| (now - made.assume_utc()).abs() <= MOST_APART)
}

/// Signs a request that goes to this address, with the headers that the client's signature covers.
pub(in crate::upstream) fn sign_request(
    (method, uri, headers, body): (&Method, &Uri, &mut HeaderMap, &[u8]),
    scope: &AwsScope,
    secret: &str,
    now: OffsetDateTime,
) {
    let now = now.to_offset(UtcOffset::UTC);
    let time = now.format(TIME_FORMAT);
    // A format without names of zones always succeeds.
    let time = time.unwrap_or_default();
    let day = time.split('T').next().unwrap_or_default();
    let body_hash = sha256_text(body);
    let mut set = |name: &'static str, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    };
    set("host", uri.authority().map(http::uri::Authority::as_str).unwrap_or_default());
    set(TIME, &time);
    if scope.covered.contains_key(BODY_HASH) {
        set(BODY_HASH, &body_hash);
    }
    let names = scope.covered.keys().map(String::as_str).chain(["host", TIME]);
    let present = names.filter(|name| headers.contains_key(*name));
    let covered = present.map(|name| (name.to_owned(), canonical_value(headers, name))).collect();
    let input =
        SigningInput { method, uri, covered: &covered, body_hash: &body_hash, time: &time, day };
    let authorization = format!(
        "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}",
        scope.key_id,
        input.credential_scope(scope),
        input.signed_headers(),
        input.compute_signature(scope, secret)
    );
    if let Ok(authorization) = HeaderValue::from_str(&authorization) {
        headers.insert(AUTHORIZATION, authorization);
    }
}

/// Returns the path as it is sent, encoded once more.
fn path_of(uri: &Uri) -> String {
    utf8_percent_encode(uri.path(), ENCODED_IN_PATH).to_string()
}

/// Returns the parameters of the query in their order.
fn query_of(uri: &Uri) -> String {
    let encoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8_lossy().into_owned();
        utf8_percent_encode(&text, ENCODED).to_string()
    };
    let parameters = uri.query().unwrap_or_default().split('&').filter(|part| !part.is_empty());
    let mut parameters: Vec<_> = parameters
        .map(|part| part.split_once('=').unwrap_or((part, "")))
        .map(|(name, value)| (encoded(name), encoded(value)))
        .collect();
    parameters.sort();
    let parameters = parameters.into_iter().map(|(name, value)| format!("{name}={value}"));
    parameters.collect::<Vec<_>>().join("&")
}

fn hmac_sha256(key: &[u8], text: &str) -> [u8; 32] {
    let code = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text.as_bytes());
    // A SHA-256 has this length.
    code.as_ref().try_into().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use time::macros::datetime;

    use super::*;

    fn scope(signed: &[&str]) -> AwsScope {
        AwsScope {
            key_id: "AKIDEXAMPLE".to_owned(),
            region: "us-east-1".to_owned(),
            service: "bedrock".to_owned(),
            day: "20260102".to_owned(),
            covered: signed.iter().map(|&name| (name.to_owned(), String::new())).collect(),
            target: String::new(),
            signature: String::new(),
        }
    }

    /// The signature of a request to a model, made by botocore for the same request.
    #[test]
    fn signature_is_that_of_botocore() {
        let uri = "https://bedrock-runtime.us-east-1.amazonaws.com/model/us.amazon.nova-lite-v1%3A0/converse";
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        headers.insert("x-amz-security-token", HeaderValue::from_static("SESSION"));
        headers.insert("user-agent", HeaderValue::from_static("Boto3"));
        let scope = scope(&["content-type", "host", "x-amz-date", "x-amz-security-token"]);
        sign_request(
            (&Method::POST, &uri.parse().unwrap(), &mut headers, br#"{"messages": []}"#),
            &scope,
            "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
            datetime!(2026-01-02 03:04:05 UTC),
        );
        assert_eq!(headers["x-amz-date"], "20260102T030405Z");
        assert_eq!(headers["host"], "bedrock-runtime.us-east-1.amazonaws.com");
        assert_eq!(
            headers["authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20260102/us-east-1/bedrock/aws4_request, \
             SignedHeaders=content-type;host;x-amz-date;x-amz-security-token, \
             Signature=38d7bfc82bca96b26838bb519e300a3c472b727792f2aa9912acdb00a00a7646"
        );
    }

    #[test]
    fn signature_of_a_client_is_checked_in_all_that_it_covers() {
        let target = "/bedrock/model/us.amazon.nova-lite-v1%3A0/converse?a=1";
        let uri = format!("http://127.0.0.1:4141{target}").parse().unwrap();
        let mut headers = HeaderMap::new();
        headers.insert("content-type", HeaderValue::from_static("application/json"));
        let covered = scope(&["content-type", "host", TIME]);
        let now = datetime!(2026-01-02 03:04:05 UTC);
        sign_request((&Method::POST, &uri, &mut headers, b"{}"), &covered, "secret", now);
        let signed = AwsScope::of_call(&headers, target).unwrap();
        assert!(is_signed_with((&Method::POST, b"{}"), &signed, "secret", now));
        assert!(!is_signed_with((&Method::POST, b"{}"), &signed, "other", now));
        assert!(!is_signed_with((&Method::POST, b"{ }"), &signed, "secret", now));
        assert!(!is_signed_with((&Method::PUT, b"{}"), &signed, "secret", now));
        let other = AwsScope::of_call(&headers, "/bedrock/model/other/converse?a=1").unwrap();
        assert!(!is_signed_with((&Method::POST, b"{}"), &other, "secret", now));
        for name in ["content-type", "host", TIME] {
            let mut changed = headers.clone();
            changed.insert(name, HeaderValue::from_static("changed"));
            let changed = AwsScope::of_call(&changed, target).unwrap();
            assert!(!is_signed_with((&Method::POST, b"{}"), &changed, "secret", now), "{name}");
        }
        for (minutes, is_valid) in [(-16, false), (-14, true), (14, true), (16, false)] {
            let now = now + Duration::minutes(minutes);
            let is_signed = is_signed_with((&Method::POST, b"{}"), &signed, "secret", now);
            assert_eq!(is_signed, is_valid, "{minutes}");
        }
        // A signature that covers no body could be put before any.
        let mut open = headers.clone();
        open.insert(BODY_HASH, HeaderValue::from_static("UNSIGNED-PAYLOAD"));
        let names = scope(&["host", BODY_HASH, TIME]);
        sign_request((&Method::POST, &uri, &mut open, b"{}"), &names, "secret", now);
        let signed = AwsScope::of_call(&open, target).unwrap();
        assert!(is_signed_with((&Method::POST, b"{}"), &signed, "secret", now));
        open.insert(BODY_HASH, HeaderValue::from_static("UNSIGNED-PAYLOAD"));
        let signed = AwsScope::of_call(&open, target).unwrap();
        assert!(!is_signed_with((&Method::POST, b"{}"), &signed, "secret", now));
    }

    #[test]
    fn query_is_sorted_and_encoded_once() {
        let uri = "http://h/?b=2&a=%2Fx&a=1%201&c&d=%C3%A9~".parse().unwrap();
        assert_eq!(query_of(&uri), "a=%2Fx&a=1%201&b=2&c=&d=%C3%A9~");
        assert_eq!(query_of(&"http://h/".parse().unwrap()), "");
    }

    #[test]
    fn each_change_of_a_request_changes_its_signature() {
        let sign = |uri: &str, body: &str, secret: &str, kind: &'static str| {
            let mut headers = HeaderMap::new();
            headers.insert("content-type", HeaderValue::from_static(kind));
            headers.insert("x-unsigned", HeaderValue::from_static(kind));
            let now = datetime!(2026-01-02 03:04:05 UTC);
            let request = (&Method::POST, &uri.parse().unwrap(), &mut headers, body.as_bytes());
            sign_request(request, &scope(&["content-type"]), secret, now);
            headers["authorization"].clone()
        };
        let first = sign("http://h/a", "b", "s", "t");
        assert_eq!(sign("http://h/a", "b", "s", "t"), first);
        for other in [
            sign("http://i/a", "b", "s", "t"),
            sign("http://h/a%20", "b", "s", "t"),
            sign("http://h/a?x", "b", "s", "t"),
            sign("http://h/a", "c", "s", "t"),
            sign("http://h/a", "b", "z", "t"),
            sign("http://h/a", "b", "s", "u"),
        ] {
            assert_ne!(other, first);
        }
    }
}
