//! The places of content in the answer of a Bedrock model, which is recognised by its structure.

use serde_json::{Value, json};

use crate::answer_shape::{AnswerShape, is_list, is_map, is_text, object_items, replace_value};
use crate::bedrock::converse;
use crate::{anthropic, cohere, openai};

pub(super) fn find_shape(body: &Value) -> Option<&'static AnswerShape> {
    if is_list(body, "/content") {
        anthropic::messages::shape(body)
    } else if is_map(body, "/output/message") {
        converse::shape(body)
    } else if is_list(body, "/choices") {
        openai::choices_shape(body)
    } else if is_text(body, "/text") {
        cohere::chat::text_shape(body)
    } else if is_text(body, "/generation") {
        Some(&LLAMA)
    } else if is_list(body, "/results") {
        Some(&TITAN)
    } else {
        is_list(body, "/outputs").then_some(&OUTPUTS)
    }
}

static LLAMA: AnswerShape = AnswerShape {
    end_by_length: |body| body["stop_reason"] = json!("length"),
    output_counts: &["/generation_token_count"],
    replace_text: |content, body| body["generation"] = json!(content),
    ..AnswerShape::TEXT
};

static TITAN: AnswerShape = AnswerShape {
    end_by_length: |body| {
        for result in object_items(body, "/results") {
            result["completionReason"] = json!("LENGTH");
        }
    },
    output_counts: &["/totalOutputTextTokenCount"],
    replace_text: |content, body| replace_value(body, "/results/0/outputText", json!(content)),
    ..AnswerShape::TEXT
};

/// Mistral's older models.
static OUTPUTS: AnswerShape = AnswerShape {
    end_by_length: |body| {
        for output in object_items(body, "/outputs") {
            output["stop_reason"] = json!("length");
        }
    },
    output_counts: &["/totalOutputTextTokenCount"],
    replace_text: |content, body| replace_value(body, "/outputs/0/text", json!(content)),
    ..AnswerShape::TEXT
};
