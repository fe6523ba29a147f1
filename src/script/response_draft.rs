//! A recorded response that is prepared for a client. Its form (mode, framing, content encoding)
//! changes if the client needs another one; what it says never does.

use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use time::OffsetDateTime;

use loomrec_provider::{Framing, ResponseFormat};
use loomrec_recording::body::Chunk;
use loomrec_recording::encoding::{self, DecodeError};
use loomrec_recording::entry::{RecordedResponse, ResponseEnd};
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
    /// How it ends.
    pub end: ResponseEnd,
}

impl ResponseDraft {
    /// Returns the recorded response without what a client must not take from a recording: headers
    /// that concern more than this answer, and a body where none is allowed. `head` says that it
    /// answers a HEAD.
    pub fn of(response: RecordedResponse, head: bool) -> Result<Self, String> {
        let status = StatusCode::from_u16(response.status)
            .ok()
            .filter(|status| !status.is_informational() || status.as_u16() == 101)
            .ok_or_else(|| {
                format!("the recorded status {} is not that of an answer", response.status)
            })?;
        if response.headers.len() > MOST_HEADERS {
            return Err(format!("the recorded answer has more than {MOST_HEADERS} headers"));
        }
        let mut headers = HeaderMap::with_capacity(response.headers.len() + 4);
        for (name, value) in &response.headers {
            let lower = name.to_ascii_lowercase();
            let is_endless = keeps_waiting(&lower, value, OffsetDateTime::now_utc);
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_bytes(&header_bytes(value));
            if let (Ok(name), Ok(value)) = (name, value)
                && is_replayed(name.as_str())
                && !is_endless
            {
                headers.append(name, value);
            }
        }
        let bodiless = head || is_bodiless(status);
        let chunks = if bodiless { Vec::new() } else { response.payload.into_chunks() };
        let reason = response.reason.map(String::into_bytes);
        let mut delivery = Self { status, reason, headers, chunks, end: response.end };
        match bodiless {
            true => delivery.frame_nothing(),
            false => delivery.frame(),
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
    fn joined(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|chunk| chunk.data.iter().copied()).collect()
    }

    /// Returns the media type, without parameters.
    pub fn media(&self) -> &str {
        let value = self.headers.get(http::header::CONTENT_TYPE);
        let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim()
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
        if encoding::accepts(accept, &coding) || self.chunks.is_empty() {
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
        let bytes = self.joined();
        let format = response_format_of(observed);
        let at_ms = self.last_ms();
        let chunk = |data: Vec<u8>| Chunk { at_ms, data: data.into() };
        let (media, chunks) = if observed.call.streamed {
            let events =
                loomrec_provider::to_stream(&format, &bytes).map_err(|error| error.to_string())?;
            (format.framing.media(), events.into_iter().map(chunk).collect())
        } else {
            let framing = Framing::answered(format.operation, self.media(), &bytes);
            let body =
                loomrec_provider::to_complete(&format, framing.unwrap_or(format.framing), &bytes);
            (format.media(), vec![chunk(body.map_err(|error| error.to_string())?)])
        };
        self.headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media));
        if observed.call.streamed {
            self.headers.remove(CONTENT_LENGTH);
        } else {
            self.headers.insert(CONTENT_LENGTH, HeaderValue::from(0));
        }
        self.chunks = chunks;
        Ok(())
    }

    /// Puts the events of a recorded stream into the framing that the call asks for, each at the
    /// time when its last byte came. A stream that has this framing already, or an answer that is
    /// no stream, stays as it is.
    pub fn reframe(&mut self, observed: &NormalizedRequest) -> Result<(), String> {
        let bytes = self.joined();
        let format = response_format_of(observed);
        let from = Framing::answered(format.operation, self.media(), &bytes);
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
        let media = HeaderValue::from_static(format.framing.media());
        self.headers.insert(http::header::CONTENT_TYPE, media);
        self.headers.remove(CONTENT_LENGTH);
        Ok(())
    }

    /// Corrects the framing: an announced length becomes the real one, except for a body that was
    /// cut short of it.
    pub fn frame(&mut self) {
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

/// Whether an answer of this status has no body, whatever was recorded.
fn is_bodiless(status: StatusCode) -> bool {
    matches!(status.as_u16(), 101 | 204 | 304)
}

/// Returns the length that a header announces, which must be digits alone.
fn length_of(value: &HeaderValue) -> Option<u64> {
    let digits = value.to_str().ok()?;
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Returns the form that a call asks for.
pub fn response_format_of(observed: &NormalizedRequest) -> ResponseFormat<'_> {
    let request = &observed.request;
    ResponseFormat::of(&observed.call, &observed.upstream, &request.query, &request.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_recording::RecordedRequest;
    use loomrec_recording::entry::RecordedCut;

    /// Returns what a Gemini stream in these chunks becomes for a client with this query.
    fn reframed(
        query: &str,
        media: &'static str,
        chunks: &[(f64, &'static str)],
        end: ResponseEnd,
    ) -> Result<ResponseDraft, String> {
        let request = RecordedRequest {
            method: "POST".to_owned(),
            path: "/v1beta/models/m:streamGenerateContent".to_owned(),
            query: query.to_owned(),
            headers: vec![],
            other_headers: Default::default(),
            packed: None,
            body: "{}".into(),
        };
        let observed = NormalizedRequest::new("gemini".to_owned(), request, &[]);
        let headers = [
            (http::header::CONTENT_TYPE, HeaderValue::from_static(media)),
            (CONTENT_LENGTH, HeaderValue::from(7)),
        ];
        let chunks = chunks.iter().map(|&(at_ms, data)| Chunk { at_ms, data: data.into() });
        let (headers, chunks) = (headers.into_iter().collect(), chunks.collect());
        let mut delivery =
            ResponseDraft { status: StatusCode::OK, reason: None, headers, chunks, end };
        delivery.reframe(&observed).map(|()| delivery)
    }

    fn sent(delivery: &ResponseDraft) -> Vec<(f64, &str)> {
        delivery
            .chunks
            .iter()
            .map(|chunk| (chunk.at_ms, std::str::from_utf8(&chunk.data).unwrap()))
            .collect()
    }

    const ARRAY: &str = "application/json; charset=UTF-8";
    const CUT: ResponseEnd = ResponseEnd::UpstreamAbort(RecordedCut::Reset);

    #[test]
    fn an_array_becomes_events_at_the_times_its_elements_came() {
        let chunks =
            [(1.0, "[{\"a\":"), (2.0, " 1.50}"), (3.0, ",\r\n{\"b\":2}\n,{\"c\":3}"), (4.0, "]")];
        let delivery = reframed("alt=sse", ARRAY, &chunks, ResponseEnd::Complete).unwrap();
        let expected = [
            (2.0, "data: {\"a\":1.50}\n\n"),
            (3.0, "data: {\"b\":2}\n\n"),
            (3.0, "data: {\"c\":3}\n\n"),
        ];
        assert_eq!(sent(&delivery), expected);
        assert_eq!(
            delivery.headers[http::header::CONTENT_TYPE],
            "text/event-stream; charset=utf-8"
        );
        assert_eq!(delivery.headers.get(CONTENT_LENGTH), None);
    }

    #[test]
    fn events_become_an_array_at_the_times_they_ended() {
        let media = "text/event-stream";
        let chunks =
            [(1.0, "data: {\"a\":1}\r\n\r"), (2.0, "\n: wait\n\ndata: {\"b\":"), (3.0, "2}\n\n")];
        let delivery = reframed("", media, &chunks, ResponseEnd::Complete).unwrap();
        assert_eq!(sent(&delivery), [(2.0, "[{\"a\":1}"), (3.0, ",\r\n{\"b\":2}]")]);
        assert_eq!(delivery.headers[http::header::CONTENT_TYPE], ARRAY);
        let none = reframed("", media, &[(5.0, ": nothing\n\n")], ResponseEnd::Complete).unwrap();
        assert_eq!(sent(&none), [(5.0, "[]")]);
    }

    #[test]
    fn a_cut_stream_stays_cut_when_it_is_framed_otherwise() {
        let chunks = [(1.0, "[{\"a\":1},"), (2.0, "{\"b\":")];
        let events = reframed("alt=sse", ARRAY, &chunks, CUT).unwrap();
        assert_eq!(sent(&events), [(1.0, "data: {\"a\":1}\n\n")]);
        assert_eq!(events.end, CUT);
        let media = "text/event-stream";
        let chunks = [(1.0, "data: {\"a\":1}\n\n"), (2.0, "data: {\"b\"")];
        for end in [CUT, ResponseEnd::Complete] {
            let array = reframed("", media, &chunks, end).unwrap();
            assert_eq!(sent(&array), [(1.0, "[{\"a\":1}")], "{end:?}");
        }
        let array = reframed("", media, &chunks[..1], CUT).unwrap();
        assert_eq!(sent(&array), [(1.0, "[{\"a\":1}")]);
    }

    #[test]
    fn a_compressed_stream_keeps_its_times_when_it_is_decoded() {
        use std::io::Write;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        let mut chunks = vec![];
        for (at_ms, text) in [(1.0, "data: {\"a\":1}\n\n"), (2.0, "data: {\"b\":2}\n\n")] {
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.flush().unwrap();
            let data = std::mem::take(encoder.get_mut());
            chunks.push(Chunk { at_ms, data: data.into() });
        }
        chunks.push(Chunk { at_ms: 3.0, data: encoder.finish().unwrap().into() });
        let headers = [
            (http::header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream")),
            (http::header::CONTENT_ENCODING, HeaderValue::from_static("gzip")),
        ];
        let headers = headers.into_iter().collect();
        let mut delivery = ResponseDraft {
            status: StatusCode::OK,
            reason: None,
            headers,
            chunks,
            end: ResponseEnd::Complete,
        };
        delivery.decode_unless_accepted(None, 1 << 20).unwrap();
        let expected = [(1.0, "data: {\"a\":1}\n\n"), (2.0, "data: {\"b\":2}\n\n")];
        assert_eq!(sent(&delivery), expected);
        let request = RecordedRequest {
            method: "POST".to_owned(),
            path: "/v1beta/models/m:streamGenerateContent".to_owned(),
            query: String::new(),
            headers: vec![],
            other_headers: Default::default(),
            packed: None,
            body: "{}".into(),
        };
        delivery.reframe(&NormalizedRequest::new("gemini".to_owned(), request, &[])).unwrap();
        assert_eq!(sent(&delivery), [(1.0, "[{\"a\":1}"), (2.0, ",\r\n{\"b\":2}]")]);
    }

    #[test]
    fn an_answer_stays_as_it_is_when_it_is_framed_so_or_is_no_stream() {
        for (query, media, text) in [
            ("", ARRAY, "[{\"a\": 1}]"),
            ("alt=sse", "text/event-stream", "data: x\n\n"),
            ("alt=sse", ARRAY, "{\"candidates\": []}"),
            ("alt=sse", "text/html", "<p>"),
        ] {
            let delivery = reframed(query, media, &[(1.0, text)], ResponseEnd::Complete).unwrap();
            assert_eq!(sent(&delivery), [(1.0, text)]);
            assert!(delivery.headers.contains_key(CONTENT_LENGTH));
        }
    }

    #[test]
    fn an_event_that_is_no_json_cannot_be_framed_otherwise() {
        let events = [(1.0, "data: {\"a\"\n\n"), (1.0, "data: {}\n\n")];
        assert!(reframed("", "text/event-stream", &events, ResponseEnd::Complete).is_err());
        let array = [(1.0, "[{\"a\":1} oops {\"b\":2}]")];
        assert!(reframed("alt=sse", ARRAY, &array, ResponseEnd::Complete).is_err());
    }

    fn framed(announced: usize, body: &'static str, end: ResponseEnd) -> Option<usize> {
        let headers = [(CONTENT_LENGTH, HeaderValue::from(announced))].into_iter().collect();
        let chunks = vec![Chunk { at_ms: 0.0, data: body.into() }];
        let mut delivery =
            ResponseDraft { status: StatusCode::OK, reason: None, headers, chunks, end };
        delivery.frame();
        delivery.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    #[test]
    fn announced_length_is_the_real_one_when_the_body_is_whole() {
        assert_eq!(framed(3, "12345", ResponseEnd::Complete), Some(5));
    }

    #[test]
    fn announced_length_is_never_reached_when_the_body_was_cut() {
        let cut = ResponseEnd::UpstreamAbort(RecordedCut::Close);
        assert_eq!(framed(100, "12345", cut), Some(100));
        assert_eq!(framed(5, "12345", cut), Some(6));
        assert_eq!(framed(3, "12345", cut), Some(6));
    }
}
