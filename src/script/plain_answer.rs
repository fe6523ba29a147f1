//! Answers for entries that hold only what was said, not how it was sent: plain entries,
//! and the placeholder of `--on-miss default`.

use http::{HeaderMap, HeaderValue, StatusCode};

use super::response_draft::ResponseDraft;
use loomrec_provider::Answer;
use loomrec_recording::body::Chunk;
use loomrec_recording::entry::ResponseEnd;
use loomrec_recording::normalized_request::NormalizedRequest;

/// Returns `answer` as a whole response for `observed`. Ids are made from `seed`.
///
/// # Errors
/// The operation is one whose answers cannot be built from words alone.
pub fn build(
    answer: &Answer,
    observed: &NormalizedRequest,
    seed: &str,
    at_ms: f64,
) -> Result<ResponseDraft, String> {
    let format = observed.asked_format();
    let body =
        loomrec_provider::write_answer(&format, answer, seed).map_err(|error| error.to_string())?;
    let chunk = |data: Vec<u8>| Chunk { at_ms, data: data.into() };
    let mut headers = HeaderMap::new();
    let (media, chunks) = if observed.call.streamed {
        let events =
            loomrec_provider::to_stream(&format, &body).map_err(|error| error.to_string())?;
        (format.framing.media_type(), events.into_iter().map(chunk).collect())
    } else {
        headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from(body.len()));
        (format.media_type(), vec![chunk(body)])
    };
    headers.insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media));
    Ok(ResponseDraft {
        status: StatusCode::OK,
        reason: None,
        headers,
        chunks,
        trailers: HeaderMap::new(),
        end: ResponseEnd::Complete,
    })
}
