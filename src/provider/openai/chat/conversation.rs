//! The conversation in a request for OpenAI's chat.

use crate::conversation::{Conversation, list_or_empty, word_or_empty};
use crate::operation::ObjectView;

/// Reads the messages unchanged.
pub(super) fn read_messages(body: &ObjectView) -> Conversation {
    let mut conversation = Conversation::default();
    let out = &mut conversation;
    let messages = list_or_empty(body.get("messages")).iter().map(|message| {
        let mut message = message.clone();
        // The newer name of the same role.
        if word_or_empty(&message, "role") == "developer" {
            message["role"] = "system".into();
        }
        message
    });
    out.messages.extend(messages);
    out.tools.extend(list_or_empty(body.get("tools")).iter().cloned());
    if body.contains_key("functions") {
        out.note_unsupported("functions, which tools came in the place of");
    }
    conversation
}
