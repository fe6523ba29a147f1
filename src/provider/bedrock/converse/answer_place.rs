//! The places of content in Converse's answers; Nova's own answers use the same names.

use serde_json::{Value, json};

use crate::answer_shape::{AnswerShape, CallSlot, has_word, is_map, object_items, replace_texts};

pub(in crate::bedrock) fn find_shape(body: &Value) -> Option<&'static AnswerShape> {
    is_map(body, "/output/message").then_some(&SHAPE)
}

static SHAPE: AnswerShape = AnswerShape {
    end_by_length: |body| body["stopReason"] = json!("max_tokens"),
    output_counts: &["/usage/outputTokens"],
    replace_text,
    first_call: |body| {
        object_items(body, "/output/message/content")
            .filter_map(|block| block.get_mut("toolUse"))
            .find(|call| !has_word(call, "type", "server_tool_use"))
            .and_then(|call| CallSlot::new(call, "input"))
    },
    arguments_in_pieces: true,
};

fn replace_text(content: &str, body: &mut Value) {
    let is_text =
        |block: &Value| block.get("text").is_some() || block.get("citationsContent").is_some();
    let is_thought = |block: &Value| block.get("reasoningContent").is_some();
    let text = json!({ "text": content });
    replace_texts(body, "/output/message/content", text, is_text, is_thought);
}
