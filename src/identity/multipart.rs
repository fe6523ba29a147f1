//! The reader of multipart bodies: their parts in order, without the boundary, which every client
//! makes up anew.
//!
//! The reader is strict: a body that does not parse as RFC 2046 from the first byte to the last is
//! not multipart, and is hashed by its bytes. What may stand before the first part and after the
//! last one, and the bytes of a head that is not UTF-8, count like the parts.

use std::borrow::Cow;
use std::ops::Range;

use memchr::memmem;

use super::canonical::{self, write_text_members};
use super::digest;
use super::json_text::JsonStr;

/// One part of a multipart body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MultipartPart {
    /// The field's name, as it is between the quotes.
    pub name: Option<String>,
    /// The file's name, as it is between the quotes.
    pub filename: Option<String>,
    /// The part's `content-type`, as it was sent.
    pub content_type: Option<String>,
    /// Its other headers, in lower case and sorted, without the length.
    pub headers: Vec<(String, String)>,
    /// The length of its content in bytes.
    pub length: usize,
    /// SHA-256 of its content, in lower-case hex.
    pub sha256: String,
}

/// A piece of a multipart body, before it is read.
enum RawPiece<'a> {
    /// The head of a part and its content.
    Part(&'a [u8], &'a [u8]),
    /// Text before the first part or after the last one, under the name that it is kept under.
    Beside(&'static str, &'a [u8]),
}

/// The parts of a multipart body. `None` if `content_type` names no boundary, or if the body is not
/// well-formed from end to end.
pub fn parse(content_type: &str, body: &[u8]) -> Option<Vec<MultipartPart>> {
    let read = |piece| match piece {
        RawPiece::Part(head, content) => read_part(head, content),
        RawPiece::Beside(name, content) => Some(text_beside_parts(name, content)),
    };
    split_pieces(content_type, body)?.into_iter().map(read).collect()
}

/// Returns the text of a form's field. `None` if the body is no form, or if the field is missing, a
/// file, or no text.
pub fn field_text<'a>(content_type: &str, body: &'a [u8], name: &str) -> Option<&'a str> {
    split_pieces(content_type, body)?.into_iter().find_map(|piece| {
        let RawPiece::Part(head, content) = piece else { return None };
        // Only the head is of interest: contents may be large files.
        let part = read_part(head, b"")?;
        let is_meant = part.name.as_deref() == Some(name) && part.filename.is_none();
        std::str::from_utf8(content).ok().filter(|_| is_meant)
    })
}

fn split_pieces<'a>(content_type: &str, body: &'a [u8]) -> Option<Vec<RawPiece<'a>>> {
    let boundary = find_boundary(content_type)?;
    let delimiter = [b"\r\n--", boundary.as_bytes()].concat();
    let finder = memmem::Finder::new(&delimiter);
    let mut pieces = Vec::new();
    // A delimiter that opens the body has no line break before it.
    let mut rest = match body.strip_prefix(&delimiter[2..]) {
        Some(rest) => rest,
        None => {
            let length = finder.find(body)?;
            pieces.push(RawPiece::Beside(PREAMBLE, &body[..length]));
            &body[length + delimiter.len()..]
        }
    };
    loop {
        if let Some(end) = rest.strip_prefix(b"--") {
            // With nothing but a preamble, the first delimiter was not found.
            if let [RawPiece::Beside(..)] = pieces.as_slice() {
                return None;
            }
            match end {
                b"" | b"\r\n" => {}
                _ => pieces.push(RawPiece::Beside(EPILOGUE, end.strip_prefix(b"\r\n")?)),
            }
            return Some(pieces);
        }
        rest = rest.strip_prefix(b"\r\n")?;
        // A part without headers and content ends with the line break that was just taken.
        let (content_of, head) = split_head(rest)?;
        if memmem::find(head, &delimiter[2..]).is_some() {
            return None;
        }
        let length = finder.find(content_of)?;
        pieces.push(RawPiece::Part(head, &content_of[..length]));
        rest = &content_of[length + delimiter.len()..];
    }
}

/// The names under which a preamble, an epilogue and the encoding of a head are kept among headers.
/// No header has such a name.
const PREAMBLE: &str = " preamble";
const EPILOGUE: &str = " epilogue";
const ENCODING: &str = " encoding";

/// Whether earlier versions hashed such a body by its bytes: it has a preamble, an epilogue or a
/// head that is not UTF-8.
pub(super) fn is_of_later_keys(parts: &[MultipartPart]) -> bool {
    parts.iter().flat_map(|part| &part.headers).any(|(name, _)| name.starts_with(' '))
}

/// Text beside the parts, as a part of its own.
fn text_beside_parts(name: &str, content: &[u8]) -> MultipartPart {
    let mut part = bare_part(content);
    part.headers.push((name.to_owned(), String::new()));
    part
}

/// A part without headers.
fn bare_part(content: &[u8]) -> MultipartPart {
    MultipartPart {
        name: None,
        filename: None,
        content_type: None,
        headers: Vec::new(),
        length: content.len(),
        sha256: digest::as_text(&digest::sha256_hex(content)).to_owned(),
    }
}

/// The content after a part's head, and the head.
fn split_head(part: &[u8]) -> Option<(&[u8], &[u8])> {
    if let Some(content) = part.strip_prefix(b"\r\n") {
        return Some((content, b""));
    }
    let end = memmem::find(part, b"\r\n\r\n")?;
    Some((&part[end + 4..], &part[..end]))
}

fn read_part(head: &[u8], content: &[u8]) -> Option<MultipartPart> {
    let mut part = bare_part(content);
    let head = match std::str::from_utf8(head) {
        Ok(text) => Cow::Borrowed(text),
        // Each byte as a character of Latin-1, so that no two heads become the same.
        Err(_) => {
            part.headers.push((ENCODING.to_owned(), "latin-1".to_owned()));
            Cow::Owned(head.iter().copied().map(char::from).collect())
        }
    };
    let lines = if head.is_empty() { None } else { Some(head.split("\r\n")) };
    for line in lines.into_iter().flatten() {
        let (name, value) = line.split_once(':')?;
        let (name, value) = (name.to_ascii_lowercase(), value.trim());
        match name.as_str() {
            "content-length" => {}
            "content-type" if part.content_type.is_none() => {
                part.content_type = Some(value.to_owned());
            }
            "content-disposition" if part.name.is_none() && part.filename.is_none() => {
                read_disposition(value, &mut part)?;
            }
            _ => part.headers.push((name, value.to_owned())),
        }
    }
    part.headers.sort_unstable();
    let twice = part.headers.windows(2).any(|pair| pair[0].0 == pair[1].0);
    (!twice).then_some(part)
}

/// Reads `form-data; name="file"; filename="a.wav"`. Any other parameter is kept with the other
/// headers, so that it counts.
fn read_disposition(value: &str, part: &mut MultipartPart) -> Option<()> {
    let (kind, mut rest) = value.split_once(';').unwrap_or((value, ""));
    if !kind.trim().eq_ignore_ascii_case("form-data") {
        part.headers.push(("content-disposition".to_owned(), kind.trim().to_owned()));
    }
    while !rest.trim().is_empty() {
        let (name, text, after) = split_parameter(rest)?;
        let slot = match name.as_str() {
            "name" => &mut part.name,
            "filename" => &mut part.filename,
            _ => {
                part.headers.push((format!("content-disposition;{name}"), text.to_owned()));
                rest = after;
                continue;
            }
        };
        if slot.replace(text.to_owned()).is_some() {
            return None;
        }
        rest = after;
    }
    Some(())
}

/// The first `name=value` of `text`: the name in lower case, the value without quotes, and the text
/// after the semicolon.
fn split_parameter(text: &str) -> Option<(String, &str, &str)> {
    let (name, rest) = text.split_once('=')?;
    let name = name.trim().to_ascii_lowercase();
    let rest = rest.trim_start();
    let Some(quoted) = rest.strip_prefix('"') else {
        let (value, after) = rest.split_once(';').unwrap_or((rest, ""));
        return Some((name, value.trim(), after));
    };
    let mut escaped = false;
    let end = quoted.bytes().position(|byte| {
        let closes = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        closes
    })?;
    let after = quoted[end + 1..].trim_start();
    match after.strip_prefix(';') {
        Some(after) => Some((name, &quoted[..end], after)),
        None => after.is_empty().then_some((name, &quoted[..end], "")),
    }
}

/// The boundary in a multipart content type, if its length is allowed.
fn find_boundary(content_type: &str) -> Option<&str> {
    let boundary = content_type.get(boundary_range(content_type)?)?;
    (1..=70).contains(&boundary.len()).then_some(boundary)
}

/// The place of the boundary in a multipart content type. It may be of any length but 0.
pub fn boundary_range(content_type: &str) -> Option<Range<usize>> {
    let (media, mut rest) = content_type.split_once(';')?;
    let media = media.trim().as_bytes();
    if !media.get(..10).is_some_and(|it| it.eq_ignore_ascii_case(b"multipart/")) {
        return None;
    }
    while !rest.trim().is_empty() {
        let (name, value, after) = split_parameter(rest)?;
        if name == "boundary" {
            let start = value.as_ptr().addr() - content_type.as_ptr().addr();
            return (!value.is_empty()).then_some(start..start + value.len());
        }
        rest = after;
    }
    None
}

/// Appends the canonical text of the parts: an array of objects, without the members that a part
/// lacks.
pub(super) fn write_parts(parts: &[MultipartPart], out: &mut Vec<u8>) {
    out.push(b'[');
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        write_part(part, out);
    }
    out.push(b']');
}

fn write_part(part: &MultipartPart, out: &mut Vec<u8>) {
    let member = |name: &str, text: &Option<String>, out: &mut Vec<u8>| {
        let Some(text) = text else { return };
        out.extend_from_slice(format!("\"{name}\": ").as_bytes());
        canonical::write_string(JsonStr::from(text.as_str()), out);
        out.extend_from_slice(b", ");
    };
    out.push(b'{');
    member("content_type", &part.content_type, out);
    member("filename", &part.filename, out);
    if !part.headers.is_empty() {
        out.extend_from_slice(b"\"headers\": ");
        let pairs = part.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        write_text_members(pairs, out);
        out.extend_from_slice(b", ");
    }
    out.extend_from_slice(format!("\"length\": {}, ", part.length).as_bytes());
    member("name", &part.name, out);
    out.extend_from_slice(format!("\"sha256\": \"{}\"}}", part.sha256).as_bytes());
}
