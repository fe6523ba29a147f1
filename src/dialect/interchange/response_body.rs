//! The body of a response as it would have been sent without compression, in chunks.

use bytes::Bytes;

use super::exchange::{ForeignResponse, ResponseContent};
use super::header_list::{find_value, in_lower_case};
use super::text_encoding::readable_bytes;
use loomrec_identity::media_type;
use loomrec_provider::{Framing, framing};
use loomrec_recording::entry_maker::UpstreamReply;
use loomrec_recording::{Chunk, encoding};

/// The times of an answer, as far as they are known.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplyTimes {
    /// Milliseconds to the first byte.
    pub(super) first: Option<f64>,
    /// Milliseconds to the end.
    pub(super) whole: Option<f64>,
}

impl ReplyTimes {
    /// Returns the chunks of a body: one for each event of a stream, or a single one. Only the
    /// times of the first and of the last byte are known.
    fn split_chunks(self, headers: &[(String, String)], body: Bytes) -> Vec<Chunk> {
        let good = |ms: Option<f64>| ms.filter(|ms| ms.is_finite() && *ms >= 0.0).unwrap_or(0.0);
        let media = find_value(headers, "content-type").map_or("", media_type);
        let pieces = match Framing::of_media(media) {
            Some(framing) => split_events(framing, body),
            None => vec![body],
        };
        let (first, last) = (good(self.first), good(self.whole));
        let pieces: Vec<Bytes> = pieces.into_iter().filter(|data| !data.is_empty()).collect();
        let single = pieces.len() == 1;
        let at = |index: usize| if index == 0 && !single { first } else { last };
        let numbered = pieces.into_iter().enumerate();
        numbered.map(|(index, data)| Chunk { at_ms: at(index), data }).collect()
    }
}

/// Splits a stream into its events.
fn split_events(framing: Framing, body: Bytes) -> Vec<Bytes> {
    let (mut pieces, mut start) = (Vec::new(), 0);
    for event in framing::events(framing, &body) {
        let end = event.range.end.min(body.len());
        if end > start {
            pieces.push(body.slice(start..end));
            start = end;
        }
    }
    pieces.push(body.slice(start..));
    pieces
}

/// Returns the response as it would have been without compression.
///
/// # Errors
/// If its body cannot be unpacked, or unpacks to more than `max` bytes. The error says why.
pub(super) fn uncompressed_reply(
    response: ForeignResponse,
    method: &str,
    times: ReplyTimes,
    max: usize,
) -> Result<UpstreamReply, String> {
    let ForeignResponse { status, reason, headers, content, end, .. } = response;
    let mut headers = in_lower_case(headers);
    let chunks = match content {
        ResponseContent::Chunks(chunks) => chunks,
        ResponseContent::Plain(body) => {
            let body = decode_body(&headers, body, max)?;
            forget_coding(&mut headers, &body);
            times.split_chunks(&headers, body)
        }
        ResponseContent::Wire(body) => {
            let body = unpack_body(&mut headers, body, max)?;
            times.split_chunks(&headers, body)
        }
    };
    let length: usize = chunks.iter().map(|chunk| chunk.data.len()).sum();
    if method != "HEAD" {
        // The old length was that of the compressed body.
        for (_, value) in headers.iter_mut().filter(|(name, _)| name == "content-length") {
            *value = length.to_string();
        }
    }
    let reason = reason.filter(|reason| !reason.is_empty() && usual_reason(status) != reason);
    let trailers = Vec::new();
    Ok(UpstreamReply { status, reason, headers, trailers, chunks, over: false, end })
}

/// Returns the usual reason phrase of a status; none if there is no such status.
pub(super) fn usual_reason(status: u16) -> &'static str {
    let status = http::StatusCode::from_u16(status).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or_default()
}

/// Removes `content-encoding` from a response whose body was decoded. One without a body, such as
/// that of `HEAD`, keeps it.
fn forget_coding(headers: &mut Vec<(String, String)>, body: &Bytes) {
    if !body.is_empty() {
        headers.retain(|(name, _)| name != "content-encoding");
    }
}

/// Returns the bytes of a body that the file holds decoded, or that has no coding by its
/// headers. Some tools hold the compressed bytes of a text.
fn decode_body(headers: &[(String, String)], body: Bytes, max: usize) -> Result<Bytes, String> {
    let coding = encoding::coding_in(headers).filter(|_| std::str::from_utf8(&body).is_err());
    let plain = coding.and_then(|coding| encoding::decode_body(&coding, &body, max));
    if let Some(plain) = plain {
        return Ok(plain.into());
    }
    let media = find_value(headers, "content-type").unwrap_or_default();
    readable_bytes(body, media).map_err(|why| format!("its response's body {why}"))
}

/// Returns the plain bytes of a body, and removes the `content-encoding` header.
fn unpack_body(
    headers: &mut Vec<(String, String)>,
    body: Bytes,
    max: usize,
) -> Result<Bytes, String> {
    let Some(coding) = encoding::coding_in(headers) else {
        let body = decode_body(headers, body, max)?;
        forget_coding(headers, &body);
        return Ok(body);
    };
    if body.is_empty() {
        return Ok(body);
    }
    let plain = match encoding::decode_body(&coding, &body, max) {
        Some(plain) => plain.into(),
        // The tool decoded the body already, and left the header.
        None if std::str::from_utf8(&body).is_ok() => {
            let media = find_value(headers, "content-type").unwrap_or_default();
            readable_bytes(body, media).map_err(|why| format!("its response's body {why}"))?
        }
        None => {
            return Err(format!(
                "its body cannot be unpacked (content-encoding: {})",
                coding.chars().take(40).collect::<String>()
            ));
        }
    };
    headers.retain(|(name, _)| name != "content-encoding");
    Ok(plain)
}
