//! The writer of Cohere's chat answers.

use super::finish::FINISH;
use serde_json::{Value, json};

use crate::answer_draft::{AnswerDraft, arguments_text};
use crate::answer_form::ModeError;
use crate::cohere::{counts, is_first};
use crate::operation::ResponseFormat;

pub(super) fn write(
    format: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    if is_first(format) { Ok(first(draft)) } else { Ok(second(draft)) }
}

fn second(draft: &AnswerDraft<'_>) -> Value {
    let mut message = json!({ "role": "assistant" });
    if draft.has_text() {
        message["content"] = json!([{ "type": "text", "text": draft.answer.content }]);
    }
    if !draft.calls.is_empty() {
        let calls = draft.calls.iter().enumerate().map(|(place, call)| {
            json!({
                "id": draft.call_id(&format!("{}_", call.name), place, call),
                "type": "function",
                "function": { "name": call.name, "arguments": arguments_text(call) }
            })
        });
        message["tool_calls"] = calls.collect();
    }
    let mut usage = counts(draft.usage);
    usage["cached_tokens"] = draft.usage.cached_tokens.into();
    json!({
        "id": draft.id(""),
        "message": message,
        "finish_reason": draft.finish(&FINISH),
        "usage": usage
    })
}

fn first(draft: &AnswerDraft<'_>) -> Value {
    let finish = match draft.finish(&FINISH) {
        // The first version has no finish reason for tool calls.
        "TOOL_CALL" => "COMPLETE",
        other => other,
    };
    let mut body = json!({
        "response_id": draft.id(""),
        "generation_id": draft.id_at("", 1),
        "text": draft.answer.content,
        "chat_history": [],
        "finish_reason": finish
    });
    if !draft.calls.is_empty() {
        // The first version's calls have no id.
        let calls = draft.calls.iter();
        body["tool_calls"] =
            calls.map(|call| json!({ "name": call.name, "parameters": call.arguments })).collect();
    }
    let mut meta = counts(draft.usage);
    meta["api_version"] = json!({ "version": "1" });
    meta["cached_tokens"] = draft.usage.cached_tokens.into();
    body["meta"] = meta;
    body
}
