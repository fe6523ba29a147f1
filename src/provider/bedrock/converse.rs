//! Bedrock's Converse: one format for every model.
//!
//! It counts input as Anthropic does: `inputTokens` does not include the tokens read from a cache
//! or written to one. [`TokenUsage::prompt_tokens`] is the sum of all three.

mod answer_place;
mod conversation;
mod merge;
mod split;

use serde_json::{Value, json};

use super::error::stream_error;
use crate::answer_draft::{AnswerDraft, FinishWords};
use crate::answer_form::ModeError;
use crate::answer_outcome::OutcomeRules;
use crate::event_text::holds_text;
use crate::framing::Framing;
use crate::json_view::{
    self, JsonView, has_unread_count, has_word, items, member_text, nested_member, text_or_empty,
    token_count,
};
use crate::operation::OperationRow;
use crate::operation::ResponseFormat;
use crate::{Answer, TokenUsage, ToolCall, tool_result};

pub(super) use answer_place::find_shape as shape;
pub(super) use merge::{ConverseEvent, merge_events};
pub(super) use split::split_body;

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Converse",
    word: "converse",
    semantic: Some("chat"),
    delivery: true,
    framing: |_, _| Framing::EventStream,
    conversation: Some(|body| Some(conversation::read_messages(body))),
    tool_results: Some(tool_result::in_messages),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|framing, bytes| {
        read_body(&Value::Object(merge_events(merge::read_events(framing, bytes))?.body))
    }),
    event_has_text: |event| holds_text(event, &["/delta/text"]),
    merge: Some(|framing, bytes| merge_events(merge::read_events(framing, bytes))),
    split: Some(|_, body| split_body(body)),
    write: Some(write_body),
    first_event: Some("messageStart"),
    stream_error,
    shape,
    finish: Some(&FINISH),
    outcome: OutcomeRules {
        event: Some(|progress, event| match event.name {
            Some("messageStop") => progress.note_end(),
            Some(_) => progress.note_known(),
            None => {}
        }),
        end_mark: "`messageStop`",
        ..OutcomeRules::JSON
    },
    ..OperationRow::UNREAD
};

/// Converse's words for why an answer ended.
static FINISH: FinishWords = FinishWords {
    stop: &["end_turn", "stop_sequence"],
    length: &["max_tokens", "model_context_window_exceeded"],
    tools: &["tool_use"],
    filter: &["content_filtered", "guardrail_intervened"],
};

/// Reads a complete body; `None` if it holds no message. The model is only named in the path.
pub(super) fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let message = nested_member(body, &["output", "message"]).filter(|message| message.is_map())?;
    let mut answer = Answer {
        usage: body.member("usage").and_then(read_usage),
        finish_reason: member_text(body, "stopReason").map(|reason| reason.into_owned()),
        ..Answer::default()
    };
    for block in items(message, "content") {
        if let Some(draft) = member_text(block, "text") {
            answer.content.push_str(&draft);
        }
        if let Some(cited) = block.member("citationsContent") {
            for part in items(cited, "content") {
                answer.content.push_str(&text_or_empty(part, "text"));
            }
        }
        let call = block.member("toolUse").filter(|call| call.is_map());
        // Tools that AWS runs itself are not for the program.
        if let Some(call) = call.filter(|call| !has_word(*call, "type", "server_tool_use")) {
            let (id, name) = (text_or_empty(call, "toolUseId"), text_or_empty(call, "name"));
            answer.tool_calls.push(ToolCall::from_doc(&id, &name, call.member("input")));
        }
    }
    Some(answer)
}

fn read_usage<D: JsonView>(usage: &D) -> Option<TokenUsage> {
    if !usage.is_map() || has_unread_count(usage, &["inputTokens", "outputTokens"]) {
        return None;
    }
    let told = |name| token_count(usage, name);
    let cached = told("cacheReadInputTokens").unwrap_or(0);
    let written = told("cacheWriteInputTokens").unwrap_or(0);
    let prompt = told("inputTokens").unwrap_or(0).saturating_add(cached).saturating_add(written);
    let completion = told("outputTokens").unwrap_or(0);
    // The total of some models does not include cached tokens, so the sum of the parts is the
    // minimum.
    let total = prompt.saturating_add(completion);
    Some(TokenUsage {
        prompt_tokens: prompt,
        completion_tokens: completion,
        total_tokens: told("totalTokens").unwrap_or(0).max(total),
        reasoning_tokens: 0,
        cached_tokens: cached,
        cache_write_tokens: written,
    })
}

fn write_body(_: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    let mut content = vec![];
    if draft.has_text() {
        content.push(json!({ "text": draft.answer.content }));
    }
    for (place, call) in draft.calls.iter().enumerate() {
        content.push(json!({
            "toolUse": {
                "toolUseId": draft.call_id("tooluse_", place, call),
                "name": call.name,
                "input": call.arguments
            }
        }));
    }
    let usage = draft.usage;
    let (plain, cached, written) = usage.input_parts();
    Ok(json!({
        "metrics": { "latencyMs": 0 },
        "output": { "message": { "content": content, "role": "assistant" } },
        "stopReason": draft.finish_reason(&FINISH),
        "usage": {
            "inputTokens": plain,
            "outputTokens": usage.completion_tokens,
            "totalTokens": usage.total_tokens,
            "cacheReadInputTokens": cached,
            "cacheWriteInputTokens": written
        }
    }))
}

#[cfg(test)]
mod tests;
