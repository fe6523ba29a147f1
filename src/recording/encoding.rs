//! Content encodings: decoding compressed bodies.

mod brotli;
mod coding;
mod ending;
mod flate;
mod source;
mod zstd_frames;

use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use source::{DecodedPieces, EncodedPieces};

/// The most plain bytes for each encoded byte, if there are more than [`HELD`]. Gzip cannot reach
/// this ratio.
const RATIO: usize = 4096;

/// How many codings may be applied on top of each other.
const CODINGS: usize = 4;

/// Returns the coding of a body, joined from all values of its `content-encoding` headers; `None`
/// if it has no coding.
pub fn content_coding<T: AsRef<str>>(values: impl Iterator<Item = T>) -> Option<String> {
    let values: Vec<T> = values.collect();
    let all = values.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(",");
    let is_plain = all
        .split(',')
        .map(str::trim)
        .all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"));
    (!is_plain).then_some(all)
}

/// Returns the coding of a body with these headers (names in lower case); `None` if it has none.
pub fn coding_in(headers: &[(String, String)]) -> Option<String> {
    let codings = headers.iter().filter(|(name, _)| name == "content-encoding");
    content_coding(codings.map(|(_, value)| value))
}

/// As [`coding_in`], for an HTTP header map.
pub fn coding_of(headers: &HeaderMap) -> Option<String> {
    headers.get(CONTENT_ENCODING)?;
    let values = headers.get_all(CONTENT_ENCODING).iter();
    content_coding(values.map(|value| String::from_utf8_lossy(value.as_bytes())))
}

/// Decodes a body that was sent with `content-encoding: encoding`.
///
/// Returns `None` for an unknown encoding, for bytes that do not decode, and for more than `max`
/// plain bytes. `identity` and an empty encoding return the bytes unchanged. An empty body decodes
/// to an empty body under any encoding.
pub fn decode_body(encoding: &str, bytes: &[u8], max: usize) -> Option<Vec<u8>> {
    try_decode(encoding, bytes, max).ok()
}

/// As [`decode_body`], but with a reason for a failure.
///
/// # Errors
/// If the body does not decode, or decodes to more than `max` bytes.
pub fn try_decode(encoding: &str, bytes: &[u8], max: usize) -> Result<Vec<u8>, DecodeError> {
    Ok(join_pieces(try_decode_pieces(encoding, &[bytes], max)?))
}

/// [`decode_body`] for a body that arrived in pieces. Returns the plain bytes in order, each
/// assigned to the earliest encoded piece that completes it. An encoded piece that completes
/// nothing has no plain piece. Plain bytes of Zstandard may be assigned to a later piece than
/// necessary.
pub fn decode_pieces(encoding: &str, pieces: &[&[u8]], max: usize) -> Option<Vec<PlainPiece>> {
    try_decode_pieces(encoding, pieces, max).ok()
}

/// As [`decode_pieces`], but with a reason for a failure.
///
/// # Errors
/// If the body does not decode, or decodes to more than `max` bytes.
pub fn try_decode_pieces(
    encoding: &str,
    pieces: &[&[u8]],
    max: usize,
) -> Result<Vec<PlainPiece>, DecodeError> {
    let decoded = decode_as(&parse_codings(encoding)?, pieces, max);
    match decoded.problem {
        None => Ok(decoded.pieces),
        Some(problem) => Err(problem),
    }
}

/// The part of a body that could be decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecodableBody {
    /// The plain bytes before the problem. They may be incomplete if there are too many.
    pub plain: Vec<u8>,
    /// Why not all of the body was decoded.
    pub problem: Option<DecodeError>,
}

/// Decodes as much as possible of a body that may be cut or damaged.
pub fn decode_available(encoding: &str, bytes: &[u8], max: usize) -> DecodableBody {
    match parse_codings(encoding) {
        Err(problem) => DecodableBody { plain: Vec::new(), problem: Some(problem) },
        Ok(codings) => {
            let DecodedPieces { pieces, problem } = decode_as(&codings, &[bytes], max);
            DecodableBody { plain: join_pieces(pieces), problem }
        }
    }
}

fn decode_as(codings: &[ContentCoding], pieces: &[&[u8]], max: usize) -> DecodedPieces {
    let encoded: usize = pieces.iter().map(|piece| piece.len()).sum();
    // A body without bytes (for example to `HEAD`) is complete under any coding.
    if codings.is_empty() || encoded == 0 {
        let piece = |(of, data): (usize, &&[u8])| PlainPiece { of, data: data.to_vec() };
        let pieces = pieces.iter().enumerate().map(piece).collect();
        return DecodedPieces { pieces, problem: None };
    }
    let max = max.min(encoded.saturating_mul(RATIO).max(HELD));
    let decoded = EncodedPieces::from_pieces(pieces).decode_all(codings, max);
    // Two formats are called deflate: zlib and bare deflate.
    if decoded.problem == Some(DecodeError::Damaged) && codings.contains(&ContentCoding::Zlib) {
        let raw = |coding: &ContentCoding| match coding {
            ContentCoding::Zlib => ContentCoding::Deflate,
            other => *other,
        };
        let codings: Vec<ContentCoding> = codings.iter().map(raw).collect();
        let raw = EncodedPieces::from_pieces(pieces).decode_all(&codings, max);
        if raw.problem != Some(DecodeError::Damaged) {
            return raw;
        }
    }
    decoded
}

/// Joins the pieces. A single piece is not copied.
fn join_pieces(mut pieces: Vec<PlainPiece>) -> Vec<u8> {
    match pieces.len() {
        1 => pieces.swap_remove(0).data,
        _ => pieces.into_iter().flat_map(|piece| piece.data).collect(),
    }
}

/// Returns the codings in a header. The one that was applied last comes first.
fn parse_codings(encoding: &str) -> Result<Vec<ContentCoding>, DecodeError> {
    let mut codings = Vec::new();
    // The header lists them in the order in which they were applied.
    for coding in encoding.split(',').rev() {
        codings.push(match coding.trim().to_ascii_lowercase().as_str() {
            "" | "identity" => continue,
            "gzip" | "x-gzip" => ContentCoding::Gzip,
            "deflate" => ContentCoding::Zlib,
            "br" => ContentCoding::Brotli,
            "zstd" => ContentCoding::Zstandard,
            _ => return Err(DecodeError::Unknown),
        });
        if codings.len() > CODINGS {
            return Err(DecodeError::Unknown);
        }
    }
    Ok(codings)
}

/// Whether a client that sent this `accept-encoding` accepts `encoding`.
pub fn is_accepted(accept_encoding: Option<&str>, encoding: &str) -> bool {
    let accepted = accept_encoding.unwrap_or_default();
    encoding.split(',').map(str::trim).all(|coding| {
        coding.is_empty()
            || coding.eq_ignore_ascii_case("identity")
            || accepted.split(',').any(|offer| {
                let mut parts = offer.split(';').map(str::trim);
                let name = parts.next().unwrap_or_default();
                let refused =
                    parts.any(|part| part.replace(' ', "").trim_end_matches(['0', '.']) == "q=");
                (name.eq_ignore_ascii_case(coding) || name == "*") && !refused
            })
    })
}

#[cfg(test)]
#[path = "encoding_tests.rs"]
mod tests;

use coding::{ContentCoding, HELD};
pub use coding::{DecodeError, LARGEST, PlainPiece};
