//! The signature of a call for AWS: its key, its region, and what it covers.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::{AUTHORIZATION, HOST};
use url::Url;

use loomrec_provider::directory;

/// The scheme of a signature with a secret key.
const SCHEME: &[u8] = b"AWS4-HMAC-SHA256";

/// The signature of a call that was made for loomrec's address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AwsScope {
    /// The id of the access key.
    pub(in crate::upstream) key_id: String,
    /// The day, as `20261122`.
    pub(super) day: String,
    /// The region.
    pub(super) region: String,
    /// The service, as signatures name it.
    pub(super) service: String,
    /// The headers that it covers, by their names.
    pub(super) covered: BTreeMap<String, String>,
    /// The path and the query that it covers.
    pub(super) target: String,
    /// The client's signature.
    pub(super) signature: String,
}

impl AwsScope {
    /// Whether a call has a signature.
    pub fn is_signed(headers: &HeaderMap) -> bool {
        headers.get(AUTHORIZATION).is_some_and(|value| value.as_bytes().starts_with(SCHEME))
    }

    /// Returns that of a call to this path and query, if it was signed, and for another host than
    /// that of AWS.
    pub fn of_call(headers: &HeaderMap, target: &str) -> Option<Self> {
        let mut scope = Self::parse(headers.get(AUTHORIZATION)?.to_str().ok()?)?;
        scope.target = target.to_owned();
        for (name, value) in &mut scope.covered {
            *value = canonical_value(headers, name);
        }
        let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let host = host.split(':').next().unwrap_or_default().to_ascii_lowercase();
        (!directory::is_provider_host(&host)).then_some(scope)
    }

    /// Reads the value of `authorization`.
    fn parse(authorization: &str) -> Option<Self> {
        let rest = std::str::from_utf8(authorization.as_bytes().strip_prefix(SCHEME)?).ok()?;
        let rest = rest.trim_start();
        let field = |name: &str| {
            let mut fields = rest.split(',').map(str::trim);
            fields.find_map(|field| field.strip_prefix(name)?.strip_prefix('='))
        };
        // The id of a key holds no slash; the date, the region, the service and the end follow it.
        let mut parts = field("Credential")?.split('/');
        let (key_id, day) = (parts.next()?, parts.next()?);
        let (region, service) = (parts.next()?, parts.next()?);
        if (parts.next(), parts.next()) != (Some("aws4_request"), None) {
            return None;
        }
        let is_plain = |text: &str| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
            !text.is_empty() && text.bytes().all(plain)
        };
        let signature = field("Signature")?;
        if ![key_id, day, region, service, signature].into_iter().all(is_plain) {
            return None;
        }
        let names = field("SignedHeaders")?.split(';').map(str::to_ascii_lowercase);
        let covered = names.map(|name| (name, String::new())).collect();
        let [key_id, day, region, service, signature] =
            [key_id, day, region, service, signature].map(str::to_owned);
        Some(Self { key_id, day, region, service, covered, target: String::new(), signature })
    }

    /// Returns the public address of the service in this region, where loomrec knows it.
    pub fn public_address(&self) -> Option<Url> {
        let region = &self.region;
        let host = format!("bedrock-runtime.{region}.amazonaws.com");
        let is_known = self.service == "bedrock" && directory::is_provider_host(&host);
        Url::parse(&format!("https://{host}")).ok().filter(|_| is_known)
    }
}

/// The host over HTTP/2, which AWS's SDK for Node signs by this name.
const AUTHORITY: &str = ":authority";

/// Returns the values of a header as a signature covers them.
pub(super) fn canonical_value(headers: &HeaderMap, name: &str) -> String {
    let name = if name == AUTHORITY { HOST.as_str() } else { name };
    let values = headers.get_all(name).iter().map(|value| {
        let text = String::from_utf8_lossy(value.as_bytes()).into_owned();
        text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
    });
    values.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    const SIGNED: &str = "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261122/eu-west-1/bedrock/aws4_request, \
                          SignedHeaders=content-type;Host;x-amz-date, Signature=00";

    fn called(host: &'static str, authorization: &'static str) -> HeaderMap {
        [
            (HOST, HeaderValue::from_static(host)),
            (AUTHORIZATION, HeaderValue::from_static(authorization)),
            ("x-amz-date".parse().unwrap(), HeaderValue::from_static("20261122T000000Z")),
        ]
        .into_iter()
        .collect()
    }

    #[test]
    fn signature_for_loomrecs_address_is_read() {
        let scope = AwsScope::of_call(&called("127.0.0.1:4141", SIGNED), "/model/x").unwrap();
        assert_eq!((&*scope.key_id, &*scope.region), ("AKIDEXAMPLE", "eu-west-1"));
        let covered = scope.covered.iter().map(|(name, value)| (&**name, &**value));
        assert_eq!(
            covered.collect::<Vec<_>>(),
            [("content-type", ""), ("host", "127.0.0.1:4141"), ("x-amz-date", "20261122T000000Z")]
        );
        assert_eq!((&*scope.target, &*scope.signature), ("/model/x", "00"));
        let address = scope.public_address().unwrap();
        assert_eq!(address.as_str(), "https://bedrock-runtime.eu-west-1.amazonaws.com/");
    }

    #[test]
    fn authority_that_is_signed_is_the_host() {
        const BY_HTTP2: &str = "AWS4-HMAC-SHA256 Credential=K/d/us-east-1/bedrock/aws4_request, \
                                SignedHeaders=:authority;x-amz-date, Signature=00";
        let scope = AwsScope::of_call(&called("127.0.0.1:4141", BY_HTTP2), "/").unwrap();
        assert_eq!(scope.covered[AUTHORITY], "127.0.0.1:4141");
    }

    #[test]
    fn signature_for_aws_and_what_is_none_are_left() {
        for (host, authorization) in [
            ("bedrock-runtime.eu-west-1.amazonaws.com", SIGNED),
            ("bedrock-runtime.eu-west-1.amazonaws.com:443", SIGNED),
            ("127.0.0.1", "Bearer AWS4-HMAC-SHA256"),
            ("127.0.0.1", "AWS4-HMAC-SHA256 Credential=K/d/r/s, SignedHeaders=host, Signature=0"),
            ("127.0.0.1", "AWS4-HMAC-SHA256 Credential=K/d/r/s/aws4_request, Signature=0"),
            ("127.0.0.1", "AWS4-HMAC-SHA256 Credential=K/d/../s/aws4_request, SignedHeaders=host"),
            ("127.0.0.1", "AWS4-HMAC-SHA256 Credential=K/d//s/aws4_request, SignedHeaders=host"),
        ] {
            assert_eq!(
                AwsScope::of_call(&called(host, authorization), "/"),
                None,
                "{authorization}"
            );
        }
    }

    #[test]
    fn address_is_known_for_regions_of_bedrock_alone() {
        let scope = |region: &str, service: &str| AwsScope {
            key_id: "K".to_owned(),
            day: String::new(),
            region: region.to_owned(),
            service: service.to_owned(),
            covered: BTreeMap::new(),
            target: String::new(),
            signature: String::new(),
        };
        assert!(scope("us-gov-west-1", "bedrock").public_address().is_some());
        assert!(scope("us-east-1", "s3").public_address().is_none());
        assert!(scope("mine-s3", "bedrock").public_address().is_none());
    }
}
