//! Redaction of answers, and reading them again afterwards.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::body::Chunk;
use super::super::encoding::{self, DecodableBody, DecodeError, coding_in};
use super::edit::SearchMatch;
use super::json_documents::document_ranges;
use super::search::RedactSearch;
use super::second_spelling::second_spellings;
use super::wide_search::wide_encoding;
use super::{CallCredentials, FoundSecret, Placeholders, Redactor, join_chunks};
use loomrec_identity::media_type;
use loomrec_provider::{Answer, Framing, Operation};

/// An answer as the upstream sent it.
pub struct RawResponse<'a> {
    /// The operation that the request called.
    pub operation: Operation,
    /// The HTTP status.
    pub status: u16,
    /// The headers, with names in lower case. Headers that no longer fit the body are removed.
    /// Their values are not redacted.
    pub headers: &'a mut Vec<(String, String)>,
    /// The body.
    pub chunks: &'a mut Vec<Chunk>,
    /// The numbers of the placeholders in the request. The answer continues them.
    pub placeholders: &'a mut Placeholders,
}

/// An answer without credentials.
pub struct RedactedAnswer {
    /// What it says.
    pub answer: Answer,
    /// Its plain bytes.
    pub text: Bytes,
    /// Whether they were read as one JSON document.
    pub is_document: bool,
    /// Whether it is kept compressed, and its compressed bytes end early.
    pub is_cut_coding: bool,
}

/// Why an answer cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UnkeptReason {
    /// It is compressed in a way that cannot be decoded.
    #[error("its answer is compressed and cannot be looked into")]
    Compressed,
    /// It is compressed, and decodes to more bytes than are searched.
    #[error("its answer decodes to more bytes than are looked into")]
    TooLarge,
    /// A credential is spread over its pieces and is in none of them alone, and the framing of the
    /// pieces is not known.
    #[error("a credential is spread over its answer, and cannot be taken out of it")]
    Spread,
}

impl Redactor {
    /// Removes credentials from an answer's body, and reads the rest as an answer. A compressed
    /// body is searched if it has at most `max` plain bytes.
    ///
    /// # Errors
    /// [`UnkeptReason`] if credentials cannot be removed from the answer. A body that cannot be
    /// decoded is dropped.
    pub fn redact_answer(
        &self,
        response: RawResponse<'_>,
        secrets: &CallCredentials,
        max: usize,
    ) -> Result<RedactedAnswer, UnkeptReason> {
        let RawResponse { operation, status, headers, chunks, placeholders } = response;
        let search = RedactSearch { redactor: self, secrets };
        let media = stated_media(headers).to_owned();
        let packed = match search.look_into_packed(operation, &media, headers, chunks, max) {
            Ok(packed) => packed,
            Err(unkept) => {
                chunks.clear();
                return Err(unkept);
            }
        };
        let is_packed = packed.is_some();
        let (mut joined, is_cut_coding) = packed.unwrap_or_else(|| (join_chunks(chunks), false));
        let framing = Framing::from_answer(operation, &media, &joined);
        if !is_packed {
            joined = self.redact_payload(framing, &media, chunks, secrets, placeholders);
        }
        let ReadAnswer { answer, is_document } = read_answer(operation, status, &media, &joined);
        if !search.is_spread(framing, &answer, is_document, &joined) {
            return Ok(RedactedAnswer { answer, text: joined, is_document, is_cut_coding });
        }
        if framing.is_none() {
            if is_packed {
                keep_decoded(headers, chunks, joined);
            }
            // A text may be spread over several parts of one document.
            joined = self.remove_from_chunks(chunks, placeholders, |text| {
                search.in_events(text, std::slice::from_ref(&(0..text.len())))
            });
            let ReadAnswer { answer, is_document } =
                read_answer(operation, status, &media, &joined);
            if !search.is_spread(framing, &answer, is_document, &joined) {
                let is_cut_coding = false;
                return Ok(RedactedAnswer { answer, text: joined, is_document, is_cut_coding });
            }
        }
        Err(UnkeptReason::Spread)
    }

    /// Removes credentials from the strings of a JSON value.
    pub fn redact_json(
        &self,
        value: &mut Value,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) {
        let text = value.to_string();
        if let Cow::Owned(clean) = self.redact_body(JSON, text.as_bytes(), secrets, placeholders) {
            let clean = String::from_utf8_lossy(&clean);
            *value = serde_json::from_str(&clean).unwrap_or_else(|_| json!({ "_raw": clean }));
        }
    }

    /// Removes credentials from the summary of an answer.
    pub fn redact_summary(
        &self,
        answer: &mut Answer,
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) {
        let content = answer.content.as_bytes();
        if let Cow::Owned(clean) = self.redact_body("", content, secrets, placeholders) {
            answer.content = String::from_utf8_lossy(&clean).into_owned();
        }
        for call in &mut answer.tool_calls {
            for word in [&mut call.id, &mut call.name] {
                if let Cow::Owned(clean) = self.redact_bytes(word.as_bytes(), secrets) {
                    *word = String::from_utf8_lossy(&clean).into_owned();
                }
            }
            self.redact_json(&mut call.arguments, secrets, placeholders);
        }
    }

    /// Removes credentials from the plain bytes of an answer with this framing (`None` if it is not
    /// a stream) and media type. A match across chunks or events leaves its mark in the first of
    /// them. The number and the times of the chunks stay the same. Returns the remaining bytes,
    /// joined.
    pub fn redact_payload(
        &self,
        framing: Option<Framing>,
        media: &str,
        chunks: &mut [Chunk],
        secrets: &CallCredentials,
        placeholders: &mut Placeholders,
    ) -> Bytes {
        let search = RedactSearch { redactor: self, secrets };
        let framing = framing.or_else(|| {
            let start = chunks.iter().flat_map(|chunk| chunk.data.iter().copied()).take(8);
            unnamed_framing(&start.collect::<Vec<u8>>())
        });
        if framing == Some(Framing::EventStream) {
            return self.redact_messages(chunks, secrets, placeholders);
        }
        self.remove_from_chunks(chunks, placeholders, |text| {
            search.in_payload(framing, media, text)
        })
    }

    /// Returns the credentials that the patterns find in the plain bytes of an answer.
    pub fn find_in_payload(
        &self,
        framing: Option<Framing>,
        media: &str,
        bytes: &[u8],
    ) -> Vec<FoundSecret> {
        let search = RedactSearch { redactor: self, secrets: &CallCredentials::default() };
        let framing = framing.or_else(|| unnamed_framing(bytes));
        if framing == Some(Framing::EventStream) {
            return search.in_messages(bytes);
        }
        FoundSecret::from_matches(search.in_payload(framing, media, bytes), bytes)
    }

    /// Whether compressed bytes themselves hold no credential, for example in the names and
    /// comments that codings allow. Rules do not apply, since the bytes are not text.
    pub fn is_packed_clean(&self, packed: &[u8], secrets: &CallCredentials) -> bool {
        let search = RedactSearch { redactor: self, secrets };
        !search.begins_in(packed) || search.in_name(packed).is_empty()
    }
}

impl RedactSearch<'_> {
    /// Returns the plain text of a compressed body that may be kept as it is, and whether the body
    /// ends early; `None` for a body that is not compressed. A compressed body that holds a credential is replaced by its decoded
    /// form, since it cannot be redacted otherwise.
    fn look_into_packed(
        &self,
        operation: Operation,
        media: &str,
        headers: &mut Vec<(String, String)>,
        chunks: &mut Vec<Chunk>,
        max: usize,
    ) -> Result<Option<(Bytes, bool)>, UnkeptReason> {
        let Some(coding) = coding_in(headers) else { return Ok(None) };
        let packed = join_chunks(chunks);
        let DecodableBody { plain, problem } = encoding::decode_available(&coding, &packed, max);
        let plain = Bytes::from(plain);
        match problem {
            // Of a cut body, only the beginning can be read anyway.
            None | Some(DecodeError::Cut) => {
                let is_clean = self.redactor.is_packed_clean(&packed, self.secrets)
                    && self.is_payload_clean(operation, media, &plain);
                if is_clean {
                    return Ok(Some((plain, problem.is_some())));
                }
                keep_decoded(headers, chunks, plain);
            }
            // A plain text that was sent with the header of a coding by mistake.
            Some(DecodeError::Damaged) if std::str::from_utf8(&packed).is_ok() => {
                if self.is_payload_clean(operation, media, &packed) {
                    return Ok(Some((packed, false)));
                }
                keep_decoded(headers, chunks, packed);
            }
            // A body is not kept if it cannot be checked for secrets.
            Some(DecodeError::Damaged | DecodeError::Unknown) => {
                return Err(UnkeptReason::Compressed);
            }
            Some(DecodeError::TooLarge) => return Err(UnkeptReason::TooLarge),
        }
        Ok(None)
    }

    /// Whether nothing has to be removed from the plain bytes of an answer.
    fn is_payload_clean(&self, operation: Operation, media: &str, plain: &Bytes) -> bool {
        let framing = Framing::from_answer(operation, media, plain);
        let mut chunks = [Chunk { at_ms: 0.0, data: plain.clone() }];
        let none = &mut Placeholders::default();
        let Self { redactor, secrets } = self;
        redactor.redact_payload(framing, media, &mut chunks, secrets, none) == plain
    }

    /// Searches the plain bytes of an answer that is no AWS event stream.
    fn in_payload(&self, framing: Option<Framing>, media: &str, bytes: &[u8]) -> Vec<SearchMatch> {
        let search = |search: &Self, text: &[u8]| match framing.or_else(|| unnamed_framing(text)) {
            Some(framing) => search.in_stream(framing, text),
            None => search.in_document(media, text),
        };
        match wide_encoding(media, bytes) {
            Some(encoding) => self.in_wide_body(encoding, bytes, search),
            None => search(self, bytes),
        }
    }

    /// Searches an answer that is not a stream with a known framing.
    fn in_document(&self, media: &str, bytes: &[u8]) -> Vec<SearchMatch> {
        let mut found = self.in_body(media, bytes);
        let documents = document_ranges(bytes);
        if documents.len() > 1 {
            found.extend(self.in_events(bytes, &documents));
        } else if !found.is_empty() || self.redactor.is_redacted(bytes) {
            found.extend(second_spellings(bytes, std::slice::from_ref(&(0..bytes.len()))));
        }
        found
    }

    /// Whether an answer as a whole holds something to redact that is in none of its pieces.
    /// `is_document` says that its bytes are known to be one JSON document.
    fn is_spread(
        &self,
        framing: Option<Framing>,
        answer: &Answer,
        is_document: bool,
        bytes: &[u8],
    ) -> bool {
        let mut calls = answer.tool_calls.iter().map(|call| call.arguments.to_string());
        // Most complete answers hold their text in a single string, which was searched.
        let is_searched = || framing.is_none() && is_one_string(&answer.content, bytes);
        (!is_searched() && self.is_in(answer.content.as_bytes()))
            || calls.any(|arguments| self.is_in(arguments.as_bytes()))
            || (framing.is_none()
                && (!is_document || self.redactor.is_redacted(bytes))
                && self.is_in_strings_together(bytes))
    }
}

#[cfg(feature = "fuzzing")]
impl Redactor {
    /// As the method of the search, for the fuzz targets.
    pub fn is_spread(&self, framing: Option<Framing>, answer: &Answer, bytes: &[u8]) -> bool {
        let secrets = &CallCredentials::default();
        RedactSearch { redactor: self, secrets }.is_spread(framing, answer, false, bytes)
    }
}

/// Whether a text is the beginning of one string of a JSON text, in the usual spelling.
fn is_one_string(text: &str, json: &[u8]) -> bool {
    let Some(first) = text.bytes().next() else { return true };
    let first = if matches!(first, b'\n' | b'"') { b'\\' } else { first };
    // A quote after a backslash is inside a string, so the text after it is read only once.
    let begins = |at: &usize| {
        *at > 0 && json[at - 1] != b'\\' && json.get(at + 1).is_some_and(|byte| *byte == first)
    };
    let mut strings = memchr::memchr_iter(b'"', json).filter(begins);
    strings.any(|at| starts_with_text(&json[at + 1..], text.as_bytes()))
}

/// Whether JSON continues with this text, which is escaped only as far as JSON requires.
fn starts_with_text(mut json: &[u8], mut text: &[u8]) -> bool {
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

/// Returns the framing of a stream whose media type does not name it, judged by its first bytes.
fn unnamed_framing(bytes: &[u8]) -> Option<Framing> {
    let is_sse = bytes.starts_with(b"data:") || bytes.starts_with(b"event:");
    is_sse.then_some(Framing::Sse)
}

/// An answer that was read.
struct ReadAnswer {
    answer: Answer,
    /// Whether its bytes were read as one JSON document.
    is_document: bool,
}

/// Reads a successful answer.
fn read_answer(operation: Operation, status: u16, media: &str, plain: &Bytes) -> ReadAnswer {
    if !(200..300).contains(&status) {
        return ReadAnswer { answer: Answer::default(), is_document: false };
    }
    let framing = Framing::from_answer(operation, media, plain);
    let answer = match framing {
        None => loomrec_provider::read_complete(operation, media, plain),
        framing => loomrec_provider::read_answer(operation, framing, plain),
    };
    // A transcription may be plain text.
    let is_document = answer.is_some() && framing.is_none() && !operation.may_be_text();
    ReadAnswer { answer: answer.unwrap_or_default(), is_document }
}

/// Replaces a compressed body by its plain bytes.
fn keep_decoded(headers: &mut Vec<(String, String)>, chunks: &mut Vec<Chunk>, plain: Bytes) {
    let at_ms = chunks.last().map_or(0.0, |chunk| chunk.at_ms);
    *chunks = vec![Chunk { at_ms, data: plain }];
    headers.retain(|(name, _)| name != "content-encoding" && name != "content-length");
}

/// Returns the media type that headers state, without parameters; `""` if they state none.
pub(crate) fn stated_media(headers: &[(String, String)]) -> &str {
    let found = headers.iter().find(|(name, _)| name == "content-type");
    found.map_or("", |(_, value)| media_type(value))
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
