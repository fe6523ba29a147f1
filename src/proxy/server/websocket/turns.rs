//! OpenAI's Responses API over a WebSocket: each `response.create` is a call of its own, with the key
//! that the same request has over HTTP. So a recording made over either serves both.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use http_body_util::BodyExt as _;
use hyper::upgrade::OnUpgrade;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::super::answer_call::answer_turn;
use super::super::connection_context::ConnectionContext;
use super::super::respond::OutBody;
use loomrec_engine::websocket::conversation::is_set;
use loomrec_engine::websocket::socket::{
    self, GOING_AWAY, POLICY, SocketEnd, SocketEvent, SocketReader, SocketStream, SocketWriter,
};
use loomrec_engine::websocket::terms::ConversationTerms;
use loomrec_engine::websocket::turn_link::{SocketTurn, TurnLink};
use loomrec_fault::SocketClose;
use loomrec_identity::media_type;
use loomrec_provider::Framing;
use loomrec_provider::framing::events;
use loomrec_recording::MessagePayload;

/// The most lanes of a connection; the API has 32 with a name.
const MOST_LANES: usize = 33;
/// How many turns wait in a lane, and how many messages for the client.
const WAITING: usize = 16;
/// The most bytes of an answer that is not a stream.
const LONGEST_ERROR: usize = 1 << 20;
/// The beginning of the values of `openai-beta` that ask for the transport alone.
const TRANSPORT: &str = "responses_websockets";

/// The head of a handshake, from which the calls of its connection are made.
pub(in super::super) struct TurnHead {
    uri: Uri,
    headers: HeaderMap,
}

/// A turn that its client has sent.
struct ClientTurn {
    /// The name of its lane; empty without one.
    lane: String,
    /// The message of the client, unchanged.
    event: Bytes,
    /// The body of the call over HTTP.
    body: Bytes,
}

/// What goes to the client next.
enum Outgoing {
    /// A message.
    Text(Bytes),
    /// The end of the connection, with a close frame or without.
    End(Option<SocketClose>),
}

impl TurnHead {
    /// Returns the head of the calls that follow a handshake. What belongs to the handshake alone is
    /// left out.
    pub(super) fn from_handshake(parts: &Parts) -> Self {
        let mut headers = parts.headers.clone();
        for name in [
            header::UPGRADE,
            header::CONNECTION,
            header::SEC_WEBSOCKET_KEY,
            header::SEC_WEBSOCKET_VERSION,
            header::SEC_WEBSOCKET_EXTENSIONS,
        ] {
            headers.remove(name);
        }
        let beta = headers.get("openai-beta").and_then(|value| value.to_str().ok());
        let beta = beta.map(|beta| {
            let values = beta.split(',').map(str::trim);
            values.filter(|value| !value.starts_with(TRANSPORT)).collect::<Vec<_>>().join(", ")
        });
        if let Some(beta) = beta {
            headers.remove("openai-beta");
            let value = HeaderValue::from_str(&beta).ok().filter(|value| !value.is_empty());
            headers
                .extend(value.map(|value| (header::HeaderName::from_static("openai-beta"), value)));
        }
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        Self { uri: parts.uri.clone(), headers }
    }

    fn request_parts(&self) -> Option<Parts> {
        let mut request = Request::new(());
        (*request.method_mut(), *request.uri_mut()) = (Method::POST, self.uri.clone());
        *request.headers_mut() = self.headers.clone();
        Some(request.into_parts().0)
    }
}

impl ClientTurn {
    /// Reads a message. `None` if it begins no turn.
    fn from_message(event: Bytes) -> Option<Self> {
        let Ok(Value::Object(mut body)) = serde_json::from_slice(&event) else { return None };
        if body.shift_remove("type")? != "response.create" {
            return None;
        }
        body.shift_remove("event_id");
        let lane = body.shift_remove("stream_id");
        let lane = lane.and_then(|lane| lane.as_str().map(str::to_owned)).unwrap_or_default();
        body.insert("stream".to_owned(), true.into());
        let body = Value::Object(body).to_string().into();
        Some(Self { lane, event, body })
    }
}

/// Answers the turns of a connection until it ends.
pub(super) async fn answer_turns(
    caller: &Arc<ConnectionContext>,
    head: TurnHead,
    upstream: Option<OnUpgrade>,
    client: SocketStream,
    mut terms: ConversationTerms,
) {
    let (mut writer, mut reader) = socket::open_client(client, &terms).await;
    let (out, mut outgoing) = mpsc::channel::<Outgoing>(WAITING);
    let (others, mut unasked) = mpsc::channel(WAITING);
    let link = upstream.map(|upstream| TurnLink::open(upstream, terms.clone(), others.clone()));
    let mut lanes = TurnLanes {
        caller: Arc::clone(caller),
        head: Arc::new(head),
        link,
        out,
        open: HashMap::new(),
        tasks: JoinSet::new(),
    };
    let mut is_live = lanes.link.is_some();
    let mut has_ended = false;
    drop(others);
    loop {
        tokio::select! {
            message = outgoing.recv() => {
                if !send_next(message, &mut writer, &mut reader).await {
                    return;
                }
            }
            unasked = unasked.recv(), if is_live => match unasked {
                Some(text) => if writer.send_message(MessagePayload::Text(text)).await.is_err() { return },
                None => {
                    // The answers that are on their way end first.
                    (is_live, has_ended) = (false, true);
                    lanes.open.clear();
                    lanes.link = None;
                }
            },
            task = lanes.tasks.join_next(), if has_ended => if task.is_none() {
                return end_with_upstream(&mut writer, &mut reader, &mut outgoing).await;
            },
            event = reader.next() => match event {
                SocketEvent::Message(MessagePayload::Text(text)) => {
                    if let Some(refusal) = lanes.take_message(text)
                        && writer.send_message(MessagePayload::Text(refusal)).await.is_err()
                    {
                        return;
                    }
                }
                SocketEvent::Message(_) => {
                    socket::close(&mut writer, &mut reader, POLICY, "a message is not a text").await;
                    return;
                }
                SocketEvent::End(SocketEnd::Closed { .. }) => return writer.flush().await,
                SocketEvent::End(SocketEnd::Refused { code, reason }) => {
                    return writer.close(code, reason).await;
                }
            },
            () = is_set(&mut terms.closing) => {
                return socket::close(&mut writer, &mut reader, GOING_AWAY, "the run ends").await;
            }
        }
    }
}

/// Sends what comes next. Returns whether the connection goes on.
async fn send_next(
    message: Option<Outgoing>,
    writer: &mut SocketWriter,
    reader: &mut SocketReader,
) -> bool {
    match message {
        Some(Outgoing::Text(text)) => writer.send_message(MessagePayload::Text(text)).await.is_ok(),
        Some(Outgoing::End(Some(SocketClose { code, reason }))) => {
            socket::close(writer, reader, code, &reason).await;
            false
        }
        Some(Outgoing::End(None)) | None => false,
    }
}

/// Sends what is left to send, and closes the connection of a client whose upstream has ended.
async fn end_with_upstream(
    writer: &mut SocketWriter,
    reader: &mut SocketReader,
    outgoing: &mut mpsc::Receiver<Outgoing>,
) {
    while let Ok(Outgoing::Text(text)) = outgoing.try_recv() {
        drop(writer.send_message(MessagePayload::Text(text)).await);
    }
    socket::close(writer, reader, GOING_AWAY, "the upstream has ended").await;
}

/// The lanes of a connection: the turns of each are answered one after the other.
struct TurnLanes {
    caller: Arc<ConnectionContext>,
    head: Arc<TurnHead>,
    /// The link to the upstream, if the connection has one.
    link: Option<TurnLink>,
    out: mpsc::Sender<Outgoing>,
    open: HashMap<String, mpsc::Sender<ClientTurn>>,
    tasks: JoinSet<()>,
}

impl TurnLanes {
    /// Takes a message of the client. Returns the error if that is impossible. It does not wait: the
    /// caller sends what the lanes answer.
    fn take_message(&mut self, text: Bytes) -> Option<Bytes> {
        let Some(turn) = ClientTurn::from_message(text.clone()) else {
            return match &self.link {
                Some(link) if link.pass_message(text.clone()) => None,
                Some(_) => Some(refusal_event(429, "too many messages wait for the upstream", "")),
                None => self.refuse_other(&text),
            };
        };
        if !self.open.contains_key(&turn.lane) && self.open.len() == MOST_LANES {
            return Some(refusal_event(400, "the connection has too many lanes", &turn.lane));
        }
        let lane = self.open.entry(turn.lane.clone()).or_insert_with(|| {
            let (sender, turns) = mpsc::channel(WAITING);
            let (caller, head) = (Arc::clone(&self.caller), Arc::clone(&self.head));
            let (link, out) = (self.link.clone(), self.out.clone());
            self.tasks.spawn(answer_lane(caller, head, link, turns, out));
            sender
        });
        let full = lane.try_send(turn).err()?;
        let turn = full.into_inner();
        Some(refusal_event(429, "too many turns wait in this lane", &turn.lane))
    }

    /// Answers a message that begins no turn, in a replay: an acknowledgement needs no answer.
    fn refuse_other(&self, text: &[u8]) -> Option<Bytes> {
        let event: Value = serde_json::from_slice(text).unwrap_or_default();
        let word = |name: &str| event.get(name).and_then(Value::as_str).unwrap_or_default();
        if word("type") == "response.processed" {
            return None;
        }
        let why = "only messages of the type response.create are recorded and replayed";
        Some(refusal_event(422, why, word("stream_id")))
    }
}

async fn answer_lane(
    caller: Arc<ConnectionContext>,
    head: Arc<TurnHead>,
    link: Option<TurnLink>,
    mut turns: mpsc::Receiver<ClientTurn>,
    out: mpsc::Sender<Outgoing>,
) {
    while let Some(turn) = turns.recv().await {
        let lane = turn.lane.clone();
        let Some(parts) = head.request_parts() else { return };
        let own = link.clone().map(|link| SocketTurn::new(link, lane.clone(), turn.event));
        let passed = match answer_turn(&caller, parts, turn.body, own).await {
            Ok(response) => pass_on(response, &lane, &out).await,
            Err(_) => Err(None),
        };
        if let Err(close) = passed {
            // The client may have left already.
            drop(out.send(Outgoing::End(close)).await);
            return;
        }
    }
}

/// Passes an answer on, event by event.
///
/// # Errors
/// If it ends in a cut: the close frame in the place of that, if a fault has one.
async fn pass_on(
    response: Response<OutBody>,
    lane: &str,
    out: &mpsc::Sender<Outgoing>,
) -> Result<(), Option<SocketClose>> {
    let (parts, mut body) = response.into_parts();
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.map_or("", media_type);
    let is_stream =
        parts.status == StatusCode::OK && Framing::of_media(media) == Some(Framing::Sse);
    let mut rest = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Err(parts.extensions.get().cloned()) };
        let Ok(data) = frame.into_data() else { continue };
        rest.extend_from_slice(&data);
        if !is_stream {
            if rest.len() > LONGEST_ERROR {
                return Err(None);
            }
            continue;
        }
        let (texts, consumed) = finished_events(&rest, lane);
        rest.drain(..consumed);
        for text in texts {
            if out.send(Outgoing::Text(text)).await.is_err() {
                return Ok(());
            }
        }
    }
    if !is_stream {
        let body: Value = serde_json::from_slice(&rest).unwrap_or_default();
        let text = String::from_utf8_lossy(&rest);
        let error = body.get("error").cloned().unwrap_or_else(|| json!({ "message": text }));
        let text = error_text(parts.status.as_u16(), &error, lane);
        drop(out.send(Outgoing::Text(text)).await);
    }
    Ok(())
}

/// Returns the messages for the events that have arrived in full, and how many bytes these took.
fn finished_events(bytes: &[u8], lane: &str) -> (Vec<Bytes>, usize) {
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
    if lane.is_empty() {
        return Bytes::copy_from_slice(data);
    }
    match serde_json::from_slice::<Map<String, Value>>(data) {
        Ok(mut event) => {
            event.insert("stream_id".to_owned(), lane.into());
            Value::Object(event).to_string().into()
        }
        Err(_) => Bytes::copy_from_slice(data),
    }
}

/// Returns the event for an error of loomrec's own.
fn refusal_event(status: u16, message: &str, lane: &str) -> Bytes {
    let error = json!({ "type": "UnsupportedTransport", "code": null, "message": message });
    error_text(status, &error, lane)
}

/// Returns the event for an error.
fn error_text(status: u16, error: &Value, lane: &str) -> Bytes {
    let event = json!({ "type": "error", "status": status, "error": error });
    in_lane(event.to_string().as_bytes(), lane)
}
