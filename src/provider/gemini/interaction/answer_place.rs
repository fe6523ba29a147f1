//! The places of content in interactions.

use serde_json::{Value, json};

use crate::answer_shape::{AnswerShape, CallSlot, has_word, is_list, object_items, replace_texts};

pub(super) fn find_shape(body: &Value) -> Option<&'static AnswerShape> {
    is_list(body, "/steps").then_some(&SHAPE)
}

static SHAPE: AnswerShape = AnswerShape {
    end_by_length: |body| body["status"] = json!("incomplete"),
    output_counts: &["/usage/total_output_tokens", "/usage/total_thought_tokens"],
    replace_text,
    first_call: |body| {
        object_items(body, "/steps")
            .find(|step| has_word(step, "type", "function_call"))
            .and_then(|step| CallSlot::new(step, "arguments"))
    },
    arguments_in_pieces: true,
};

/// Puts the text into one output, in the place of the first one, or after the thoughts.
fn replace_text(content: &str, body: &mut Value) {
    let text = json!({ "type": "text", "text": content });
    let output = json!({ "type": "model_output", "content": [text] });
    let is_output = |step: &Value| has_word(step, "type", "model_output");
    let is_thought = |step: &Value| has_word(step, "type", "thought");
    replace_texts(body, "/steps", output, is_output, is_thought);
}
