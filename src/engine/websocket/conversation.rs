//! A conversation: what happens on a client's WebSocket once its handshake is accepted.

use std::error::Error;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use http::Response;
use hyper::upgrade::OnUpgrade;
use tokio::sync::watch;

use super::socket::SocketStream;
use super::terms::ConversationTerms;
use loomrec_provider::AnswerOutcome;

/// A conversation that begins when the handshake of its client is accepted.
pub trait SocketConversation: Send {
    /// Holds the conversation over `client` until it ends.
    fn hold_until_end(
        self: Box<Self>,
        client: SocketStream,
        terms: ConversationTerms,
    ) -> Pin<Box<dyn Future<Output = ConversationEnd> + Send>>;

    /// Returns how many messages the server sends, if that is known.
    fn server_messages(&self) -> Option<usize> {
        None
    }

    /// Gives the connection to the upstream up to another use; `None` if there is no upstream.
    fn into_upstream(self: Box<Self>) -> Option<OnUpgrade> {
        None
    }
}

/// How a conversation ended.
#[derive(Debug, Default)]
pub struct ConversationEnd {
    /// How many messages the client was sent.
    pub messages: u64,
    /// How many bytes these had.
    pub bytes: u64,
    /// Whether the client has seen all of it.
    pub is_whole: bool,
    /// Whether a fault kept the client from getting the messages as they are.
    pub is_changed: bool,
    /// The miss of a message that is not the recorded one.
    pub miss: Option<Box<dyn Error + Send + Sync>>,
    /// The take that was replayed, if it is not the one that the handshake found.
    pub take: Option<ReplayedTake>,
    /// The recorded messages of a client that left before it had sent all of them.
    pub unplayed: Option<UnplayedMessages>,
}

/// A take whose conversation was replayed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayedTake {
    /// Its index in the matcher.
    pub index: usize,
    /// Its number within its entry, from 1.
    pub number: usize,
    /// The outcome of its answer.
    pub outcome: AnswerOutcome,
}

/// A recorded conversation of which a client sent a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnplayedMessages {
    /// How many messages of the client were recorded.
    pub recorded: usize,
    /// How many of these it sent.
    pub sent: usize,
}

/// The conversation that follows a response, as an extension of it.
#[derive(Clone)]
pub struct NextConversation(Arc<Mutex<Option<Box<dyn SocketConversation>>>>);

impl NextConversation {
    /// Has `conversation` follow `response`.
    pub fn attach_to_response<B>(
        response: &mut Response<B>,
        conversation: impl SocketConversation + 'static,
    ) {
        let next: Option<Box<dyn SocketConversation>> = Some(Box::new(conversation));
        response.extensions_mut().insert(Self(Arc::new(Mutex::new(next))));
    }

    /// Returns how many messages the server sends in the conversation that follows `response`, if that
    /// is known.
    pub fn server_messages<B>(response: &Response<B>) -> Option<usize> {
        let next = response.extensions().get::<Self>()?;
        next.0.lock().unwrap_or_else(PoisonError::into_inner).as_ref()?.server_messages()
    }

    /// Takes the conversation that follows `response`.
    pub fn take_from_response<B>(
        response: &mut Response<B>,
    ) -> Option<Box<dyn SocketConversation>> {
        let next = response.extensions_mut().remove::<Self>()?;
        next.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for NextConversation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NextConversation")
    }
}

/// Returns once this is set, or its sender is gone.
pub async fn is_set(signal: &mut watch::Receiver<bool>) {
    drop(signal.wait_for(|is_set| *is_set).await.map(|is_set| *is_set));
}
