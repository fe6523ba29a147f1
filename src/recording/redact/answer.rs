//! An answer freed of credentials, and read anew from what is left of it.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::body::Chunk;
use super::super::encoding::{self, Undecoded};
use super::document::documents;
use super::edit::Found;
use super::search::Search;
use super::second_spelling::second_spellings;
use super::{FoundSecret, Placeholders, Redactor, Secrets, join};
use crate::provider::{self, Answer, Framing, Operation};

/// An answer as it came.
pub struct Came<'a> {
    /// What was asked for.
    pub operation: Operation,
    /// The HTTP status.
    pub status: u16,
    /// The headers, names in lower case. Those that do not fit what is left are
    /// removed; what they hold is not looked at.
    pub headers: &'a mut Vec<(String, String)>,
    /// The body.
    pub chunks: &'a mut Vec<Chunk>,
    /// The numbers of the placeholders in the request, which go on here.
    pub placeholders: &'a mut Placeholders,
}

/// Why an answer cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unkept {
    /// It is compressed in a way that cannot be looked into.
    #[error("its answer is compressed and cannot be looked into")]
    Compressed,
    /// A credential stands in what its pieces say together, but in none of them, and how
    /// the pieces are framed is not known.
    #[error("a credential is spread over its answer, and cannot be taken out of it")]
    Spread,
}

impl Redactor {
    /// Removes credentials from an answer's body, and reads what is left of it. A
    /// compressed body of up to `max` plain bytes is looked into.
    ///
    /// # Errors
    /// [`Unkept`] where the answer cannot be freed of credentials. A body that cannot be
    /// looked into is gone then.
    pub fn redact_answer(
        &self,
        came: Came<'_>,
        secrets: &Secrets,
        max: usize,
    ) -> Result<Answer, Unkept> {
        let Came { operation, status, headers, chunks, placeholders } = came;
        if !self.decode_if_unclean(operation, headers, chunks, secrets, max) {
            chunks.clear();
            return Err(Unkept::Compressed);
        }
        let search = Search { redactor: self, secrets };
        let media = media_type(headers).to_owned();
        let mut joined = join(chunks);
        let framing = Framing::answered(operation, &media, &joined);
        let coded = coding(headers).is_some();
        if !coded {
            joined = self.redact_payload(framing, &media, chunks, secrets, placeholders);
        }
        let said = read(operation, status, headers, &joined, max);
        if !search.is_spread(framing, &said.answer, said.is_document, &joined) {
            return Ok(said.answer);
        }
        if framing.is_none() && !coded {
            // A text may stand in several parts of one document.
            joined = self.remove(chunks, placeholders, |text| {
                search.in_events(text, std::slice::from_ref(&(0..text.len())))
            });
            let said = read(operation, status, headers, &joined, max);
            if !search.is_spread(framing, &said.answer, said.is_document, &joined) {
                return Ok(said.answer);
            }
        }
        Err(Unkept::Spread)
    }

    /// Removes credentials from a JSON value's strings.
    pub fn redact_json(
        &self,
        value: &mut Value,
        secrets: &Secrets,
        placeholders: &mut Placeholders,
    ) {
        let text = value.to_string();
        if let Cow::Owned(clean) = self.redact_body(JSON, text.as_bytes(), secrets, placeholders) {
            let clean = String::from_utf8_lossy(&clean);
            *value = serde_json::from_str(&clean).unwrap_or_else(|_| json!({ "_raw": clean }));
        }
    }

    /// Removes credentials from what an entry says of its answer.
    pub fn redact_summary(
        &self,
        answer: &mut Answer,
        secrets: &Secrets,
        placeholders: &mut Placeholders,
    ) {
        let content = answer.content.as_bytes();
        if let Cow::Owned(clean) = self.redact_body("", content, secrets, placeholders) {
            answer.content = String::from_utf8_lossy(&clean).into_owned();
        }
        for call in &mut answer.tool_calls {
            for word in [&mut call.id, &mut call.name] {
                if let Cow::Owned(clean) = self.redact(word.as_bytes(), secrets) {
                    *word = String::from_utf8_lossy(&clean).into_owned();
                }
            }
            self.redact_json(&mut call.arguments, secrets, placeholders);
        }
    }

    /// Removes credentials from the plain bytes of an answer of this framing (`None` where
    /// it is no stream) and media type. A match that lies across chunks or events leaves
    /// its mark in the first of them. Number and times of the chunks stay. Returns what is
    /// left, in one piece.
    pub fn redact_payload(
        &self,
        framing: Option<Framing>,
        media: &str,
        chunks: &mut [Chunk],
        secrets: &Secrets,
        placeholders: &mut Placeholders,
    ) -> Bytes {
        let search = Search { redactor: self, secrets };
        let framing = framing.or_else(|| {
            let start = chunks.iter().flat_map(|chunk| chunk.data.iter().copied()).take(8);
            unnamed_framing(&start.collect::<Vec<u8>>())
        });
        if framing == Some(Framing::EventStream) {
            return self.redact_messages(chunks, secrets, placeholders);
        }
        self.remove(chunks, placeholders, |text| match framing {
            Some(framing) => search.in_stream(framing, text),
            None => search.in_document(media, text),
        })
    }

    /// The credentials that the patterns find in the plain bytes of an answer.
    pub fn find_in_payload(
        &self,
        framing: Option<Framing>,
        media: &str,
        bytes: &[u8],
    ) -> Vec<FoundSecret> {
        let search = Search { redactor: self, secrets: &Secrets::default() };
        let found = match framing.or_else(|| unnamed_framing(bytes)) {
            Some(Framing::EventStream) => return search.in_messages(bytes),
            Some(framing) => search.in_stream(framing, bytes),
            None => search.in_document(media, bytes),
        };
        FoundSecret::each(found, bytes)
    }

    /// A compressed body that holds a credential is kept decoded: it could not be
    /// cleaned otherwise. Gives whether the body may be kept.
    fn decode_if_unclean(
        &self,
        operation: Operation,
        headers: &mut Vec<(String, String)>,
        chunks: &mut Vec<Chunk>,
        secrets: &Secrets,
        max: usize,
    ) -> bool {
        let Some(encoding) = coding(headers) else { return true };
        let (joined, media) = (join(chunks), media_type(headers));
        let is_clean = |plain: &[u8]| {
            let framing = Framing::answered(operation, media, plain);
            let mut chunks = [Chunk { at_ms: 0.0, data: Bytes::copy_from_slice(plain) }];
            let none = &mut Placeholders::default();
            self.redact_payload(framing, media, &mut chunks, secrets, none) == plain
        };
        // What cannot be seen to be free of secrets is not kept.
        let plain = match encoding::try_decode(encoding, &joined, max) {
            Ok(plain) => plain,
            Err(Undecoded::Unknown | Undecoded::TooLarge) => return false,
            // Cut or damaged: nobody can read more than its beginning.
            Err(Undecoded::Damaged) => {
                let start = encoding::decode_start(encoding, &joined, max);
                return start.is_some_and(|start| is_clean(&start));
            }
        };
        if is_clean(&plain) {
            return true;
        }
        let at_ms = chunks.last().map_or(0.0, |chunk| chunk.at_ms);
        *chunks = vec![Chunk { at_ms, data: plain.into() }];
        headers.retain(|(name, _)| name != "content-encoding" && name != "content-length");
        true
    }
}

impl Search<'_> {
    /// What stands in an answer that is no stream of a known framing.
    fn in_document(&self, media: &str, bytes: &[u8]) -> Vec<Found> {
        let mut found = self.in_body(media, bytes);
        let documents = documents(bytes);
        if documents.len() > 1 {
            found.extend(self.in_events(bytes, &documents));
        } else if !found.is_empty() || self.redactor.is_redacted(bytes) {
            found.extend(second_spellings(bytes, std::slice::from_ref(&(0..bytes.len()))));
        }
        found
    }

    /// Whether what an answer says in the whole holds what is in none of its pieces.
    /// `is_document`: its bytes are known to be one JSON document.
    fn is_spread(
        &self,
        framing: Option<Framing>,
        answer: &Answer,
        is_document: bool,
        bytes: &[u8],
    ) -> bool {
        let mut calls = answer.tool_calls.iter().map(|call| call.arguments.to_string());
        // Most complete answers say all of it in one string, which was searched.
        let is_searched = || framing.is_none() && is_one_string(&answer.content, bytes);
        (!is_searched() && self.is_in(answer.content.as_bytes()))
            || calls.any(|arguments| self.is_in(arguments.as_bytes()))
            || (framing.is_none()
                && (!is_document || self.redactor.is_redacted(bytes))
                && self.is_in_strings_together(bytes))
    }
}

/// Whether a text is the beginning of one string of a JSON text, as most writers spell it.
fn is_one_string(text: &str, json: &[u8]) -> bool {
    let Some(first) = text.bytes().next() else { return true };
    let first = if matches!(first, b'\n' | b'"') { b'\\' } else { first };
    // A quote behind a backslash is a part of a string: what follows it is read once only.
    let begins = |at: &usize| {
        *at > 0 && json[at - 1] != b'\\' && json.get(at + 1).is_some_and(|byte| *byte == first)
    };
    let mut strings = memchr::memchr_iter(b'"', json).filter(begins);
    strings.any(|at| spells(&json[at + 1..], text.as_bytes()))
}

/// Whether JSON goes on with this text, which is spelled without escapes where it can be.
fn spells(mut json: &[u8], mut text: &[u8]) -> bool {
    loop {
        let plain = memchr::memchr3(b'\n', b'"', b'\\', text).unwrap_or(text.len());
        let Some(rest) = json.strip_prefix(&text[..plain]) else { return false };
        let escape = match text.get(plain) {
            None => return true,
            Some(b'\n') => b"\\n",
            Some(b'"') => b"\\\"",
            Some(_) => b"\\\\",
        };
        let Some(rest) = rest.strip_prefix(escape) else { return false };
        (json, text) = (rest, &text[plain + 1..]);
    }
}

const JSON: &str = "application/json";

/// The framing of a stream whose media type does not name it, by its first bytes.
fn unnamed_framing(bytes: &[u8]) -> Option<Framing> {
    let is_sse = bytes.starts_with(b"data:") || bytes.starts_with(b"event:");
    is_sse.then_some(Framing::Sse)
}

/// What an answer says.
struct Said {
    answer: Answer,
    /// Whether its bytes as they are have been read as one JSON document.
    is_document: bool,
}

/// What an answer of success says.
fn read(
    operation: Operation,
    status: u16,
    headers: &[(String, String)],
    joined: &Bytes,
    max: usize,
) -> Said {
    if !(200..300).contains(&status) {
        return Said { answer: Answer::default(), is_document: false };
    }
    let decoded = coding(headers).and_then(|coding| encoding::decode(coding, joined, max));
    let plain = decoded.as_deref().unwrap_or(joined);
    let media = media_type(headers);
    let framing = Framing::answered(operation, media, plain);
    let answer = match framing {
        None => provider::read_complete(operation, media, plain),
        framing => provider::read(operation, framing, plain),
    };
    // A transcription may be plain text.
    let is_document = answer.is_some()
        && framing.is_none()
        && decoded.is_none()
        && operation != Operation::Transcription;
    Said { answer: answer.unwrap_or_default(), is_document }
}

/// How a body is compressed, where it is.
fn coding(headers: &[(String, String)]) -> Option<&str> {
    header(headers, "content-encoding").filter(|coding| !matches!(*coding, "" | "identity"))
}

/// The first value of a header.
fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The media type, without parameters.
fn media_type(headers: &[(String, String)]) -> &str {
    header(headers, "content-type").map_or("", |value| value.split(';').next().unwrap_or("").trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_one_string_where_json_spells_it_in_one_piece() {
        let json = |text: &str| serde_json::to_vec(&json!({ "a": 1, "content": text })).unwrap();
        for text in ["hello", "a \"quoted\" \\ word\n\nand é", "\"", "see see\nsaw"] {
            assert!(is_one_string(text, &json(text)), "{text}");
            assert!(is_one_string(&text[..1], &json(text)), "{text}");
        }
        assert!(!is_one_string("hello", &json("hell o")));
        assert!(!is_one_string("ab", br#"[{"t":"a"},{"t":"b"}]"#));
        assert!(!is_one_string("a\nb", br#"{"t":"a\\nb"}"#));
        assert!(!is_one_string("a\tb", br#"{"t":"a\tb"}"#));
        assert!(is_one_string("a\nb", br#"{"t":"a","u":"a\nb"}"#));
    }
}
