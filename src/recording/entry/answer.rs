//! The answer of an entry: what its response says. An entry may have no response.

use bytes::Bytes;

use super::super::body::{Chunk, ChunkLayout};
use super::super::encoding;
use super::{ClientLeft, Entry, ResponseEnd};
use loomrec_provider::{Framing, Operation, RecognisedCall};

/// The body of a recorded response, with and without its content coding.
#[derive(Debug)]
pub struct CodedBody {
    /// Its media type without parameters, in lower case.
    pub media: String,
    /// Its coding, if it has one.
    pub coding: Option<String>,
    /// The recorded bytes.
    pub bytes: Bytes,
    /// The bytes without the coding, if there is one and they decode.
    decoded: Option<Vec<u8>>,
}

impl CodedBody {
    /// Returns the bytes without a coding; `None` if they do not decode.
    pub fn plain_bytes(&self) -> Option<&[u8]> {
        match self.coding {
            Some(_) => self.decoded.as_deref(),
            None => Some(&self.bytes),
        }
    }

    /// Returns the bytes without a coding, or the recorded ones if they do not decode.
    pub fn readable_bytes(&self) -> &[u8] {
        self.plain_bytes().unwrap_or(&self.bytes)
    }

    /// Returns its framing if it is a stream that answers a call of this operation.
    pub fn stream_framing(&self, operation: Operation) -> Option<Framing> {
        Framing::from_answer(operation, &self.media, self.readable_bytes())
    }
}

impl Entry {
    /// Whether its response is recorded.
    pub fn has_response(&self) -> bool {
        self.response.is_some()
    }

    /// Whether both entries have the same response, apart from headers of this one that are not
    /// `kept`.
    pub fn answers_like(&self, other: &Self, kept: impl Fn(&str) -> bool) -> bool {
        let mut response = self.response.clone();
        response.iter_mut().for_each(|it| it.headers.retain(|(name, _)| kept(name)));
        response.is_some() && response == other.response
    }

    /// Returns the HTTP status of its answer.
    pub fn answer_status(&self) -> Option<u16> {
        self.response.as_ref().map(|response| response.status)
    }

    /// Returns the reason phrase of its answer, if it is not the usual one of the status.
    pub fn answer_reason(&self) -> Option<&str> {
        self.response.as_ref()?.reason.as_deref()
    }

    /// Whether its response succeeded by its status.
    pub fn has_good_status(&self) -> bool {
        self.answer_status().is_some_and(|status| (200..300).contains(&status))
    }

    /// Returns how its answer ended.
    pub fn answer_end(&self) -> Option<ResponseEnd> {
        self.response.as_ref().map(|response| response.end)
    }

    /// Returns the headers of its response; none if it has no response.
    pub fn answer_headers(&self) -> &[(String, String)] {
        self.response.as_ref().map_or(&[], |response| response.headers.as_slice())
    }

    /// Returns the fields after the body of its response; none if it has no response.
    pub fn answer_trailers(&self) -> &[(String, String)] {
        self.response.as_ref().map_or(&[], |response| response.trailers.as_slice())
    }

    /// Returns the media type of its answer without parameters, as its response states it.
    pub fn answer_media(&self) -> Option<&str> {
        self.response.as_ref().map(|response| response.media_type())
    }

    /// Returns the pieces of its answer, with their times.
    pub fn answer_chunks(&self) -> Option<&[Chunk]> {
        self.response.as_ref().map(|response| response.payload.chunks())
    }

    /// Returns the form in which the body of its answer is stored.
    pub fn answer_layout(&self) -> Option<ChunkLayout> {
        self.response.as_ref().map(|response| response.payload.layout())
    }

    /// Returns the length of its answer's body in bytes.
    pub fn answer_length(&self) -> Option<usize> {
        self.response.as_ref().map(|response| response.payload.len())
    }

    /// Returns the bytes of its answer's body, as they were received.
    pub fn answer_bytes(&self) -> Option<Bytes> {
        self.response.as_ref().map(|response| response.payload.joined_bytes())
    }

    /// Returns the body of its answer, decoded if it has a coding. A body that decodes to more than
    /// `most` bytes counts as one that does not decode.
    pub fn coded_body(&self, most: usize) -> Option<CodedBody> {
        let (media, bytes) = (self.answer_media()?.to_ascii_lowercase(), self.answer_bytes()?);
        let coding = encoding::coding_in(self.answer_headers());
        let decode = |coding: &String| encoding::decode_body(coding, &bytes, most);
        let decoded = coding.as_ref().and_then(decode);
        Some(CodedBody { media, coding, bytes, decoded })
    }

    /// Returns the framing of its answer's bytes as they were received, if `call` is answered by a
    /// stream.
    pub fn received_framing(&self, call: Option<&RecognisedCall>) -> Option<Framing> {
        let operation = call.map_or(Operation::OTHER, |call| call.operation);
        let media = self.answer_media()?.to_ascii_lowercase();
        Framing::from_answer(operation, &media, &self.answer_bytes()?)
    }

    /// Returns how many bytes the bodies of its request and its response have.
    pub fn body_size(&self) -> usize {
        self.request_body().map_or(0, Bytes::len) + self.answer_length().unwrap_or(0)
    }

    /// Removes its response. Its summary stays.
    pub fn remove_response(&mut self) {
        self.response = None;
    }

    /// Takes the answer of another entry, with its summary and its cost.
    pub fn replace_answer(&mut self, new: Self) {
        self.content = new.content;
        self.model = new.model;
        self.usage = new.usage;
        self.cost_usd = new.cost_usd;
        self.finish_reason = new.finish_reason;
        self.tool_calls = new.tool_calls;
        self.response = new.response;
    }

    /// Forgets where its recorded client left, because that client never got this answer. If the
    /// recording ended there, the end of the answer is not known: a client then leaves behind its
    /// text.
    pub fn clear_client_left(&mut self) {
        let cut = self.response.as_ref().filter(|answer| answer.end == ResponseEnd::ClientAbort);
        let chunks = cut.map(|answer| answer.payload.chunks());
        self.client_left = self
            .client_left
            .zip(chunks)
            .map(|(left, chunks)| ClientLeft::new(left.at_ms, Some(chunks.len()), chunks));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn entry(headers: &Value, body: &str) -> Entry {
        let response = json!({"status": 200, "headers": headers, "end": "complete", "text": body});
        Entry::parse(&json!({"content": "said", "response": response})).unwrap()
    }

    #[test]
    fn body_without_a_coding_is_plain() {
        let entry =
            entry(&json!({"content-type": "Text/Event-Stream; charset=utf-8"}), "data: 1\n\n");
        let body = entry.coded_body(encoding::LARGEST).unwrap();
        assert_eq!(body.media, "text/event-stream");
        assert_eq!(body.plain_bytes(), Some(&b"data: 1\n\n"[..]));
        assert_eq!(body.stream_framing(Operation::OTHER), Some(Framing::Sse));
        assert_eq!(entry.received_framing(None), Some(Framing::Sse));
        assert_eq!(entry.body_size(), 9);
    }

    #[test]
    fn body_that_does_not_decode_is_read_as_it_was_received() {
        let entry = entry(&json!({"content-encoding": "gzip"}), "no gzip");
        let body = entry.coded_body(encoding::LARGEST).unwrap();
        assert_eq!(body.coding.as_deref(), Some("gzip"));
        assert_eq!((body.plain_bytes(), body.readable_bytes()), (None, &b"no gzip"[..]));
    }

    #[test]
    fn answers_are_alike_but_for_headers_that_are_not_kept() {
        let (more, less) =
            (entry(&json!({"a": "1", "b": "2"}), "x"), entry(&json!({"a": "1"}), "x"));
        assert!(more.answers_like(&less, |name| name == "a"));
        assert!(!more.answers_like(&less, |_| true));
        assert!(!Entry::default().answers_like(&Entry::default(), |_| true));
    }

    #[test]
    fn replaced_answer_leaves_the_request() {
        let mut asked = Entry { session: Some("s".into()), ..Entry::default() };
        asked.replace_answer(entry(&json!({}), "x"));
        assert_eq!((asked.content.as_deref(), asked.session.as_deref()), (Some("said"), Some("s")));
        asked.remove_response();
        assert!(!asked.has_response() && asked.content.is_some());
    }
}
