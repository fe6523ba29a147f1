//! An answer freed of credentials, and read anew from what is left of it.

use std::borrow::Cow;

use bytes::Bytes;
use serde_json::{Value, json};

use super::super::body::Chunk;
use super::super::encoding;
use super::{Redactor, Secrets, join};
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
}

impl Redactor {
    /// Removes credentials from an answer's body, and reads what is left of it. A
    /// compressed body of up to `max` plain bytes is looked into. `None` where it
    /// cannot be seen to be free of credentials: the body is gone then.
    pub fn redact_answer(&self, came: Came<'_>, secrets: &Secrets, max: usize) -> Option<Answer> {
        let Came { operation, status, headers, chunks } = came;
        if !self.decode_if_unclean(headers, chunks, secrets, max) {
            chunks.clear();
            return None;
        }
        let media = media_type(headers).to_owned();
        let joined = self.redact_body(&media, chunks, secrets);
        let mut answer = read(operation, status, headers, &joined, max);
        self.redact_read(&mut answer, secrets);
        Some(answer)
    }

    /// Reads an answer as it is.
    pub(super) fn read_answer(came: Came<'_>, max: usize) -> Answer {
        read(came.operation, came.status, came.headers, &join(came.chunks), max)
    }

    /// Removes credentials from what was read of an answer: one that is spread over
    /// several events, or written with escapes, is whole again there.
    pub fn redact_read(&self, answer: &mut Answer, secrets: &Secrets) {
        if let Cow::Owned(clean) = self.redact(answer.content.as_bytes(), secrets) {
            answer.content = String::from_utf8_lossy(&clean).into_owned();
        }
        for call in &mut answer.tool_calls {
            self.redact_json(&mut call.arguments, secrets);
        }
    }

    /// Removes credentials from a JSON value, in whose text they are looked for. What
    /// is no JSON any more is kept as the text of an object's `_raw`.
    pub fn redact_json(&self, value: &mut Value, secrets: &Secrets) {
        let text = value.to_string();
        if let Cow::Owned(clean) = self.redact(text.as_bytes(), secrets) {
            let clean = String::from_utf8_lossy(&clean);
            *value = serde_json::from_str(&clean).unwrap_or_else(|_| json!({ "_raw": clean }));
        }
    }

    /// Removes credentials from a body of this media type, and gives what is left in
    /// one piece.
    fn redact_body(&self, media: &str, chunks: &mut [Chunk], secrets: &Secrets) -> Bytes {
        match Framing::of_media(&media.to_ascii_lowercase()) {
            Some(Framing::EventStream) => self.redact_messages(chunks, secrets),
            _ => self.redact_chunks(chunks, secrets),
        }
    }

    /// A compressed body that holds a credential is kept decoded: it could not be
    /// cleaned otherwise. Gives whether the body may be kept.
    fn decode_if_unclean(
        &self,
        headers: &mut Vec<(String, String)>,
        chunks: &mut Vec<Chunk>,
        secrets: &Secrets,
        max: usize,
    ) -> bool {
        let Some(encoding) = header(headers, "content-encoding") else { return true };
        let (joined, media) = (join(chunks), media_type(headers));
        let is_clean = |plain: &[u8]| {
            let data = Bytes::copy_from_slice(plain);
            self.redact_body(media, &mut [Chunk { at_ms: 0.0, data }], secrets) == plain
        };
        let Some(plain) = encoding::decode(encoding, &joined, max) else {
            // Cut or damaged, or not to be decoded at all: what cannot be seen to be
            // free of secrets is not kept.
            let start = encoding::decode_start(encoding, &joined, max);
            return start.is_some_and(|start| is_clean(&start));
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

/// What an answer of success says.
fn read(
    operation: Operation,
    status: u16,
    headers: &[(String, String)],
    joined: &Bytes,
    max: usize,
) -> Answer {
    if !(200..300).contains(&status) {
        return Answer::default();
    }
    let plain = match header(headers, "content-encoding").unwrap_or_default() {
        "" | "identity" => None,
        coded => encoding::decode(coded, joined, max),
    };
    let plain = plain.as_deref().unwrap_or(joined);
    let media = media_type(headers);
    let framing = Framing::answered(operation, media, plain);
    let answer = match framing {
        None => provider::read_complete(operation, media, plain),
        framing => provider::read(operation, framing, plain),
    };
    answer.unwrap_or_default()
}

/// The first value of a header.
fn header<'a>(headers: &'a [(String, String)], name: &str) -> Option<&'a str> {
    headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// The media type, without parameters.
fn media_type(headers: &[(String, String)]) -> &str {
    header(headers, "content-type").map_or("", |value| value.split(';').next().unwrap_or("").trim())
}
