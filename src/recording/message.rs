//! Messages: what both sides of an exchange send after its head, as over a WebSocket. An exchange
//! of one request and one answer has none.
//!
//! In the file, a message is `{"from": "client", "ms": 12.5, …}` with one of `body` (JSON, as the
//! body of a request is written), `text`, `base64` (a binary message), or `close`: a close code of
//! RFC 6455, with its `reason`. In place of a client's audio there may be a note, `audio`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde_json::{Map, Value};

use super::audio_note::AudioNote;
use super::body::{LONGEST_MS, decode_bytes, encode_bytes};
use super::entry_field::{entry_fields, milliseconds_json, round_milliseconds};
use loomrec_identity::typed_field::{FieldError, FieldReader};

/// The close code of a connection that ended with a close frame without a code.
pub const NO_CLOSE_CODE: u16 = 1005;
/// The close code of a connection that ended without a close frame.
pub const CUT_CLOSE_CODE: u16 = 1006;

/// One message of an exchange.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordedMessage {
    /// Who sent it.
    pub sender: MessageSender,
    /// Milliseconds from the request's arrival to the message's.
    pub at_ms: f64,
    /// What it holds.
    pub payload: MessagePayload,
    /// What is kept in place of the client's audio, which the payload then lacks.
    pub audio: Option<AudioNote>,
}

/// Who sent a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageSender {
    /// The program.
    Client,
    /// The upstream.
    Server,
}

/// What a message holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MessagePayload {
    /// Text, in UTF-8.
    Text(Bytes),
    /// Bytes of any kind.
    Binary(Bytes),
    /// The end of what its sender sends.
    Close {
        /// The close code of RFC 6455, [`NO_CLOSE_CODE`] and [`CUT_CLOSE_CODE`] among them.
        code: u16,
        /// The reason; often empty.
        reason: String,
    },
}

impl MessageSender {
    /// Returns its name in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Server => "server",
        }
    }
}

impl RecordedMessage {
    /// Returns a message at this time, rounded as the file holds it.
    pub fn new(sender: MessageSender, at_ms: f64, payload: MessagePayload) -> Self {
        let at_ms = round_milliseconds(at_ms.clamp(0.0, LONGEST_MS));
        Self { sender, at_ms, payload, audio: None }
    }

    /// Returns the message as it is in the file.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        out.insert("from".into(), self.sender.as_str().into());
        out.insert("ms".into(), milliseconds_json(self.at_ms));
        match &self.payload {
            MessagePayload::Text(text) if text.is_empty() => {
                out.insert("text".into(), "".into());
            }
            MessagePayload::Text(text) => encode_bytes(text, &mut out),
            MessagePayload::Binary(bytes) => {
                out.insert("base64".into(), STANDARD.encode(bytes).into());
            }
            MessagePayload::Close { code, reason } => {
                out.insert("close".into(), (*code).into());
                if !reason.is_empty() {
                    out.insert("reason".into(), reason.as_str().into());
                }
            }
        }
        if let Some(note) = &self.audio {
            out.insert("audio".into(), note.to_json());
        }
        Value::Object(out)
    }

    /// Reads the messages of an entry.
    pub(super) fn decode_list(fields: FieldReader<'_>) -> Result<Vec<Self>, FieldError> {
        let messages = fields.read_list("messages", "a list of messages")?.unwrap_or_default();
        let message = |(index, value): (usize, &Value)| {
            let place = format!("/messages/{index}");
            Self::from_fields(entry_fields(value, &place)?)
        };
        messages.iter().enumerate().map(message).collect()
    }

    fn from_fields(fields: FieldReader<'_>) -> Result<Self, FieldError> {
        let sender = match fields.read_text("from")?.as_deref() {
            Some("client") => MessageSender::Client,
            Some("server") => MessageSender::Server,
            _ => return Err(fields.wrong_value("from", "`client` or `server`")),
        };
        let expected = "milliseconds, from 0 to an hour";
        let at_ms = fields.read_number("ms", 0.0..=LONGEST_MS, expected)?;
        let at_ms = at_ms.ok_or_else(|| fields.wrong_value("ms", expected))?;
        let expected = "a close code from 1000 to 4999";
        let close = fields.read_integer("close", 1000..=4999, expected)?;
        let held = decode_bytes(fields)?;
        let payload = match (close.and_then(|code| u16::try_from(code).ok()), held) {
            (Some(code), None) => MessagePayload::Close {
                code,
                reason: fields.read_text("reason")?.unwrap_or_default(),
            },
            (None, Some(bytes)) if fields.value_or_null("base64").is_some() => {
                MessagePayload::Binary(bytes)
            }
            (None, Some(text)) => MessagePayload::Text(text),
            _ => {
                let expected = "the only one of `body`, `text`, `base64` and `close`";
                return Err(fields.wrong_value("close", expected));
            }
        };
        let audio = AudioNote::from_fields(fields)?;
        let is_of_client = sender == MessageSender::Client;
        if audio.is_some() && (!is_of_client || matches!(payload, MessagePayload::Close { .. })) {
            return Err(fields.wrong_value("audio", "in a text or binary message of the client"));
        }
        Ok(Self { sender, at_ms, payload, audio })
    }
}

impl MessagePayload {
    /// Returns the word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "text",
            Self::Binary(_) => "binary",
            Self::Close { .. } => "close",
        }
    }

    /// Returns the bytes of a text or binary message; the reason of a close.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Text(bytes) | Self::Binary(bytes) => bytes,
            Self::Close { reason, .. } => reason.as_bytes(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Entry;
    use serde_json::json;

    /// An exchange of two messages each way, then the close.
    pub(crate) fn conversation() -> Entry {
        let text = |text: &'static str| MessagePayload::Text(Bytes::from_static(text.as_bytes()));
        let messages = [
            (MessageSender::Client, 1.0, text(r#"{"type":"session.update"}"#)),
            (MessageSender::Server, 2.25, text(r#"{"type": "session.updated"}"#)),
            (MessageSender::Client, 3.0, MessagePayload::Binary(Bytes::from_static(b"\x00\xff"))),
            (MessageSender::Server, 4.0, text("plain words")),
            (
                MessageSender::Server,
                5.0,
                MessagePayload::Close { code: 1000, reason: "done".to_owned() },
            ),
        ];
        let messages =
            messages.map(|(sender, at_ms, payload)| RecordedMessage::new(sender, at_ms, payload));
        Entry { messages: messages.to_vec(), ..Entry::default() }
    }

    #[test]
    fn messages_come_back_from_the_file_and_from_the_log() {
        let entry = conversation();
        let value = entry.to_json();
        assert_eq!(value["messages"][1]["body"], json!({ "type": "session.updated" }));
        assert_eq!(value["messages"][2]["base64"], "AP8=");
        assert_eq!(
            value["messages"][4],
            json!({ "from": "server", "ms": 5.0, "close": 1000, "reason": "done" })
        );
        assert_eq!(Entry::parse(&value).unwrap(), entry);
        assert_eq!(Entry::from_text(&entry.to_text()).unwrap(), entry);
        let (name, _) = crate::EntryName::of_key("step");
        let packed = crate::log_codec::pack_entry(&name, false, &entry);
        assert_eq!(crate::log_codec::unpack_entry(&packed).unwrap().1, entry);
    }

    #[test]
    fn message_that_is_none_is_refused_with_its_place() {
        for (message, place) in [
            (json!({ "from": "nobody", "ms": 1, "text": "" }), "/messages/0/from"),
            (json!({ "from": "client", "text": "" }), "/messages/0/ms"),
            (json!({ "from": "client", "ms": 1 }), "/messages/0/close"),
            (json!({ "from": "client", "ms": 1, "text": "", "close": 1000 }), "/messages/0/close"),
            (json!({ "from": "client", "ms": 1, "close": 70000 }), "/messages/0/close"),
            (json!({ "from": "client", "ms": 1, "text": "", "base64": "" }), "/messages/0/base64"),
            (json!({ "from": "client", "ms": 9e9, "text": "" }), "/messages/0/ms"),
        ] {
            let error = Entry::parse(&json!({ "messages": [message] })).unwrap_err();
            assert_eq!(error.0.place, place, "{error}");
        }
    }
}
