//! A delivery: one recorded response on its way to a caller, changed in its form
//! where the caller needs another (mode, content encoding), never in what it says.

use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use crate::provider::{self, Asked, Framing};
use crate::recording::body::Chunk;
use crate::recording::encoding;
use crate::recording::entry::{End, RecordedResponse};
use crate::recording::observed::Observed;

/// A small file may hold a body that decodes to any size: above this many bytes
/// it is left as it is.
const MAX_DECODED: usize = 256 << 20;

/// What goes out for one call.
#[derive(Debug)]
pub(super) struct Delivery {
    /// The status.
    pub(super) status: StatusCode,
    /// The headers, framing included.
    pub(super) headers: HeaderMap,
    /// The chunks with their recorded times.
    pub(super) chunks: Vec<Chunk>,
    /// How it ends.
    pub(super) end: End,
}

impl Delivery {
    /// The recorded response as it is.
    pub(super) fn of(response: RecordedResponse) -> Result<Self, String> {
        let status = StatusCode::from_u16(response.status)
            .ok()
            .filter(|status| !status.is_informational())
            .ok_or_else(|| {
                format!("the recorded status {} is not that of an answer", response.status)
            })?;
        let mut headers = HeaderMap::with_capacity(response.headers.len() + 4);
        for (name, value) in &response.headers {
            let name = HeaderName::from_bytes(name.as_bytes());
            let value = HeaderValue::from_bytes(value.as_bytes());
            if let (Ok(name), Ok(value)) = (name, value) {
                headers.append(name, value);
            }
        }
        Ok(Self { status, headers, chunks: response.payload.chunks, end: response.end })
    }

    /// All bytes in one piece.
    fn joined(&self) -> Vec<u8> {
        self.chunks.iter().flat_map(|chunk| chunk.data.iter().copied()).collect()
    }

    /// The media type, without parameters.
    fn media(&self) -> &str {
        let value = self.headers.get(http::header::CONTENT_TYPE);
        let value = value.and_then(|value| value.to_str().ok()).unwrap_or_default();
        value.split(';').next().unwrap_or_default().trim()
    }

    /// When the last chunk came.
    fn last_ms(&self) -> f64 {
        self.chunks.last().map_or(0.0, |chunk| chunk.at_ms)
    }

    /// Takes off a content encoding that the caller does not accept.
    pub(super) fn decode_unless_accepted(&mut self, accept: Option<&str>) -> Result<(), String> {
        let Some(coding) = self.headers.get(http::header::CONTENT_ENCODING) else { return Ok(()) };
        let coding = coding.to_str().unwrap_or_default().to_owned();
        if encoding::accepts(accept, &coding) || self.chunks.is_empty() {
            return Ok(());
        }
        let Some(plain) = encoding::decode(&coding, &self.joined(), MAX_DECODED) else {
            // Bytes that do not decode, or to more than that, are served as they were: that is what happened.
            return Ok(());
        };
        self.chunks = vec![Chunk { at_ms: self.last_ms(), data: plain.into() }];
        self.headers.remove(http::header::CONTENT_ENCODING);
        Ok(())
    }

    /// Turns a recorded stream into a complete answer, or the reverse.
    pub(super) fn change_mode(&mut self, observed: &Observed) -> Result<(), String> {
        if self.end != End::Complete {
            return Err("the recorded answer was cut, and a cut answer exists in its own mode of \
                        delivery only"
                .to_owned());
        }
        let bytes = self.joined();
        let asked = asked(observed);
        let at_ms = self.last_ms();
        let chunk = |data: Vec<u8>| Chunk { at_ms, data: data.into() };
        let (media, chunks) = if observed.call.streamed {
            let events = provider::to_stream(&asked, &bytes).map_err(|error| error.to_string())?;
            (asked.framing.media(), events.into_iter().map(chunk).collect())
        } else {
            let framing = Framing::answered(asked.operation, self.media(), &bytes);
            let body =
                provider::to_complete(asked.operation, framing.unwrap_or(asked.framing), &bytes);
            ("application/json", vec![chunk(body.map_err(|error| error.to_string())?)])
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

    /// Puts the framing right: an announced length is the real one, except for a
    /// body that was cut short of it.
    pub(super) fn frame(&mut self) {
        self.headers.remove(TRANSFER_ENCODING);
        let length: usize = self.chunks.iter().map(|chunk| chunk.data.len()).sum();
        let bodiless = matches!(self.status.as_u16(), 204 | 304);
        let Some(announced) = self.headers.get(CONTENT_LENGTH) else { return };
        let announced = announced.to_str().ok().and_then(|text| text.parse().ok()).unwrap_or(0);
        if self.end == End::Complete && length > 0 && !bodiless {
            self.headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
        } else if self.end != End::Complete && announced <= length {
            // Redaction can make what came before a cut as long as all was to be.
            self.headers.insert(CONTENT_LENGTH, HeaderValue::from(length + 1));
        }
    }
}

/// What a call asks of the form of its answer.
pub(super) fn asked(observed: &Observed) -> Asked<'_> {
    let request = &observed.request;
    Asked::of(&observed.call, &observed.upstream, &request.query, &request.body)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::entry::Cut;

    fn framed(announced: usize, body: &'static str, end: End) -> Option<usize> {
        let headers = [(CONTENT_LENGTH, HeaderValue::from(announced))].into_iter().collect();
        let chunks = vec![Chunk { at_ms: 0.0, data: body.into() }];
        let mut delivery = Delivery { status: StatusCode::OK, headers, chunks, end };
        delivery.frame();
        delivery.headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
    }

    #[test]
    fn announced_length_is_the_real_one_when_the_body_is_whole() {
        assert_eq!(framed(3, "12345", End::Complete), Some(5));
    }

    #[test]
    fn announced_length_is_never_reached_when_the_body_was_cut() {
        let cut = End::UpstreamAbort(Cut::Close);
        assert_eq!(framed(100, "12345", cut), Some(100));
        assert_eq!(framed(5, "12345", cut), Some(6));
        assert_eq!(framed(3, "12345", cut), Some(6));
    }
}
