//! Messages of a call, read from any provider's request or complete answer by its shape.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::block::{BlockKind, MessageBlock, content_blocks, of_call, text_member};
use super::text::{AROUND, MOST, cut_to_length};
use crate::history::CarriedParts;

/// The most bytes of a role.
const ROLE: usize = 100;

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ChatMessage {
    pub(super) role: String,
    pub(super) parts: Vec<MessageBlock>,
}

/// Members of a request that are its messages. All others are settings.
pub(super) const SPOKEN: [&str; 21] = [
    "system",
    "instructions",
    "systemInstruction",
    "system_instruction",
    "preamble",
    "chat_history",
    "messages",
    "contents",
    "content",
    "requests",
    "input",
    "inputs",
    "inputText",
    "message",
    "prompt",
    "texts",
    "query",
    "documents",
    "suffix",
    "images",
    "tool_results",
];

/// A message of a request, and where it stands.
#[derive(Clone, Debug)]
pub(super) struct AskedMessage {
    /// The member of the body.
    pub(super) member: &'static str,
    /// The index in that member, if it is a list of messages.
    pub(super) element: Option<usize>,
    pub(super) message: ChatMessage,
}

/// Returns the messages of a request; `None` if it has none.
pub(super) fn request_messages(body: &Value) -> Option<Vec<ChatMessage>> {
    let placed = asked_in_places(body).into_iter();
    let messages: Vec<ChatMessage> = placed.map(|placed| placed.message).collect();
    (!messages.is_empty()).then_some(messages)
}

/// Returns the messages of a request with their places.
pub(super) fn asked_in_places(body: &Value) -> Vec<AskedMessage> {
    let mut all = Vec::new();
    for name in SPOKEN {
        let Some(said) = body.get(name).filter(|said| !said.is_null()) else { continue };
        let mut messages = Vec::new();
        let mut is_list = false;
        match name {
            "system" | "instructions" | "systemInstruction" | "system_instruction" | "preamble" => {
                push(&mut messages, "system", content_blocks(said));
            }
            "chat_history" | "messages" | "contents" | "requests" => {
                is_list = add_item_messages(&mut messages, said);
            }
            "input" if is_talk(said) => is_list = add_item_messages(&mut messages, said),
            "documents" => push(&mut messages, "documents", content_blocks(said)),
            "images" => push(&mut messages, "user", image_blocks(said)),
            "tool_results" => push(&mut messages, "tool", content_blocks(said)),
            _ => push(&mut messages, "user", content_blocks(said)),
        }
        all.extend(messages.into_iter().enumerate().map(|(at, message)| AskedMessage {
            member: name,
            element: is_list.then_some(at),
            message,
        }));
    }
    all
}

/// Returns the messages of a complete answer; `None` if it has none that are known.
pub(super) fn answer_messages(body: &Value) -> Option<Vec<ChatMessage>> {
    let mut messages = Vec::new();
    let list = |name: &str| body.get(name).and_then(Value::as_array);
    if let Some(choices) = list("choices") {
        for choice in choices {
            match choice.get("message") {
                Some(message) => messages.push(of_item(message, "assistant")),
                None => push(&mut messages, "assistant", text_blocks(choice.get("text"))),
            }
        }
    } else if let Some(candidates) = list("candidates") {
        let contents = candidates.iter().filter_map(|candidate| candidate.get("content"));
        messages.extend(contents.map(|content| of_item(content, "model")));
    } else if let Some(items) = list("output") {
        push(&mut messages, "assistant", items.iter().flat_map(content_blocks).collect());
    } else if let Some(message) = body.pointer("/output/message").or_else(|| body.get("message")) {
        messages.push(of_item(message, "assistant"));
    } else if list("content").is_some() {
        messages.push(of_item(body, "assistant"));
    } else {
        push(&mut messages, "assistant", bare_answer_blocks(body));
    }
    (!messages.is_empty()).then_some(messages)
}

/// Reads answers that are a text in a named member, or vectors.
fn bare_answer_blocks(body: &Value) -> Vec<MessageBlock> {
    let mut said: Vec<MessageBlock> = text_blocks(body.get("thinking"))
        .into_iter()
        .map(|part| MessageBlock { kind: BlockKind::Reasoning, ..part })
        .collect();
    for name in ["response", "text", "completion", "generation", "outputText"] {
        said.extend(text_blocks(body.get(name)));
    }
    if let Some(results) = body.get("results").and_then(Value::as_array) {
        said.extend(results.iter().flat_map(|result| text_blocks(result.get("outputText"))));
    }
    said.extend(tool_call_blocks(body));
    said.extend(describe_vectors(body));
    said
}

/// Describes vectors: their number and their length.
fn describe_vectors(body: &Value) -> Option<MessageBlock> {
    let rows: Vec<&Value> = match (body.get("data"), body.get("embeddings")) {
        (Some(Value::Array(data)), _) => {
            data.iter().filter_map(|row| row.get("embedding")).collect()
        }
        (_, Some(Value::Array(rows))) => {
            rows.iter().map(|row| row.get("values").unwrap_or(row)).collect()
        }
        (_, Some(Value::Object(kinds))) => {
            kinds.get("float").and_then(Value::as_array).into_iter().flatten().collect()
        }
        _ => body.pointer("/embedding/values").or(body.get("embedding")).into_iter().collect(),
    };
    let length = match rows.first()? {
        Value::Array(numbers) => format!(" of {} numbers", numbers.len()),
        _ => String::new(),
    };
    let vectors = if rows.len() == 1 { "vector" } else { "vectors" };
    Some(MessageBlock::new(BlockKind::Other, format!("{} {vectors}{length}", rows.len())))
}

/// Whether the input of a request is a conversation, not texts or numbers.
fn is_talk(input: &Value) -> bool {
    input.as_array().is_some_and(|items| items.iter().any(Value::is_object))
}

/// Adds a message for each item of a list. Returns whether it is a list.
fn add_item_messages(messages: &mut Vec<ChatMessage>, said: &Value) -> bool {
    match said {
        Value::Array(items) => messages.extend(items.iter().map(|item| of_item(item, "user"))),
        other => messages.push(of_item(other, "user")),
    }
    said.is_array()
}

/// Reads one item of a conversation: a message, or a separate call or result.
fn of_item(item: &Value, default: &str) -> ChatMessage {
    if let Some(said) = item.as_str() {
        return ChatMessage { role: default.to_owned(), parts: content_blocks(&Value::from(said)) };
    }
    let role = text_member(item, "role").unwrap_or_else(|| match text_member(item, "type") {
        Some("reasoning") => "assistant",
        Some(kind) if kind.ends_with("_call") => "assistant",
        Some(kind) if kind.ends_with("_call_output") => "tool",
        _ => default,
    });
    let mut said = Vec::new();
    for name in ["reasoning_content", "reasoning", "thinking"] {
        let thought = text_blocks(item.get(name)).into_iter();
        said.extend(thought.map(|part| MessageBlock { kind: BlockKind::Reasoning, ..part }));
        if !said.is_empty() {
            break;
        }
    }
    let content = ["content", "parts", "message"].iter().find_map(|name| item.get(*name));
    match content {
        Some(content) if matches!(role, "tool" | "function") => {
            let of = text_member(item, "tool_call_id").or_else(|| text_member(item, "name"));
            let result = |part: MessageBlock| match part.kind {
                BlockKind::Text => MessageBlock {
                    kind: BlockKind::ToolResult,
                    name: of.map(str::to_owned),
                    ..part
                },
                _ => part,
            };
            said.extend(content_blocks(content).into_iter().map(result));
        }
        Some(content) => said.extend(content_blocks(content)),
        None if item.get("tool_calls").is_none() => said.extend(content_blocks(item)),
        None => {}
    }
    said.extend(text_blocks(item.get("refusal")));
    said.extend(item.get("images").map(image_blocks).unwrap_or_default());
    said.extend(tool_call_blocks(item));
    ChatMessage { role: role.to_owned(), parts: said }
}

/// Reads the tool calls next to a message's content.
fn tool_call_blocks(item: &Value) -> Vec<MessageBlock> {
    let listed = item.get("tool_calls").and_then(Value::as_array);
    let old = item.get("function_call").filter(|call| call.is_object());
    listed.into_iter().flatten().chain(old).map(of_call).collect()
}

/// Reads separate images in base64, as Ollama accepts them.
fn image_blocks(said: &Value) -> Vec<MessageBlock> {
    let images = said.as_array().into_iter().flatten().filter_map(Value::as_str);
    images
        .map(|data| {
            MessageBlock::new(
                BlockKind::Image,
                format!("image, {} characters of base64", data.len()),
            )
        })
        .collect()
}

/// Returns the parts of a text, if the value is a text.
fn text_blocks(said: Option<&Value>) -> Vec<MessageBlock> {
    said.filter(|said| said.is_string()).map(content_blocks).unwrap_or_default()
}

fn push(messages: &mut Vec<ChatMessage>, role: &str, parts: Vec<MessageBlock>) {
    if !parts.is_empty() {
        messages.push(ChatMessage { role: role.to_owned(), parts });
    }
}

/// Returns messages as JSON. Their text is limited like that of a body. Messages beyond the limit
/// are only counted.
pub(super) fn to_json(messages: &[ChatMessage]) -> Value {
    let messages: Vec<&ChatMessage> = messages.iter().collect();
    messages_by_index(&messages, (0..messages.len()).collect()).into_values().collect()
}

/// Returns the messages of a request as JSON, each with whether it is as it was in an earlier one.
/// Within the limit, new messages come first.
pub(super) fn asked_to_json(
    messages: &[AskedMessage],
    carried: Option<&CarriedParts>,
) -> Option<Value> {
    let is_carried = |asked: &AskedMessage| {
        let Some(carried) = carried else { return false };
        let elements = carried.carried_elements(asked.member);
        match asked.element {
            Some(at) => elements.is_some_and(|elements| elements.get(at) == Some(&true)),
            None => {
                let all = elements.is_some_and(|elements| !elements.contains(&false));
                all || carried.has_member(asked.member)
            }
        }
    };
    let as_before: Vec<bool> = messages.iter().map(is_carried).collect();
    let mut order: Vec<usize> = (0..messages.len()).collect();
    order.sort_by_key(|&at| as_before[at]);
    let all: Vec<&ChatMessage> = messages.iter().map(|asked| &asked.message).collect();
    let listed = messages_by_index(&all, order).into_iter().map(|(at, mut message)| {
        message["as_before"] = as_before[at].into();
        message
    });
    (!messages.is_empty()).then(|| listed.collect())
}

/// Returns messages as JSON by their index. Their text counts towards the limit in the given
/// `order`. A note stands for those beyond the limit, at the index of the first of them.
fn messages_by_index(messages: &[&ChatMessage], order: Vec<usize>) -> BTreeMap<usize, Value> {
    let (mut budget, mut told) = (MOST, BTreeMap::new());
    for at in order {
        if budget == 0 {
            break;
        }
        let mut parts = Vec::new();
        for part in &messages[at].parts {
            if budget == 0 {
                break;
            }
            parts.push(part.to_json(&mut budget));
        }
        // Thousands of empty messages need space too.
        budget = budget.saturating_sub(AROUND);
        let role = cut_to_length(&messages[at].role, ROLE);
        told.insert(at, json!({ "role": role, "parts": parts }));
    }
    let left = messages.len() - told.len();
    if let Some(first) = (0..messages.len()).find(|at| !told.contains_key(at)) {
        let rest = format!("({left} more messages: see the body)");
        let part = MessageBlock::new(BlockKind::Other, rest).to_json(&mut MOST.clone());
        told.insert(first, json!({ "role": "", "parts": [part] }));
    }
    told
}

#[cfg(test)]
#[path = "talk_tests.rs"]
mod tests;
