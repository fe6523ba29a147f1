//! Ollama's generate.

use serde_json::{Value, json};

use super::answer_place;
use super::turn::{self, AnswerLines, FINISH, stream_error, take_text};
use crate::Answer;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::event_text::holds_text;
use crate::framing::{EventFrame, Framing};
use crate::json_view::{self, JsonView, member_text};
use crate::operation::ResponseFormat;
use crate::operation::{ObjectView, OperationRow};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Ollama generate",
    word: "ollama_generate",
    semantic: Some("text_completion"),
    delivery: true,
    framing: |_, _| Framing::Lines,
    read: Some(|bytes| json_view::read_json(bytes, |json| read_body(json), read_body)),
    read_stream: Some(|framing, bytes| {
        read_body(&Value::Object(turn::merge_events(framing, bytes, "response")?.body))
    }),
    event_has_text: |event| holds_text(event, &["/response"]),
    merge: Some(|framing, bytes| turn::merge_events(framing, bytes, "response")),
    split: Some(split_body),
    write: Some(write_body),
    stream_error,
    shape: answer_place::of_generate,
    finish: Some(&FINISH),
    outcome: turn::OUTCOME,
    ..OperationRow::UNREAD
};

fn read_body<D: JsonView>(body: &D) -> Option<Answer> {
    let content = member_text(body, "response")?.into_owned();
    Some(Answer { content, ..turn::base_answer(body) })
}

/// The events: the thoughts, then the content.
fn split_body(_: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let response = take_text(&mut body, "response")?;
    let thinking = take_text(&mut body, "thinking");
    let mut lines = AnswerLines::new(body);
    if let Some(thinking) = thinking {
        let line = |piece: &str| json!({ "response": "", "thinking": piece });
        if thinking.is_empty() {
            lines.add_line(line(""));
        }
        lines.add_pieces(&thinking, line);
    }
    lines.add_pieces(&response, |piece| json!({ "response": piece }));
    Some(lines.into_events(json!({ "response": "" })))
}

fn write_body(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    if !draft.calls.is_empty() {
        return Err(ModeError::NoPlace { operation: format.operation.name(), what: "tool calls" });
    }
    Ok(turn::write_body(draft, json!({ "response": draft.answer.content })))
}
