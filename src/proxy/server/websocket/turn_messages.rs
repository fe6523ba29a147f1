//! The messages of OpenAI's Responses API over a WebSocket: those of clients as they are read, and
//! those for clients as they are written.

use bytes::Bytes;
use serde_json::{Value, json};

use loomrec_provider::Framing;
use loomrec_provider::framing::events;
use loomrec_recording::raw_members::RawMembers;

/// The name of the lane of a message.
const LANE: &str = "stream_id";

/// A message of a client.
pub(super) enum ClientMessage {
    /// A turn.
    Turn(ClientTurn),
    /// A message of another type.
    Other {
        /// Its type.
        kind: String,
        /// The name of its lane; empty without one.
        lane: String,
    },
    /// No JSON object.
    Unreadable,
}

/// A turn that its client has sent.
pub(super) struct ClientTurn {
    /// The name of its lane; empty without one.
    pub(super) lane: String,
    /// The message of the client, unchanged.
    pub(super) event: Bytes,
    /// The body of the call over HTTP.
    pub(super) body: Bytes,
}

impl ClientMessage {
    /// Reads a message.
    pub(super) fn from_text(event: Bytes) -> Self {
        let Some(mut body) = RawMembers::parse(&event) else { return Self::Unreadable };
        let lane = body.find_text(LANE).unwrap_or_default();
        let kind = body.find_text("type").unwrap_or_default();
        if kind != "response.create" {
            return Self::Other { kind, lane };
        }
        for name in ["type", "event_id", LANE] {
            body.remove_member(name);
        }
        body.set_member("stream", "true");
        let body = body.to_line().into();
        Self::Turn(ClientTurn { lane, event, body })
    }
}

/// Returns the messages for the events that have arrived in full, and how many bytes these took.
pub(super) fn finished_events(bytes: &[u8], lane: &str) -> (Vec<Bytes>, usize) {
    let (mut texts, mut consumed) = (Vec::new(), 0);
    for event in events(Framing::Sse, bytes) {
        if !event.finished {
            break;
        }
        consumed = event.range.end;
        let Some(data) = event.data.as_deref().filter(|_| !event.is_done()) else { continue };
        texts.push(in_lane(data, lane));
    }
    (texts, consumed)
}

/// Returns an event as a message of this lane.
fn in_lane(data: &[u8], lane: &str) -> Bytes {
    match RawMembers::parse(data).filter(|_| !lane.is_empty()) {
        Some(mut event) => {
            event.set_member(LANE, Value::from(lane).to_string());
            event.to_line().into()
        }
        None => Bytes::copy_from_slice(data),
    }
}

/// Returns the event for an error of loomrec's own, of this kind.
pub(super) fn refusal_event(status: u16, kind: &str, message: &str, lane: &str) -> Bytes {
    let error = json!({ "type": kind, "code": null, "message": message });
    event_of_error(status, &error.to_string(), lane)
}

/// Returns the event for an answer that is no stream.
pub(super) fn error_event(status: u16, body: &[u8], lane: &str) -> Bytes {
    let members = RawMembers::parse(body);
    match members.as_ref().and_then(|members| members.find_value("error")) {
        Some(error) => event_of_error(status, error, lane),
        None => {
            let error = json!({ "message": String::from_utf8_lossy(body) });
            event_of_error(status, &error.to_string(), lane)
        }
    }
}

/// Returns the event for an error in JSON.
fn event_of_error(status: u16, error: &str, lane: &str) -> Bytes {
    let mut event = RawMembers::default();
    event.set_member("type", "\"error\"");
    event.set_member("status", status.to_string());
    event.set_member("error", error);
    if !lane.is_empty() {
        event.set_member(LANE, Value::from(lane).to_string());
    }
    event.to_line().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> ClientMessage {
        ClientMessage::from_text(Bytes::copy_from_slice(text.as_bytes()))
    }

    #[test]
    fn turn_is_read_however_its_values_look() {
        let deep = format!("{}{}", "[".repeat(130), "]".repeat(130));
        for input in [r#""cut \ud83d""#, &deep, "1.50"] {
            let text = format!(
                r#"{{"event_id":"e","type":"response.create","input":{input},"stream_id":"a"}}"#
            );
            let ClientMessage::Turn(turn) = read(&text) else { panic!("{text}") };
            assert_eq!((&*turn.lane, &turn.event[..]), ("a", text.as_bytes()));
            assert_eq!(turn.body, format!(r#"{{"input":{input},"stream":true}}"#));
        }
    }

    #[test]
    fn messages_of_other_types_are_no_turns() {
        let other = read(r#"{"type":"response.steer","stream_id":"b"}"#);
        assert!(
            matches!(other, ClientMessage::Other { kind, lane } if kind == "response.steer" && lane == "b")
        );
        assert!(matches!(read("{}"), ClientMessage::Other { .. }));
        assert!(matches!(read("[]"), ClientMessage::Unreadable));
        assert!(matches!(
            read("{\"type\":\"response.create\",\"a\":NaN}"),
            ClientMessage::Unreadable
        ));
    }

    #[test]
    fn events_with_half_a_character_get_the_name_of_their_lane() {
        let delta = r#"{"delta":"hi \ud83d"}"#;
        let stream = format!("event: a\ndata: {delta}\n\n");
        let (events, taken) = finished_events(stream.as_bytes(), "a");
        assert_eq!(
            (events, taken),
            (vec![r#"{"delta":"hi \ud83d","stream_id":"a"}"#.into()], stream.len())
        );
        assert_eq!(finished_events(stream.as_bytes(), "").0, [delta]);
        let error = error_event(400, br#"{"error":{"message":"no \ud83d"}}"#, "a");
        let expected =
            r#"{"type":"error","status":400,"error":{"message":"no \ud83d"},"stream_id":"a"}"#;
        assert_eq!(error, expected);
        assert_eq!(
            error_event(502, b"no", ""),
            r#"{"type":"error","status":502,"error":{"message":"no"}}"#
        );
    }
}
