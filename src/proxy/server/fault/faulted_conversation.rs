//! A conversation over a WebSocket whose messages a fault changes on their way to the client.
//!
//! The conversation is held over a connection in memory, and its messages are passed on one by one. So
//! what is recorded, and what the client has to send, stay as they are without a fault.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::super::response_control::ResponseControl;
use super::FaultContext;
use super::active_fault::ActiveFault;
use loomrec_engine::websocket::conversation::{ConversationEnd, SocketConversation};
use loomrec_engine::websocket::socket::{
    self, SocketEnd, SocketEvent, SocketReader, SocketStream, SocketWriter,
};
use loomrec_engine::websocket::terms::ConversationTerms;
use loomrec_fault::{
    ConnectionCut, FaultObstacle, MessageStep, MessageTransform, ServerMessage, SocketClose,
};
use loomrec_recording::MessagePayload;

/// The bytes of the connection in memory.
const BUFFER: usize = 16 << 10;
/// How many messages of the server wait for their time.
const WAITING: usize = 256;
/// How long a message waits for the next one, which it is to come after. The server may wait for its
/// client, and the client for this message.
const HELD: Duration = Duration::from_secs(1);
/// How long a cut waits after the last message, so that its client can read that.
const BEFORE_CUT: Duration = Duration::from_millis(50);

/// A conversation whose messages a fault changes.
pub(super) struct FaultedConversation {
    pub(super) conversation: Box<dyn SocketConversation>,
    pub(super) transform: MessageTransform,
    pub(super) fault: ActiveFault,
    pub(super) faults: Arc<FaultContext>,
    pub(super) control: ResponseControl,
}

/// How the relay of messages ended.
enum RelayStop {
    /// The client has ended.
    Client(SocketEnd),
    /// The conversation has ended.
    Server(SocketEnd),
    /// The fault closes the connection with a close frame.
    Close(SocketClose),
    /// The fault cuts the connection.
    Cut(ConnectionCut),
    /// One of the two takes no message any more, or the run ends.
    Gone,
}

impl SocketConversation for FaultedConversation {
    fn hold_until_end(
        self: Box<Self>,
        client: SocketStream,
        terms: ConversationTerms,
    ) -> Pin<Box<dyn Future<Output = ConversationEnd> + Send>> {
        Box::pin(self.relay_messages(client, terms))
    }

    fn into_upstream(self: Box<Self>) -> Option<OnUpgrade> {
        self.conversation.into_upstream()
    }
}

impl FaultedConversation {
    async fn relay_messages(
        self: Box<Self>,
        client: SocketStream,
        terms: ConversationTerms,
    ) -> ConversationEnd {
        let Self { conversation, transform, fault, faults, control } = *self;
        let (near, far) = tokio::io::duplex(BUFFER);
        let own_terms = ConversationTerms { settles_take: false, ..terms.clone() };
        let held = conversation.hold_until_end(Box::new(near), own_terms);
        let relaying = async {
            let client = socket::open_client(client, &terms).await;
            let server = socket::open_upstream(Box::new(far), &terms).await;
            let mut relay =
                MessageRelay { transform, fault, faults, sent: 0, bytes: 0, is_cut: false };
            relay.run(client, server, &control).await;
            relay
        };
        let (mut end, relay) = tokio::join!(held, relaying);
        let has_struck = relay.transform.has_struck();
        let MessageRelay { transform, mut fault, sent, bytes, is_cut, .. } = relay;
        end.is_whole &= !is_cut;
        if !has_struck {
            let all_sent = end.is_whole || end.miss.is_some();
            let why = if all_sent { transform.obstacle() } else { FaultObstacle::ClientLeft };
            fault.not_applied(why);
        }
        (end.messages, end.bytes) = (sent, bytes);
        end.is_changed = has_struck && !fault.decided.fault.only_delays();
        if end.is_changed {
            // It is the fault that kept the client from sending the rest.
            end.unplayed = None;
        }
        end
    }
}

/// The relay of messages between a client and a conversation.
struct MessageRelay {
    transform: MessageTransform,
    fault: ActiveFault,
    faults: Arc<FaultContext>,
    sent: u64,
    bytes: u64,
    /// Whether the fault keeps the client from getting the rest.
    is_cut: bool,
}

impl MessageRelay {
    /// Passes messages on until one side ends, or the fault ends the connection.
    async fn run(
        &mut self,
        (mut to_client, mut from_client): (SocketWriter, SocketReader),
        (mut to_server, mut from_server): (SocketWriter, SocketReader),
        control: &ResponseControl,
    ) {
        let (sender, waiting) = mpsc::channel(WAITING);
        let end = {
            let up = pass_up(&mut from_client, &mut to_server);
            let read = read_all(&mut from_server, sender);
            let down = self.send_all(waiting, &mut to_client);
            let (mut up, mut read, mut down) = (pin!(up), pin!(read), pin!(down));
            let mut is_read = false;
            loop {
                tokio::select! {
                    end = &mut up => break end,
                    end = &mut down => break end,
                    () = &mut read, if !is_read => is_read = true,
                }
            }
        };
        let (client, server) =
            ((&mut to_client, &mut from_client), (&mut to_server, &mut from_server));
        match end {
            RelayStop::Client(SocketEnd::Closed { code, reason }) => {
                tokio::join!(client.0.flush(), socket::close(server.0, server.1, code, &reason));
            }
            RelayStop::Client(SocketEnd::Refused { code, reason }) => {
                client.0.close(code, reason).await
            }
            RelayStop::Server(SocketEnd::Closed { code, reason }) => {
                tokio::join!(server.0.flush(), socket::close(client.0, client.1, code, &reason));
            }
            RelayStop::Close(SocketClose { code, reason }) => {
                control.note_cut();
                // The conversation ends before its client can see the end.
                drop((to_server, from_server));
                socket::close(client.0, client.1, code, &reason).await;
            }
            RelayStop::Cut(cut) => {
                control.note_cut();
                drop((to_server, from_server));
                // A close while bytes of the client wait to be read would be a reset.
                let rest =
                    async { while matches!(client.1.next().await, SocketEvent::Message(_)) {} };
                drop(timeout(BEFORE_CUT, rest).await);
                if cut == ConnectionCut::Reset {
                    control.reset_at_end();
                }
            }
            RelayStop::Server(SocketEnd::Refused { .. }) | RelayStop::Gone => {}
        }
    }

    /// Sends the messages of the server as the fault changes them.
    async fn send_all(
        &mut self,
        mut waiting: mpsc::Receiver<(Instant, SocketEvent)>,
        to_client: &mut SocketWriter,
    ) -> RelayStop {
        let steps = self.transform.first_steps();
        if let Some(end) = self.perform_steps(steps, to_client).await {
            return end;
        }
        loop {
            let next = if self.transform.is_holding() {
                timeout(HELD, waiting.recv()).await
            } else {
                Ok(waiting.recv().await)
            };
            let Ok(next) = next else {
                let steps = self.transform.stop_holding();
                if let Some(end) = self.perform_steps(steps, to_client).await {
                    return end;
                }
                continue;
            };
            let Some((arrived, event)) = next else { return RelayStop::Gone };
            let delay = self.faults.lateness(self.transform.delay_ms());
            if !delay.is_zero() {
                tokio::time::sleep_until(arrived + delay).await;
            }
            let (steps, end) = match event {
                SocketEvent::Message(payload) => (self.transform.feed(message_of(payload)), None),
                SocketEvent::End(end) => (self.transform.finish(), Some(RelayStop::Server(end))),
            };
            if let Some(end) = self.perform_steps(steps, to_client).await.or(end) {
                return end;
            }
        }
    }

    /// Takes steps. Returns how the connection ends, if it does.
    async fn perform_steps(
        &mut self,
        steps: Vec<MessageStep>,
        to_client: &mut SocketWriter,
    ) -> Option<RelayStop> {
        if self.transform.has_struck() {
            self.fault.note_fired();
        }
        for step in steps {
            match step {
                MessageStep::Send(message) => {
                    let bytes = message.data.len() as u64;
                    if to_client.send_message(payload_of(message)).await.is_err() {
                        return Some(RelayStop::Gone);
                    }
                    (self.sent, self.bytes) = (self.sent + 1, self.bytes + bytes);
                }
                MessageStep::Wait(ms) => self.faults.pass_time(ms).await,
                MessageStep::Stall => {
                    self.is_cut = true;
                    self.faults.wait_until_left().await;
                    return Some(RelayStop::Gone);
                }
                MessageStep::Cut(cut) => {
                    self.is_cut = true;
                    return Some(RelayStop::Cut(cut));
                }
                MessageStep::Close(close) => {
                    self.is_cut = true;
                    return Some(RelayStop::Close(close));
                }
            }
        }
        None
    }
}

/// Passes the messages of the client on, until it ends.
async fn pass_up(from: &mut SocketReader, to: &mut SocketWriter) -> RelayStop {
    loop {
        match from.next().await {
            SocketEvent::Message(payload) => {
                if to.send_message(payload).await.is_err() {
                    // How the conversation has ended shows when it is read.
                    std::future::pending::<()>().await;
                }
            }
            SocketEvent::End(end) => return RelayStop::Client(end),
        }
    }
}

/// Reads the messages of the server, each with the time when it came.
async fn read_all(from: &mut SocketReader, sender: mpsc::Sender<(Instant, SocketEvent)>) {
    loop {
        let event = from.next().await;
        let is_end = matches!(event, SocketEvent::End(_));
        if sender.send((Instant::now(), event)).await.is_err() || is_end {
            return;
        }
    }
}

fn message_of(payload: MessagePayload) -> ServerMessage {
    match payload {
        MessagePayload::Text(data) => ServerMessage { data, is_text: true },
        MessagePayload::Binary(data) => ServerMessage { data, is_text: false },
        MessagePayload::Close { reason, .. } => {
            ServerMessage { data: reason.into(), is_text: true }
        }
    }
}

fn payload_of(ServerMessage { data, is_text }: ServerMessage) -> MessagePayload {
    if is_text { MessagePayload::Text(data) } else { MessagePayload::Binary(data) }
}
