//! An answer that says that it was cut off by its length, and cost no output.

use serde_json::{Value, json};

use super::shape::{AnswerShape, items, says};
use crate::provider::Answer;

/// Changes a complete answer so. `content` takes the place of its text; `answer` is what
/// it said.
pub(super) fn cut_off(
    shape: AnswerShape,
    content: Option<&str>,
    answer: &Answer,
    body: &mut Value,
) {
    finish(shape, body);
    uncount(shape, body);
    let prompt = answer.usage.unwrap_or_default().prompt_tokens;
    for at in ["/usage/total_tokens", "/x_groq/usage/total_tokens", "/usage/totalTokens"] {
        put(body, at, json!(prompt));
    }
    put(body, "/usageMetadata/totalTokenCount", json!(prompt));
    if let Some(content) = content {
        say(shape, content, body);
    }
}

/// Writes over a value that is there.
fn put(body: &mut Value, at: &str, value: Value) {
    if let Some(slot) = body.pointer_mut(at) {
        *slot = value;
    }
}

/// Puts the provider's word for a length that was reached where it says why it ended.
fn finish(shape: AnswerShape, body: &mut Value) {
    match shape {
        AnswerShape::Choices => {
            for choice in items(body, "/choices") {
                // Some of Bedrock's models call it as Anthropic does.
                let other = choice.get("finish_reason").is_none();
                let name = if other && choice.get("stop_reason").is_some() {
                    "stop_reason"
                } else {
                    "finish_reason"
                };
                choice[name] = json!("length");
                put(choice, "/native_finish_reason", json!("length"));
            }
        }
        AnswerShape::Responses => {
            body["status"] = json!("incomplete");
            body["incomplete_details"] = json!({ "reason": "max_output_tokens" });
            put(body, "/completed_at", Value::Null);
            if let Some(last) = items(body, "/output").last() {
                put(last, "/status", json!("incomplete"));
            }
        }
        AnswerShape::Messages => {
            body["stop_reason"] = json!("max_tokens");
            put(body, "/stop_sequence", Value::Null);
        }
        AnswerShape::Gemini => {
            for candidate in items(body, "/candidates") {
                candidate["finishReason"] = json!("MAX_TOKENS");
            }
        }
        AnswerShape::Converse => body["stopReason"] = json!("max_tokens"),
        AnswerShape::Cohere | AnswerShape::CohereText => {
            body["finish_reason"] = json!("MAX_TOKENS")
        }
        AnswerShape::OllamaChat | AnswerShape::OllamaGenerate => {
            body["done_reason"] = json!("length")
        }
        AnswerShape::Llama => body["stop_reason"] = json!("length"),
        AnswerShape::Titan => {
            for result in items(body, "/results") {
                result["completionReason"] = json!("LENGTH");
            }
        }
        AnswerShape::Outputs => {
            for output in items(body, "/outputs") {
                output["stop_reason"] = json!("length");
            }
        }
    }
}

/// Makes the counts of output zero, where there are any.
fn uncount(shape: AnswerShape, body: &mut Value) {
    let counts: &[&str] = match shape {
        AnswerShape::Choices => &["/usage/completion_tokens", "/x_groq/usage/completion_tokens"],
        AnswerShape::Responses | AnswerShape::Messages => &["/usage/output_tokens"],
        AnswerShape::Gemini => {
            &["/usageMetadata/candidatesTokenCount", "/usageMetadata/thoughtsTokenCount"]
        }
        // Nova's own answers have Converse's names.
        AnswerShape::Converse => &["/usage/outputTokens"],
        AnswerShape::Cohere => {
            &["/usage/billed_units/output_tokens", "/usage/tokens/output_tokens"]
        }
        AnswerShape::CohereText => {
            &["/meta/billed_units/output_tokens", "/meta/tokens/output_tokens"]
        }
        AnswerShape::OllamaChat | AnswerShape::OllamaGenerate => &["/eval_count"],
        AnswerShape::Llama => &["/generation_token_count"],
        AnswerShape::Titan | AnswerShape::Outputs => &["/totalOutputTextTokenCount"],
    };
    for at in counts {
        put(body, at, json!(0));
    }
    for at in [
        "/usage/completion_tokens_details",
        "/x_groq/usage/completion_tokens_details",
        "/usage/output_tokens_details",
    ] {
        if let Some(Value::Object(details)) = body.pointer_mut(at) {
            for count in details.values_mut().filter(|count| count.is_number()) {
                *count = json!(0);
            }
        }
    }
    for (list, name) in
        [("/usageMetadata/candidatesTokensDetails", "tokenCount"), ("/results", "tokenCount")]
    {
        for item in items(body, list).filter(|item| item.get(name).is_some()) {
            item[name] = json!(0);
        }
    }
}

/// Puts a text in the place of what is said.
fn say(shape: AnswerShape, content: &str, body: &mut Value) {
    match shape {
        AnswerShape::Choices => {
            for choice in items(body, "/choices") {
                match choice.get_mut("message") {
                    Some(message) if message.is_object() => message["content"] = json!(content),
                    _ => put(choice, "/text", json!(content)),
                }
            }
        }
        AnswerShape::Responses => {
            for item in items(body, "/output").filter(|item| says(item, "type", "message")) {
                let part = json!({ "type": "output_text", "text": content, "annotations": [] });
                blocks(item, "/content", part, |part| says(part, "type", "output_text"), |_| false);
            }
            put(body, "/output_text", json!(content));
        }
        AnswerShape::Messages | AnswerShape::Cohere => {
            let at = if shape == AnswerShape::Messages { "/content" } else { "/message/content" };
            let block = json!({ "type": "text", "text": content });
            let thinks = |block: &Value| {
                says(block, "type", "thinking") || says(block, "type", "redacted_thinking")
            };
            if shape == AnswerShape::Cohere && !body.pointer(at).is_some_and(Value::is_array) {
                body["message"]["content"] = json!([]);
            }
            blocks(body, at, block, |block| says(block, "type", "text"), thinks);
        }
        AnswerShape::Gemini => {
            for candidate in items(body, "/candidates") {
                let thinks = |part: &Value| part.get("thought") == Some(&Value::Bool(true));
                let is_text = |part: &Value| part.get("text").is_some() && !thinks(part);
                if candidate.pointer("/content/parts").is_none() {
                    candidate["content"] = json!({ "parts": [], "role": "model" });
                }
                blocks(candidate, "/content/parts", json!({ "text": content }), is_text, thinks);
            }
        }
        AnswerShape::Converse => {
            let is_text = |block: &Value| {
                block.get("text").is_some() || block.get("citationsContent").is_some()
            };
            let thinks = |block: &Value| block.get("reasoningContent").is_some();
            blocks(body, "/output/message/content", json!({ "text": content }), is_text, thinks);
        }
        AnswerShape::CohereText => body["text"] = json!(content),
        AnswerShape::OllamaChat => body["message"]["content"] = json!(content),
        AnswerShape::OllamaGenerate => body["response"] = json!(content),
        AnswerShape::Llama => body["generation"] = json!(content),
        AnswerShape::Titan => put(body, "/results/0/outputText", json!(content)),
        AnswerShape::Outputs => put(body, "/outputs/0/text", json!(content)),
    }
}

/// Puts a block in the place of the texts among the blocks of a list: of the first of
/// them, or, where there is none, behind what was thought.
fn blocks(
    body: &mut Value,
    at: &str,
    text: Value,
    is_text: impl Fn(&Value) -> bool,
    thinks: impl Fn(&Value) -> bool,
) {
    let Some(Value::Array(list)) = body.pointer_mut(at) else { return };
    let first = list.iter().position(&is_text);
    let place = first.unwrap_or_else(|| list.iter().take_while(|block| thinks(block)).count());
    list.retain(|block| !is_text(block));
    list.insert(place, text);
}
