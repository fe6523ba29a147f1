//! Control of the connection that carries a response: the sender of the response can wait until its
//! bytes are written, end the connection in a cut, or have bytes sent after the response.
//!
//! HTTP/1.1 has one response at a time on a connection, so the connection itself does each of
//! these. If a connection carries several responses one day, only this module has to change.

use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::socket::ConnectionHandle;
use loomrec_engine::replay::EndTurn;

/// The control of one response, from the head of its request on.
#[derive(Clone, Debug)]
pub struct ResponseControl {
    connection: Arc<ConnectionHandle>,
    /// Whether the response is that of a turn over a WebSocket, which others write.
    is_turn: bool,
}

/// How much had gone to the system at one moment.
#[derive(Clone, Copy, Debug)]
pub struct FlushMark(u64);

impl ResponseControl {
    /// Begins the response to a request whose head has just arrived on `connection`.
    pub(super) fn begin_response(connection: &Arc<ConnectionHandle>) -> Self {
        connection.note_request();
        Self { connection: Arc::clone(connection), is_turn: false }
    }

    /// Begins the response to a turn over a WebSocket. Its messages are written in their order, and a
    /// cut comes after them.
    pub(super) fn begin_turn(connection: &Arc<ConnectionHandle>) -> Self {
        Self { is_turn: true, ..Self::begin_response(connection) }
    }

    /// Ends the response: it was sent, or never will be.
    pub(super) fn end_response(&self) {
        self.connection.note_response_end();
    }

    /// Marks what has gone to the system so far, for [`ResponseControl::poll_flushed`].
    pub(super) fn flush_mark(&self) -> FlushMark {
        FlushMark(self.connection.flush_count())
    }

    /// Ready once everything that was sent before `mark` was made, and what followed it, has gone
    /// to the system.
    pub(super) fn poll_flushed(&self, mark: FlushMark, cx: &mut Context<'_>) -> Poll<()> {
        // The messages of a turn are written elsewhere, perhaps before the mark.
        if self.is_turn { Poll::Ready(()) } else { self.connection.poll_flushed(mark.0, cx) }
    }

    /// Ready if a piece of the response may be sent: its client has not closed its side, or is known
    /// to be there.
    pub(super) fn poll_send(&self, cx: &Context<'_>) -> Poll<()> {
        self.connection.half_close().poll_send(cx)
    }

    /// Marks the response as cut by loomrec, not by its client.
    pub(super) fn note_cut(&self) {
        self.connection.note_cut();
    }

    /// Makes the cut a reset instead of a close.
    pub(super) fn reset_at_end(&self) {
        self.connection.reset_at_end();
    }

    /// Keeps the turn of an answer whose last bytes are written until they have gone to the system.
    pub(super) fn drop_when_flushed(&self, turn: Box<EndTurn>) {
        self.connection.last_end().keep_turn(turn);
    }

    /// Has bytes sent after the response, before the close.
    pub(super) fn send_behind(&self, bytes: Bytes) {
        self.connection.send_behind(bytes);
    }
}
