//! Request bodies under a content encoding: what they say is what is searched for
//! credentials.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::encoding;
use super::redact::MARK;

/// The most plain bytes that a body is looked into.
const MOST: usize = 64 << 20;

/// What is looked into of a request's body.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestText {
    /// The body as it came.
    Plain(Bytes),
    /// What it says once it is decoded.
    Decoded(Bytes),
    /// Nothing: it cannot be decoded. What stands in its place.
    Opaque(Bytes),
}

/// How a request's body is encoded, by the values of its `content-encoding` headers; `None`
/// where it is not.
pub fn content_coding<T: AsRef<str>>(values: impl Iterator<Item = T>) -> Option<String> {
    let values: Vec<T> = values.collect();
    let all = values.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(",");
    let is_plain = all
        .split(',')
        .map(str::trim)
        .all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"));
    (!is_plain).then_some(all)
}

/// What is looked into of a body that is encoded so.
pub fn request_text(coding: Option<&str>, body: &Bytes) -> RequestText {
    let Some(coding) = coding.filter(|_| !body.is_empty()) else {
        return RequestText::Plain(body.clone());
    };
    if let Some(plain) = encoding::decode(coding, body, MOST) {
        return RequestText::Decoded(plain.into());
    }
    // A header that names no coding (`utf-8`) is a mistake that programs make.
    if std::str::from_utf8(body).is_ok() {
        return RequestText::Plain(body.clone());
    }
    let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    let length = body.len();
    RequestText::Opaque(format!("{MARK} a body of {length} bytes, sha256 {digest}").into())
}

/// What the recorded body of a request says. Its first bytes tell how it is encoded: the
/// header is not stored.
pub fn stored_text(body: &Bytes) -> Bytes {
    let coding = match &body[..] {
        [0x1f, 0x8b, 8, ..] => "gzip",
        [0x28, 0xb5, 0x2f, 0xfd, ..] => "zstd",
        _ => return body.clone(),
    };
    encoding::decode(coding, body, MOST).map_or_else(|| body.clone(), Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn body_is_looked_into_by_what_its_coding_says() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"plain text").unwrap();
        let packed = Bytes::from(encoder.finish().unwrap());
        let plain = Bytes::from_static(b"plain text");
        assert_eq!(request_text(Some("gzip"), &packed), RequestText::Decoded(plain.clone()));
        assert_eq!(request_text(Some("utf-8"), &plain), RequestText::Plain(plain.clone()));
        assert_eq!(request_text(None, &packed), RequestText::Plain(packed.clone()));
        let RequestText::Opaque(cut) = request_text(Some("gzip"), &packed.slice(..15)) else {
            panic!("it cannot be decoded")
        };
        assert!(cut.starts_with(b"[REDACTED] a body of 15 bytes, sha256 "));
        assert!(matches!(request_text(Some("snappy"), &packed), RequestText::Opaque(_)));
    }

    #[test]
    fn coding_is_none_where_it_says_nothing() {
        let coding = |values: &[&str]| content_coding(values.iter());
        assert_eq!(coding(&[]), None);
        assert_eq!(coding(&["identity"]), None);
        assert_eq!(coding(&["identity", "gzip"]).as_deref(), Some("identity,gzip"));
    }
}
