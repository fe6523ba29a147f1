//! The conversation in a request for OpenAI's chat.

use crate::conversation::{Conversation, list, word};
use crate::operation::ObjectView;

/// Reads the messages unchanged.
pub(super) fn read(body: &ObjectView) -> Conversation {
    let mut conversation = Conversation::default();
    let out = &mut conversation;
    let messages = list(body.get("messages")).iter().map(|message| {
        let mut message = message.clone();
        // The newer name of the same role.
        if word(&message, "role") == "developer" {
            message["role"] = "system".into();
        }
        message
    });
    out.messages.extend(messages);
    out.tools.extend(list(body.get("tools")).iter().cloned());
    if body.contains_key("functions") {
        out.note_unsupported("functions, which tools came in the place of");
    }
    conversation
}
