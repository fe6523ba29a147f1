//! The event for an error in a stream that has begun.

use serde_json::json;

use super::framing::EventFrame;
use super::operation::StreamError;

/// The event for an error in a stream, in the format that the provider's SDK expects.
pub fn stream_error(error: &StreamError<'_>) -> EventFrame {
    (error.format.operation.row().stream_error)(error)
}

/// The error as OpenAI's chat, and most other streams, send it.
pub(super) fn plain_error(error: &StreamError<'_>) -> EventFrame {
    let kind = error.kind.unwrap_or_else(|| usual_kind(error.status));
    let error = json!({ "message": error.message, "type": kind, "param": null, "code": null });
    EventFrame::unnamed(json!({ "error": error }))
}

/// OpenAI's word for a status.
pub(super) fn usual_kind(status: u16) -> &'static str {
    match status {
        429 => "rate_limit_exceeded",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}

#[cfg(test)]
mod tests;
