//! The legacy completions: chat completions whose choices are plain text.

use serde_json::{Value, json};

use super::chat;
use crate::provider::asked::{Asked, ModeError};
use crate::provider::wire::Wire;
use crate::provider::words::{Dialect, Said};

pub(in crate::provider) const WIRE: Wire = Wire {
    read: chat::WIRE.read,
    read_stream: chat::WIRE.read_stream,
    merge: None,
    split: None,
    write: Some(write),
};

fn write(asked: &Asked<'_>, said: &Said<'_>) -> Result<Value, ModeError> {
    if !said.calls.is_empty() {
        return Err(ModeError::NoPlace { operation: asked.operation.name(), what: "tool calls" });
    }
    Ok(json!({
        "id": said.id("cmpl-"),
        "object": "text_completion",
        "created": 0,
        "model": said.model,
        "choices": [{
            "index": 0,
            "text": said.answer.content,
            "logprobs": null,
            "finish_reason": said.finish(Dialect::OpenAi)
        }],
        "usage": chat::written_usage(said)
    }))
}
