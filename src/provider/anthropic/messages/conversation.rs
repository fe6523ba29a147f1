//! The conversation in a request for Anthropic's Messages: it consists of blocks, its system prompt
//! is separate, and tool results are among the user's blocks.

use serde_json::Value;

use crate::conversation::{
    Conversation, data_url, image_part, list_or_empty, text_part, tool_call, word_or_empty,
};
use crate::operation::ObjectView;

pub(super) fn read_messages(body: &ObjectView) -> Conversation {
    let mut conversation = Conversation::default();
    let out = &mut conversation;
    match body.get("system") {
        Some(Value::String(text)) if !text.is_empty() => out.push("system", text.as_str().into()),
        Some(Value::Array(blocks)) => {
            let parts = blocks.iter().filter_map(|block| read_part(block, out)).collect();
            out.push_parts("system", parts);
        }
        _ => {}
    }
    for message in list_or_empty(body.get("messages")) {
        let role = word_or_empty(message, "role");
        match message.get("content") {
            Some(Value::String(text)) if role == "assistant" => out.push_assistant(text, &[]),
            Some(Value::String(text)) => out.push(role, text.as_str().into()),
            Some(Value::Array(blocks)) if role == "assistant" => push_model_message(blocks, out),
            Some(Value::Array(blocks)) => push_user_message(role, blocks, out),
            _ => out.note_unsupported("a message without content"),
        }
    }
    for tool in list_or_empty(body.get("tools")) {
        match (tool.get("name"), tool.get("input_schema")) {
            (Some(name), Some(schema)) => {
                out.push_tool(name, tool.get("description"), Some(schema));
            }
            _ => out.note_unsupported(format!(
                "the tool {}, which is Anthropic's own",
                word_or_empty(tool, "type")
            )),
        }
    }
    conversation
}

/// Adds a user message. Tool results come first, because OpenAI requires them directly after the
/// calls.
fn push_user_message(role: &str, blocks: &[Value], out: &mut Conversation) {
    let (results, others): (Vec<&Value>, Vec<&Value>) =
        blocks.iter().partition(|block| word_or_empty(block, "type") == "tool_result");
    for result in results {
        if result.get("is_error").and_then(Value::as_bool) == Some(true) {
            out.note_unsupported("the failure of a tool");
        }
        let text = match result.get("content") {
            Some(Value::String(text)) => text.clone(),
            Some(Value::Array(parts)) => {
                if parts.iter().any(|part| word_or_empty(part, "type") != "text") {
                    out.note_unsupported("a tool's result that is more than text");
                }
                parts.iter().map(|part| word_or_empty(part, "text")).collect()
            }
            _ => String::new(),
        };
        out.push_result(word_or_empty(result, "tool_use_id"), &text);
    }
    let parts = others.into_iter().filter_map(|block| read_part(block, out)).collect();
    out.push_parts(role, parts);
}

/// Adds an assistant message.
fn push_model_message(blocks: &[Value], out: &mut Conversation) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in blocks {
        match word_or_empty(block, "type") {
            "text" => text.push_str(word_or_empty(block, "text")),
            "tool_use" => calls.push(tool_call(
                word_or_empty(block, "id").to_owned(),
                word_or_empty(block, "name").to_owned(),
                block.get("input"),
            )),
            other => out.note_unsupported(format!("a block of the type {other}")),
        }
    }
    out.push_assistant(&text, &calls);
}

fn read_part(block: &Value, out: &mut Conversation) -> Option<Value> {
    let source = block.get("source");
    match (word_or_empty(block, "type"), source) {
        ("text", _) => return Some(text_part(word_or_empty(block, "text"))),
        ("image", Some(source)) if word_or_empty(source, "type") == "base64" => {
            let url = data_url(word_or_empty(source, "media_type"), word_or_empty(source, "data"));
            return Some(image_part(&url));
        }
        ("image", Some(source)) if word_or_empty(source, "type") == "url" => {
            return Some(image_part(word_or_empty(source, "url")));
        }
        (other, _) => out.note_unsupported(format!("a block of the type {other}")),
    }
    None
}
