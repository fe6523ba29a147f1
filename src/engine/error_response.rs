//! Error responses of loomrec, in the shape that the caller's SDK reads.

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use http_body_util::Full;

use super::answer_body::AnswerBody;
use crate::replay::RecordingMismatchError;
use loomrec_provider::Provider;

/// Tells an SDK not to retry, because another attempt would fail as well.
const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// Names the kind of one of loomrec's own errors.
const KIND: HeaderName = HeaderName::from_static("x-loomrec-error");

/// Returns a response with this status, media type and body.
pub fn response_with_body(
    status: StatusCode,
    media: &'static str,
    body: Vec<u8>,
) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::Full(Full::new(Bytes::from(body))));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// Returns a loomrec error in the shape of `provider`.
pub fn shaped_error(
    provider: Provider,
    status: StatusCode,
    kind: &'static str,
    message: &str,
) -> Response<AnswerBody> {
    let number = status.as_u16();
    let (mut response, headers) =
        match loomrec_provider::error_head(provider, number, kind, message) {
            Some(head) => (Response::new(AnswerBody::Full(Full::default())), head),
            None => {
                let body = loomrec_provider::error_body(provider, number, kind, message);
                let headers = loomrec_provider::error_headers(provider, kind);
                (response_with_body(status, "application/json", body), headers)
            }
        };
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response.headers_mut().insert(KIND, HeaderValue::from_static(kind));
    response
}

/// Returns a loomrec error that an SDK must not retry, because it would fail again.
pub fn final_error(
    provider: Provider,
    status: StatusCode,
    kind: &'static str,
    message: &str,
) -> Response<AnswerBody> {
    mark_final_error(shaped_error(provider, status, kind, message), kind)
}

/// The kind of the error for a call that the recording holds no answer for.
pub(super) const MISMATCH: &str = "RecordingMismatchError";

/// Returns a response with the header that names it as a loomrec error of this kind, and that says that
/// another attempt would fail as well.
pub(super) fn mark_final_error(
    mut response: Response<AnswerBody>,
    kind: &'static str,
) -> Response<AnswerBody> {
    response.headers_mut().insert(KIND, HeaderValue::from_static(kind));
    response.headers_mut().insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    response
}

/// Returns the error for a call that the recording holds no answer for.
pub fn mismatch_error(
    provider: Provider,
    mismatch: &RecordingMismatchError,
) -> Response<AnswerBody> {
    let status = StatusCode::UNPROCESSABLE_ENTITY;
    final_error(provider, status, MISMATCH, &mismatch.message())
}
