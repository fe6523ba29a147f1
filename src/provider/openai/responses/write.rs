//! The writer of responses.

use super::finish::FINISH;
use serde_json::{Value, json};

use crate::answer_draft::{AnswerDraft, arguments_text};
use crate::answer_form::ModeError;
use crate::openai::chat::input_details;
use crate::operation::ResponseFormat;

pub(super) fn write_body(
    _: &ResponseFormat<'_>,
    draft: &AnswerDraft<'_>,
) -> Result<Value, ModeError> {
    let finish = draft.finish_reason(&FINISH);
    // A finish reason that is no status says why the response is incomplete.
    let (status, reason) = match finish {
        "completed" | "failed" | "in_progress" | "cancelled" | "queued" | "incomplete" => {
            (finish, None)
        }
        reason => ("incomplete", Some(json!({ "reason": reason }))),
    };
    let usage = draft.usage;
    Ok(json!({
        "id": draft.answer_id("resp_"),
        "object": "response",
        "created_at": 0,
        "status": status,
        "error": null,
        "incomplete_details": reason,
        "instructions": null,
        "metadata": {},
        "model": draft.model,
        "output": output_items(draft, status == "completed"),
        "parallel_tool_calls": true,
        "temperature": null,
        "tool_choice": "auto",
        "tools": [],
        "top_p": null,
        "usage": {
            "input_tokens": usage.prompt_tokens,
            "input_tokens_details": input_details(usage),
            "output_tokens": usage.completion_tokens,
            "output_tokens_details": { "reasoning_tokens": usage.reasoning_tokens },
            "total_tokens": usage.total_tokens
        }
    }))
}

/// The output items of a response: the message, then the calls.
fn output_items(draft: &AnswerDraft<'_>, is_whole: bool) -> Vec<Value> {
    let mut output = vec![];
    if draft.has_text() {
        output.push(json!({
            "id": draft.answer_id("msg_"),
            "type": "message",
            "status": if is_whole { "completed" } else { "incomplete" },
            "role": "assistant",
            "content": [{
                "type": "output_text", "text": draft.answer.content, "annotations": []
            }]
        }));
    }
    for (place, call) in draft.calls.iter().enumerate() {
        output.push(json!({
            "id": draft.id_at("fc_", place),
            "type": "function_call",
            "status": "completed",
            "call_id": draft.call_id("call_", place, call),
            "name": call.name,
            "arguments": arguments_text(call)
        }));
    }
    output
}
