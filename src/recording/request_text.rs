//! Request bodies with a content encoding: decoding them, so that they can be searched for
//! credentials.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::encoding;
use super::redact::MARK;

/// The most plain bytes of a body that are searched.
const MOST: usize = 64 << 20;

/// How many codings, on top of each other, are removed from a recorded body.
const CODINGS: usize = 4;

/// The text of a request's body that is searched for credentials.
#[derive(Debug, PartialEq, Eq)]
pub enum RequestText {
    /// The body as it was received.
    Plain(Bytes),
    /// The body after decoding.
    Decoded(Bytes),
    /// A text that replaces a body which cannot be decoded.
    Opaque(Bytes),
}

/// Returns the searchable text of a body with this coding.
pub fn request_text(coding: Option<&str>, body: &Bytes) -> RequestText {
    let Some(coding) = coding.filter(|_| !body.is_empty()) else {
        return RequestText::Plain(body.clone());
    };
    if let Some(plain) = encoding::decode(coding, body, MOST) {
        return RequestText::Decoded(plain.into());
    }
    // A program may by mistake send a header that names no coding (`utf-8`).
    if std::str::from_utf8(body).is_ok() {
        return RequestText::Plain(body.clone());
    }
    let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    let length = body.len();
    RequestText::Opaque(format!("{MARK} a body of {length} bytes, sha256 {digest}").into())
}

/// Decodes the recorded body of a request. The header that names its coding is not stored. So the
/// first bytes identify the coding, or, for codings without a magic number, the fact that the whole
/// body decodes to a text.
pub fn stored_text(body: &Bytes) -> Bytes {
    let mut text = body.clone();
    for _ in 0..CODINGS {
        let Some(plain) = decode_unnamed(&text) else { break };
        text = plain.into();
    }
    text
}

/// Decodes a body whose coding is not named.
fn decode_unnamed(body: &[u8]) -> Option<Vec<u8>> {
    if is_text(body) {
        return None;
    }
    if let Some(coding) = marked_coding(body) {
        return encoding::decode(coding, body, MOST);
    }
    let codings = ["deflate", "br"].into_iter();
    let mut decoded = codings.filter_map(|coding| encoding::decode(coding, body, MOST));
    decoded.find(|plain| is_text(plain) || marked_coding(plain).is_some())
}

/// Whether the bytes begin as gzip or Zstandard do.
pub fn is_compressed(body: &[u8]) -> bool {
    marked_coding(body).is_some()
}

/// Returns the coding whose magic number the bytes begin with.
fn marked_coding(body: &[u8]) -> Option<&'static str> {
    match body {
        [0x1f, 0x8b, 8, ..] => Some("gzip"),
        [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some("zstd"),
        _ => None,
    }
}

/// Whether the bytes are a readable text.
fn is_text(body: &[u8]) -> bool {
    let is_odd = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    std::str::from_utf8(body).is_ok() && !body.iter().any(is_odd)
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

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
    fn stored_body_is_read_under_each_coding_that_is_not_named() {
        let text = Bytes::from("{\"prompt\": \"hello hello hello\"}".repeat(3));
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&text).unwrap();
        let mut zlib = ZlibEncoder::new(Vec::new(), Compression::fast());
        zlib.write_all(&text).unwrap();
        let mut bare = DeflateEncoder::new(Vec::new(), Compression::fast());
        bare.write_all(&text).unwrap();
        let zstd = compress_to_vec(&text[..], CompressionLevel::Fastest);
        // A brotli stream of one block that is not compressed.
        let head = ((text.len() as u32 - 1) << 4 | 1 << 20).to_le_bytes();
        let brotli = [&head[..3], &text, &[3]].concat();
        let gzip = gzip.finish().unwrap();
        let twice = compress_to_vec(&gzip[..], CompressionLevel::Fastest);
        let packed = [gzip, zlib.finish().unwrap(), bare.finish().unwrap(), zstd, brotli, twice];
        for packed in packed {
            assert_eq!(stored_text(&packed.into()), text);
        }
        for other in [&b""[..], b"plain", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\0\x01\x02"] {
            let other = Bytes::from_static(other);
            assert_eq!(stored_text(&other), other);
        }
    }
}
