//! The conversation in a request for Gemini: parts, calls without ids, and every name in two
//! spellings.

use serde_json::Value;

use crate::conversation::{
    Conversation, data_url, image_part, list_or_empty, text_part, tool_call, word_or_empty,
};
use crate::operation::ObjectView;

pub(super) fn read_messages(body: &ObjectView) -> Conversation {
    let mut conversation = Conversation::default();
    let out = &mut conversation;
    let either = |camel: &str, snake: &str| body.get(camel).or_else(|| body.get(snake));
    if let Some(system) = either("systemInstruction", "system_instruction") {
        let parts = list_or_empty(system.get("parts")).iter();
        let parts = parts.filter_map(|part| read_part(part, out)).collect();
        out.push_parts("system", parts);
    }
    let mut open: Vec<(String, String)> = Vec::new();
    for content in list_or_empty(body.get("contents")) {
        let parts = list_or_empty(content.get("parts"));
        if word_or_empty(content, "role") == "model" {
            push_model_message(parts, &mut open, out);
        } else {
            push_user_message(parts, &mut open, out);
        }
    }
    for tool in list_or_empty(body.get("tools")) {
        let declared = either_field(tool, "functionDeclarations", "function_declarations");
        for function in list_or_empty(declared) {
            let schema = either_field(function, "parametersJsonSchema", "parameters_json_schema");
            let schema = schema.or_else(|| function.get("parameters"));
            let name = function.get("name").cloned().unwrap_or_default();
            out.push_tool(&name, function.get("description"), schema);
        }
        if declared.is_none() {
            out.note_unsupported("a tool that is Gemini's own");
        }
    }
    conversation
}

fn either_field<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}

/// Adds a message of the model. Its calls get ids, under which they wait for their results.
fn push_model_message(parts: &[Value], open: &mut Vec<(String, String)>, out: &mut Conversation) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in parts {
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            out.note_unsupported("a thought");
        } else if let Some(called) = either_field(part, "functionCall", "function_call") {
            let name = word_or_empty(called, "name").to_owned();
            let id = match word_or_empty(called, "id") {
                "" => format!("call_{}", out.messages.len() * 100 + calls.len()),
                own => own.to_owned(),
            };
            open.push((name.clone(), id.clone()));
            calls.push(tool_call(id, name, called.get("args")));
        } else if part.get("text").is_some() {
            text.push_str(word_or_empty(part, "text"));
        } else {
            out.note_unsupported("a part of an answer that is neither text nor a call");
        }
    }
    out.push_assistant(&text, &calls);
}

/// Adds the results of tools, and a user message.
fn push_user_message(parts: &[Value], open: &mut Vec<(String, String)>, out: &mut Conversation) {
    let mut rest = Vec::new();
    for part in parts {
        let Some(result) = either_field(part, "functionResponse", "function_response") else {
            rest.extend(read_part(part, out));
            continue;
        };
        let name = word_or_empty(result, "name");
        let at = open.iter().position(|(known, id)| match word_or_empty(result, "id") {
            "" => known == name,
            own => id == own,
        });
        let id = at.map_or_else(|| word_or_empty(result, "id").to_owned(), |at| open.remove(at).1);
        let answer = result.get("response").cloned().unwrap_or_default();
        out.push_result(&id, &answer.to_string());
    }
    out.push_parts("user", rest);
}

fn read_part(part: &Value, out: &mut Conversation) -> Option<Value> {
    if part.get("text").is_some() {
        return Some(text_part(word_or_empty(part, "text")));
    }
    if let Some(data) = either_field(part, "inlineData", "inline_data") {
        let media = either_field(data, "mimeType", "mime_type").and_then(Value::as_str);
        let media = media.unwrap_or_default();
        if media.starts_with("image/") {
            return Some(image_part(&data_url(media, word_or_empty(data, "data"))));
        }
    }
    out.note_unsupported("a part that is neither text nor an image");
    None
}
