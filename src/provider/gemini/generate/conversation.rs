//! The conversation in a request for Gemini: parts, calls without ids, and every name in two
//! spellings.

use serde_json::Value;

use crate::conversation::{Conversation, data_url, image_part, list, text_part, tool_call, word};
use crate::operation::ObjectView;

pub(super) fn read(body: &ObjectView) -> Conversation {
    let mut conversation = Conversation::default();
    let out = &mut conversation;
    let either = |camel: &str, snake: &str| body.get(camel).or_else(|| body.get(snake));
    if let Some(system) = either("systemInstruction", "system_instruction") {
        let parts = list(system.get("parts")).iter();
        let parts = parts.filter_map(|part| read_part(part, out)).collect();
        out.push_parts("system", parts);
    }
    let mut open: Vec<(String, String)> = Vec::new();
    for content in list(body.get("contents")) {
        let parts = list(content.get("parts"));
        if word(content, "role") == "model" {
            push_model_message(parts, &mut open, out);
        } else {
            push_user_message(parts, &mut open, out);
        }
    }
    for tool in list(body.get("tools")) {
        let declared = field(tool, "functionDeclarations", "function_declarations");
        for function in list(declared) {
            let schema = field(function, "parametersJsonSchema", "parameters_json_schema");
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

fn field<'a>(value: &'a Value, camel: &str, snake: &str) -> Option<&'a Value> {
    value.get(camel).or_else(|| value.get(snake))
}

/// Adds a message of the model. Its calls get ids, under which they wait for their results.
fn push_model_message(parts: &[Value], open: &mut Vec<(String, String)>, out: &mut Conversation) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for part in parts {
        if part.get("thought").and_then(Value::as_bool) == Some(true) {
            out.note_unsupported("a thought");
        } else if let Some(called) = field(part, "functionCall", "function_call") {
            let name = word(called, "name").to_owned();
            let id = match word(called, "id") {
                "" => format!("call_{}", out.messages.len() * 100 + calls.len()),
                own => own.to_owned(),
            };
            open.push((name.clone(), id.clone()));
            calls.push(tool_call(id, name, called.get("args")));
        } else if part.get("text").is_some() {
            text.push_str(word(part, "text"));
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
        let Some(result) = field(part, "functionResponse", "function_response") else {
            rest.extend(read_part(part, out));
            continue;
        };
        let name = word(result, "name");
        let at = open.iter().position(|(known, id)| match word(result, "id") {
            "" => known == name,
            own => id == own,
        });
        let id = at.map_or_else(|| word(result, "id").to_owned(), |at| open.remove(at).1);
        let answer = result.get("response").cloned().unwrap_or_default();
        out.push_result(&id, &answer.to_string());
    }
    out.push_parts("user", rest);
}

fn read_part(part: &Value, out: &mut Conversation) -> Option<Value> {
    if part.get("text").is_some() {
        return Some(text_part(word(part, "text")));
    }
    if let Some(data) = field(part, "inlineData", "inline_data") {
        let media = field(data, "mimeType", "mime_type").and_then(Value::as_str);
        let media = media.unwrap_or_default();
        if media.starts_with("image/") {
            return Some(image_part(&data_url(media, word(data, "data"))));
        }
    }
    out.note_unsupported("a part that is neither text nor an image");
    None
}
