//! Differences between the messages that both sides of two exchanges sent after the head, by their
//! places: messages are an order, so the second of one is compared with the second of the other.

use serde_json::Value;

use super::{CallDifference, CallHalf, ComparedSide, value};
use loomrec_recording::{MessagePayload, MessageSender, RecordedMessage};

/// Adds the differences between the messages. Their times do not count, and are not shown.
pub(super) fn add_differences(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    found: &mut Vec<CallDifference>,
) {
    let (old, new) = (&a.entry.messages, &b.entry.messages);
    for at in 0..old.len().max(new.len()) {
        let (old, new) = (old.get(at), new.get(at));
        let half = match old.or(new).map(|message| message.sender) {
            Some(MessageSender::Client) => CallHalf::Request,
            _ => CallHalf::Answer,
        };
        let place = format!("messages/{at}");
        match (old.map(shown_message), new.map(shown_message)) {
            (Some(old), Some(new)) if old.0 == new.0 => {
                value::add_differences(half, &place, Some(&old.1), Some(&new.1), found);
            }
            (old, new) => {
                let whole =
                    |(kind, content): (String, Value)| Value::from(vec![kind.into(), content]);
                found.push(value::whole_difference(half, &place, old.map(whole), new.map(whole)));
            }
        }
    }
}

/// Returns what a message is, and what it holds.
fn shown_message(message: &RecordedMessage) -> (String, Value) {
    let content = match &message.payload {
        MessagePayload::Text(text) => serde_json::from_slice(text)
            .unwrap_or_else(|_| String::from_utf8_lossy(text).into_owned().into()),
        MessagePayload::Binary(bytes) => loomrec_identity::sha256_text(bytes).into(),
        MessagePayload::Close { code, reason } => serde_json::json!([code, reason]),
    };
    let kind = format!("{} {}", message.sender.as_str(), message.payload.kind());
    match &message.audio {
        Some(note) => (kind, serde_json::json!({ "message": content, "audio": note.to_json() })),
        None => (kind, content),
    }
}
