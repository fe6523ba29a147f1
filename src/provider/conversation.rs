//! The conversation in a request, in one format for all providers: the messages and tools of
//! OpenAI's chat, in which other tools store conversations.

use serde_json::{Map, Value, json};

use super::ToolCall;

/// A conversation up to its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Conversation {
    /// Messages in the format of OpenAI's chat.
    pub messages: Vec<Value>,
    /// Tools in the format of OpenAI's chat.
    pub tools: Vec<Value>,
    /// The first content that has no place in that format.
    pub unsupported: Option<String>,
}

impl Conversation {
    /// Notes content that has no place in the format.
    pub(super) fn note_unsupported(&mut self, what: impl Into<String>) {
        self.unsupported.get_or_insert_with(|| what.into());
    }

    pub(super) fn push(&mut self, role: &str, content: Value) {
        self.messages.push(json!({ "role": role, "content": content }));
    }

    /// Adds a message of a role other than the model's: as one text if possible, else as parts.
    pub(super) fn push_parts(&mut self, role: &str, parts: Vec<Value>) {
        if parts.is_empty() {
            return;
        }
        let texts: Option<Vec<&str>> = parts.iter().map(plain_text).collect();
        match texts {
            Some(texts) if texts.len() == 1 || role == "system" => {
                let text = texts.join("\n");
                self.push(role, text.into());
            }
            _ => self.push(role, parts.into()),
        }
    }

    /// Adds a message of the model.
    pub(super) fn push_assistant(&mut self, text: &str, calls: &[ToolCall]) {
        self.messages.push(assistant_message(text, calls));
    }

    pub(super) fn push_result(&mut self, id: &str, text: &str) {
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
    }

    pub(super) fn push_tool(
        &mut self,
        name: &Value,
        description: Option<&Value>,
        schema: Option<&Value>,
    ) {
        let mut function = Map::new();
        function.insert("name".to_owned(), name.clone());
        for (key, value) in [("description", description), ("parameters", schema)] {
            if let Some(value) = value {
                function.insert(key.to_owned(), value.clone());
            }
        }
        self.tools.push(json!({ "type": "function", "function": function }));
    }

    /// The text of the last user message that has any.
    pub fn last_user(&self) -> Option<String> {
        self.messages
            .iter()
            .rev()
            .filter(|message| has_role(message, "user"))
            .find_map(message_text)
    }

    /// The system messages, one per line.
    pub fn system_text(&self) -> String {
        let texts = self.messages.iter().filter(|message| has_role(message, "system"));
        texts.filter_map(message_text).collect::<Vec<_>>().join("\n")
    }

    /// How many messages are the model's.
    pub fn turn_count(&self) -> usize {
        self.messages.iter().filter(|message| has_role(message, "assistant")).count()
    }

    /// Whether there is a tool result after the last user message.
    pub fn has_tool_result(&self) -> bool {
        let since = self.messages.iter().rposition(|message| has_role(message, "user"));
        self.messages[since.map_or(0, |at| at + 1)..]
            .iter()
            .any(|message| has_role(message, "tool"))
    }

    /// The call id and the text of the last message, if that is a tool result.
    pub fn last_result(&self) -> Option<(&str, String)> {
        let last = self.messages.last().filter(|message| has_role(message, "tool"))?;
        let id = last.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
        Some((id, message_text(last).unwrap_or_default()))
    }
}

/// Makes a message of the model.
pub fn assistant_message(text: &str, calls: &[ToolCall]) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        let calls = calls.iter().map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": argument_text(call) },
            })
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    Value::Object(message)
}

/// A call's arguments as text. Arguments that were no object are returned unchanged.
pub fn argument_text(call: &ToolCall) -> String {
    match call.arguments.as_object() {
        Some(only) if only.len() == 1 => match only.get("_raw") {
            Some(Value::String(raw)) => raw.clone(),
            _ => call.arguments.to_string(),
        },
        _ => call.arguments.to_string(),
    }
}

/// The calls in a message of the model.
pub fn tool_calls(message: &Value) -> Vec<ToolCall> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    calls.into_iter().flatten().map(read_tool_call).collect()
}

pub(super) fn read_tool_call(call: &Value) -> ToolCall {
    // A custom tool takes free text as `input` instead of arguments.
    let named = ["function", "custom"].iter().filter_map(|kind| call.get(*kind));
    let function = named.into_iter().find(|named| named.is_object()).unwrap_or(call);
    let word = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    tool_call(
        word(call, "id"),
        word(function, "name"),
        function.get("arguments").or_else(|| function.get("input")),
    )
}

/// A tool call whose arguments are an object, or text.
pub fn tool_call(id: String, name: String, arguments: Option<&Value>) -> ToolCall {
    let arguments = match arguments {
        Some(object @ Value::Object(_)) => object.clone(),
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(Value::String(text)) if text.trim().is_empty() => Value::Object(Map::new()),
        Some(Value::String(text)) => match serde_json::from_str(text) {
            Ok(object @ Value::Object(_)) => object,
            _ => json!({ "_raw": text }),
        },
        Some(other) => json!({ "_raw": other.to_string() }),
    };
    ToolCall { id, name, arguments }
}

/// Reads messages in a format close to OpenAI's, whose calls have objects as arguments.
pub(super) fn read_native(body: &Map<String, Value>) -> Option<Conversation> {
    body.get("messages")?;
    let mut conversation = Conversation::default();
    let out = &mut conversation;
    for message in list_or_empty(body.get("messages")) {
        let role = word_or_empty(message, "role");
        let content = message.get("content").cloned().unwrap_or_default();
        for odd in ["images", "thinking", "tool_plan", "citations"] {
            if message.get(odd).is_some_and(|value| !value.is_null()) {
                out.note_unsupported(format!("a message's {odd}"));
            }
        }
        match role {
            "assistant" => {
                let calls: Vec<_> =
                    list_or_empty(message.get("tool_calls")).iter().map(read_tool_call).collect();
                let text = message_text(message).unwrap_or_default();
                out.push_assistant(&text, &calls);
            }
            "tool" => {
                let text = message_text(message).unwrap_or_else(|| content.to_string());
                out.push_result(word_or_empty(message, "tool_call_id"), &text);
            }
            _ => out.push(role, content),
        }
    }
    out.tools.extend(list_or_empty(body.get("tools")).iter().cloned());
    Some(conversation)
}

pub(super) fn has_role(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_str) == Some(role)
}

/// A message's text; `None` if it has none.
pub fn message_text(message: &Value) -> Option<String> {
    match message.get("content")? {
        Value::String(text) => Some(text.clone()),
        Value::Array(parts) => {
            let mut texts = parts.iter().filter_map(plain_text).peekable();
            texts.peek()?;
            Some(texts.collect())
        }
        _ => None,
    }
}

/// The text of a part, if it is a text part.
fn plain_text(part: &Value) -> Option<&str> {
    match part.get("type").and_then(Value::as_str) {
        Some("text") => part.get("text")?.as_str(),
        _ => None,
    }
}

/// A text as a part.
pub(super) fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// An image as a part, by its address or as a data URL.
pub(super) fn image_part(url: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url } })
}

pub(super) fn data_url(media: &str, base64: &str) -> String {
    format!("data:{media};base64,{base64}")
}

pub(super) fn word_or_empty<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub(super) fn list_or_empty(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests;
