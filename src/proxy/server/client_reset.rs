//! Resets by clients. A client that closes its connection with bytes unread, or before it was
//! answered, resets it: it has not read the answer.

use std::fmt;
use std::io::{Error, ErrorKind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Called if a client resets its connection.
type OnReset = Box<dyn FnOnce() + Send>;

/// Whether the client of a connection has reset it, and what to do then.
#[derive(Default)]
pub(super) struct ClientReset {
    /// What to do if it does so before it sends another request.
    on_reset: Mutex<Option<OnReset>>,
    has_on_reset: AtomicBool,
    was_reset: AtomicBool,
}

impl ClientReset {
    /// Has `then` called if the client resets the connection before it sends another request.
    pub(super) fn on_reset(&self, then: OnReset) {
        *self.on_reset.lock().unwrap_or_else(PoisonError::into_inner) = Some(then);
        self.has_on_reset.store(true, Ordering::Relaxed);
    }

    /// Notes that another request has come.
    pub(super) fn forget_callback(&self) {
        if self.has_on_reset.load(Ordering::Relaxed) {
            self.has_on_reset.store(false, Ordering::Relaxed);
            drop(self.take_callback());
        }
    }

    /// Notes an error of the socket.
    pub(super) fn note_error(&self, error: &Error) {
        if matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) {
            self.was_reset.store(true, Ordering::Release);
            if let Some(then) = self.take_callback() {
                then();
            }
        }
    }

    /// Whether the client has reset the connection.
    pub(super) fn was_reset(&self) -> bool {
        self.was_reset.load(Ordering::Acquire)
    }

    fn take_callback(&self) -> Option<OnReset> {
        self.on_reset.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl fmt::Debug for ClientReset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientReset").field("was_reset", &self.was_reset()).finish_non_exhaustive()
    }
}
