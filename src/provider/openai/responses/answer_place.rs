//! The places of content in Responses' answers.

use serde_json::{Value, json};

use crate::answer_shape::{
    AnswerShape, CallSlot, has_word, is_list, object_items, replace_texts, replace_value,
};

pub(super) fn find_shape(body: &Value) -> Option<&'static AnswerShape> {
    is_list(body, "/output").then_some(&SHAPE)
}

static SHAPE: AnswerShape = AnswerShape {
    end_by_length,
    output_counts: &["/usage/output_tokens"],
    replace_text,
    first_call: |body| {
        object_items(body, "/output").find_map(|item| {
            let kinds = [("function_call", "arguments"), ("custom_tool_call", "input")];
            let (_, slot) = kinds.into_iter().find(|(kind, _)| has_word(item, "type", kind))?;
            CallSlot::new(item, slot)
        })
    },
    arguments_in_pieces: false,
};

fn end_by_length(body: &mut Value) {
    body["status"] = json!("incomplete");
    body["incomplete_details"] = json!({ "reason": "max_output_tokens" });
    replace_value(body, "/completed_at", Value::Null);
    if let Some(last) = object_items(body, "/output").last() {
        replace_value(last, "/status", json!("incomplete"));
    }
}

fn replace_text(content: &str, body: &mut Value) {
    for item in object_items(body, "/output").filter(|item| has_word(item, "type", "message")) {
        let part = json!({ "type": "output_text", "text": content, "annotations": [] });
        let is_text = |part: &Value| has_word(part, "type", "output_text");
        replace_texts(item, "/content", part, is_text, |_| false);
    }
    replace_value(body, "/output_text", json!(content));
}
