//! Content encodings: what a compressed body says in plain bytes.

mod brotli;
mod coding;
mod ending;
mod flate;
mod source;
mod zstd_frames;

use http::HeaderMap;
use http::header::CONTENT_ENCODING;

use source::{DecodedPieces, EncodedPieces};

/// The most plain bytes for each encoded one, above [`HELD`]: more than gzip can have.
const RATIO: usize = 4096;

/// How many codings may be applied one upon the other.
const CODINGS: usize = 4;

/// The coding of a body, by all values of its `content-encoding` headers; `None` where it
/// has none.
pub fn content_coding<T: AsRef<str>>(values: impl Iterator<Item = T>) -> Option<String> {
    let values: Vec<T> = values.collect();
    let all = values.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(",");
    let is_plain = all
        .split(',')
        .map(str::trim)
        .all(|coding| coding.is_empty() || coding.eq_ignore_ascii_case("identity"));
    (!is_plain).then_some(all)
}

/// The coding of a body with these headers, names in lower case; `None` where it has none.
pub fn coding_in(headers: &[(String, String)]) -> Option<String> {
    let codings = headers.iter().filter(|(name, _)| name == "content-encoding");
    content_coding(codings.map(|(_, value)| value))
}

/// The same of headers as HTTP has them.
pub fn coding_of(headers: &HeaderMap) -> Option<String> {
    headers.get(CONTENT_ENCODING)?;
    let values = headers.get_all(CONTENT_ENCODING).iter();
    content_coding(values.map(|value| String::from_utf8_lossy(value.as_bytes())))
}

/// The plain bytes of a body that was sent under `content-encoding: encoding`.
///
/// Returns `None` for an encoding we do not know, for bytes that do not decode,
/// and for more than `max` plain bytes. `identity` and the empty text give the
/// bytes back, and a body without bytes has none under any encoding.
pub fn decode(encoding: &str, bytes: &[u8], max: usize) -> Option<Vec<u8>> {
    try_decode(encoding, bytes, max).ok()
}

/// The same, with the reason where there are none.
///
/// # Errors
/// Why there are no plain bytes, or no more than `max`.
pub fn try_decode(encoding: &str, bytes: &[u8], max: usize) -> Result<Vec<u8>, DecodeError> {
    Ok(join(try_decode_pieces(encoding, &[bytes], max)?))
}

/// [`decode`] for a body that came in pieces: the plain bytes in order, each as early
/// as the encoded bytes before it give it. A piece that completes nothing has no
/// plain one. Zstandard's plain bytes may come later than they could.
pub fn decode_pieces(encoding: &str, pieces: &[&[u8]], max: usize) -> Option<Vec<PlainPiece>> {
    try_decode_pieces(encoding, pieces, max).ok()
}

/// The same, with the reason where there are none.
///
/// # Errors
/// Why there are no plain bytes, or no more than `max`.
pub fn try_decode_pieces(
    encoding: &str,
    pieces: &[&[u8]],
    max: usize,
) -> Result<Vec<PlainPiece>, DecodeError> {
    let decoded = decode_as(&codings(encoding)?, pieces, max);
    match decoded.problem {
        None => Ok(decoded.pieces),
        Some(problem) => Err(problem),
    }
}

/// What decodes of a body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DecodableBody {
    /// The plain bytes before the problem; not all of them where there are too many.
    pub plain: Vec<u8>,
    /// Why that is not all.
    pub problem: Option<DecodeError>,
}

/// As much of [`decode`]'s plain bytes as a body has that may be cut or damaged.
pub fn decode_available(encoding: &str, bytes: &[u8], max: usize) -> DecodableBody {
    match codings(encoding) {
        Err(problem) => DecodableBody { plain: Vec::new(), problem: Some(problem) },
        Ok(codings) => {
            let DecodedPieces { pieces, problem } = decode_as(&codings, &[bytes], max);
            DecodableBody { plain: join(pieces), problem }
        }
    }
}

fn decode_as(codings: &[ContentCoding], pieces: &[&[u8]], max: usize) -> DecodedPieces {
    let encoded: usize = pieces.iter().map(|piece| piece.len()).sum();
    // A body without bytes (to `HEAD`, say) is whole under any coding.
    if codings.is_empty() || encoded == 0 {
        let piece = |(of, data): (usize, &&[u8])| PlainPiece { of, data: data.to_vec() };
        let pieces = pieces.iter().enumerate().map(piece).collect();
        return DecodedPieces { pieces, problem: None };
    }
    let max = max.min(encoded.saturating_mul(RATIO).max(HELD));
    let decoded = EncodedPieces::of(pieces).decode(codings, max);
    // Two formats go by the name of deflate.
    if decoded.problem == Some(DecodeError::Damaged) && codings.contains(&ContentCoding::Zlib) {
        let raw = |coding: &ContentCoding| match coding {
            ContentCoding::Zlib => ContentCoding::Deflate,
            other => *other,
        };
        let codings: Vec<ContentCoding> = codings.iter().map(raw).collect();
        let raw = EncodedPieces::of(pieces).decode(&codings, max);
        if raw.problem != Some(DecodeError::Damaged) {
            return raw;
        }
    }
    decoded
}

/// All of the pieces, without a copy where there is one.
fn join(mut pieces: Vec<PlainPiece>) -> Vec<u8> {
    match pieces.len() {
        1 => pieces.swap_remove(0).data,
        _ => pieces.into_iter().flat_map(|piece| piece.data).collect(),
    }
}

/// The codings of a header, the one that was applied last first.
fn codings(encoding: &str) -> Result<Vec<ContentCoding>, DecodeError> {
    let mut codings = Vec::new();
    // They are listed in the order they were applied.
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

/// Whether a client that sent this `accept-encoding` takes `encoding`.
pub fn accepts(accept_encoding: Option<&str>, encoding: &str) -> bool {
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
