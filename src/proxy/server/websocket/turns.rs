//! OpenAI's Responses API over a WebSocket: each `response.create` is a call of its own, with the key
//! that the same request has over HTTP. So a recording made over either serves both.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{
    Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header,
};
use http_body_util::BodyExt as _;
use hyper::upgrade::OnUpgrade;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::super::answer_call::answer_turn;
use super::super::call_refusal::{CallRefusal, refuse_call};
use super::super::connection_context::ConnectionContext;
use super::super::read_call::route_request;
use super::super::respond::OutBody;
use super::turn_messages::{
    ClientMessage, ClientTurn, error_event, finished_events, refusal_event,
};
use loomrec_engine::websocket::conversation::is_set;
use loomrec_engine::websocket::socket::{
    self, GOING_AWAY, POLICY, SocketEnd, SocketEvent, SocketReader, SocketStream, SocketWriter,
};
use loomrec_engine::websocket::terms::ConversationTerms;
use loomrec_engine::websocket::turn_link::{SocketTurn, TurnLink, UpstreamClose};
use loomrec_fault::SocketClose;
use loomrec_identity::media_type;
use loomrec_provider::{Framing, Provider};
use loomrec_recording::MessagePayload;

/// The most lanes of a connection; the API has 32 with a name.
const MOST_LANES: usize = 33;
/// How many turns wait in a lane, and how many messages for the client.
const WAITING: usize = 16;
/// The most bytes of an answer that is not a stream.
const LONGEST_ERROR: usize = 1 << 20;
/// The beginning of the values of `openai-beta` that ask for the transport alone.
const TRANSPORT: &str = "responses_websockets";
/// The kind of error of a message that gets no answer.
const UNSUPPORTED: &str = "UnsupportedTransport";
/// Why a connection ends whose upstream has ended in an unknown way.
const UPSTREAM_ENDED: &str = "the upstream has ended";
/// Why a message of the client ends its connection.
const NO_TEXT: &str = "a message is not a text";

/// The head of a handshake, from which the calls of its connection are made.
pub(in super::super) struct TurnHead {
    uri: Uri,
    headers: HeaderMap,
}

/// What goes to the client next.
enum Outgoing {
    /// A message.
    Text(Bytes),
    /// The end of the connection, with a close frame or without.
    End(Option<SocketClose>),
    /// The end of the connection with this close, once all lanes have got what was recorded for them.
    RecordedEnd(SocketClose),
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

    fn request_parts(&self) -> Parts {
        let mut request = Request::new(());
        (*request.method_mut(), *request.uri_mut()) = (Method::POST, self.uri.clone());
        *request.headers_mut() = self.headers.clone();
        request.into_parts().0
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
        close: None,
    };
    let mut is_live = lanes.link.is_some();
    drop(others);
    loop {
        tokio::select! {
            message = outgoing.recv() => {
                if !send_next(message, &mut lanes, (&mut writer, &mut reader)).await {
                    return;
                }
            }
            unasked = unasked.recv(), if is_live => match unasked {
                Some(message) => if writer.send_message(message).await.is_err() { return },
                None => {
                    is_live = false;
                    lanes.end_with_upstream();
                }
            },
            task = lanes.tasks.join_next(), if lanes.close.is_some() => if task.is_none() {
                let close = lanes.close.take().unwrap_or_default();
                return send_rest((&mut writer, &mut reader), &mut outgoing, close).await;
            },
            event = reader.next() => {
                if !take_event(event, &mut lanes, (&mut writer, &mut reader)).await {
                    return;
                }
            }
            () = is_set(&mut terms.closing) => {
                return socket::close(&mut writer, &mut reader, GOING_AWAY, "the run ends").await;
            }
        }
    }
}

/// Sends what comes next. Returns whether the connection stays open.
async fn send_next(
    message: Option<Outgoing>,
    lanes: &mut TurnLanes,
    (writer, reader): (&mut SocketWriter, &mut SocketReader),
) -> bool {
    match message {
        Some(Outgoing::Text(text)) => {
            return writer.send_message(MessagePayload::Text(text)).await.is_ok();
        }
        Some(Outgoing::RecordedEnd(close)) => {
            lanes.end_with(close);
            return true;
        }
        Some(Outgoing::End(close)) => {
            // The takes of the other lanes are free before the client sees the end.
            lanes.tasks.shutdown().await;
            if let Some(SocketClose { code, reason }) = close {
                socket::close(writer, reader, code, &reason).await;
            }
        }
        None => {}
    }
    false
}

/// Takes what the client sends. Returns whether the connection stays open.
async fn take_event(
    event: SocketEvent,
    lanes: &mut TurnLanes,
    (writer, reader): (&mut SocketWriter, &mut SocketReader),
) -> bool {
    match event {
        SocketEvent::Message(MessagePayload::Text(text)) => {
            let Some(refusal) = lanes.take_message(text) else { return true };
            return writer.send_message(MessagePayload::Text(refusal)).await.is_ok();
        }
        SocketEvent::Message(_) => {
            lanes.count_refusal(StatusCode::UNPROCESSABLE_ENTITY, NO_TEXT);
            socket::close(writer, reader, POLICY, NO_TEXT).await;
        }
        SocketEvent::End(SocketEnd::Closed { .. }) => writer.flush().await,
        SocketEvent::End(SocketEnd::Refused { code, reason }) => {
            if code != GOING_AWAY {
                lanes.count_refusal(StatusCode::BAD_REQUEST, reason);
            }
            writer.close(code, reason).await;
        }
    }
    false
}

/// Sends what is left to send, and closes the connection.
async fn send_rest(
    (writer, reader): (&mut SocketWriter, &mut SocketReader),
    outgoing: &mut mpsc::Receiver<Outgoing>,
    close: SocketClose,
) {
    while let Ok(Outgoing::Text(text)) = outgoing.try_recv() {
        drop(writer.send_message(MessagePayload::Text(text)).await);
    }
    socket::close(writer, reader, close.code, &close.reason).await;
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
    /// How the connection is closed once all answers that are on their way have ended.
    close: Option<SocketClose>,
}

impl TurnLanes {
    /// Has the connection end with this close, once the answers that are on their way have ended.
    fn end_with(&mut self, close: SocketClose) {
        self.open.clear();
        self.close.get_or_insert(close);
    }

    /// Has the connection end as that of its upstream has ended.
    fn end_with_upstream(&mut self) {
        let close = self.link.take().and_then(|link| link.upstream_close());
        let unknown = || SocketClose { code: GOING_AWAY, reason: UPSTREAM_ENDED.to_owned() };
        self.end_with(close.unwrap_or_else(unknown));
    }

    /// Takes a message of the client. Returns the error if that is impossible. It does not wait: the
    /// caller sends what the lanes answer.
    fn take_message(&mut self, text: Bytes) -> Option<Bytes> {
        let turn = match ClientMessage::from_text(text.clone()) {
            ClientMessage::Turn(turn) => turn,
            ClientMessage::Other { kind, lane } => return self.pass_other(text, &kind, &lane),
            ClientMessage::Unreadable => {
                let why = "a message is no JSON object";
                return Some(self.refuse_message(StatusCode::BAD_REQUEST, why, ""));
            }
        };
        if !self.open.contains_key(&turn.lane) && self.open.len() == MOST_LANES {
            let why = "the connection has too many lanes";
            return Some(self.refuse_message(StatusCode::BAD_REQUEST, why, &turn.lane));
        }
        let lane = self.open.entry(turn.lane.clone()).or_insert_with(|| {
            let (sender, turns) = mpsc::channel(WAITING);
            let (caller, head) = (Arc::clone(&self.caller), Arc::clone(&self.head));
            let (link, out) = (self.link.clone(), self.out.clone());
            self.tasks.spawn(answer_lane(caller, head, link, turns, out));
            sender
        });
        let turn = lane.try_send(turn).err()?.into_inner();
        let why = "too many turns wait in this lane";
        Some(self.refuse_message(StatusCode::TOO_MANY_REQUESTS, why, &turn.lane))
    }

    /// Passes on a message that begins no turn. Without an upstream, nothing answers it, unless it is
    /// an acknowledgement, which needs no answer.
    fn pass_other(&self, text: Bytes, kind: &str, lane: &str) -> Option<Bytes> {
        let (status, why) = match &self.link {
            Some(link) if link.pass_message(text) => return None,
            Some(_) => (StatusCode::TOO_MANY_REQUESTS, "too many messages wait for the upstream"),
            None if kind == "response.processed" => return None,
            None => (
                StatusCode::UNPROCESSABLE_ENTITY,
                "only messages of the type response.create are recorded and replayed",
            ),
        };
        Some(self.refuse_message(status, why, lane))
    }

    /// Refuses a message. Returns the event for its error.
    fn refuse_message(&self, status: StatusCode, message: &str, lane: &str) -> Bytes {
        self.count_refusal(status, message);
        refusal_event(status.as_u16(), UNSUPPORTED, message, lane)
    }

    /// Counts a message that is refused as a refused call.
    fn count_refusal(&self, status: StatusCode, message: &str) {
        let (parts, message) = (self.head.request_parts(), message.to_owned());
        let place = route_request(&self.caller.proxy, &parts);
        let provider = place.map_or(Provider::UNKNOWN, |place| place.provider);
        let refusal = CallRefusal { provider, status, kind: UNSUPPORTED, message };
        let (mut open, response) = refuse_call(&self.caller, &parts, refusal);
        open.begin_sending((response.status(), response.headers()), None, || None);
        open.note_all_sent();
        open.conclude(None);
    }
}

/// The cut of an answer before its end.
enum TurnCut {
    /// The upstream has closed its socket, now or in the recording.
    Upstream(SocketClose),
    /// loomrec cuts it, with a close frame or without.
    Own(Option<SocketClose>),
}

impl TurnCut {
    /// Returns the cut of a response with these extensions.
    fn from_extensions(extensions: &Extensions) -> Self {
        let own = extensions.get::<SocketClose>();
        let upstream = extensions.get::<UpstreamClose>().and_then(UpstreamClose::known_close);
        match upstream.filter(|_| own.is_none()) {
            Some(close) => Self::Upstream(close.clone()),
            None => Self::Own(own.cloned()),
        }
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
        let own = link.clone().map(|link| SocketTurn::new(link, lane.clone(), turn.event));
        let passed = match answer_turn(&caller, head.request_parts(), turn.body, own).await {
            Ok(response) => pass_on(response, &lane, &out).await,
            Err(_) => Err(TurnCut::Own(None)),
        };
        let end = match passed {
            Ok(()) => continue,
            // The connection ends once the other lanes have got what came for them.
            Err(TurnCut::Upstream(_)) if link.is_some() => return,
            Err(TurnCut::Upstream(close)) => Outgoing::RecordedEnd(close),
            Err(TurnCut::Own(close)) => Outgoing::End(close),
        };
        // The client may have left already.
        drop(out.send(end).await);
        return;
    }
}

/// Passes an answer on, event by event.
///
/// # Errors
/// The cut that it ends in.
async fn pass_on(
    response: Response<OutBody>,
    lane: &str,
    out: &mpsc::Sender<Outgoing>,
) -> Result<(), TurnCut> {
    let (parts, mut body) = response.into_parts();
    let media = parts.headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let media = media.map_or("", media_type);
    let is_stream =
        parts.status == StatusCode::OK && Framing::of_media(media) == Some(Framing::Sse);
    let mut rest = Vec::new();
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else { return Err(TurnCut::from_extensions(&parts.extensions)) };
        let Ok(data) = frame.into_data() else { continue };
        rest.extend_from_slice(&data);
        if !is_stream {
            if rest.len() > LONGEST_ERROR {
                return Err(TurnCut::Own(None));
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
        let text = error_event(parts.status.as_u16(), &rest, lane);
        drop(out.send(Outgoing::Text(text)).await);
    }
    Ok(())
}
