//! Request bodies with a content encoding: decoding them, so that a request is identified, searched
//! for credentials and shown by its text.

use bytes::Bytes;
use sha2::{Digest as _, Sha256};

use super::encoding::{self, DecodeError};
use super::redact::{MARK, OPAQUE, with_replaced_boundary};
use loomrec_identity::media_type;

/// The most plain bytes of a body that are searched.
const MOST: usize = 64 << 20;

/// How many codings, on top of each other, are removed from a body without a header.
const CODINGS: usize = 4;

/// How many bytes show whether a body is a text.
const SAMPLE: usize = 64;

/// A request's body as it is identified and stored.
#[derive(Debug, PartialEq, Eq)]
pub struct DecodedRequestBody {
    /// The text. Of a body that cannot be decoded, the bytes as they were received; or, if these are a
    /// text, which would be another request, what is stored.
    pub text: Bytes,
    /// The compressed bytes, if no header names their coding.
    pub packed: Option<Bytes>,
    /// What is stored instead of a body that cannot be decoded.
    pub opaque: Option<Bytes>,
}

impl DecodedRequestBody {
    /// Decodes a body that was sent with this content encoding and type.
    pub fn decode(coding: Option<&str>, content_type: &str, body: &Bytes) -> Self {
        let plain = match request_text(coding, body) {
            RequestText::Plain(text) | RequestText::Decoded(text) => text,
            RequestText::Opaque(mark) => {
                let is_text = std::str::from_utf8(body).is_ok();
                let text = if is_text { mark.clone() } else { body.clone() };
                return Self { text, packed: None, opaque: Some(mark) };
            }
        };
        let (text, packed) = match unpacked_text(content_type, &plain) {
            Some(text) => (text, Some(plain)),
            None => (plain, None),
        };
        match with_replaced_boundary(content_type, &text) {
            Some(text) => Self { text, packed: None, opaque: None },
            None => Self { text, packed, opaque: None },
        }
    }
}

/// The text of a request's body.
#[derive(Debug, PartialEq, Eq)]
enum RequestText {
    /// The body as it was received.
    Plain(Bytes),
    /// The body after decoding.
    Decoded(Bytes),
    /// A text that replaces a body which cannot be decoded.
    Opaque(Bytes),
}

/// Returns the text of a body with this coding.
fn request_text(coding: Option<&str>, body: &Bytes) -> RequestText {
    let Some(coding) = coding.filter(|_| !body.is_empty()) else {
        return RequestText::Plain(body.clone());
    };
    match encoding::try_decode(coding, body, MOST) {
        Ok(plain) => return RequestText::Decoded(plain.into()),
        // A program may by mistake send a header that names no coding (`utf-8`).
        Err(DecodeError::Unknown) if std::str::from_utf8(body).is_ok() => {
            return RequestText::Plain(body.clone());
        }
        Err(_) => {}
    }
    let digest: String = Sha256::digest(body).iter().map(|byte| format!("{byte:02x}")).collect();
    let length = body.len();
    let [before, between] = OPAQUE;
    RequestText::Opaque(format!("{MARK}{before}{length}{between}{digest}").into())
}

/// Returns the text of a body whose coding no header names; `None` if it is not compressed. Earlier
/// versions stored compressed requests as they came, without that header. The first bytes identify
/// the coding. A coding without a magic number is read only in a body that should be JSON or a form,
/// and if all of it decodes to a text.
pub fn unpacked_text(content_type: &str, body: &Bytes) -> Option<Bytes> {
    let mut text = Bytes::from(decode_unnamed(content_type, body)?);
    for _ in 1..CODINGS {
        let Some(plain) = decode_unnamed(content_type, &text) else { break };
        text = plain.into();
    }
    Some(text)
}

/// Returns the text of a body whose coding no header names, or the body itself if it is not
/// compressed. Its type is not known.
pub fn stored_text(body: &Bytes) -> Bytes {
    unpacked_text("", body).unwrap_or_else(|| body.clone())
}

/// Whether a body may be compressed, judged by its headers and its first bytes. Then reading its
/// text may take long.
pub fn may_be_packed(coding: Option<&str>, content_type: &str, body: &[u8]) -> bool {
    coding.is_some() || marked_coding(body).is_some() || may_be_unmarked(content_type, body)
}

/// Decodes a body whose coding is not named.
fn decode_unnamed(content_type: &str, body: &[u8]) -> Option<Vec<u8>> {
    if let Some(coding) = marked_coding(body) {
        return encoding::decode_body(coding, body, MOST);
    }
    if !may_be_unmarked(content_type, body) {
        return None;
    }
    let codings = ["deflate", "br"].into_iter();
    let mut decoded = codings.filter_map(|coding| encoding::decode_body(coding, body, MOST));
    decoded.find(|plain| is_text(plain) || marked_coding(plain).is_some())
}

/// Whether the bytes begin as gzip or Zstandard do.
pub fn is_compressed(body: &[u8]) -> bool {
    marked_coding(body).is_some()
}

/// Whether a body may have a coding without a magic number: it should be a text, and is none.
fn may_be_unmarked(content_type: &str, body: &[u8]) -> bool {
    !begins_as_text(body) && is_text_type(content_type)
}

/// Whether a body of this content type should be a text.
pub(crate) fn is_text_type(content_type: &str) -> bool {
    let media = media_type(content_type).to_ascii_lowercase();
    media.is_empty()
        || media.ends_with("json")
        || media.starts_with("text/")
        || media == "application/x-www-form-urlencoded"
}

/// Whether the first bytes are a readable text. A few are enough to tell it from compressed data.
fn begins_as_text(body: &[u8]) -> bool {
    let start = &body[..body.len().min(SAMPLE)];
    let is_cut = |error: std::str::Utf8Error| error.error_len().is_none();
    // All bytes are looked at, several at once.
    let is_odd_start = start.iter().fold(false, |odd, byte| odd | is_odd(byte));
    !is_odd_start && std::str::from_utf8(start).map_or_else(is_cut, |_| true)
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
    std::str::from_utf8(body).is_ok() && !body.iter().any(is_odd)
}

/// Whether a byte occurs in no readable text.
fn is_odd(byte: &u8) -> bool {
    byte.is_ascii_control() && !byte.is_ascii_whitespace()
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
    fn text_that_is_sent_as_if_it_were_compressed_is_known_by_its_hash_alone() {
        let plain = Bytes::from_static(b"{\"model\": \"m\"}");
        let decode =
            |coding: &str| DecodedRequestBody::decode(Some(coding), "application/json", &plain);
        for coding in ["gzip", "x-gzip", "deflate", "br", "zstd", "identity, gzip"] {
            let body = decode(coding);
            assert_eq!(body.opaque.as_ref(), Some(&body.text), "{coding}");
            assert!(body.text.starts_with(b"[REDACTED] a body of 14 bytes, sha256 "), "{coding}");
        }
        for coding in ["utf-8", "identity", "foo"] {
            assert_eq!(decode(coding).text, plain, "{coding}");
        }
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
            let packed = Bytes::from(packed);
            for media in ["application/json", "text/plain; charset=utf-8", ""] {
                assert_eq!(unpacked_text(media, &packed), Some(text.clone()));
                assert!(may_be_packed(None, media, &packed));
            }
            // Data that is no text has only a coding that its first bytes name.
            let is_marked = marked_coding(&packed).is_some();
            assert_eq!(unpacked_text("audio/mpeg", &packed).is_some(), is_marked);
        }
        for other in [&b""[..], b"plain", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", b"\0\x01\x02"] {
            let other = Bytes::from_static(other);
            assert_eq!(unpacked_text("", &other), None);
        }
        assert!(!may_be_packed(None, "application/json", "{\"a\": \"\u{6f22}\"}".as_bytes()));
    }
}
