//! The writer of Cohere's chat answers.

use super::finish::FINISH;
use serde_json::{Value, json};

use crate::answer_draft::{AnswerDraft, arguments_text};
use crate::answer_form::ModeError;
use crate::cohere::{is_first, write_counts};
use crate::operation::ResponseFormat;

pub(super) fn write_body(
    format: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    if is_first(format) { Ok(write_first_version(draft)) } else { Ok(write_second_version(draft)) }
}

fn write_second_version(draft: &AnswerDraft<'_>) -> Value {
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
    let mut usage = write_counts(draft.usage);
    usage["cached_tokens"] = draft.usage.cached_tokens.into();
    json!({
        "id": draft.answer_id(""),
        "message": message,
        "finish_reason": draft.finish_reason(&FINISH),
        "usage": usage
    })
}

fn write_first_version(draft: &AnswerDraft<'_>) -> Value {
    let finish = match draft.finish_reason(&FINISH) {
        // The first version has no finish reason for tool calls.
        "TOOL_CALL" => "COMPLETE",
        other => other,
    };
    let mut body = json!({
        "response_id": draft.answer_id(""),
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
    let mut meta = write_counts(draft.usage);
    meta["api_version"] = json!({ "version": "1" });
    meta["cached_tokens"] = draft.usage.cached_tokens.into();
    body["meta"] = meta;
    body
}
