//! Ollama's chat.

use serde_json::{Value, json};

use super::answer_place;
use super::turn::{self, AnswerLines, FINISH, stream_error, take_text};
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::conversation;
use crate::event_text::holds_text;
use crate::framing::{EventFrame, Framing};
use crate::json_view::{self, JsonView, items, member_text, text_or_empty};
use crate::operation::ResponseFormat;
use crate::operation::{ObjectView, OperationRow};
use crate::{Answer, ToolCall, tool_result};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Ollama chat",
    word: "ollama_chat",
    semantic: Some("chat"),
    delivery: true,
    framing: |_, _| Framing::Lines,
    conversation: Some(conversation::read_native),
    tool_results: Some(tool_result::in_messages),
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|framing, bytes| {
        read_body(&Value::Object(turn::merge_events(framing, bytes, "message")?.body))
    }),
    event_has_text: |event| holds_text(event, &["/message/content"]),
    merge: Some(|framing, bytes| turn::merge_events(framing, bytes, "message")),
    split: Some(split_body),
    write: Some(write_body),
    stream_error,
    shape: answer_place::of_chat,
    finish: Some(&FINISH),
    outcome: turn::OUTCOME,
    ..OperationRow::UNREAD
};

fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let message = body.member("message").filter(|message| message.is_map())?;
    let mut answer = turn::base_answer(body);
    answer.content = text_or_empty(message, "content").into_owned();
    for call in items(message, "tool_calls") {
        let Some(function) = call.member("function") else { continue };
        // Ollama added ids late, and not to every call.
        let id = member_text(call, "id").unwrap_or_default();
        let name = text_or_empty(function, "name");
        answer.tool_calls.push(ToolCall::from_doc(&id, &name, function.member("arguments")));
    }
    Some(answer)
}

/// The events: the thoughts, then the content, then the calls.
fn split_body(_: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let Some(Value::Object(mut message)) = body.shift_remove("message") else { return None };
    let role = message.get("role").cloned().unwrap_or_else(|| "assistant".into());
    let content = take_text(&mut message, "content").unwrap_or_default();
    let calls = message.shift_remove("tool_calls");
    let mut lines = AnswerLines::new(body);
    let line = |name: &str, piece: Value| {
        let mut message = json!({ "role": role, "content": "" });
        message[name] = piece;
        json!({ "message": message })
    };
    if let Some(thinking) = take_text(&mut message, "thinking") {
        if thinking.is_empty() {
            lines.add_line(line("thinking", "".into()));
        }
        lines.add_pieces(&thinking, |piece| line("thinking", piece.into()));
    }
    lines.add_pieces(&content, |piece| line("content", piece.into()));
    if let Some(calls) = calls {
        lines.add_line(line("tool_calls", calls));
    }
    let mut last = json!({ "role": role, "content": "" });
    if let Value::Object(last) = &mut last {
        last.append(&mut message);
    }
    Some(lines.into_events(json!({ "message": last })))
}

fn write_body(_: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    let mut message = json!({ "role": "assistant", "content": draft.answer.content });
    if !draft.calls.is_empty() {
        let calls = draft.calls.iter().enumerate().map(|(place, call)| {
            json!({
                "id": draft.call_id("call_", place, call),
                "function": { "index": place, "name": call.name, "arguments": call.arguments }
            })
        });
        message["tool_calls"] = calls.collect();
    }
    Ok(turn::write_body(draft, json!({ "message": message })))
}

#[cfg(test)]
mod tests;
