//! An answer that says that it was cut off by its length, and cost no output.

use serde_json::{Value, json};

use super::shape::{Shape, items, says};
use crate::provider::Answer;

/// Changes a complete answer so. `content` takes the place of its text; `answer` is what
/// it said.
pub(super) fn cut_off(shape: Shape, content: Option<&str>, answer: &Answer, body: &mut Value) {
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
fn finish(shape: Shape, body: &mut Value) {
    match shape {
        Shape::Choices => {
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
        Shape::Responses => {
            body["status"] = json!("incomplete");
            body["incomplete_details"] = json!({ "reason": "max_output_tokens" });
            put(body, "/completed_at", Value::Null);
            if let Some(last) = items(body, "/output").last() {
                put(last, "/status", json!("incomplete"));
            }
        }
        Shape::Messages => {
            body["stop_reason"] = json!("max_tokens");
            put(body, "/stop_sequence", Value::Null);
        }
        Shape::Gemini => {
            for candidate in items(body, "/candidates") {
                candidate["finishReason"] = json!("MAX_TOKENS");
            }
        }
        Shape::Converse => body["stopReason"] = json!("max_tokens"),
        Shape::Cohere | Shape::CohereText => body["finish_reason"] = json!("MAX_TOKENS"),
        Shape::OllamaChat | Shape::OllamaGenerate => body["done_reason"] = json!("length"),
        Shape::Llama => body["stop_reason"] = json!("length"),
        Shape::Titan => {
            for result in items(body, "/results") {
                result["completionReason"] = json!("LENGTH");
            }
        }
        Shape::Outputs => {
            for output in items(body, "/outputs") {
                output["stop_reason"] = json!("length");
            }
        }
    }
}

/// Makes the counts of output zero, where there are any.
fn uncount(shape: Shape, body: &mut Value) {
    let counts: &[&str] = match shape {
        Shape::Choices => &["/usage/completion_tokens", "/x_groq/usage/completion_tokens"],
        Shape::Responses | Shape::Messages => &["/usage/output_tokens"],
        Shape::Gemini => {
            &["/usageMetadata/candidatesTokenCount", "/usageMetadata/thoughtsTokenCount"]
        }
        // Nova's own answers have Converse's names.
        Shape::Converse => &["/usage/outputTokens"],
        Shape::Cohere => &["/usage/billed_units/output_tokens", "/usage/tokens/output_tokens"],
        Shape::CohereText => &["/meta/billed_units/output_tokens", "/meta/tokens/output_tokens"],
        Shape::OllamaChat | Shape::OllamaGenerate => &["/eval_count"],
        Shape::Llama => &["/generation_token_count"],
        Shape::Titan | Shape::Outputs => &["/totalOutputTextTokenCount"],
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
fn say(shape: Shape, content: &str, body: &mut Value) {
    match shape {
        Shape::Choices => {
            for choice in items(body, "/choices") {
                match choice.get_mut("message") {
                    Some(message) if message.is_object() => message["content"] = json!(content),
                    _ => put(choice, "/text", json!(content)),
                }
            }
        }
        Shape::Responses => {
            for item in items(body, "/output").filter(|item| says(item, "type", "message")) {
                let part = json!({ "type": "output_text", "text": content, "annotations": [] });
                blocks(item, "/content", part, |part| says(part, "type", "output_text"), |_| false);
            }
            put(body, "/output_text", json!(content));
        }
        Shape::Messages | Shape::Cohere => {
            let at = if shape == Shape::Messages { "/content" } else { "/message/content" };
            let block = json!({ "type": "text", "text": content });
            let thinks = |block: &Value| {
                says(block, "type", "thinking") || says(block, "type", "redacted_thinking")
            };
            if shape == Shape::Cohere && !body.pointer(at).is_some_and(Value::is_array) {
                body["message"]["content"] = json!([]);
            }
            blocks(body, at, block, |block| says(block, "type", "text"), thinks);
        }
        Shape::Gemini => {
            for candidate in items(body, "/candidates") {
                let thinks = |part: &Value| part.get("thought") == Some(&Value::Bool(true));
                let is_text = |part: &Value| part.get("text").is_some() && !thinks(part);
                if candidate.pointer("/content/parts").is_none() {
                    candidate["content"] = json!({ "parts": [], "role": "model" });
                }
                blocks(candidate, "/content/parts", json!({ "text": content }), is_text, thinks);
            }
        }
        Shape::Converse => {
            let is_text = |block: &Value| {
                block.get("text").is_some() || block.get("citationsContent").is_some()
            };
            let thinks = |block: &Value| block.get("reasoningContent").is_some();
            blocks(body, "/output/message/content", json!({ "text": content }), is_text, thinks);
        }
        Shape::CohereText => body["text"] = json!(content),
        Shape::OllamaChat => body["message"]["content"] = json!(content),
        Shape::OllamaGenerate => body["response"] = json!(content),
        Shape::Llama => body["generation"] = json!(content),
        Shape::Titan => put(body, "/results/0/outputText", json!(content)),
        Shape::Outputs => put(body, "/outputs/0/text", json!(content)),
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
