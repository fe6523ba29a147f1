//! OpenAI's chat, and the dialects that are near it: Ollama's and Cohere's.

use serde_json::{Map, Value};

use super::{Conversation, call, list, word};

/// The messages as they are.
pub(super) fn read(body: &Map<String, Value>, out: &mut Conversation) {
    let messages = list(body.get("messages")).iter().map(|message| {
        let mut message = message.clone();
        // The newer name of the same.
        if word(&message, "role") == "developer" {
            message["role"] = "system".into();
        }
        message
    });
    out.messages.extend(messages);
    out.tools.extend(list(body.get("tools")).iter().cloned());
    if body.contains_key("functions") {
        out.odd("functions, which tools came in the place of");
    }
}

/// Messages with arguments that are objects, and what else is said in other words.
pub(super) fn read_native(body: &Map<String, Value>, out: &mut Conversation) {
    for message in list(body.get("messages")) {
        let role = word(message, "role");
        let content = message.get("content").cloned().unwrap_or_default();
        for odd in ["images", "thinking", "tool_plan", "citations"] {
            if message.get(odd).is_some_and(|value| !value.is_null()) {
                out.odd(format!("a message's {odd}"));
            }
        }
        match role {
            "assistant" => {
                let calls: Vec<_> = list(message.get("tool_calls")).iter().map(call).collect();
                let text = super::text(message).unwrap_or_default();
                out.push_said(&text, &calls);
            }
            "tool" => {
                let text = super::text(message).unwrap_or_else(|| content.to_string());
                out.push_result(word(message, "tool_call_id"), &text);
            }
            _ => out.push(role, content),
        }
    }
    out.tools.extend(list(body.get("tools")).iter().cloned());
}
