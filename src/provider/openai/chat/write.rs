//! The writer of chat completions.

use serde_json::{Value, json};

use crate::TokenUsage;
use crate::answer_draft::{AnswerDraft, arguments_text};
use crate::answer_form::ModeError;
use crate::openai::FINISH;
use crate::operation::ResponseFormat;

pub(super) fn write_body(
    _: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    let content = draft.has_text().then_some(&draft.answer.content);
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !draft.calls.is_empty() {
        let calls = draft.calls.iter().enumerate().map(|(place, call)| {
            json!({
                "id": draft.call_id("call_", place, call),
                "type": "function",
                "function": { "name": call.name, "arguments": arguments_text(call) }
            })
        });
        message["tool_calls"] = calls.collect();
    }
    Ok(json!({
        "id": draft.answer_id("chatcmpl-"),
        "object": "chat.completion",
        "created": 0,
        "model": draft.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": draft.finish_reason(&FINISH)
        }],
        "usage": write_usage(draft)
    }))
}

pub(in crate::openai) fn write_usage(draft: &AnswerDraft<'_>) -> Value {
    let usage = draft.usage;
    json!({
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.total_tokens,
        "prompt_tokens_details": input_details(usage),
        "completion_tokens_details": { "reasoning_tokens": usage.reasoning_tokens }
    })
}

pub(in crate::openai) fn input_details(usage: TokenUsage) -> Value {
    json!({ "cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.cache_write_tokens })
}
