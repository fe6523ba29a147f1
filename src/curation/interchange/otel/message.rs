//! Messages in all forms that spans have, converted to OpenAI's chat messages.

use serde_json::{Map, Value, json};

use super::attribute::{SpanAttributes, items};
use loomrec_provider::ToolCall;
use loomrec_provider::conversation::{assistant, tool_call};

/// The conversation in a span, whatever names the instrumentation uses.
pub(super) struct SpanMessages {
    /// The messages before the answer.
    pub(super) asked: Vec<Value>,
    /// The answer's text and calls.
    pub(super) answer: Option<(String, Vec<ToolCall>)>,
    /// The finish reason.
    pub(super) finish: Option<String>,
    /// Whether the messages before the answer hold parts of a type that is not read.
    pub(super) has_other_questions: bool,
    /// Whether the answer does.
    pub(super) has_other_answers: bool,
}

/// Reads the conversation from the attributes of a span and of its events.
pub(super) fn read_messages(
    attributes: &SpanAttributes,
    events: &[(String, SpanAttributes)],
) -> SpanMessages {
    let mut asked = flat(attributes, "llm.input_messages");
    let mut answer = flat(attributes, "llm.output_messages");
    let details = events.iter().map(|(_, attributes)| attributes);
    let (mut has_other_questions, mut has_other_answers) = (false, false);
    for source in std::iter::once(attributes).chain(details) {
        if asked.is_empty() {
            let instructions = source.json(&["gen_ai.system_instructions"]);
            let messages = source.json(&["gen_ai.input.messages"]);
            has_other_questions = holds_other_part(&instructions) || holds_other_part(&messages);
            asked = parts(instructions, true);
            asked.extend(parts(messages, false));
        }
        if answer.is_empty() {
            let messages = source.json(&["gen_ai.output.messages"]);
            has_other_answers = holds_other_part(&messages);
            answer = parts(messages, false);
        }
    }
    if asked.is_empty() {
        asked = flat(attributes, "gen_ai.prompt");
    }
    if answer.is_empty() {
        answer = flat(attributes, "gen_ai.completion");
    }
    for (name, event) in events {
        match name.as_str() {
            "gen_ai.content.prompt" if asked.is_empty() => {
                asked = listed(event.json(&["gen_ai.prompt"]));
            }
            "gen_ai.content.completion" if answer.is_empty() => {
                answer = listed(event.json(&["gen_ai.completion"]));
            }
            "gen_ai.choice" => answer.extend(read_event_message(event, "assistant")),
            "gen_ai.system.message" => asked.extend(read_event_message(event, "system")),
            "gen_ai.user.message" => asked.extend(read_event_message(event, "user")),
            "gen_ai.assistant.message" => asked.extend(read_event_message(event, "assistant")),
            "gen_ai.tool.message" => asked.extend(read_event_message(event, "tool")),
            _ => {}
        }
    }
    let first = answer.into_iter().next();
    let finish = first.as_ref().and_then(|first| first.get("finish_reason")?.as_str());
    let finish = finish.map(str::to_owned);
    let answer = first.map(|first| {
        (
            loomrec_provider::conversation::text(&first).unwrap_or_default(),
            loomrec_provider::conversation::calls(&first),
        )
    });
    SpanMessages { asked, answer, finish, has_other_questions, has_other_answers }
}

/// Whether messages with parts, or parts themselves, hold one of a type that is not read. What a
/// model thought is not part of its answer.
fn holds_other_part(value: &Option<Value>) -> bool {
    const KNOWN: [&str; 5] = ["text", "tool_call", "tool_call_response", "reasoning", "thinking"];
    let is_other = |part: &Value| match part.get("type").and_then(Value::as_str) {
        Some(kind) => !KNOWN.contains(&kind),
        None => false,
    };
    let items = value.as_ref().and_then(Value::as_array).into_iter().flatten();
    items.into_iter().any(|item| match item.get("parts").and_then(Value::as_array) {
        Some(parts) => parts.iter().any(is_other),
        None => is_other(item),
    })
}

/// Reads messages encoded in names: `prefix.0.message.role`, or without `message`.
fn flat(attributes: &SpanAttributes, prefix: &str) -> Vec<Value> {
    let messages = attributes.list(prefix);
    messages.iter().map(|item| message(item.get("message").unwrap_or(item))).collect()
}

/// Reads a message whose parts are encoded in names.
fn message(item: &Value) -> Value {
    let word = |name: &str| item.get(name).and_then(Value::as_str);
    let role = word("role").unwrap_or("user");
    let calls: Vec<ToolCall> = item
        .get("tool_calls")
        .map(items)
        .unwrap_or_default()
        .iter()
        .map(|call| self::call(call.get("tool_call").unwrap_or(call)))
        .collect();
    let contents: Vec<Value> = item.get("contents").map(items).unwrap_or_default();
    let contents: Vec<Value> = contents
        .iter()
        .map(|part| part.get("message_content").unwrap_or(part))
        .filter_map(|part| match part.pointer("/image/image/url").and_then(Value::as_str) {
            Some(url) => Some(json!({ "type": "image_url", "image_url": { "url": url } })),
            None => Some(json!({ "type": "text", "text": part.get("text")?.as_str()? })),
        })
        .collect();
    let mut out = match role {
        "assistant" | "model" | "ai" => {
            let text: String = match word("content") {
                Some(text) => text.to_owned(),
                None => contents.iter().filter_map(|part| part.get("text")?.as_str()).collect(),
            };
            assistant(&text, &calls)
        }
        role => {
            let content = match (word("content"), contents.as_slice()) {
                (Some(text), _) => text.into(),
                (None, []) => Value::Null,
                (None, _) => contents.into(),
            };
            json!({ "role": role, "content": content })
        }
    };
    for name in ["tool_call_id", "finish_reason"] {
        if let Some(value) = word(name) {
            out[name] = value.into();
        }
    }
    out
}

fn call(call: &Value) -> ToolCall {
    let function = call.get("function").unwrap_or(call);
    // A name may contain a dot that is not a path separator.
    let of = |name: &str| function.get(name).or_else(|| call.get(name));
    let word = |name: &str| of(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    tool_call(word("id"), word("name"), of("arguments"))
}

/// Reads messages with parts, as in the newer conventions.
fn parts(value: Option<Value>, system: bool) -> Vec<Value> {
    let Some(Value::Array(messages)) = value else { return Vec::new() };
    if system {
        let text: Vec<&str> = messages.iter().filter_map(part_text).collect();
        return match text.is_empty() {
            true => Vec::new(),
            false => vec![json!({ "role": "system", "content": text.join("\n") })],
        };
    }
    messages.iter().flat_map(in_parts).collect()
}

fn part_text(part: &Value) -> Option<&str> {
    match part.get("type").and_then(Value::as_str) {
        Some("text") => part.get("content").or_else(|| part.get("text"))?.as_str(),
        _ => None,
    }
}

fn in_parts(message: &Value) -> Vec<Value> {
    let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
    let Some(Value::Array(parts)) = message.get("parts") else {
        return vec![self::message(message)];
    };
    let (mut text, mut calls, mut out) = (String::new(), Vec::new(), Vec::new());
    for part in parts {
        match part.get("type").and_then(Value::as_str) {
            Some("tool_call") => calls.push(call(part)),
            Some("tool_call_response") => {
                let answer = part.get("response").or_else(|| part.get("result"));
                let answer = match answer {
                    Some(Value::String(text)) => text.clone(),
                    Some(other) => other.to_string(),
                    None => String::new(),
                };
                let id = part.get("id").cloned().unwrap_or_default();
                out.push(json!({ "role": "tool", "tool_call_id": id, "content": answer }));
            }
            _ => text.push_str(part_text(part).unwrap_or_default()),
        }
    }
    if role == "assistant" {
        let mut said = assistant(&text, &calls);
        if let Some(finish) = message.get("finish_reason") {
            said["finish_reason"] = finish.clone();
        }
        out.push(said);
    } else if !text.is_empty() || out.is_empty() {
        out.push(json!({ "role": role, "content": text }));
    }
    out
}

/// Reads messages as they were sent.
fn listed(value: Option<Value>) -> Vec<Value> {
    match value {
        Some(Value::Array(messages)) => messages.iter().map(message).collect(),
        Some(message @ Value::Object(_)) => vec![self::message(&message)],
        _ => Vec::new(),
    }
}

/// Reads the message in an event.
fn read_event_message(event: &SpanAttributes, role: &str) -> Option<Value> {
    let body = event.json(&["gen_ai.event.content", "event.body", "message"]);
    let mut map = match body {
        Some(Value::Object(map)) => map,
        _ => Map::new(),
    };
    if let Some(Value::Object(inner)) = map.get("message") {
        let finish = map.get("finish_reason").cloned();
        map = inner.clone();
        map.extend(finish.map(|finish| ("finish_reason".to_owned(), finish)));
    }
    for (name, from) in
        [("content", "content"), ("tool_call_id", "id"), ("finish_reason", "finish_reason")]
    {
        if !map.contains_key(name)
            && let Some(text) = event.text(&[from])
        {
            map.insert(name.to_owned(), text.into());
        }
    }
    if !map.contains_key("tool_calls")
        && let Some(calls) = event.json(&["tool_calls"])
    {
        map.insert("tool_calls".to_owned(), calls);
    }
    map.insert("role".to_owned(), role.into());
    Some(message(&Value::Object(map)))
}
