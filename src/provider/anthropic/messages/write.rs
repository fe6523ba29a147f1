//! The writer of Anthropic messages.

use super::finish::FINISH;
use serde_json::{Value, json};

use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::operation::ResponseFormat;

pub(super) fn write(_: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    let mut content = vec![];
    if said.has_text() {
        content.push(json!({ "type": "text", "text": said.answer.content }));
    }
    for (place, call) in said.calls.iter().enumerate() {
        content.push(json!({
            "type": "tool_use",
            "id": said.call_id("toolu_", place, call),
            "name": call.name,
            "input": call.arguments
        }));
    }
    // Anthropic does not include cached input in the input tokens.
    let usage = said.usage;
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
        "id": said.id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": said.model,
        "content": content,
        "stop_reason": said.finish(&FINISH),
        "stop_sequence": null,
        "usage": counts
    }))
}
