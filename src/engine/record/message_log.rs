//! The copy of a conversation's messages while it is held.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use loomrec_recording::{MessagePayload, MessageSender, RecordedMessage};

/// The most messages of a conversation that are kept.
const MOST_MESSAGES: usize = 100_000;
/// What a message takes in memory beside its bytes.
const BESIDE: usize = size_of::<RecordedMessage>();

/// The copy of a conversation's messages. Both directions write into it.
pub(super) struct MessageLog {
    /// When the request of the handshake arrived.
    arrived: Instant,
    /// The most bytes that are kept.
    max: usize,
    kept: Mutex<KeptMessages>,
}

/// The messages that were kept.
#[derive(Default)]
pub(super) struct KeptMessages {
    pub(super) messages: Vec<RecordedMessage>,
    size: usize,
    /// Whether there were too many. No message is kept then.
    pub(super) is_over: bool,
}

impl MessageLog {
    /// Returns an empty copy, for at most this many bytes.
    pub(super) fn new(arrived: Instant, max: usize) -> Self {
        Self { arrived, max, kept: Mutex::default() }
    }

    /// Adds a message that has just arrived.
    pub(super) fn add(&self, sender: MessageSender, payload: MessagePayload) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.size += payload.as_bytes().len() + BESIDE;
        if kept.is_over || kept.size > self.max || kept.messages.len() == MOST_MESSAGES {
            kept.is_over = true;
            kept.messages = Vec::new();
            return;
        }
        let at_ms = self.arrived.elapsed().as_secs_f64() * 1000.0;
        kept.messages.push(RecordedMessage::new(sender, at_ms, payload));
    }

    /// Takes the messages out.
    pub(super) fn take_messages(&self) -> KeptMessages {
        std::mem::take(&mut *self.kept.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(bytes: usize) -> MessagePayload {
        MessagePayload::Text("x".repeat(bytes).into())
    }

    #[test]
    fn copy_over_its_limit_is_dropped() {
        let log = MessageLog::new(Instant::now(), 1000 + 3 * BESIDE);
        log.add(MessageSender::Client, text(400));
        log.add(MessageSender::Server, text(600));
        assert_eq!(log.kept.lock().unwrap().messages.len(), 2);
        log.add(MessageSender::Server, text(1));
        log.add(MessageSender::Server, text(1));
        let kept = log.take_messages();
        assert!(kept.is_over && kept.messages.is_empty());
    }
}
