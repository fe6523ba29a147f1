//! The terms of a conversation.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;

use loomrec_recording::redact::Redactor;

/// The terms of a conversation.
#[derive(Clone, Debug)]
pub struct ConversationTerms {
    /// The most bytes of a message.
    pub largest: usize,
    /// How long neither side may send anything, and how long a client may take to read a message.
    pub silence: Duration,
    /// Set when the run ends: the conversation ends, too.
    pub closing: watch::Receiver<bool>,
    /// Whether its client may be told what the recording holds.
    pub may_reveal: bool,
    /// Whether the conversation gives its take back if its client does not send all that was recorded.
    /// Otherwise its call decides about the take.
    pub settles_take: bool,
    /// Removes credentials from messages.
    pub redactor: Arc<Redactor>,
}
