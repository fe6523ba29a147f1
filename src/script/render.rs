//! The renderer of scripted calls: in the shape of the client's provider, complete or streamed as
//! the call asks for it, each entry at its time.

mod call;
mod malformed;
mod stream;

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

use super::entry::ScriptEntry;
use super::failure::{FailureForm, ScriptFailure};
use crate::response_draft::ResponseDraft;
use call::{CallContent, Inserted};
use loomrec_provider::{ErrorRequest, Provider};
use loomrec_recording::body::Chunk;
use loomrec_recording::entry::{RecordedCut, ResponseEnd};
use loomrec_recording::normalized_request::NormalizedRequest;

/// The response to a scripted call.
#[derive(Debug)]
pub struct RenderedResponse {
    /// The status, the headers and the body.
    pub delivery: ResponseDraft,
    /// Whether it is a stream.
    pub streamed: bool,
    /// The cut in which the connection ends, when the delivery is due, in place of any answer.
    pub withheld: Option<RecordedCut>,
}

impl RenderedResponse {
    /// Returns the answer of a scripted call to `observed`. Ids are made from `seed`. The answer
    /// names `model`, or else the one that was asked for.
    ///
    /// # Errors
    /// The reason why the scripted call cannot answer this request.
    pub(super) fn from_entries(
        entries: &[ScriptEntry],
        model: Option<&str>,
        observed: &NormalizedRequest,
        shape: Provider,
        seed: &str,
    ) -> Result<Self, String> {
        let streamed = observed.call.streamed;
        let call = CallContent::new(entries, streamed);
        if let Some(failure) = call.failure {
            let request_id = failure.request_id.as_deref().or(call.request_id);
            return Ok(Self::from_due_failure(failure, observed, shape, (request_id, call.end)));
        }
        let mut format = observed.asked_format();
        format.model = model.or(format.model);
        let (chunks, end) = match streamed {
            true => stream::render_chunks(&call, &format, shape, seed)?,
            false if call.is_bare() => (raw_chunks(&call), ResponseEnd::Complete),
            false => {
                let answer =
                    loomrec_provider::whole_answer(&call.parts, &call.answer_without_parts());
                let body = loomrec_provider::write_answer(&format, &answer, seed)
                    .map_err(|why| why.to_string())?;
                let chunk = Chunk { at_ms: call.end, data: body.into() };
                (vec![chunk], ResponseEnd::Complete)
            }
        };
        let media = if streamed { format.framing.media_type() } else { format.media_type() };
        let mut delivery = make_draft(StatusCode::OK, media, chunks, !streamed);
        delivery.end = end;
        if let Some(id) = call.request_id {
            let headers = loomrec_provider::request_id_headers(shape, &observed.upstream, id);
            add_headers(&mut delivery.headers, headers);
        }
        Ok(Self { delivery, streamed, withheld: None })
    }

    /// Returns the failure of a call, due at once.
    pub(super) fn from_failure(
        failure: &ScriptFailure,
        observed: &NormalizedRequest,
        shape: Provider,
    ) -> Self {
        Self::from_due_failure(failure, observed, shape, (failure.request_id.as_deref(), 0.0))
    }

    /// Returns the failure of a call, with the id of the request and the time when it is due.
    fn from_due_failure(
        failure: &ScriptFailure,
        observed: &NormalizedRequest,
        shape: Provider,
        (request_id, at_ms): (Option<&str>, f64),
    ) -> Self {
        let format = observed.asked_format();
        let streamed = observed.call.streamed;
        let error = match failure.reason.form() {
            FailureForm::Told => ErrorRequest {
                kind: failure.kind(shape),
                message: failure.message(shape),
                framing: streamed.then_some(format.framing),
                retry_after_ms: failure.retry_after_ms,
                request_id,
                ..ErrorRequest::new(shape, &observed.upstream, failure.status(shape))
            },
            FailureForm::Malformed => {
                let chunk = Chunk { at_ms, data: malformed::unparsable_bytes(&format, streamed) };
                let media =
                    if streamed { format.framing.media_type() } else { format.media_type() };
                let delivery = make_draft(StatusCode::OK, media, vec![chunk], !streamed);
                return Self { delivery, streamed, withheld: None };
            }
            FailureForm::Cut(after_ms, cut) => return Self::from_cut(cut, at_ms + after_ms),
        };
        let error = error.write_error();
        let chunks = vec![Chunk { at_ms, data: error.body.into() }];
        let status = StatusCode::from_u16(error.status);
        let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut delivery = make_draft(status, "application/json", chunks, true);
        add_headers(&mut delivery.headers, error.headers);
        Self { delivery, streamed: false, withheld: None }
    }

    /// Returns a connection's end in place of an answer. Its delivery only says when.
    fn from_cut(cut: RecordedCut, at_ms: f64) -> Self {
        let chunks = vec![Chunk { at_ms, data: Bytes::new() }];
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        let mut delivery = make_draft(status, "application/json", chunks, false);
        delivery.end = ResponseEnd::UpstreamAbort(cut);
        Self { delivery, streamed: false, withheld: Some(cut) }
    }
}

fn add_headers(headers: &mut HeaderMap, more: Vec<(&'static str, String)>) {
    for (name, value) in more {
        if let Ok(value) = HeaderValue::from_str(&value) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

fn make_draft(
    status: StatusCode,
    media: &'static str,
    chunks: Vec<Chunk>,
    announced: bool,
) -> ResponseDraft {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(media));
    if announced {
        let length: usize = chunks.iter().map(|chunk| chunk.data.len()).sum();
        headers.insert(CONTENT_LENGTH, HeaderValue::from(length));
    }
    let (trailers, end) = (HeaderMap::new(), ResponseEnd::Complete);
    ResponseDraft { status, reason: None, headers, chunks, trailers, end }
}

/// Returns the raw bytes, which are all of a complete answer.
fn raw_chunks(call: &CallContent<'_>) -> Vec<Chunk> {
    let bytes = call.inserts.iter().filter_map(|insert| match insert.what {
        Inserted::Bytes(bytes) => Some(Chunk { at_ms: insert.due, data: bytes.clone() }),
        Inserted::Error(_) => None,
    });
    bytes.collect()
}
