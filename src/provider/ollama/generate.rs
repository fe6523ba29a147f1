//! Ollama's generate.

use serde_json::{Value, json};

use super::turn::{self, AnswerLines, take_text};
use crate::provider::Answer;
use crate::provider::answer_draft::AnswerDraft;
use crate::provider::framing::EventFrame;
use crate::provider::json_view::{self, JsonView, text};
use crate::provider::response_format::{ModeError, ResponseFormat};
use crate::provider::wire::{ObjectView, OperationWire};

pub(in crate::provider) const WIRE: OperationWire = OperationWire {
    read: Some(|bytes| json_view::whole(bytes, |json| read(json), read)),
    read_stream: Some(|framing, bytes| {
        read(&Value::Object(turn::merge(framing, bytes, "response")?.body))
    }),
    merge: Some(|framing, bytes| turn::merge(framing, bytes, "response")),
    split: Some(split),
    write: Some(write),
};

fn read<D: JsonView>(body: &D) -> Option<Answer> {
    let content = text(body, "response")?.into_owned();
    Some(Answer { content, ..turn::answer(body) })
}

/// What it thought, then what it said.
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

fn write(asked: &ResponseFormat<'_>, said: &AnswerDraft<'_>) -> Result<Value, ModeError> {
    if !said.calls.is_empty() {
        return Err(ModeError::NoPlace { operation: asked.operation.name(), what: "tool calls" });
    }
    Ok(turn::write(said, json!({ "response": said.answer.content })))
}
