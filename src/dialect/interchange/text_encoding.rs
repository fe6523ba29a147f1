//! Bodies that a file holds as texts in base64 or hex, in one text or in pieces, whether the file
//! says so or not.

use bytes::Bytes;

use super::body_presence::{is_structured, media_of};
use super::lenient::decode_base64;
use loomrec_provider::Framing;
use loomrec_recording::request_text::{is_compressed, stored_text};

/// A shorter text may by chance have only characters of base64.
const SHORTEST: usize = 8;

/// A text of only such characters and of this length is no word or number.
const CERTAIN: usize = 64;

/// How a text stands for bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TextEncoding {
    /// Its characters in UTF-8.
    Plain,
    /// Base64, in any variant.
    Base64,
    /// Two hexadecimal digits a byte.
    Hex,
    /// A character a byte.
    Latin1,
}

impl TextEncoding {
    /// Returns the encoding with this name; `None` if it is not known.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        let name = name.trim().to_ascii_lowercase();
        Some(match name.as_str() {
            "" | "utf-8" | "utf8" | "us-ascii" | "ascii" | "none" | "identity" | "text"
            | "plain" => Self::Plain,
            "base64" | "base-64" | "base64url" => Self::Base64,
            "hex" | "base16" => Self::Hex,
            "latin1" | "latin-1" | "iso-8859-1" | "binary" => Self::Latin1,
            _ => return None,
        })
    }

    /// Returns the bytes of a text; `None` if it is not of this encoding.
    pub(super) fn decode(self, text: &[u8]) -> Option<Vec<u8>> {
        let read = std::str::from_utf8(text).ok();
        match self {
            Self::Plain => Some(text.to_vec()),
            Self::Base64 => decode_base64(read?),
            Self::Hex => decode_hex(text),
            Self::Latin1 => read?.chars().map(|one| u8::try_from(u32::from(one)).ok()).collect(),
        }
    }
}

/// Decodes pairs of hexadecimal digits. White space between them is skipped.
pub(super) fn decode_hex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut half = None;
    for &byte in text.iter().filter(|byte| !byte.is_ascii_whitespace()) {
        let low = digit(byte)?;
        match half.take() {
            None => half = Some(low),
            Some(high) => bytes.push(u8::try_from(high << 4 | low).ok()?),
        }
    }
    half.is_none().then_some(bytes)
}

/// Returns the pieces of a text that is a JSON list of texts; `None` for any other text.
pub(super) fn json_pieces(text: &[u8]) -> Option<Vec<String>> {
    if !text.trim_ascii_start().starts_with(b"[") {
        return None;
    }
    let pieces: Vec<String> = serde_json::from_slice(text).ok()?;
    (!pieces.is_empty()).then_some(pieces)
}

/// Returns the bytes of pieces in this encoding. If it is `None`, they are hex or base64.
pub(super) fn join_pieces<T: AsRef<[u8]>>(
    pieces: &[T],
    encoding: Option<TextEncoding>,
) -> Option<Vec<u8>> {
    let joined = |encoding: TextEncoding| {
        let decoded: Option<Vec<Vec<u8>>> =
            pieces.iter().map(|piece| encoding.decode(piece.as_ref())).collect();
        decoded.map(|pieces| pieces.concat())
    };
    match encoding {
        Some(encoding) => joined(encoding),
        None => joined(TextEncoding::Hex).or_else(|| joined(TextEncoding::Base64)),
    }
}

/// What a file says of a body beside its text.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct StatedBody<'a> {
    /// Its `content-type`.
    pub(super) content_type: &'a str,
    /// Its `content-length`.
    pub(super) length: Option<u64>,
    /// Its length by another member.
    pub(super) size: Option<u64>,
}

/// Returns the bytes of a text that must be base64 or hex, although its file does not say so;
/// `None` if the text is the body.
///
/// # Errors
/// If the text cannot be the body, and cannot be decoded either. The reason reads after `its body`.
pub(super) fn decode_untagged(
    text: &[u8],
    stated: StatedBody<'_>,
) -> Result<Option<Vec<u8>>, &'static str> {
    let is_length = |length: Option<u64>, bytes: &[u8]| {
        length.is_some_and(|length| usize::try_from(length) == Ok(bytes.len()))
    };
    if text.len() < SHORTEST || is_length(stated.length, text) {
        return Ok(None);
    }
    // A body that is a list of texts is possible, one of encoded pieces is not.
    let fits = |bytes: &Vec<u8>| is_length(stated.length, bytes) || is_length(stated.size, bytes);
    let shows = |bytes: &Vec<u8>| fits(bytes) || is_text_of_media(bytes, stated.content_type);
    let is_binary = is_binary(stated.content_type);
    if let Some(joined) = json_pieces(text).and_then(|pieces| join_pieces(&pieces, None)) {
        return Ok(Some(joined).filter(|joined| is_binary || shows(joined)));
    }
    if !is_one_word(text) {
        return Ok(None);
    }
    let decoded = [TextEncoding::Hex, TextEncoding::Base64].map(|encoding| encoding.decode(text));
    let mut decoded: Vec<Vec<u8>> = decoded.into_iter().flatten().collect();
    let chosen = decoded.iter().position(shows).or_else(|| is_binary.then_some(0));
    match chosen.filter(|chosen| *chosen < decoded.len()) {
        Some(chosen) => Ok(Some(decoded.swap_remove(chosen))),
        None if is_structured(stated.content_type) && text.len() >= CERTAIN && !is_json(text) => {
            Err("is neither of its content-type nor in an encoding that is known")
        }
        None => Ok(None),
    }
}

/// Whether a text has only characters of base64 and hex, and line ends.
fn is_one_word(text: &[u8]) -> bool {
    let is_of_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_\r\n".contains(byte);
    text.iter().all(is_of_word)
}

/// Whether bytes, or what they decompress to, are a body of this structured `content-type`. Without
/// a type, JSON is enough.
fn is_text_of_media(bytes: &[u8], content_type: &str) -> bool {
    let plain = stored_text(&Bytes::copy_from_slice(bytes));
    let plain = String::from_utf8_lossy(&plain).into_owned().into_bytes();
    let is_stream = ["data:", "event:", "id:", ":"].iter().any(|start| {
        std::str::from_utf8(&plain).is_ok_and(|text| text.trim_start().starts_with(start))
    });
    let is_object = || is_json(&plain) && plain.trim_ascii_start().starts_with(b"{");
    let is_list = || is_json(&plain) && plain.trim_ascii_start().starts_with(b"[");
    let first_line = plain.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let is_lines = || is_json(first_line) && first_line.starts_with(b"{");
    let media = media_of(content_type);
    match Framing::of_media(&media) {
        Some(Framing::EventStream) => true,
        Some(_) => is_stream || is_lines(),
        None if media.contains("json") => is_object() || is_list() || is_stream || is_lines(),
        None => media.is_empty() && is_object(),
    }
}

/// Returns the bytes of a text of JSON or a stream, or of a sound or a picture, uncompressed. Bytes
/// of another `content-type` are returned as they are.
///
/// # Errors
/// If they are not of their type. The reason reads after `its body`.
pub(super) fn readable_bytes(bytes: Bytes, content_type: &str) -> Result<Bytes, &'static str> {
    let is_text_stream = Framing::of_media(&media_of(content_type)) != Some(Framing::EventStream);
    let is_control = |byte: &u8| byte.is_ascii_control() && !byte.is_ascii_whitespace();
    let is_text = std::str::from_utf8(&bytes).is_ok() && !bytes.iter().any(is_control);
    let is_structured = is_structured(content_type) && is_text_stream;
    // No sound or picture begins as compressed bytes do.
    if is_text || !(is_structured || is_binary(content_type) && is_compressed(&bytes)) {
        return Ok(bytes);
    }
    match stored_text(&bytes) {
        plain if plain != bytes => Ok(plain),
        bytes if is_structured && is_text_of_media(&bytes, content_type) => Ok(bytes),
        _ => Err("is not of the kind that its content-type announces"),
    }
}

/// Whether bodies of this `content-type` are never texts.
pub(super) fn is_binary(content_type: &str) -> bool {
    let media = media_of(content_type);
    ["audio/", "image/", "video/"].iter().any(|kind| media.starts_with(kind))
        && !media.contains("xml")
        || Framing::of_media(&media) == Some(Framing::EventStream)
}

fn is_json(text: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(text).is_ok()
}

#[cfg(test)]
#[path = "text_encoding_tests.rs"]
mod tests;
