//! What a request says, in one shape for all providers: the messages and tools of
//! OpenAI's chat, which other tools keep conversations in.

mod anthropic;
mod bedrock;
mod gemini;
mod openai;
mod responses;

use serde_json::{Map, Value, json};

use crate::provider::{Operation, RecognisedCall, ToolCall};

/// A conversation up to its answer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Conversation {
    /// Messages as OpenAI's chat has them.
    pub(super) messages: Vec<Value>,
    /// Tools as OpenAI's chat has them.
    pub(super) tools: Vec<Value>,
    /// The first thing that found no place in them.
    pub(super) odd: Option<String>,
}

impl Conversation {
    /// What a request says; `None` where it is no conversation.
    pub(super) fn of(call: &RecognisedCall, body: &[u8]) -> Option<Self> {
        let body: Value = serde_json::from_slice(body).ok()?;
        let body = body.as_object()?;
        let mut conversation = Self::default();
        match call.operation {
            Operation::ChatCompletions => openai::read(body, &mut conversation),
            Operation::Responses => responses::read(body, &mut conversation),
            Operation::Messages => anthropic::read(body, &mut conversation),
            Operation::GenerateContent => gemini::read(body, &mut conversation),
            Operation::Converse => bedrock::read(body, &mut conversation),
            Operation::OllamaChat | Operation::CohereChat if body.contains_key("messages") => {
                openai::read_native(body, &mut conversation);
            }
            _ => return None,
        }
        Some(conversation)
    }

    /// Says that something has no place here.
    fn odd(&mut self, what: impl Into<String>) {
        self.odd.get_or_insert_with(|| what.into());
    }

    fn push(&mut self, role: &str, content: Value) {
        self.messages.push(json!({ "role": role, "content": content }));
    }

    /// A message of the program's side: a text where that is all, else its parts.
    fn push_parts(&mut self, role: &str, parts: Vec<Value>) {
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

    /// A message of the model's.
    fn push_said(&mut self, text: &str, calls: &[ToolCall]) {
        self.messages.push(assistant(text, calls));
    }

    fn push_result(&mut self, id: &str, text: &str) {
        self.messages.push(json!({ "role": "tool", "tool_call_id": id, "content": text }));
    }

    fn push_tool(&mut self, name: &Value, description: Option<&Value>, schema: Option<&Value>) {
        let mut function = Map::new();
        function.insert("name".to_owned(), name.clone());
        for (key, value) in [("description", description), ("parameters", schema)] {
            if let Some(value) = value {
                function.insert(key.to_owned(), value.clone());
            }
        }
        self.tools.push(json!({ "type": "function", "function": function }));
    }

    /// The text of the last message of the program's that has any.
    pub(super) fn last_user(&self) -> Option<String> {
        self.messages.iter().rev().filter(|message| is(message, "user")).find_map(text)
    }

    /// What the system says, a message a line.
    pub(super) fn system(&self) -> String {
        let texts = self.messages.iter().filter(|message| is(message, "system"));
        texts.filter_map(text).collect::<Vec<_>>().join("\n")
    }

    /// How often the model has spoken.
    pub(super) fn turns(&self) -> usize {
        self.messages.iter().filter(|message| is(message, "assistant")).count()
    }

    /// Whether a tool has answered since the program spoke last.
    pub(super) fn has_tool_result(&self) -> bool {
        let since = self.messages.iter().rposition(|message| is(message, "user"));
        self.messages[since.map_or(0, |at| at + 1)..].iter().any(|message| is(message, "tool"))
    }

    /// The last message, where it is what a tool answered: its call's id and its text.
    pub(super) fn last_result(&self) -> Option<(&str, String)> {
        let last = self.messages.last().filter(|message| is(message, "tool"))?;
        let id = last.get("tool_call_id").and_then(Value::as_str).unwrap_or_default();
        Some((id, text(last).unwrap_or_default()))
    }
}

/// What the model said, as a message.
pub(super) fn assistant(text: &str, calls: &[ToolCall]) -> Value {
    let mut message = Map::new();
    message.insert("role".to_owned(), "assistant".into());
    let content = if text.is_empty() && !calls.is_empty() { Value::Null } else { text.into() };
    message.insert("content".to_owned(), content);
    if !calls.is_empty() {
        let calls = calls.iter().map(|call| {
            json!({
                "id": call.id,
                "type": "function",
                "function": { "name": call.name, "arguments": arguments(call) },
            })
        });
        message.insert("tool_calls".to_owned(), calls.collect());
    }
    Value::Object(message)
}

/// A call's arguments as text; what was no object is as it was.
pub(super) fn arguments(call: &ToolCall) -> String {
    match call.arguments.as_object() {
        Some(only) if only.len() == 1 => match only.get("_raw") {
            Some(Value::String(raw)) => raw.clone(),
            _ => call.arguments.to_string(),
        },
        _ => call.arguments.to_string(),
    }
}

/// The calls of a message of the model's.
pub(super) fn calls(message: &Value) -> Vec<ToolCall> {
    let calls = message.get("tool_calls").and_then(Value::as_array);
    calls.into_iter().flatten().map(call).collect()
}

fn call(call: &Value) -> ToolCall {
    let function = call.get("function").unwrap_or(call);
    let word = |value: &Value, name: &str| {
        value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    tool_call(word(call, "id"), word(function, "name"), function.get("arguments"))
}

/// A tool call whose arguments are an object, or the text of one.
pub(super) fn tool_call(id: String, name: String, arguments: Option<&Value>) -> ToolCall {
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

fn is(message: &Value, role: &str) -> bool {
    message.get("role").and_then(Value::as_str) == Some(role)
}

/// A message's text; `None` where it has none at all.
pub(super) fn text(message: &Value) -> Option<String> {
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

/// The text of a part that is nothing else.
fn plain_text(part: &Value) -> Option<&str> {
    match part.get("type").and_then(Value::as_str) {
        Some("text") => part.get("text")?.as_str(),
        _ => None,
    }
}

/// A text as a part.
fn text_part(text: &str) -> Value {
    json!({ "type": "text", "text": text })
}

/// An image as a part, by its address or as its bytes in base64.
fn image_part(url: &str) -> Value {
    json!({ "type": "image_url", "image_url": { "url": url } })
}

fn data_url(media: &str, base64: &str) -> String {
    format!("data:{media};base64,{base64}")
}

fn word<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

#[cfg(test)]
mod tests;
