//! The places of content in an Anthropic message.

use serde_json::{Value, json};

use crate::answer_shape::{
    AnswerShape, CallSlot, has_word, is_list, object_items, replace_texts, replace_value,
};

pub(crate) fn find_shape(body: &Value) -> Option<&'static AnswerShape> {
    is_list(body, "/content").then_some(&SHAPE)
}

static SHAPE: AnswerShape = AnswerShape {
    end_by_length: |body| {
        body["stop_reason"] = json!("max_tokens");
        replace_value(body, "/stop_sequence", Value::Null);
    },
    output_counts: &["/usage/output_tokens"],
    replace_text: |content, body| replace_text(content, "/content", body),
    first_call: |body| {
        object_items(body, "/content")
            .find(|block| has_word(block, "type", "tool_use"))
            .and_then(|block| CallSlot::new(block, "input"))
    },
    arguments_in_pieces: true,
};

/// Replaces the text blocks among typed blocks by one with this text.
pub(crate) fn replace_text(content: &str, at: &str, body: &mut Value) {
    let block = json!({ "type": "text", "text": content });
    let is_thought = |block: &Value| {
        has_word(block, "type", "thinking") || has_word(block, "type", "redacted_thinking")
    };
    replace_texts(body, at, block, |block| has_word(block, "type", "text"), is_thought);
}
