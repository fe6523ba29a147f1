//! Ollama's generate.

use serde_json::{Value, json};

use super::turn::{self, Lines, take_text};
use crate::provider::Answer;
use crate::provider::asked::{Asked, ModeError};
use crate::provider::doc::{self, Doc, text};
use crate::provider::framing::Frame;
use crate::provider::wire::{Object, Wire};
use crate::provider::words::Said;

pub(in crate::provider) const WIRE: Wire = Wire {
    read: Some(|bytes| doc::whole(bytes, |json| read(json), read)),
    read_stream: Some(|framing, bytes| {
        read(&Value::Object(turn::merge(framing, bytes, "response")?.body))
    }),
    merge: Some(|framing, bytes| turn::merge(framing, bytes, "response")),
    split: Some(split),
    write: Some(write),
};

fn read<D: Doc>(body: &D) -> Option<Answer> {
    let content = text(body, "response")?.into_owned();
    Some(Answer { content, ..turn::answer(body) })
}

/// What it thought, then what it said.
fn split(_: &Asked<'_>, mut body: Object) -> Option<Vec<Frame>> {
    let response = take_text(&mut body, "response")?;
    let thinking = take_text(&mut body, "thinking");
    let mut lines = Lines::new(body);
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

fn write(asked: &Asked<'_>, said: &Said<'_>) -> Result<Value, ModeError> {
    if !said.calls.is_empty() {
        return Err(ModeError::NoPlace { operation: asked.operation.name(), what: "tool calls" });
    }
    Ok(turn::write(said, json!({ "response": said.answer.content })))
}
