//! The upstream's end of OpenAI's Responses API over a WebSocket: a turn is one `response.create` and
//! the events that answer it. The turns of several lanes share one socket; each has the form of a call
//! over HTTP that answers with a stream.

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::socket::{self, SocketEnd, SocketEvent, SocketReader, SocketStream, SocketWriter};
use super::terms::ConversationTerms;
use loomrec_fault::SocketClose;
use loomrec_provider::Framing;
use loomrec_recording::MessagePayload;
use loomrec_recording::entry::RecordedCut;
use loomrec_recording::raw_members::RawMembers;

/// How many messages wait for the upstream, and how many events of a turn for their reader.
const WAITING: usize = 16;
/// How long an upstream has to hand its connection over once it has accepted the handshake.
const UPGRADE_WAIT: Duration = Duration::from_secs(10);
/// How long the close frame of an upstream that takes no message any more is waited for.
const FRAME_WAIT: Duration = Duration::from_secs(1);
/// The events that end a turn.
const LAST: [&str; 4] = ["response.completed", "response.failed", "response.incomplete", "error"];

/// A link to the upstream of a socket. The socket is closed once all copies of its link are dropped,
/// and the turns that are open then are over.
#[derive(Clone, Debug)]
pub struct TurnLink {
    messages: mpsc::Sender<LinkMessage>,
    close: UpstreamClose,
}

/// How the upstream of a turn closed its WebSocket, once it has. The response of a turn has it as an
/// extension.
#[derive(Clone, Debug, Default)]
pub struct UpstreamClose(Arc<OnceLock<SocketClose>>);

/// A message to the upstream.
#[derive(Debug)]
enum LinkMessage {
    /// A turn, in this lane.
    Turn { lane: String, event: Bytes, events: mpsc::Sender<TurnEvent> },
    /// A message that no turn begins with.
    Other(Bytes),
}

/// What comes next in a turn: an event, or a cut.
pub(crate) type TurnEvent = Result<NamedEvent, RecordedCut>;

/// One event of a turn.
#[derive(Debug)]
pub(crate) struct NamedEvent {
    name: String,
    /// Its JSON, on one line and without the name of its lane.
    data: Bytes,
}

/// The answer to a turn.
pub(crate) struct TurnAnswer {
    pub(crate) first: Bytes,
    /// `None` if nothing follows.
    pub(crate) rest: Option<mpsc::Receiver<TurnEvent>>,
}

/// A turn that is sent over a link.
#[derive(Clone, Debug)]
pub struct SocketTurn {
    link: TurnLink,
    lane: String,
    event: Bytes,
}

impl UpstreamClose {
    /// Returns the close of an upstream that has ended like this.
    pub(crate) fn new(close: SocketClose) -> Self {
        Self(Arc::new(OnceLock::from(close)))
    }

    /// Returns the close; `None` as long as the upstream is there.
    pub fn known_close(&self) -> Option<&SocketClose> {
        self.0.get()
    }

    fn note_end(&self, end: SocketEnd) {
        let close = match end {
            SocketEnd::Closed { code, reason } => SocketClose { code, reason },
            SocketEnd::Refused { code, reason } => SocketClose { code, reason: reason.to_owned() },
        };
        self.0.get_or_init(|| close);
    }
}

impl TurnLink {
    /// Opens a link over the connection of an accepted handshake. What belongs to no turn goes to
    /// `others`, which is dropped when the upstream has ended.
    pub fn open(
        upstream: OnUpgrade,
        terms: ConversationTerms,
        others: mpsc::Sender<MessagePayload>,
    ) -> Self {
        let (sender, messages) = mpsc::channel(WAITING);
        let close = UpstreamClose::default();
        let task = LinkTask { lanes: HashMap::new(), others, close: close.clone() };
        tokio::spawn(async move {
            if let Ok(Ok(upstream)) = timeout(UPGRADE_WAIT, upstream).await {
                let upstream: SocketStream = Box::new(TokioIo::new(upstream));
                let socket = socket::open_upstream(upstream, &terms).await;
                task.run(socket, messages).await;
            }
        });
        Self { messages: sender, close }
    }

    /// Returns how the upstream closed its socket; `None` if it has not, as far as is known.
    pub fn upstream_close(&self) -> Option<SocketClose> {
        self.close.known_close().cloned()
    }

    /// Sends a message that begins no turn. Returns `false` if too many messages wait.
    pub fn pass_message(&self, message: Bytes) -> bool {
        let sent = self.messages.try_send(LinkMessage::Other(message));
        // The end of the upstream shows elsewhere.
        !matches!(sent, Err(mpsc::error::TrySendError::Full(_)))
    }
}

impl SocketTurn {
    /// Returns a turn in this lane, which begins with `event`.
    pub fn new(link: TurnLink, lane: String, event: Bytes) -> Self {
        Self { link, lane, event }
    }

    /// Sends the turn, and returns the response as soon as its first event is there; `None` if the
    /// upstream has ended. An error in place of an answer has the form that it has over HTTP.
    pub(crate) async fn send(self) -> Option<Response<TurnAnswer>> {
        let Self { link, lane, event } = self;
        let (sender, mut events) = mpsc::channel(WAITING);
        link.messages.send(LinkMessage::Turn { lane, event, events: sender }).await.ok()?;
        let first = events.recv().await?.ok()?;
        if let Some((status, body)) = error_over_http(&first) {
            let mut response = Response::new(TurnAnswer { first: body, rest: None });
            *response.status_mut() = status;
            let media = HeaderValue::from_static("application/json");
            response.headers_mut().insert(CONTENT_TYPE, media);
            return Some(response);
        }
        let mut response = Response::new(TurnAnswer { first: first.to_sse(), rest: Some(events) });
        let media = HeaderValue::from_static(Framing::Sse.media_type());
        response.headers_mut().insert(CONTENT_TYPE, media);
        response.extensions_mut().insert(link.close);
        Some(response)
    }
}

impl NamedEvent {
    /// Returns the event as a server-sent one.
    pub(crate) fn to_sse(&self) -> Bytes {
        let parts: [&[u8]; 5] =
            [b"event: ", self.name.as_bytes(), b"\ndata: ", &self.data, b"\n\n"];
        parts.concat().into()
    }
}

/// Returns the status and the body that an error has over HTTP.
fn error_over_http(event: &NamedEvent) -> Option<(StatusCode, Bytes)> {
    if event.name != "error" {
        return None;
    }
    let event = RawMembers::parse(&event.data)?;
    let status: u16 = event.find_value("status")?.parse().ok()?;
    let status = StatusCode::from_u16(status).ok().filter(|status| status.as_u16() >= 400)?;
    let mut body = RawMembers::default();
    body.set_member("error", event.find_value("error").unwrap_or("null"));
    Some((status, body.to_line().into()))
}

/// The task of a link.
struct LinkTask {
    /// The turns of each lane that are not over, in order.
    lanes: HashMap<String, VecDeque<mpsc::Sender<TurnEvent>>>,
    others: mpsc::Sender<MessagePayload>,
    close: UpstreamClose,
}

impl LinkTask {
    async fn run(
        mut self,
        (mut writer, mut reader): (SocketWriter, SocketReader),
        mut messages: mpsc::Receiver<LinkMessage>,
    ) {
        let mut is_open = true;
        while is_open || !self.lanes.is_empty() {
            tokio::select! {
                message = messages.recv(), if is_open => {
                    let text = match message {
                        None => {
                            is_open = false;
                            continue;
                        }
                        Some(LinkMessage::Other(text)) => text,
                        Some(LinkMessage::Turn { lane, event, events }) => {
                            self.lanes.entry(lane).or_default().push_back(events);
                            event
                        }
                    };
                    if writer.send_message(MessagePayload::Text(text)).await.is_err() {
                        self.read_end(&mut reader).await;
                        break;
                    }
                }
                event = reader.next() => match event {
                    SocketEvent::Message(payload) => self.pass_to_turn(payload).await,
                    SocketEvent::End(end) => {
                        self.close.note_end(end);
                        break;
                    }
                }
            }
            if !is_open && self.lanes.values().flatten().all(mpsc::Sender::is_closed) {
                break;
            }
        }
        let Self { lanes, others, .. } = self;
        for events in lanes.into_values().flatten() {
            // Nobody may wait for it any more.
            drop(events.send(Err(RecordedCut::Close)).await);
        }
        drop(others);
        socket::close(&mut writer, &mut reader, 1000, "").await;
    }

    /// Reads what an upstream has sent that takes no message any more, for a moment.
    async fn read_end(&mut self, reader: &mut SocketReader) {
        while let Ok(event) = timeout(FRAME_WAIT, reader.next()).await {
            match event {
                SocketEvent::Message(payload) => self.pass_to_turn(payload).await,
                SocketEvent::End(end) => return self.close.note_end(end),
            }
        }
    }

    /// Passes an event on to the turn that it belongs to, and any other message to the client.
    async fn pass_to_turn(&mut self, payload: MessagePayload) {
        let event = match &payload {
            MessagePayload::Text(text) => RawMembers::parse(text).map(|event| (event, text)),
            MessagePayload::Binary(_) | MessagePayload::Close { .. } => None,
        };
        let lane = event.as_ref().and_then(|(event, _)| event.find_text("stream_id"));
        let turns = self.lanes.get_mut(lane.as_deref().unwrap_or_default());
        let (Some((mut event, text)), Some(turns)) = (event, turns) else {
            // The event keeps the name of its lane.
            drop(self.others.send(payload).await);
            return;
        };
        let name = event.find_text("type").unwrap_or_default();
        let name: String = name.chars().filter(|letter| !letter.is_control()).collect();
        let is_named = event.remove_member("stream_id");
        let is_as_sent = !is_named && !text.contains(&b'\n') && !text.contains(&b'\r');
        let is_last = LAST.contains(&name.as_str());
        let data = if is_as_sent { text.clone() } else { event.to_line().into() };
        if let Some(turn) = turns.front() {
            // A turn that nobody reads any more has its place in the lane until its last event.
            drop(turn.send(Ok(NamedEvent { name, data })).await);
        }
        if is_last {
            turns.pop_front();
        }
        if turns.is_empty() {
            self.lanes.remove(lane.as_deref().unwrap_or_default());
        }
    }
}

impl fmt::Debug for TurnAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TurnAnswer")
    }
}
