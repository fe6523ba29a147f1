//! Error responses as the provider would send them, or as the fault declares them.

use serde_json::Value;

use super::{HttpError, SyntheticResponse};
use loomrec_provider::{ErrorRequest, Provider, ResponseFormat};

/// The default number of seconds after which a client may retry.
const RETRY_AFTER: f64 = 1.0;

/// OpenAI's code for an account without credit: a 429 that no retry resolves.
const NO_QUOTA: &str = "insufficient_quota";

/// Headers that frame the message. The server sets them; a separate fault falsifies them.
const FRAMING: [&str; 4] = ["content-length", "transfer-encoding", "connection", "keep-alive"];

/// Makes the error response.
pub(super) fn error_response(
    told: &HttpError,
    shape: Provider,
    format: &ResponseFormat<'_>,
    streamed: bool,
) -> SyntheticResponse {
    let wait = retry_seconds(told, shape);
    let natural = ErrorRequest {
        kind: told.code.as_deref(),
        message: told.message.as_deref(),
        // The cast saturates if the number is too large.
        retry_after_ms: wait.map(|seconds| (seconds * 1000.0).round() as u64),
        framing: streamed.then_some(format.framing),
        ..ErrorRequest::new(shape, format.upstream, told.status_code)
    };
    let natural = natural.write_error();
    let headers = natural.headers.into_iter().map(|(name, value)| (name.to_owned(), value));
    let mut made = SyntheticResponse {
        status: told.status_code,
        headers: headers.collect(),
        body: natural.body,
    };
    // `retry-after-ms` is only sent if the fault gives it.
    made.headers.retain(|(name, _)| name != "retry-after-ms");
    if let Some(seconds) = told.retry_after.filter(|_| made.has_header("retry-after")) {
        made.set_header("retry-after", seconds.to_string());
    }
    if let Some(ms) = told.retry_after_ms {
        made.set_header("retry-after-ms", ms.to_string());
    }
    if let Some(retry) = told.x_should_retry {
        made.set_header("x-should-retry", retry.to_string());
    }
    if let Some(body) = &told.body {
        set_given_body(&mut made, body);
    }
    let theirs = told
        .headers
        .iter()
        .filter(|(name, _)| !FRAMING.iter().any(|framing| name.eq_ignore_ascii_case(framing)));
    let theirs: Vec<_> = theirs.cloned().collect();
    made.headers.retain(|(own, _)| !theirs.iter().any(|(name, _)| own.eq_ignore_ascii_case(name)));
    made.headers.extend(theirs);
    made
}

/// Seconds after which the client may retry: as the fault declares, or the default if the provider
/// sends a wait with this status.
fn retry_seconds(told: &HttpError, shape: Provider) -> Option<f64> {
    let given = told.retry_after.or(told.retry_after_ms.map(|ms| ms as f64 / 1000.0));
    let tells = shape.sends_retry_after(told.status_code);
    let usual = tells && told.code.as_deref() != Some(NO_QUOTA);
    given.or(usual.then_some(RETRY_AFTER))
}

/// Sets the body that the fault declares: a string as it is, anything else as JSON.
fn set_given_body(made: &mut SyntheticResponse, body: &Value) {
    let (text, json) = match body {
        Value::String(text) => (text.clone(), serde_json::from_str::<Value>(text).is_ok()),
        value => (value.to_string(), true),
    };
    let media = if json { "application/json" } else { "text/plain; charset=utf-8" };
    made.set_header("content-type", media);
    made.body = text.into_bytes();
}
