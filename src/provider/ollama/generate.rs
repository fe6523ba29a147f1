//! Ollama's generate.

use serde_json::{Value, json};

use super::answer_place;
use super::turn::{self, AnswerLines, FINISH, stream_error, take_text};
use crate::Answer;
use crate::answer_draft::AnswerDraft;
use crate::answer_form::ModeError;
use crate::event_text::holds_text;
use crate::framing::{EventFrame, Framing};
use crate::json_view::{self, JsonView, text};
use crate::operation::ResponseFormat;
use crate::operation::{ObjectView, OperationRow};

pub(crate) static ROW: OperationRow = OperationRow {
    name: "Ollama generate",
    word: "ollama_generate",
    semantic: Some("text_completion"),
    delivery: true,
    framing: |_, _| Framing::Lines,
    read: Some(|bytes| json_view::whole(bytes, |json| read(json), read)),
    read_stream: Some(|framing, bytes| {
        read(&Value::Object(turn::merge(framing, bytes, "response")?.body))
    }),
    event_has_text: |event| holds_text(event, &["/response"]),
    merge: Some(|framing, bytes| turn::merge(framing, bytes, "response")),
    split: Some(split),
    write: Some(write),
    stream_error,
    shape: answer_place::of_generate,
    finish: Some(&FINISH),
    outcome: turn::OUTCOME,
    ..OperationRow::UNREAD
};

fn read<D: JsonView>(body: &D) -> Option<Answer> {
    let content = text(body, "response")?.into_owned();
    Some(Answer { content, ..turn::answer(body) })
}

/// The events: the thoughts, then the content.
fn split(_: &ResponseFormat<'_>, mut body: ObjectView) -> Option<Vec<EventFrame>> {
    let response = take_text(&mut body, "response")?;
    let thinking = take_text(&mut body, "thinking");
    let mut lines = AnswerLines::new(body);
    if let Some(thinking) = thinking {
        let line = |piece: &str| json!({ "response": "", "thinking": piece });
        if thinking.is_empty() {
            lines.line(line(""));
        }
        lines.pieces(&thinking, line);
    }
    lines.pieces(&response, |piece| json!({ "response": piece }));
    Some(lines.end(json!({ "response": "" })))
}

fn write(format: &ResponseFormat<'_>, draft: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    if !draft.calls.is_empty() {
        return Err(ModeError::NoPlace { operation: format.operation.name(), what: "tool calls" });
    }
    Ok(turn::write(draft, json!({ "response": draft.answer.content })))
}
