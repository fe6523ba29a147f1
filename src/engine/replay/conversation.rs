//! The replay of a conversation: the recorded server's messages are sent as the client's messages
//! arrive, each of which has to be the recorded one.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use tokio::time::{Instant, sleep_until};

use super::connection_choice::WaitingPlace;
use super::engine::ReplayEngine;
use super::latency::LatencyDraw;
use super::matcher::{Matcher, TakeMatch};
use super::message_script::MessageScript;
use super::mismatch::RecordingMismatchError;
use crate::websocket::conversation::{
    ConversationEnd, ReplayedTake, SocketConversation, UnplayedMessages, is_set,
};
use crate::websocket::socket::{
    self, GOING_AWAY, POLICY, SocketEnd, SocketEvent, SocketReader, SocketStream, SocketWriter,
};
use crate::websocket::terms::ConversationTerms;
use loomrec_identity::{IdentityRules, PlacePattern};
use loomrec_provider::SocketProtocol;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{CallCredentials, Placeholders};
use loomrec_recording::{MessagePayload, MessageSender, RecordedMessage};

/// What a client gets that may not be told what the recording holds.
const WITHHELD: &str = "RecordingMismatchError: this is not the recorded message; what the recording \
                        holds is shown to the user that runs loomrec only";

/// The conversation of a take.
pub struct TakeConversation {
    replay: Arc<ReplayEngine>,
    /// The handshake.
    observed: NormalizedRequest,
    /// The index of the take, and which of its calls this is.
    take: (usize, u32),
    protocol: SocketProtocol,
    script: MessageScript,
    /// The messages that are to be sent, with the time when each is due.
    due: VecDeque<(Instant, RecordedMessage)>,
    /// How many messages of the client were answered.
    answered: u32,
    secrets: CallCredentials,
    placeholders: Placeholders,
    /// The place among the connections whose clients have not sent a message yet, while this is one of
    /// them.
    place: Option<WaitingPlace>,
    /// Whether this decides about the take.
    settles_take: bool,
    /// Whether the take was given back, or counts as used.
    is_settled: bool,
}

impl TakeConversation {
    /// Returns the conversation of a take that was found for a handshake. It reads the entry of the take
    /// again, so it blocks. `None` if that is no longer possible. With a place, it may become that of
    /// another take, which the client's first message chooses.
    pub(crate) fn read_take(
        replay: &Arc<ReplayEngine>,
        observed: NormalizedRequest,
        secrets: CallCredentials,
        take: (usize, u32),
        place: Option<WaitingPlace>,
    ) -> Option<Self> {
        let protocol = SocketProtocol::of_path(observed.path());
        Some(Self {
            replay: Arc::clone(replay),
            take,
            protocol,
            script: script_of(replay.matcher(), take.0, protocol)?,
            place,
            due: VecDeque::new(),
            answered: 0,
            secrets,
            placeholders: observed.placeholders.clone(),
            observed,
            settles_take: true,
            is_settled: false,
        })
    }

    /// Puts the messages in line that are due now, each at its time.
    fn schedule_due_messages(&mut self) {
        let base = self.script.last_accepted_ms();
        let burst: Vec<_> = std::iter::from_fn(|| self.script.take_due()).collect();
        if burst.is_empty() {
            return;
        }
        self.answered += 1;
        let offsets: Vec<f64> = burst.iter().map(|message| message.at_ms - base).collect();
        let (index, nth) = self.take;
        let matcher = self.replay.matcher();
        let Some(take) = matcher.takes.get(index) else { return };
        let name = matcher.take_name(take);
        let nth = nth.saturating_add(self.answered - 1);
        let draw = LatencyDraw { key: &name, take: take.number(), nth };
        let schedule = self.replay.latency.schedule(offsets.into_iter(), None, &draw);
        let now = Instant::now();
        let times = schedule.map(|schedule| schedule.chunks).unwrap_or_default();
        let times = times.into_iter().map(|wait| now + wait).chain(std::iter::repeat(now));
        self.due.extend(times.zip(burst));
    }

    /// Lets the client's first message choose among the takes that began like this.
    async fn choose_take(&mut self, first: &MessagePayload) {
        let Some(place) = self.place.take() else { return };
        let chosen = place.choose_take(&self.observed, first).await;
        if std::mem::replace(&mut self.take.0, chosen) == chosen {
            return;
        }
        let (replay, protocol) = (Arc::clone(&self.replay), self.protocol);
        let read = move || script_of(replay.matcher(), chosen, protocol);
        // Without its entry the message is a miss: it is not the first of the other take.
        let Some(mut script) = self.replay.read_connection(read).await else { return };
        // The same messages are in line already, or have been sent.
        while script.next_due().is_some() {}
        self.script = script;
    }

    /// Takes a message of the client.
    ///
    /// # Errors
    /// The miss, if it is not the recorded one.
    async fn accept_message(
        &mut self,
        payload: MessagePayload,
        terms: &ConversationTerms,
    ) -> Result<(), Box<RecordingMismatchError>> {
        let mut message = RecordedMessage::new(MessageSender::Client, 0.0, payload);
        message.take_keys(&mut self.secrets);
        message.redact(&terms.redactor, &self.secrets, &mut self.placeholders);
        self.choose_take(&message.payload).await;
        let Err(mismatch) = self.script.accept_message(&message.payload) else {
            self.schedule_due_messages();
            return Ok(());
        };
        Err(Box::new(RecordingMismatchError::of_message(
            self.replay.matcher(),
            self.take.0,
            &self.observed,
            (&self.script, &mismatch),
            &message.payload,
        )))
    }

    async fn play_messages(
        mut self: Box<Self>,
        client: SocketStream,
        mut terms: ConversationTerms,
    ) -> ConversationEnd {
        let (mut writer, mut reader) = socket::open_client(client, &terms).await;
        let mut end = ConversationEnd::default();
        self.settles_take = terms.settles_take;
        self.schedule_due_messages();
        loop {
            let next = self.due.front().map(|(due, _)| *due);
            tokio::select! {
                biased;
                () = wait_until_due(next) => {
                    let Some((_, message)) = self.due.pop_front() else { continue };
                    if let MessagePayload::Close { code, reason } = message.payload {
                        self.settle_take(&mut end);
                        socket::close(&mut writer, &mut reader, code, &reason).await;
                        break;
                    }
                    end.messages += 1;
                    end.bytes += message.payload.as_bytes().len() as u64;
                    if writer.send_message(message.payload).await.is_err() {
                        break;
                    }
                }
                event = reader.next() => match event {
                    SocketEvent::Message(payload) => {
                        let event_id = event_id_of(&payload);
                        if let Err(miss) = self.accept_message(payload, &terms).await {
                            let refused = RefusedConversation::new(self.protocol, miss.message());
                            end.miss = Some(miss);
                            // The client may begin anew as soon as it hears of it.
                            self.settle_take(&mut end);
                            let socket = (&mut writer, &mut reader);
                            refused.refuse_client(socket, event_id.as_deref(), &terms).await;
                            break;
                        }
                    }
                    SocketEvent::End(ended) => {
                        self.script.accept_end();
                        self.settle_take(&mut end);
                        end_connection(&mut writer, ended).await;
                        break;
                    }
                },
                () = is_set(&mut terms.closing) => {
                    socket::close(&mut writer, &mut reader, GOING_AWAY, "the run ends").await;
                    break;
                }
            }
        }
        self.settle_take(&mut end);
        end
    }

    /// Notes how much of the recorded conversation took place. A take of which the client sent only a
    /// part is given back: it counts as unused.
    fn settle_take(&mut self, end: &mut ConversationEnd) {
        if std::mem::replace(&mut self.is_settled, true) {
            return;
        }
        let (recorded, sent) = self.script.count_of_client();
        let index = self.place.take().map_or(self.take.0, WaitingPlace::leave_with_take);
        end.take = self.replay.matcher().takes.get(index).map(|take| {
            let (number, outcome) = (take.number(), take.outcome());
            ReplayedTake { index, number, outcome }
        });
        end.is_whole = end.miss.is_none() && self.due.is_empty();
        if sent < recorded {
            end.unplayed = Some(UnplayedMessages { recorded, sent });
            end.is_whole = false;
            if self.settles_take {
                self.replay.release_take(index, self.observed.session.as_deref());
            }
        }
    }
}

impl SocketConversation for TakeConversation {
    fn hold_until_end(
        self: Box<Self>,
        client: SocketStream,
        terms: ConversationTerms,
    ) -> Pin<Box<dyn Future<Output = ConversationEnd> + Send>> {
        Box::pin(self.play_messages(client, terms))
    }

    fn server_messages(&self) -> Option<usize> {
        Some(self.script.count_of_server())
    }
}

/// Returns the script of a take. It reads the entry again, so it blocks. `None` if that is no longer
/// possible.
fn script_of(matcher: &Matcher, take: usize, protocol: SocketProtocol) -> Option<MessageScript> {
    let entry = matcher.entry_of(take)?;
    let audio = entry.socket_audio()?;
    let rules = matcher.rules_of_take(take).cloned().unwrap_or_default();
    let own_ids = protocol.own_ids().iter().filter_map(|id| PlacePattern::parse(id).ok());
    let script = MessageScript::new(entry.messages).with_rules(rules.with_ignored(own_ids));
    let script = script.with_audio(audio);
    Some(if protocol.names_items() { script.with_bound_ids() } else { script })
}

impl Matcher {
    /// Returns the code and the reason of the close frame that the server of a take sent last. It reads
    /// the entry again, so it blocks.
    pub(crate) fn recorded_close(&self, take: usize) -> Option<(u16, String)> {
        let last = self.entry_of(take)?.messages.pop()?;
        match last.payload {
            MessagePayload::Close { code, reason } if last.sender == MessageSender::Server => {
                Some((code, reason))
            }
            _ => None,
        }
    }

    /// Returns the rules that are in force for a take: those of its recording, and those of flags.
    pub(super) fn rules_of_take(&self, take: usize) -> Option<&IdentityRules> {
        let rules = self.rules_by_source.get(self.takes.get(take)?.source_index())?;
        self.identity_rules().get(*rules)
    }
}

impl TakeMatch<'_> {
    /// Returns the index of the take, and which of its calls this is, from 1.
    pub(crate) fn index_and_number(&self) -> (usize, u32) {
        (self.index, self.nth)
    }
}

/// The conversation of a client that gets an error and the end.
pub struct RefusedConversation {
    protocol: SocketProtocol,
    message: String,
}

impl RefusedConversation {
    /// Returns the conversation that tells a client of this protocol why there is no answer.
    pub fn new(protocol: SocketProtocol, message: String) -> Self {
        Self { protocol, message }
    }

    async fn refuse_client(
        &self,
        (writer, reader): (&mut SocketWriter, &mut SocketReader),
        event_id: Option<&str>,
        terms: &ConversationTerms,
    ) -> u64 {
        let message = if terms.may_reveal { &*self.message } else { WITHHELD };
        let event = self.protocol.error_event(message, event_id);
        let sent = event.is_some().into();
        if let Some(event) = event {
            let text = MessagePayload::Text(Bytes::from(event.to_string()));
            // A client that has left needs no reason.
            drop(writer.send_message(text).await);
        }
        socket::close(writer, reader, POLICY, message).await;
        sent
    }
}

impl SocketConversation for RefusedConversation {
    fn hold_until_end(
        self: Box<Self>,
        client: SocketStream,
        terms: ConversationTerms,
    ) -> Pin<Box<dyn Future<Output = ConversationEnd> + Send>> {
        Box::pin(async move {
            let (mut writer, mut reader) = socket::open_client(client, &terms).await;
            let messages = self.refuse_client((&mut writer, &mut reader), None, &terms).await;
            ConversationEnd { messages, is_whole: true, ..ConversationEnd::default() }
        })
    }
}

/// Ends the connection of a client that has ended.
async fn end_connection(writer: &mut SocketWriter, ended: SocketEnd) {
    match ended {
        SocketEnd::Closed { .. } => writer.flush().await,
        SocketEnd::Refused { code, reason } => writer.close(code, reason).await,
    }
}

/// Returns the id that a client gave its message.
fn event_id_of(payload: &MessagePayload) -> Option<String> {
    let MessagePayload::Text(text) = payload else { return None };
    let message = loomrec_identity::parse(text).ok()?;
    Some(message.get("event_id")?.as_str()?.into_owned())
}

/// Waits until this time. Without a time, it waits forever.
async fn wait_until_due(due: Option<Instant>) {
    match due {
        // Even the shortest sleep takes a millisecond.
        Some(due) if due <= Instant::now() => {}
        Some(due) => sleep_until(due).await,
        None => std::future::pending().await,
    }
}
