//! What the sender of one response may ask of the connection that carries it: that it waits for
//! what was sent, that it ends in a cut, that bytes follow behind the response.
//!
//! HTTP/1.1 has one response at a time on a connection, so each of these is done by the
//! connection itself. Where a connection carries several, only this module has to know.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::socket::ConnectionHandle;

/// The sending of one response, from the head of its request on.
#[derive(Clone, Debug)]
pub struct ResponseControl {
    connection: Arc<ConnectionHandle>,
}

/// How much had gone to the system at some moment.
#[derive(Clone, Copy, Debug)]
pub struct FlushMark(u64);

impl ResponseControl {
    /// The response to a request whose head has just come on `connection`.
    pub(super) fn begin(connection: &Arc<ConnectionHandle>) -> Self {
        connection.begin();
        Self { connection: Arc::clone(connection) }
    }

    /// The response has gone, or never will.
    pub(super) fn end(&self) {
        self.connection.end();
    }

    /// Marks what has gone to the system so far, for [`ResponseControl::poll_flushed`].
    pub(super) fn flush_mark(&self) -> FlushMark {
        FlushMark(self.connection.flushes())
    }

    /// Ready once all that was sent before `mark` was made, and what followed it, has gone to
    /// the system.
    pub(super) fn poll_flushed(&self, mark: FlushMark, cx: &mut Context<'_>) -> Poll<()> {
        self.connection.poll_flushed(mark.0, cx)
    }

    /// Marks the response as cut by us: it is not its client that leaves.
    pub(super) fn cut(&self) {
        self.connection.cut();
    }

    /// Makes the cut a reset in place of a close.
    pub(super) fn reset_at_end(&self) {
        self.connection.reset_at_end();
    }

    /// Has bytes sent behind the response, before the close.
    pub(super) fn send_behind(&self, bytes: Bytes) {
        self.connection.send_behind(bytes);
    }
}
