//! A recorded response that is prepared for a client. Its form (mode, framing, content encoding)
//! changes if the client needs another one; what it says never does.

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use time::OffsetDateTime;

use loomrec_identity::media_type;
use loomrec_provider::Framing;
use loomrec_recording::body::Chunk;
use loomrec_recording::encoding::{self, DecodeError};
use loomrec_recording::entry::{Entry, RecordedResponse, ResponseEnd};
use loomrec_recording::header_text::header_bytes;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::response_header::{MOST_HEADERS, is_replayed, keeps_waiting};

/// The response to one call.
#[derive(Debug)]
pub struct ResponseDraft {
    /// The status.
    pub status: StatusCode,
    /// The bytes of the reason phrase, if it is not the usual one.
    pub reason: Option<Vec<u8>>,
    /// The headers, framing included.
    pub headers: HeaderMap,
    /// The chunks with their recorded times.
    pub chunks: Vec<Chunk>,
    /// The fields that follow the body, if its length is not announced.
    pub trailers: HeaderMap,
    /// How it ends.
    pub end: ResponseEnd,
}

impl ResponseDraft {
    /// Returns the response of an entry as its client gets it: up to where the recorded client left,
    /// and as [`Self::from_response`] does.
    ///
    /// # Errors
    /// Why the entry has no answer that can be sent.
    pub fn from_entry(entry: Entry) -> Result<Self, String> {
        let head = entry.request_method() == Some("HEAD");
        let mut response = entry.response.ok_or("the entry holds no response")?;
        if let Some(left) = entry.client_left {
            response.cut_to(left);
        }
        Self::from_response(response, head)
    }

    /// Returns the recorded response without what a client must not take from a recording: headers
    /// that concern more than this answer, and a body where none is allowed. `head` says that it
    /// answers a HEAD.
    pub fn from_response(response: RecordedResponse, head: bool) -> Result<Self, String> {
        let status = StatusCode::from_u16(response.status)
            .ok()
            .filter(|status| !status.is_informational() || status.as_u16() == 101)
            .ok_or_else(|| {
                format!("the recorded status {} is not that of an answer", response.status)
            })?;
        if response.headers.len().max(response.trailers.len()) > MOST_HEADERS {
            return Err(format!("the recorded answer has more than {MOST_HEADERS} headers"));
        }
        let headers = replayed_fields(&response.headers);
        let bodiless = head || is_bodiless(status);
        let (chunks, trailers) = match bodiless {
            true => (Vec::new(), HeaderMap::new()),
            false => (response.payload.into_chunks(), replayed_fields(&response.trailers)),
        };
        let reason = response.reason.map(String::into_bytes);
        let mut delivery = Self { status, reason, headers, chunks, trailers, end: response.end };
        match bodiless {
            true => delivery.frame_nothing(),
            false => delivery.correct_framing(),
        }
        Ok(delivery)
    }

    /// Keeps the announced length of a body that is not sent, if it is valid: a HEAD and a 304
    /// announce the length of the body they leave out.
    fn frame_nothing(&mut self) {
        let mut lengths = self.headers.get_all(CONTENT_LENGTH).iter();
        let first = lengths.next().and_then(length_of);
        let is_one = first.is_some() && lengths.next().is_none();
        if !is_one || self.status == StatusCode::NO_CONTENT {
            self.headers.remove(CONTENT_LENGTH);
        }
    }

    /// Returns all bytes in one piece.
    fn joined_bytes(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|chunk| chunk.data.iter().copied()).collect()
    }

    /// Returns the media type, without parameters.
    pub fn media(&self) -> &str {
        let value = self.headers.get(http::header::CONTENT_TYPE);
        value.and_then(|value| value.to_str().ok()).map_or("", media_type)
    }

    /// Returns when the last chunk came.
    fn last_ms(&self) -> f64 {
        self.chunks.last().map_or(0.0, |chunk| chunk.at_ms)
    }

    /// Removes a content encoding that the client does not accept. Decoded pieces keep the time of
    /// the chunk that completed them.
    ///
    /// # Errors
    /// A body that decodes to more than `max` bytes.
    pub fn decode_unless_accepted(
        &mut self,
        accept: Option<&str>,
        max: usize,
    ) -> Result<(), DecodeError> {
        let Some(coding) = encoding::coding_of(&self.headers) else { return Ok(()) };
        if encoding::is_accepted(accept, &coding) || self.chunks.is_empty() {
            return Ok(());
        }
        let pieces: Vec<&[u8]> = self.chunks.iter().map(|chunk| &*chunk.data).collect();
        let plain = match encoding::try_decode_pieces(&coding, &pieces, max) {
            Ok(plain) => plain,
            // A small file may hold a body that decodes to any size.
            Err(why @ DecodeError::TooLarge) => return Err(why),
            // Bytes that do not decode are sent as they were recorded.
            Err(DecodeError::Cut | DecodeError::Damaged | DecodeError::Unknown) => return Ok(()),
        };
        let chunk = |piece: encoding::PlainPiece| {
            Some(Chunk { at_ms: self.chunks.get(piece.of)?.at_ms, data: piece.data.into() })
        };
        self.chunks = plain.into_iter().filter_map(chunk).collect();
        self.headers.remove(http::header::CONTENT_ENCODING);
        Ok(())
    }

    /// Turns a recorded stream into a complete answer, or the reverse.
    pub fn change_mode(&mut self, observed: &NormalizedRequest) -> Result<(), String> {
        if self.end != ResponseEnd::Complete {
            return Err("the recorded answer was cut, and a cut answer exists in its own mode of \
                        delivery only"
                .to_owned());
        }
        let bytes = self.joined_bytes();
        let format = observed.asked_format();
        let at_ms = self.last_ms();
        let chunk = |data: Vec<u8>| Chunk { at_ms, data: data.into() };
        let (media, chunks) = if observed.call.streamed {
            let events =
                loomrec_provider::to_stream(&format, &bytes).map_err(|error| error.to_string())?;
            (format.framing.media_type(), events.into_iter().map(chunk).collect())
        } else {
            let framing = Framing::from_answer(format.operation, self.media(), &bytes);
            let body =
                loomrec_provider::to_complete(&format, framing.unwrap_or(format.framing), &bytes);
            (format.media_type(), vec![chunk(body.map_err(|error| error.to_string())?)])
        };
        self.headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media));
        if observed.call.streamed {
            self.headers.remove(CONTENT_LENGTH);
        } else {
            self.headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
        }
        self.chunks = chunks;
        self.trailers.clear();
        Ok(())
    }

    /// Puts the events of a recorded stream into the framing that the call asks for, each at the
    /// time when its last byte came. A stream that has this framing already, or an answer that is
    /// no stream, stays as it is.
    pub fn change_framing(&mut self, observed: &NormalizedRequest) -> Result<(), String> {
        let bytes = self.joined_bytes();
        let format = observed.asked_format();
        let from = Framing::from_answer(format.operation, self.media(), &bytes);
        let Some(from) = from.filter(|from| *from != format.framing) else { return Ok(()) };
        let whole = self.end == ResponseEnd::Complete;
        let events =
            loomrec_provider::reframe(format.operation, (from, format.framing), &bytes, whole)
                .map_err(|error| error.to_string())?;
        let mut arrived = 0;
        let arrivals = self.chunks.iter().map(|chunk| {
            arrived += chunk.data.len();
            (arrived, chunk.at_ms)
        });
        let mut arrivals = arrivals.peekable();
        let chunks = events.into_iter().map(|(end, data)| {
            while arrivals.next_if(|(arrived, _)| *arrived < end).is_some() {}
            let at_ms = arrivals.peek().map_or(0.0, |(_, at_ms)| *at_ms);
            Chunk { at_ms, data: data.into() }
        });
        self.chunks = chunks.collect();
        let media = HeaderValue::from_static(format.framing.media_type());
        self.headers.insert(http::header::CONTENT_TYPE, media);
        self.headers.remove(CONTENT_LENGTH);
        Ok(())
    }

    /// Corrects the framing: an announced length becomes the real one, except for a body that was
    /// cut short of it.
    pub fn correct_framing(&mut self) {
        let length = self.chunks.iter().map(|chunk| chunk.data.len() as u64).sum();
        let Some(announced) = self.headers.get(CONTENT_LENGTH) else { return };
        let announced = length_of(announced).unwrap_or(0);
        if self.end == ResponseEnd::Complete {
            self.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        } else if announced > length {
            // If there are several, this sets the one that holds for what follows.
            self.headers.insert(CONTENT_LENGTH, HeaderValue::from(announced));
        } else {
            // Redaction can make what came before a cut as long as the whole body was to be.
            self.headers.insert(CONTENT_LENGTH, HeaderValue::from(length + 1));
        }
    }
}

/// Returns the fields that a replay sends, with room for some more.
fn replayed_fields(fields: &[(String, String)]) -> HeaderMap {
    let mut map = HeaderMap::with_capacity(if fields.is_empty() { 0 } else { fields.len() + 4 });
    for (name, value) in fields {
        let lower = name.to_ascii_lowercase();
        let is_endless = keeps_waiting(&lower, value, OffsetDateTime::now_utc);
        let name = HeaderName::from_bytes(name.as_bytes());
        let value = HeaderValue::from_bytes(&header_bytes(value));
        if let (Ok(name), Ok(value)) = (name, value)
            && is_replayed(name.as_str())
            && !is_endless
        {
            map.append(name, value);
        }
    }
    map
}

/// Whether an answer of this status has no body, whatever was recorded.
fn is_bodiless(status: StatusCode) -> bool {
    matches!(status.as_u16(), 101 | 204 | 304)
}

/// Returns the length that a header announces, which must be digits alone.
fn length_of(value: &HeaderValue) -> Option<u64> {
    let digits = value.to_str().ok()?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

#[cfg(test)]
#[path = "response_draft_tests.rs"]
mod tests;
