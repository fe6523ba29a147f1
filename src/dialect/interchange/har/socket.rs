//! The messages of a WebSocket, in the form of Chrome's exports: `_webSocketMessages`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::super::exchange::{ForeignRequest, ForeignResponse};
use super::super::lenient::{LenientString, decode_base64};
use super::own::OwnMember;
use loomrec_identity::subprotocol::SUBPROTOCOLS;
use loomrec_recording::{
    AudioNote, Entry, MessagePayload, MessageSender, RecordedMessage, timestamp,
};

/// The member's name.
const NAME: &str = "_webSocketMessages";
/// Our own member of a message: the note in place of its audio.
const AUDIO: &str = "_audio";
/// The value of `_resourceType`.
pub(super) const RESOURCE_TYPE: &str = "websocket";
/// The status of an accepted handshake.
pub(super) const ACCEPTED: u16 = 101;
/// Listed as lost if a file does not say how a connection ended.
pub(super) const UNKNOWN_END: &str = "how WebSockets ended";

/// The opcodes of RFC 6455.
const TEXT: i64 = 1;
const BINARY: i64 = 2;
const CLOSE: i64 = 8;
const PING: i64 = 9;
const PONG: i64 = 10;

/// The headers of an accepted handshake that belong to one connection.
const OF_CONNECTION: [&str; 2] = ["sec-websocket-accept", "sec-websocket-extensions"];

/// A message as a file holds it.
#[derive(Deserialize)]
struct HarSocketMessage {
    #[serde(rename = "type")]
    sender: String,
    /// In seconds since 1970.
    time: Option<f64>,
    opcode: i64,
    #[serde(default)]
    data: LenientString,
    #[serde(rename = "_audio")]
    audio: Option<Value>,
}

/// Returns the members that an entry has only as a WebSocket, which began at this time.
pub(super) fn entry_members(entry: &Entry, began: &str) -> Map<String, Value> {
    let mut out = Map::new();
    if !entry.messages.is_empty() {
        out.insert("_resourceType".to_owned(), RESOURCE_TYPE.into());
        let began = timestamp::parse_micros(began).unwrap_or_default();
        out.insert(NAME.to_owned(), write(&entry.messages, began));
    }
    out
}

/// Returns messages for a connection that began at this time, in microseconds since 1970. A close
/// is no message there.
fn write(messages: &[RecordedMessage], began: i64) -> Value {
    let written = messages.iter().filter_map(|message| {
        let (opcode, data) = match &message.payload {
            MessagePayload::Text(text) => (TEXT, String::from_utf8_lossy(text).into_owned()),
            MessagePayload::Binary(bytes) => (BINARY, STANDARD.encode(bytes)),
            MessagePayload::Close { .. } => return None,
        };
        let sender = match message.sender {
            MessageSender::Client => "send",
            MessageSender::Server => "receive",
        };
        let time = (began as f64 + (message.at_ms * 1000.0).round()) / 1e6;
        let mut out = json!({ "type": sender, "time": time, "opcode": opcode, "data": data });
        if let Some(note) = &message.audio {
            out[AUDIO] = note.to_json();
        }
        Some(out)
    });
    written.collect()
}

/// Returns the messages of a connection that began at this time, if it is known.
///
/// # Errors
/// Why the file does not hold them. The reason reads after `it is a WebSocket, and`.
pub(super) fn read_messages(
    raw: Option<&RawValue>,
    began: Option<&str>,
    held: Option<&OwnMember>,
) -> Result<Vec<RecordedMessage>, String> {
    let began = began.and_then(timestamp::normalize_time);
    let none = "the file does not hold its messages";
    let mut messages = read(raw.ok_or(none)?, began.as_deref().and_then(timestamp::parse_micros))?;
    messages.extend(held.and_then(|held| held.close.clone()));
    if messages.is_empty() { Err(none.to_owned()) } else { Ok(messages) }
}

fn read(raw: &RawValue, began: Option<i64>) -> Result<Vec<RecordedMessage>, String> {
    let held: Vec<HarSocketMessage> = serde_json::from_str(raw.get())
        .map_err(|_| "its messages are not those of a HAR file: type, time, opcode, data")?;
    let first = held.iter().find_map(|message| message.time);
    let began = began.map(|micros| micros as f64).or(first.map(|time| time * 1e6));
    let mut messages = Vec::with_capacity(held.len());
    let mut at_ms = 0.0;
    for (index, message) in held.into_iter().enumerate() {
        if let (Some(time), Some(began)) = (message.time, began) {
            at_ms = ((time * 1e6).round() - began) / 1000.0;
        }
        let place = index + 1;
        let sender = match message.sender.as_str() {
            "send" => MessageSender::Client,
            "receive" => MessageSender::Server,
            // Chrome reports that a connection failed.
            "error" => continue,
            _ => return Err(format!("nobody sent its message {place}")),
        };
        let LenientString(data) = message.data;
        let payload = match message.opcode {
            TEXT if std::str::from_utf8(&data).is_ok() => MessagePayload::Text(data.into()),
            BINARY => {
                let bytes = std::str::from_utf8(&data).ok().and_then(decode_base64);
                let bytes = bytes.ok_or_else(|| format!("its message {place} is no base64"))?;
                MessagePayload::Binary(Bytes::from(bytes))
            }
            CLOSE | PING | PONG => continue,
            _ => return Err(format!("its message {place} is neither a text nor binary")),
        };
        let note = message.audio.as_ref().filter(|_| sender == MessageSender::Client);
        let audio = note.map(AudioNote::parse).transpose();
        let audio = audio.map_err(|_| {
            format!("the `_audio` of its message {place} needs `bytes` and `sha256`")
        })?;
        messages.push(RecordedMessage { audio, ..RecordedMessage::new(sender, at_ms, payload) });
    }
    Ok(messages)
}

/// Returns the address of an entry whose request was sent to this one.
pub(super) fn entry_address(entry: &Entry, url: &str) -> String {
    match url.split_once("://").filter(|_| !entry.messages.is_empty()) {
        Some(("https", rest)) => format!("wss://{rest}"),
        Some(("http", rest)) => format!("ws://{rest}"),
        _ => url.to_owned(),
    }
}

/// Makes a handshake the one that a recorder sees: a request of HTTP with the upgrade, with the
/// subprotocols in one value, and without what belongs to one connection.
pub(super) fn settle_handshake(request: &mut ForeignRequest, response: &mut ForeignResponse) {
    request.url = match request.url.split_once("://") {
        Some(("wss", rest)) => format!("https://{rest}"),
        Some(("ws", rest)) => format!("http://{rest}"),
        _ => std::mem::take(&mut request.url),
    };
    let headers = &mut request.headers;
    let is = |name: &str, wanted: &str| name.eq_ignore_ascii_case(wanted);
    let offered = headers.iter().filter(|(name, _)| is(name, SUBPROTOCOLS));
    let offered: Vec<String> = offered.map(|(_, value)| value.clone()).collect();
    headers.retain(|(name, _)| !is(name, SUBPROTOCOLS) && !is(name, "upgrade"));
    headers.push(("upgrade".to_owned(), RESOURCE_TYPE.to_owned()));
    if !offered.is_empty() {
        headers.push((SUBPROTOCOLS.to_owned(), offered.join(", ")));
    }
    response.headers.retain(|(name, _)| !OF_CONNECTION.iter().any(|own| is(name, own)));
}

#[cfg(test)]
#[path = "socket_tests.rs"]
mod tests;
