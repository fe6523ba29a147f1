//! The places of content in Gemini's generated content.

use serde_json::{Value, json};

use crate::answer_shape::{AnswerShape, CallSlot, is_list, object_items, replace_texts};

pub(super) fn find_shape(body: &Value) -> Option<&'static AnswerShape> {
    is_list(body, "/candidates").then_some(&SHAPE)
}

static SHAPE: AnswerShape = AnswerShape {
    end_by_length: |body| {
        for candidate in object_items(body, "/candidates") {
            candidate["finishReason"] = json!("MAX_TOKENS");
        }
    },
    output_counts: &["/usageMetadata/candidatesTokenCount", "/usageMetadata/thoughtsTokenCount"],
    replace_text,
    first_call: |body| {
        object_items(body, "/candidates").find_map(|candidate| {
            object_items(candidate, "/content/parts")
                .find_map(|part| CallSlot::new(part.get_mut("functionCall")?, "args"))
        })
    },
    arguments_in_pieces: false,
};

fn replace_text(content: &str, body: &mut Value) {
    for candidate in object_items(body, "/candidates") {
        let is_thought = |part: &Value| part.get("thought") == Some(&Value::Bool(true));
        let is_text = |part: &Value| part.get("text").is_some() && !is_thought(part);
        if candidate.pointer("/content/parts").is_none() {
            candidate["content"] = json!({ "parts": [], "role": "model" });
        }
        let text = json!({ "text": content });
        replace_texts(candidate, "/content/parts", text, is_text, is_thought);
    }
}
