//! The places of content in answers with choices: chat completions, and the legacy ones.

use serde_json::{Value, json};

use crate::answer_shape::{AnswerShape, CallSlot, is_list, object_items, replace_value};

/// The structure of an answer with choices.
pub(crate) fn choices(body: &Value) -> Option<&'static AnswerShape> {
    is_list(body, "/choices").then_some(&CHOICES)
}

static CHOICES: AnswerShape = AnswerShape {
    end_by_length,
    output_counts: &["/usage/completion_tokens", "/x_groq/usage/completion_tokens"],
    replace_text,
    first_call: |body| object_items(body, "/choices").find_map(first_call),
    arguments_in_pieces: false,
};

fn end_by_length(body: &mut Value) {
    for choice in object_items(body, "/choices") {
        // Some of Bedrock's models use Anthropic's name for it.
        let other = choice.get("finish_reason").is_none();
        let name = if other && choice.get("stop_reason").is_some() {
            "stop_reason"
        } else {
            "finish_reason"
        };
        choice[name] = json!("length");
        replace_value(choice, "/native_finish_reason", json!("length"));
    }
}

fn replace_text(content: &str, body: &mut Value) {
    for choice in object_items(body, "/choices") {
        match choice.get_mut("message") {
            Some(message) if message.is_object() => message["content"] = json!(content),
            _ => replace_value(choice, "/text", json!(content)),
        }
    }
}

/// The first call of a choice, legacy function calls included.
fn first_call(choice: &mut Value) -> Option<CallSlot<'_>> {
    let message = choice.get_mut("message")?;
    let has_calls =
        message.get("tool_calls").and_then(Value::as_array).is_some_and(|calls| !calls.is_empty());
    if !has_calls {
        return CallSlot::new(message.get_mut("function_call")?, "arguments");
    }
    object_items(message, "/tool_calls").find_map(|call| {
        if call.get("function").is_some() {
            return CallSlot::new(call.get_mut("function")?, "arguments");
        }
        CallSlot::new(call.get_mut("custom")?, "input")
    })
}
