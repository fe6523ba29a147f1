//! The writer of Anthropic messages.

use super::finish::FINISH;
use serde_json::{Value, json};

use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::operation::ResponseFormat;

pub(super) fn write_body(
    _: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    let mut content = vec![];
    if draft.has_text() {
        content.push(json!({ "type": "text", "text": draft.answer.content }));
    }
    for (place, call) in draft.calls.iter().enumerate() {
        content.push(json!({
            "type": "tool_use",
            "id": draft.call_id("toolu_", place, call),
            "name": call.name,
            "input": call.arguments
        }));
    }
    // Anthropic does not include cached input in the input tokens.
    let usage = draft.usage;
    let (plain, cached, written) = usage.input_parts();
    let mut counts = json!({
        "input_tokens": plain,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": cached,
        "output_tokens": usage.completion_tokens
    });
    if usage.reasoning_tokens > 0 {
        counts["output_tokens_details"] = json!({ "thinking_tokens": usage.reasoning_tokens });
    }
    Ok(json!({
        "id": draft.answer_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": draft.model,
        "content": content,
        "stop_reason": draft.finish_reason(&FINISH),
        "stop_sequence": null,
        "usage": counts
    }))
}
