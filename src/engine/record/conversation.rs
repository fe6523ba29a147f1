//! The recording of a conversation: passes messages on both ways, and keeps the exchange when it is
//! over.
//!
//! Each direction reads a message only once the one before was taken by the other side, so no queue
//! grows. The conversation has a task of its own: if the connection of its client is cut, its entry is
//! stored all the same. A close frame is answered once the exchange is stored.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;

use super::active_exchange::ActiveExchange;
use super::capture::ExchangeCapture;
use super::delivery_gauge::DeliveryGauge;
use super::keep::store_and_report;
use super::message_log::MessageLog;
use crate::websocket::conversation::{ConversationEnd, SocketConversation, is_set};
use crate::websocket::socket::{
    self, GOING_AWAY, SocketEnd, SocketEvent, SocketReader, SocketStream, SocketWriter,
};
use crate::websocket::terms::ConversationTerms;
use loomrec_recording::entry::ResponseEnd;
use loomrec_recording::message::CUT_CLOSE_CODE;
use loomrec_recording::{MessagePayload, MessageSender};

/// How long an upstream has to hand its connection over once it has accepted the handshake.
const UPGRADE_WAIT: Duration = Duration::from_secs(10);
/// How long the close frame of a peer that takes no message any more is waited for.
const FRAME_WAIT: Duration = Duration::from_secs(1);

/// A conversation with an upstream that has accepted the handshake.
pub(crate) struct LiveConversation {
    /// The connection to the upstream.
    pub(crate) upstream: OnUpgrade,
    /// The copy of the exchange; `None` if it is not recorded.
    pub(crate) copy: Option<ConversationCopy>,
}

/// The copy of a conversation, and what is needed to store it.
pub(crate) struct ConversationCopy {
    pub(super) capture: ExchangeCapture,
    pub(super) busy: ActiveExchange,
    pub(super) stop: watch::Receiver<bool>,
}

/// A direction of a conversation.
struct Direction<'a> {
    from: &'a mut SocketReader,
    to: &'a mut SocketWriter,
    sender: MessageSender,
    log: Option<&'a MessageLog>,
    messages: u64,
    bytes: u64,
}

/// How one direction ended.
enum DirectionEnd {
    /// Its sender has ended.
    Sender(SocketEnd),
    /// Its receiver takes no message any more.
    ReceiverGone,
}

/// How a conversation ended: which side ended it, and how. `None` if loomrec ended it.
type RelayEnd = Option<(MessageSender, SocketEnd)>;

impl SocketConversation for LiveConversation {
    fn hold_until_end(
        self: Box<Self>,
        client: SocketStream,
        terms: ConversationTerms,
    ) -> Pin<Box<dyn Future<Output = ConversationEnd> + Send>> {
        let (held, cut) = oneshot::channel::<()>();
        let task = tokio::spawn(self.relay_messages(client, terms, cut));
        Box::pin(async move {
            let end = task.await.unwrap_or_default();
            // If this future is dropped, so is this, which ends the conversation.
            drop(held);
            end
        })
    }

    fn into_upstream(self: Box<Self>) -> Option<OnUpgrade> {
        Some(self.upstream)
    }
}

impl LiveConversation {
    async fn relay_messages(
        self: Box<Self>,
        client: SocketStream,
        terms: ConversationTerms,
        cut: oneshot::Receiver<()>,
    ) -> ConversationEnd {
        let Self { upstream, mut copy } = *self;
        let (mut to_client, mut from_client) = socket::open_client(client, &terms).await;
        let Ok(Ok(upstream)) = timeout(UPGRADE_WAIT, upstream).await else {
            let reason = "the upstream did not hand its connection over";
            socket::close(&mut to_client, &mut from_client, 1011, reason).await;
            return ConversationEnd::default();
        };
        let upstream: SocketStream = Box::new(TokioIo::new(upstream));
        let (mut to_upstream, mut from_upstream) = socket::open_upstream(upstream, &terms).await;
        let log = copy.as_ref().map(|copy| copy.capture.message_log());
        let log = log.as_ref();
        let direction =
            |from, to, sender| Direction { from, to, sender, log, messages: 0, bytes: 0 };
        let mut up = direction(&mut from_client, &mut to_upstream, MessageSender::Client);
        let mut down = direction(&mut from_upstream, &mut to_client, MessageSender::Server);
        let stop = copy.as_mut().map(|copy| &mut copy.stop);
        let ended = relay_until_end(&mut up, &mut down, (stop, cut, terms.closing)).await;
        let (messages, bytes) = (down.messages, down.bytes);
        if let (Some(log), Some((sender, close))) = (log, ended.as_ref().and_then(recorded_close)) {
            log.add(sender, close);
        }
        if let (Some(ConversationCopy { mut capture, busy, .. }), Some(log)) = (copy, log) {
            capture.add_messages(log.take_messages());
            // A conversation has no body of which a client gets a part.
            let delivery = Arc::<DeliveryGauge>::default();
            store_and_report(capture, ResponseEnd::Complete, &busy, &delivery).await;
        }
        let is_whole = ended.is_some();
        let client = (&mut to_client, &mut from_client);
        end_both(ended, client, (&mut to_upstream, &mut from_upstream)).await;
        ConversationEnd { messages, bytes, is_whole, ..ConversationEnd::default() }
    }
}

/// Passes messages on both ways until one side ends, or the run does.
async fn relay_until_end(
    up: &mut Direction<'_>,
    down: &mut Direction<'_>,
    (stop, cut, mut closing): (
        Option<&mut watch::Receiver<bool>>,
        oneshot::Receiver<()>,
        watch::Receiver<bool>,
    ),
) -> RelayEnd {
    let stopped = async {
        match stop {
            Some(stop) => is_set(stop).await,
            None => std::future::pending().await,
        }
    };
    let (sender, end) = {
        let (mut up, mut down) = (pin!(up.pass_all()), pin!(down.pass_all()));
        tokio::select! {
            end = &mut up => match end {
                DirectionEnd::Sender(end) => (MessageSender::Client, Some(end)),
                DirectionEnd::ReceiverGone => (MessageSender::Server, frame_of(down).await),
            },
            end = &mut down => match end {
                DirectionEnd::Sender(end) => (MessageSender::Server, Some(end)),
                DirectionEnd::ReceiverGone => (MessageSender::Client, frame_of(up).await),
            },
            () = stopped => return None,
            () = is_set(&mut closing) => return None,
            _ = cut => return None,
        }
    };
    let cut = SocketEnd::Closed { code: CUT_CLOSE_CODE, reason: String::new() };
    Some((sender, end.unwrap_or(cut)))
}

/// Returns the close that a recording has of an end. If the upstream breaks a rule of the protocol or a
/// limit, or nobody says anything for too long, that is the close that the client gets; a client that
/// breaks one is refused in a replay as well.
fn recorded_close(
    (sender, end): &(MessageSender, SocketEnd),
) -> Option<(MessageSender, MessagePayload)> {
    match end {
        SocketEnd::Closed { code, reason } => {
            Some((*sender, MessagePayload::Close { code: *code, reason: reason.clone() }))
        }
        SocketEnd::Refused { code, .. }
            if *sender == MessageSender::Client && *code != GOING_AWAY =>
        {
            None
        }
        SocketEnd::Refused { code, reason } => {
            let close = MessagePayload::Close { code: *code, reason: (*reason).to_owned() };
            Some((MessageSender::Server, close))
        }
    }
}

/// Returns how the sender of a direction ended, if that shows soon.
async fn frame_of(direction: impl Future<Output = DirectionEnd>) -> Option<SocketEnd> {
    match timeout(FRAME_WAIT, direction).await {
        Ok(DirectionEnd::Sender(end)) => Some(end),
        Ok(DirectionEnd::ReceiverGone) | Err(_) => None,
    }
}

impl Direction<'_> {
    /// Passes on message after message, until one side ends.
    async fn pass_all(&mut self) -> DirectionEnd {
        loop {
            let payload = match self.from.next().await {
                SocketEvent::Message(payload) => payload,
                SocketEvent::End(end) => return DirectionEnd::Sender(end),
            };
            self.log.iter().for_each(|log| log.add(self.sender, payload.clone()));
            let bytes = payload.as_bytes().len();
            if self.to.send_message(payload).await.is_err() {
                return DirectionEnd::ReceiverGone;
            }
            self.messages += 1;
            self.bytes += bytes as u64;
        }
    }
}

/// Ends both connections as the conversation ended.
async fn end_both(
    ended: RelayEnd,
    client: (&mut SocketWriter, &mut SocketReader),
    upstream: (&mut SocketWriter, &mut SocketReader),
) {
    let going_away = "the run ends";
    let (sender, end) = match ended {
        None => {
            tokio::join!(
                socket::close(client.0, client.1, GOING_AWAY, going_away),
                socket::close(upstream.0, upstream.1, GOING_AWAY, going_away)
            );
            return;
        }
        Some(ended) => ended,
    };
    let (ending, other) = match sender {
        MessageSender::Client => (client, upstream),
        MessageSender::Server => (upstream, client),
    };
    match end {
        SocketEnd::Closed { code, reason } => {
            tokio::join!(ending.0.flush(), socket::close(other.0, other.1, code, &reason));
        }
        SocketEnd::Refused { code, reason } => {
            tokio::join!(
                ending.0.close(code, reason),
                socket::close(other.0, other.1, code, reason)
            );
        }
    }
}
