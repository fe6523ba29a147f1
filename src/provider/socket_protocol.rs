//! The protocols that are spoken over WebSockets, as far as loomrec has to know them.

use serde_json::{Value, json};

/// The protocol of a WebSocket, by the path of its handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketProtocol {
    /// OpenAI's Realtime and Live APIs, of any upstream.
    Realtime,
    /// OpenAI's Responses API, of any upstream.
    Responses,
    /// Any other.
    Other,
}

/// The places of OpenAI's APIs at which a client numbers its own events.
const OWN_IDS: [&str; 1] = ["/event_id"];

impl SocketProtocol {
    /// Returns the protocol that is spoken at a path, without its query.
    pub fn of_path(path: &str) -> Self {
        let segments = || path.split('/').filter(|segment| !segment.is_empty());
        let last = segments().next_back().unwrap_or_default();
        let has_sessions = segments().any(|segment| segment == "live")
            && segments().any(|segment| segment == "sessions");
        match last {
            "responses" => Self::Responses,
            _ if has_sessions || segments().any(|segment| segment == "realtime") => Self::Realtime,
            _ => Self::Other,
        }
    }

    /// Returns the places of a client's message that hold an id that the client makes anew in each
    /// run, and that only names the message.
    pub fn own_ids(self) -> &'static [&'static str] {
        match self {
            Self::Realtime | Self::Responses => &OWN_IDS,
            Self::Other => &[],
        }
    }

    /// Whether clients name the items that they create.
    pub fn names_items(self) -> bool {
        self == Self::Realtime
    }

    /// Returns the event that reports an error in this protocol; `None` if it has only close codes.
    /// `event_id` is that of the client's message.
    pub fn error_event(self, message: &str, event_id: Option<&str>) -> Option<Value> {
        let kind = "RecordingMismatchError";
        match self {
            Self::Realtime => Some(json!({
                "type": "error",
                "event_id": "event_loomrec",
                "error": {
                    "type": kind,
                    "code": "recording_mismatch",
                    "message": message,
                    "param": null,
                    "event_id": event_id,
                },
            })),
            Self::Responses => Some(json!({
                "type": "error",
                "status": 422,
                "error": { "type": kind, "code": "recording_mismatch", "message": message, "param": null },
            })),
            Self::Other => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protocol_is_that_of_the_path() {
        for (path, protocol) in [
            ("/v1/realtime", SocketProtocol::Realtime),
            ("/v1/realtime/translations", SocketProtocol::Realtime),
            ("/openai/v1/realtime/", SocketProtocol::Realtime),
            ("/v1/live/sessions", SocketProtocol::Realtime),
            ("/v1/live/sessions/sess_1", SocketProtocol::Realtime),
            ("/v1/responses", SocketProtocol::Responses),
            ("/backend-api/codex/responses", SocketProtocol::Responses),
            ("/v1/listen", SocketProtocol::Other),
            ("/v1/live", SocketProtocol::Other),
            (
                "/ws/google.ai.generativelanguage.v1.GenerativeService.BidiGenerateContent",
                SocketProtocol::Other,
            ),
            ("", SocketProtocol::Other),
        ] {
            assert_eq!(SocketProtocol::of_path(path), protocol, "{path}");
        }
    }
}
