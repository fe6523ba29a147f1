//! The writer of Cohere's chat answers.

use super::finish::FINISH;
use serde_json::{Value, json};

use crate::answer_draft::{AnswerDraft, arguments_text};
use crate::answer_form::ModeError;
use crate::cohere::{counts, is_first};
use crate::operation::ResponseFormat;

pub(super) fn write(
    asked: &ResponseFormat<'_>,
    said: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    if is_first(asked) { Ok(first(said)) } else { Ok(second(said)) }
}

fn second(said: &AnswerDraft<'_>) -> Value {
    let mut message = json!({ "role": "assistant" });
    if said.has_text() {
        message["content"] = json!([{ "type": "text", "text": said.answer.content }]);
    }
    if !said.calls.is_empty() {
        let calls = said.calls.iter().enumerate().map(|(place, call)| {
            json!({
                "id": said.call_id(&format!("{}_", call.name), place, call),
                "type": "function",
                "function": { "name": call.name, "arguments": arguments_text(call) }
            })
        });
        message["tool_calls"] = calls.collect();
    }
    let mut usage = counts(said.usage);
    usage["cached_tokens"] = said.usage.cached_tokens.into();
    json!({
        "id": said.id(""),
        "message": message,
        "finish_reason": said.finish(&FINISH),
        "usage": usage
    })
}

fn first(said: &AnswerDraft<'_>) -> Value {
    let finish = match said.finish(&FINISH) {
        // The first version has no finish reason for tool calls.
        "TOOL_CALL" => "COMPLETE",
        other => other,
    };
    let mut body = json!({
        "response_id": said.id(""),
        "generation_id": said.id_at("", 1),
        "text": said.answer.content,
        "chat_history": [],
        "finish_reason": finish
    });
    if !said.calls.is_empty() {
        // The first version's calls have no id.
        let calls = said.calls.iter();
        body["tool_calls"] =
            calls.map(|call| json!({ "name": call.name, "parameters": call.arguments })).collect();
    }
    let mut meta = counts(said.usage);
    meta["api_version"] = json!({ "version": "1" });
    meta["cached_tokens"] = said.usage.cached_tokens.into();
    body["meta"] = meta;
    body
}
