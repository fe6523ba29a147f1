//! The writer of interactions, and of the error in a stream of one.

use serde_json::{Value, json};

use super::finish::FINISH;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::framing::EventFrame;
use crate::operation::{ResponseFormat, StreamError};

pub(super) fn write_body(
    _: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    let mut steps = vec![];
    if draft.has_text() {
        let text = json!({ "type": "text", "text": draft.answer.content });
        steps.push(json!({ "type": "model_output", "content": [text] }));
    }
    for (place, call) in draft.calls.iter().enumerate() {
        steps.push(json!({
            "type": "function_call",
            "id": draft.call_id("call_", place, call),
            "name": call.name,
            "arguments": call.arguments
        }));
    }
    let usage = draft.usage;
    let thoughts = usage.reasoning_tokens.min(usage.completion_tokens);
    Ok(json!({
        "id": draft.answer_id("v1_"),
        "object": "interaction",
        "status": draft.finish_reason(&FINISH),
        "model": draft.model,
        "created": "1970-01-01T00:00:00Z",
        "updated": "1970-01-01T00:00:00Z",
        "usage": {
            "total_input_tokens": usage.prompt_tokens,
            "total_output_tokens": usage.completion_tokens - thoughts,
            "total_thought_tokens": thoughts,
            "total_cached_tokens": usage.cached_tokens,
            "total_tokens": usage.total_tokens
        },
        "steps": steps
    }))
}

/// The event for an error in a stream.
pub(super) fn error_event(error: &StreamError<'_>) -> EventFrame {
    let code = error.kind.unwrap_or_else(|| error_code(error.status));
    let error = json!({ "code": code, "message": error.message });
    EventFrame::named("error", json!({ "event_type": "error", "error": error }))
}

/// Google's word for a status.
fn error_code(status: u16) -> &'static str {
    match status {
        401 => "authentication",
        403 => "permission_denied",
        404 => "not_found",
        429 => "rate_limit_exceeded",
        503 => "service_unavailable",
        504 => "deadline_exceeded",
        500.. => "api_error",
        _ => "invalid_request",
    }
}
