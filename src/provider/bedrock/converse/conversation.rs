//! The conversation in a request for Bedrock's Converse: the only member of a block is its kind.

use serde_json::Value;

use crate::conversation::{Conversation, list_or_empty, text_part, tool_call, word_or_empty};
use crate::operation::ObjectView;

pub(super) fn read_messages(body: &ObjectView) -> Conversation {
    let mut conversation = Conversation::default();
    let out = &mut conversation;
    let system = list_or_empty(body.get("system")).iter();
    let system = system.filter_map(|block| read_part(block, out)).collect();
    out.push_parts("system", system);
    for message in list_or_empty(body.get("messages")) {
        let blocks = list_or_empty(message.get("content"));
        if word_or_empty(message, "role") == "assistant" {
            push_model_message(blocks, out);
            continue;
        }
        let (results, others): (Vec<&Value>, Vec<&Value>) =
            blocks.iter().partition(|block| block.get("toolResult").is_some());
        for result in results.into_iter().filter_map(|block| block.get("toolResult")) {
            if word_or_empty(result, "status") == "error" {
                out.note_unsupported("the failure of a tool");
            }
            let texts =
                list_or_empty(result.get("content")).iter().map(|block| match block.get("json") {
                    Some(json) => json.to_string(),
                    None => word_or_empty(block, "text").to_owned(),
                });
            let text: String = texts.collect();
            out.push_result(word_or_empty(result, "toolUseId"), &text);
        }
        let parts = others.into_iter().filter_map(|block| read_part(block, out)).collect();
        out.push_parts("user", parts);
    }
    let tools = body.get("toolConfig").and_then(|config| config.get("tools"));
    for spec in list_or_empty(tools).iter().filter_map(|tool| tool.get("toolSpec")) {
        let name = spec.get("name").cloned().unwrap_or_default();
        let schema = spec.get("inputSchema").and_then(|schema| schema.get("json"));
        out.push_tool(&name, spec.get("description"), schema);
    }
    conversation
}

fn push_model_message(blocks: &[Value], out: &mut Conversation) {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for block in blocks {
        if let Some(used) = block.get("toolUse") {
            let (id, name) = (
                word_or_empty(used, "toolUseId").to_owned(),
                word_or_empty(used, "name").to_owned(),
            );
            calls.push(tool_call(id, name, used.get("input")));
        } else if block.get("text").is_some() {
            text.push_str(word_or_empty(block, "text"));
        } else {
            out.note_unsupported("a block that is neither text nor a call");
        }
    }
    out.push_assistant(&text, &calls);
}

fn read_part(block: &Value, out: &mut Conversation) -> Option<Value> {
    if block.get("text").is_some() {
        return Some(text_part(word_or_empty(block, "text")));
    }
    if block.get("cachePoint").is_none() {
        out.note_unsupported("a block that is not text");
    }
    None
}
