//! Errors in the streams of OpenAI and its dialects.

use serde_json::json;

use crate::framing::EventFrame;
use crate::operation::StreamError;
use crate::stream_error::plain_error;

/// The event for an error in a stream.
pub(crate) fn stream_error(error: &StreamError<'_>) -> EventFrame {
    if error.format.upstream == "openrouter" { openrouter_error(error) } else { plain_error(error) }
}

/// OpenRouter's error is a normal chunk with an additional `error`.
fn openrouter_error(error: &StreamError<'_>) -> EventFrame {
    let choice = json!({ "index": 0, "delta": { "content": "" }, "finish_reason": "error" });
    EventFrame::unnamed(json!({
        "id": "gen-error",
        "object": "chat.completion.chunk",
        "created": 0,
        "model": error.format.model,
        "error": { "code": error.status, "message": error.message },
        "choices": [choice]
    }))
}
