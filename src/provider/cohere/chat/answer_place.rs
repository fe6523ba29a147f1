//! The places of content in Cohere's chat answers: the message of the second version, and the text
//! of the first, whose format Command R on Bedrock uses too.

use serde_json::{Value, json};

use crate::answer_shape::{AnswerShape, CallSlot, is_list, is_map, is_text, object_items};
use crate::anthropic::messages::replace_text_blocks;

pub(super) fn find_shape(body: &Value) -> Option<&'static AnswerShape> {
    if is_map(body, "/message") { Some(&MESSAGE) } else { of_text(body) }
}

pub(crate) fn of_text(body: &Value) -> Option<&'static AnswerShape> {
    is_text(body, "/text").then_some(&TEXT)
}

static MESSAGE: AnswerShape = AnswerShape {
    end_by_length: |body| body["finish_reason"] = json!("MAX_TOKENS"),
    output_counts: &["/usage/billed_units/output_tokens", "/usage/tokens/output_tokens"],
    replace_text: |content, body| {
        if !is_list(body, "/message/content") {
            body["message"]["content"] = json!([]);
        }
        replace_text_blocks(content, "/message/content", body);
    },
    first_call: |body| {
        object_items(body, "/message/tool_calls")
            .find_map(|call| CallSlot::new(call.get_mut("function")?, "arguments"))
    },
    arguments_in_pieces: false,
};

static TEXT: AnswerShape = AnswerShape {
    end_by_length: |body| body["finish_reason"] = json!("MAX_TOKENS"),
    output_counts: &["/meta/billed_units/output_tokens", "/meta/tokens/output_tokens"],
    replace_text: |content, body| body["text"] = json!(content),
    first_call: |body| {
        object_items(body, "/tool_calls").find_map(|call| CallSlot::new(call, "parameters"))
    },
    arguments_in_pieces: false,
};
