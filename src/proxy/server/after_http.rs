//! What happens on a connection once HTTP has ended on it.

use std::fmt;
use std::pin::Pin;
use std::sync::{Mutex, PoisonError};

use tokio::sync::watch;

use loomrec_engine::websocket::socket::SocketStream;

/// What happens on a connection once HTTP has ended on it: a conversation over a WebSocket, which ends
/// when this is set.
pub(super) type AfterHttp = Box<
    dyn FnOnce(SocketStream, watch::Receiver<bool>) -> Pin<Box<dyn Future<Output = ()> + Send>>
        + Send,
>;

/// The slot of what happens once HTTP has ended.
#[derive(Default)]
pub(super) struct AfterHttpSlot(Mutex<Option<AfterHttp>>);

impl fmt::Debug for AfterHttpSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AfterHttpSlot")
    }
}

impl AfterHttpSlot {
    /// Sets what happens.
    pub(super) fn set(&self, after: AfterHttp) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(after);
    }

    /// Takes what happens.
    pub(super) fn take(&self) -> Option<AfterHttp> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}
