//! The messages that both sides sent after the head, for display.

use serde_json::{Value, json};

use super::text::BodyText;
use loomrec_recording::{MessagePayload, RecordedMessage};

/// The most messages that are shown.
const MOST: usize = 2000;

/// Returns the messages as JSON, or `None` for an empty list.
pub(super) fn to_json(messages: &[RecordedMessage]) -> Option<Value> {
    let shown = messages.iter().take(MOST).map(of);
    let more = messages.len().saturating_sub(MOST);
    (!messages.is_empty()).then(|| json!({ "shown": shown.collect::<Value>(), "more": more }))
}

fn of(message: &RecordedMessage) -> Value {
    let BodyText { text, cut } = match &message.payload {
        MessagePayload::Binary(bytes) => {
            BodyText { text: format!("({} bytes)", bytes.len()), cut: false }
        }
        payload => BodyText::of(payload.bytes()),
    };
    let code = match &message.payload {
        MessagePayload::Close { code, .. } => Some(*code),
        _ => None,
    };
    json!({
        "from": message.sender.as_str(),
        "ms": message.at_ms,
        "kind": message.payload.kind(),
        "text": text,
        "cut": cut,
        "bytes": message.payload.bytes().len(),
        "close": code,
    })
}
