//! The writer of chat completions.

use serde_json::{Value, json};

use crate::TokenUsage;
use crate::answer_draft::{AnswerDraft, arguments_text};
use crate::answer_form::ModeError;
use crate::openai::FINISH;
use crate::operation::ResponseFormat;

pub(super) fn write(_: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    let content = said.has_text().then_some(&said.answer.content);
    let mut message = json!({ "role": "assistant", "content": content, "refusal": null });
    if !said.calls.is_empty() {
        let calls = said.calls.iter().enumerate().map(|(place, call)| {
            json!({
                "id": said.call_id("call_", place, call),
                "type": "function",
                "function": { "name": call.name, "arguments": arguments_text(call) }
            })
        });
        message["tool_calls"] = calls.collect();
    }
    Ok(json!({
        "id": said.id("chatcmpl-"),
        "object": "chat.completion",
        "created": 0,
        "model": said.model,
        "choices": [{
            "index": 0,
            "message": message,
            "logprobs": null,
            "finish_reason": said.finish(&FINISH)
        }],
        "usage": usage(said)
    }))
}

pub(in crate::openai) fn usage(said: &AnswerDraft<'_>) -> Value {
    let usage = said.usage;
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
