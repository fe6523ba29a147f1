//! The messages that both sides sent after the head, for display.

use serde_json::{Value, json};

use super::request::READ;
use super::stream::round_millis;
use super::text::{BodyText, MOST, start};
use loomrec_provider::{MessageAudio, SocketAudio};
use loomrec_recording::{Entry, MessagePayload, MessageSender, RecordedMessage};

/// The most messages that are shown.
const LISTED: usize = 2000;
/// The most bytes of one message's text.
const SHOWN: usize = 64 << 10;

/// Returns the messages of an entry as JSON, or `None` if it has none. The texts have at most 1 MiB in
/// all.
pub(super) fn to_json(entry: &Entry) -> Option<Value> {
    let messages = &entry.messages;
    if messages.is_empty() {
        return None;
    }
    let mut audio = entry.socket_audio().unwrap_or_else(|| SocketAudio::of_handshake("", ""));
    let mut budget = MOST;
    let shown =
        messages.iter().take(LISTED).map(|message| message_json(message, &mut audio, &mut budget));
    let shown: Value = shown.collect();
    Some(json!({ "shown": shown, "more": messages.len().saturating_sub(LISTED) }))
}

fn message_json(message: &RecordedMessage, audio: &mut SocketAudio, budget: &mut usize) -> Value {
    let (BodyText { mut text, cut }, heard) = text_of(message, audio);
    let kept = start(&text, SHOWN.min(*budget)).len();
    let cut = cut || kept < text.len();
    text.truncate(kept);
    *budget -= kept;
    let code = match &message.payload {
        MessagePayload::Close { code, .. } => Some(*code),
        _ => None,
    };
    let heard = heard
        .map(|heard| json!({ "bytes": heard.bytes, "seconds": heard.seconds.map(round_millis) }));
    json!({
        "from": message.sender.as_str(),
        "ms": message.at_ms,
        "kind": message.payload.kind(),
        "text": text,
        "cut": cut,
        "bytes": message.payload.as_bytes().len(),
        "audio": heard,
        "close": code,
    })
}

/// Returns the text of a message, with a note in the place of audio, and the audio.
fn text_of(message: &RecordedMessage, audio: &mut SocketAudio) -> (BodyText, Option<MessageAudio>) {
    let bytes = message.payload.as_bytes();
    if let Some(note) = &message.audio {
        let envelope = serde_json::from_slice(bytes).unwrap_or_default();
        let length = usize::try_from(note.bytes).unwrap_or(usize::MAX);
        let heard = audio.of_length(length, &envelope);
        return (BodyText { text: heard.to_string(), cut: false }, Some(heard));
    }
    let is_client = message.sender == MessageSender::Client;
    let is_binary = matches!(message.payload, MessagePayload::Binary(_));
    // A binary message may hold JSON, too.
    let read = || serde_json::from_slice::<Value>(bytes).ok().filter(Value::is_object);
    let value = if bytes.len() <= READ { read() } else { None };
    match value {
        Some(mut value) => match audio.take_audio(&mut value, is_client) {
            Some(heard) => (BodyText::from_bytes(value.to_string().as_bytes()), Some(heard)),
            None => (BodyText::from_bytes(bytes), None),
        },
        None if is_binary => {
            let heard = audio.of_bytes(bytes.len(), is_client);
            let text = heard.map_or(format!("({} bytes)", bytes.len()), |heard| heard.to_string());
            (BodyText { text, cut: false }, heard)
        }
        None => (BodyText::from_bytes(bytes), None),
    }
}
