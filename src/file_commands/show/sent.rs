//! What both sides of an exchange sent after the head, a line for each message.

use loomrec_cli::amount::format_milliseconds;
use loomrec_recording::{MessagePayload, RecordedMessage};

/// Returns a message on one line: its sender, its time, what it holds.
pub(super) fn message_line(message: &RecordedMessage) -> String {
    let content = match &message.payload {
        MessagePayload::Text(text) => String::from_utf8_lossy(text).into_owned(),
        MessagePayload::Binary(_) if message.audio.is_some() => "binary".to_owned(),
        MessagePayload::Binary(bytes) => format!("({} bytes)", bytes.len()),
        MessagePayload::Close { code, reason } => format!("close {code} {reason}"),
    };
    let audio = message.audio.as_ref();
    let audio = audio.map_or_else(String::new, |note| format!(" ({} bytes of audio)", note.bytes));
    let (sender, time) = (message.sender.as_str(), format_milliseconds(message.at_ms));
    format!("{sender} {time:>8}  {}{audio}", content.trim_end())
}
