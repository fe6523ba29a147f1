//! The conversation in a request for OpenAI's Responses: a text, or a list of items, among them
//! messages.

use serde_json::{Value, json};

use crate::conversation::{
    self, Conversation, image_part, list_or_empty, text_part, tool_call, word_or_empty,
};
use crate::operation::ObjectView;

pub(super) fn read_messages(body: &ObjectView) -> Conversation {
    let mut conversation = Conversation::default();
    let out = &mut conversation;
    for elsewhere in ["previous_response_id", "conversation", "prompt"] {
        if body.get(elsewhere).is_some_and(|value| !value.is_null()) {
            out.note_unsupported(format!("{elsewhere}: the earlier messages are stored elsewhere"));
        }
    }
    if let Some(Value::String(text)) = body.get("instructions") {
        out.push("system", text.as_str().into());
    }
    match body.get("input") {
        Some(Value::String(text)) => out.push("user", text.as_str().into()),
        Some(Value::Array(items)) => items.iter().for_each(|item| push_item(item, out)),
        _ => {}
    }
    for tool in list_or_empty(body.get("tools")) {
        match word_or_empty(tool, "type") {
            "function" => {
                let name = tool.get("name").cloned().unwrap_or_default();
                out.push_tool(&name, tool.get("description"), tool.get("parameters"));
            }
            "custom" => {
                let members = tool.as_object().into_iter().flatten();
                let custom = members.filter(|(name, _)| *name != "type");
                let custom: ObjectView =
                    custom.map(|(name, value)| (name.clone(), value.clone())).collect();
                out.tools.push(json!({ "type": "custom", "custom": custom }));
            }
            other => out.note_unsupported(format!("the tool {other}, which is OpenAI's own")),
        }
    }
    conversation
}

fn push_item(item: &Value, out: &mut Conversation) {
    let role = match word_or_empty(item, "role") {
        "developer" => "system",
        role => role,
    };
    match word_or_empty(item, "type") {
        "message" | "" => match item.get("content") {
            Some(Value::String(text)) if role == "assistant" => out.push_assistant(text, &[]),
            Some(Value::String(text)) => out.push(role, text.as_str().into()),
            Some(Value::Array(parts)) if role == "assistant" => {
                if parts.iter().any(|part| word_or_empty(part, "type") != "output_text") {
                    out.note_unsupported("a part of an answer that is not text");
                }
                let text: String = parts.iter().map(|part| word_or_empty(part, "text")).collect();
                out.push_assistant(&text, &[]);
            }
            Some(Value::Array(parts)) => {
                let parts = parts.iter().filter_map(|part| read_part(part, out)).collect();
                out.push_parts(role, parts);
            }
            _ => out.note_unsupported("a message without content"),
        },
        "function_call" | "custom_tool_call" => push_call(item, out),
        "function_call_output" | "custom_tool_call_output" => {
            let text = match item.get("output") {
                Some(Value::String(text)) => text.clone(),
                Some(other) => {
                    out.note_unsupported("a tool's result that is more than text");
                    other.to_string()
                }
                None => String::new(),
            };
            out.push_result(word_or_empty(item, "call_id"), &text);
        }
        other => out.note_unsupported(format!("an item of the type {other}")),
    }
}

/// Adds a call to the message before it, if that is the model's.
fn push_call(item: &Value, out: &mut Conversation) {
    let call = tool_call(
        word_or_empty(item, "call_id").to_owned(),
        word_or_empty(item, "name").to_owned(),
        item.get("arguments").or_else(|| item.get("input")),
    );
    let last = out.messages.pop_if(|last| conversation::has_role(last, "assistant"));
    let text = last.as_ref().and_then(conversation::message_text).unwrap_or_default();
    let mut calls = last.as_ref().map(conversation::tool_calls).unwrap_or_default();
    calls.push(call);
    out.push_assistant(&text, &calls);
}

fn read_part(part: &Value, out: &mut Conversation) -> Option<Value> {
    match word_or_empty(part, "type") {
        "input_text" | "output_text" | "text" => Some(text_part(word_or_empty(part, "text"))),
        "input_image" if part.get("image_url").is_some() => {
            Some(image_part(word_or_empty(part, "image_url")))
        }
        other => {
            out.note_unsupported(format!("a part of the type {other}"));
            None
        }
    }
}
