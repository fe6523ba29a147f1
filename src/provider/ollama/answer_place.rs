//! The places of content in Ollama's answers.

use serde_json::{Value, json};

use crate::answer_shape::{AnswerShape, CallSlot, is_map, is_text, object_items};

pub(super) fn of_chat(body: &Value) -> Option<&'static AnswerShape> {
    is_map(body, "/message").then_some(&CHAT)
}

pub(super) fn of_generate(body: &Value) -> Option<&'static AnswerShape> {
    is_text(body, "/response").then_some(&GENERATE)
}

static CHAT: AnswerShape = AnswerShape {
    end_by_length: |body| body["done_reason"] = json!("length"),
    output_counts: &["/eval_count"],
    replace_text: |content, body| body["message"]["content"] = json!(content),
    first_call: |body| {
        object_items(body, "/message/tool_calls")
            .find_map(|call| CallSlot::new(call.get_mut("function")?, "arguments"))
    },
    arguments_in_pieces: false,
};

static GENERATE: AnswerShape = AnswerShape {
    end_by_length: |body| body["done_reason"] = json!("length"),
    output_counts: &["/eval_count"],
    replace_text: |content, body| body["response"] = json!(content),
    ..AnswerShape::TEXT
};
