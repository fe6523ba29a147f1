//! Parts of messages: text, tool calls and their results, reasoning, images. They are recognised by
//! the shapes of all providers.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::text;

/// The most bytes of a name.
const NAME: usize = 300;

/// The kind of a message's part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlockKind {
    Text,
    ToolCall,
    ToolResult,
    Reasoning,
    Image,
    Other,
}

impl BlockKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::ToolCall => "tool_call",
            Self::ToolResult => "tool_result",
            Self::Reasoning => "reasoning",
            Self::Image => "image",
            Self::Other => "other",
        }
    }
}

/// One part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MessageBlock {
    pub(super) kind: BlockKind,
    pub(super) text: String,
    /// The tool's name, or the id of the call that a result belongs to.
    pub(super) name: Option<String>,
}

impl MessageBlock {
    pub(super) fn new(kind: BlockKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into(), name: None }
    }

    fn with_name(kind: BlockKind, text: String, name: Option<&str>) -> Self {
        Self { kind, text, name: name.map(str::to_owned) }
    }

    /// Returns a tool call. Its arguments are a value, or a text that may contain one.
    pub(super) fn tool_call(name: Option<&str>, arguments: Option<&Value>) -> Self {
        let text = match arguments {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(raw)) => match serde_json::from_str::<Value>(raw) {
                Ok(value) => text::lay_out_json(&value),
                Err(_) => raw.clone(),
            },
            Some(value) => text::lay_out_json(value),
        };
        Self::with_name(BlockKind::ToolCall, text, name)
    }

    pub(super) fn to_json(&self, budget: &mut usize) -> Value {
        let text = text::cut_to_length(&self.text, *budget);
        *budget = budget.saturating_sub(text.len() + text::AROUND);
        let name = self.name.as_deref().map(|name| text::cut_to_length(name, NAME));
        json!({ "kind": self.kind.as_str(), "text": text, "name": name })
    }
}

/// Returns the parts of a message's content: a text, a block, or a list of these.
pub(super) fn content_blocks(content: &Value) -> Vec<MessageBlock> {
    match content {
        Value::Null => Vec::new(),
        Value::Array(blocks) => blocks.iter().flat_map(content_blocks).collect(),
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![MessageBlock::new(BlockKind::Text, text.as_str())],
        block => of_block(block),
    }
}

/// Returns a member that is a text.
pub(super) fn text_member<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name)?.as_str()
}

/// Returns the first of these members that exists.
fn first_member<'a>(value: &'a Value, names: &[&str]) -> Option<&'a Value> {
    names.iter().find_map(|name| value.get(*name))
}

fn of_block(block: &Value) -> Vec<MessageBlock> {
    let name = text_member(block, "name");
    let part = match text_member(block, "type").unwrap_or_default() {
        "text" | "input_text" | "output_text" | "summary_text" | "refusal" => {
            let said = first_member(block, &["text", "refusal"]).and_then(Value::as_str);
            MessageBlock::new(BlockKind::Text, said.unwrap_or_default())
        }
        "thinking" => MessageBlock::new(
            BlockKind::Reasoning,
            flatten_text(first_member(block, &["thinking", "text"])),
        ),
        "redacted_thinking" => MessageBlock::new(BlockKind::Reasoning, "(encrypted)"),
        "reasoning" | "reasoning_text" => return vec![read_reasoning(block)],
        "tool_use" | "server_tool_use" | "mcp_tool_use" | "function_call" | "custom_tool_call"
        | "mcp_call" => MessageBlock::tool_call(name, first_member(block, &["input", "arguments"])),
        "function" => return vec![of_call(block)],
        kind if kind.ends_with("tool_result") || kind.ends_with("_call_output") => {
            let said = flatten_text(first_member(block, &["content", "output"]));
            let of = first_member(block, &["tool_use_id", "call_id"]).and_then(Value::as_str);
            MessageBlock::with_name(BlockKind::ToolResult, said, of)
        }
        "image" | "image_url" | "input_image" => {
            MessageBlock::new(BlockKind::Image, describe_image(block))
        }
        "message" => return content_blocks(block.get("content").unwrap_or(&Value::Null)),
        "" => return read_untyped(block),
        _ => MessageBlock::new(BlockKind::Other, describe_unknown(block)),
    };
    vec![part]
}

/// Reads a block without a type, as in Gemini and in Bedrock's Converse.
fn read_untyped(block: &Value) -> Vec<MessageBlock> {
    let inside = |names: &[&str]| first_member(block, names);
    if let Some(text) = text_member(block, "text") {
        let thought = block.get("thought") == Some(&Value::Bool(true));
        return vec![MessageBlock::new(
            if thought { BlockKind::Reasoning } else { BlockKind::Text },
            text,
        )];
    }
    let part = if let Some(call) = inside(&["functionCall", "function_call", "toolUse"]) {
        MessageBlock::tool_call(text_member(call, "name"), first_member(call, &["args", "input"]))
    } else if let Some(result) = inside(&["functionResponse", "function_response", "toolResult"]) {
        let said = flatten_text(first_member(result, &["response", "content"]));
        let of = first_member(result, &["name", "toolUseId"]).and_then(Value::as_str);
        MessageBlock::with_name(BlockKind::ToolResult, said, of)
    } else if let Some(reasoning) = block.get("reasoningContent") {
        let said = reasoning.pointer("/reasoningText/text").and_then(Value::as_str);
        MessageBlock::new(BlockKind::Reasoning, said.unwrap_or("(encrypted)"))
    } else if inside(&["inlineData", "inline_data", "image"]).is_some() {
        MessageBlock::new(BlockKind::Image, describe_image(block))
    } else if let Some(inner) = inside(&["parts", "content"]) {
        return content_blocks(inner);
    } else {
        MessageBlock::new(BlockKind::Other, describe_unknown(block))
    };
    vec![part]
}

/// Reads a reasoning item: its summary, or the text itself.
fn read_reasoning(block: &Value) -> MessageBlock {
    let said: Vec<String> = ["summary", "content", "text"]
        .iter()
        .filter_map(|name| block.get(*name))
        .map(|value| flatten_text(Some(value)))
        .filter(|text| !text.is_empty())
        .collect();
    let said = if said.is_empty() { "(not recorded)".to_owned() } else { said.join("\n\n") };
    MessageBlock::new(BlockKind::Reasoning, said)
}

/// Reads a tool call as in messages of OpenAI and Ollama.
pub(super) fn of_call(call: &Value) -> MessageBlock {
    let function = first_member(call, &["function", "custom"]).unwrap_or(call);
    MessageBlock::tool_call(
        text_member(function, "name"),
        first_member(function, &["arguments", "input", "parameters"]),
    )
}

/// Returns the text of a content: its texts joined by line feeds, or its JSON.
fn flatten_text(content: Option<&Value>) -> String {
    match content {
        None | Some(Value::Null) => String::new(),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(blocks)) => {
            let texts: Vec<Cow<'_, str>> = blocks.iter().map(text_of).collect();
            texts.join("\n")
        }
        Some(value) => text::lay_out_json(value),
    }
}

fn text_of(block: &Value) -> Cow<'_, str> {
    match block.as_str().or_else(|| text_member(block, "text")) {
        Some(text) => Cow::Borrowed(text),
        None if is_image(block) => Cow::Owned(describe_image(block)),
        None => Cow::Owned(text::lay_out_json(block.get("json").unwrap_or(block))),
    }
}

fn is_image(block: &Value) -> bool {
    text_member(block, "type").is_some_and(|kind| kind.contains("image"))
        || block.get("image").is_some()
}

/// Describes an image without its data.
fn describe_image(block: &Value) -> String {
    let source =
        first_member(block, &["source", "image_url", "inlineData", "inline_data", "image"]);
    let source = source.unwrap_or(block);
    let at = |names: &[&str]| first_member(source, names).and_then(Value::as_str);
    let media = at(&["media_type", "mimeType", "mime_type", "format"]).unwrap_or("image");
    match source.as_str().or_else(|| at(&["url"])) {
        Some(url) if !url.starts_with("data:") => text::cut_to_length(url, 500),
        Some(data) => {
            let media = data["data:".len()..].split([';', ',']).next().unwrap_or_default();
            format!("{}, {} characters of base64", text::cut_to_length(media, 100), data.len())
        }
        None => match at(&["data"]).or_else(|| source.pointer("/source/bytes")?.as_str()) {
            Some(data) => format!("{media}, {} characters of base64", data.len()),
            None => media.to_owned(),
        },
    }
}

/// Describes an unknown block. Long texts are cut.
fn describe_unknown(block: &Value) -> String {
    text::cut_to_length(&text::lay_out_json(block), 4000)
}
