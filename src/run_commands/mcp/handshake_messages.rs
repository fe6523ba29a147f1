//! What a client sent to connect to a server of tools.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use loomrec_provider::RpcFacts;

/// The messages by which a client connects, in earlier versions of the protocol.
#[derive(Debug, Default)]
pub(super) struct HandshakeMessages(Mutex<HandshakeLines>);

#[derive(Debug, Default)]
struct HandshakeLines {
    initialize: Option<Bytes>,
    initialized: Option<Bytes>,
}

impl HandshakeMessages {
    /// Keeps a message of the client if it belongs to the handshake.
    pub(super) fn keep_message(&self, facts: &RpcFacts, line: &Bytes) {
        if facts.is_initialize() {
            self.lock_lines().initialize = Some(line.clone());
        } else if facts.is_initialized() {
            self.lock_lines().initialized = Some(line.clone());
        }
    }

    /// Returns the request by which the client connected.
    pub(super) fn initialize_request(&self) -> Option<Bytes> {
        self.lock_lines().initialize.clone()
    }

    /// Returns the notification by which the client said that it has connected.
    pub(super) fn initialized_notification(&self) -> Option<Bytes> {
        self.lock_lines().initialized.clone()
    }

    fn lock_lines(&self) -> MutexGuard<'_, HandshakeLines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
