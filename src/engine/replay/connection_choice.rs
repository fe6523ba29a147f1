//! The choice among the recorded connections to one address: the client's first message decides.
//!
//! A handshake uses the next take up, as any other call does. Until its client has sent a message, the
//! connection may become that of another take whose server had sent the same messages by then: what
//! the client has heard is the beginning of both. So a client gets no message of a connection that is
//! not its own. Connections whose clients have sent no message yet exchange their takes.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::connection_opening::{MessageDigest, first_digest};
use super::engine::ReplayEngine;
use super::waiting_connections::{TakeChoice, WaitingTake};
use crate::blocking;
use loomrec_recording::MessagePayload;
use loomrec_recording::normalized_request::NormalizedRequest;

/// How long a connection waits for another one, whose handshake is being answered, to exchange takes.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(1);

/// The place of a connection among those that wait.
#[derive(Debug)]
pub(crate) struct WaitingPlace {
    replay: Arc<ReplayEngine>,
    number: u64,
    first: usize,
}

impl ReplayEngine {
    /// Reads an entry of a connection on a blocking thread. Waits while many are being read.
    pub(crate) async fn read_connection<T: Send + 'static>(
        &self,
        read: impl FnOnce() -> T + Send + 'static,
    ) -> T {
        let _turn = self.waiting.reading.acquire().await;
        blocking::run_blocking(read).await
    }
}

impl WaitingPlace {
    /// Returns the place of a connection that has just used up this take; `None` if it is not known
    /// how that begins.
    pub(crate) fn open(
        replay: &Arc<ReplayEngine>,
        take: usize,
        session: Option<&str>,
    ) -> Option<Self> {
        replay.matcher().openings.find(take)?;
        let mut takes = replay.waiting.lock_takes();
        takes.last += 1;
        let number = takes.last;
        takes.by_number.insert(number, WaitingTake { take, session: session.map(str::to_owned) });
        drop(takes);
        replay.waiting.added.notify_waiters();
        Some(Self { replay: Arc::clone(replay), number, first: take })
    }

    /// Returns the take that the connection has, and which no other gets any more.
    pub(super) fn leave_with_take(self) -> usize {
        let left = self.replay.waiting.lock_takes().by_number.remove(&self.number);
        left.map_or(self.first, |left| left.take)
    }

    /// Returns the take of a connection whose client sends its first message. If none begins with that
    /// message, it is the one that the connection has.
    pub(super) async fn choose_take(
        self,
        handshake: &NormalizedRequest,
        first: &MessagePayload,
    ) -> usize {
        let until = Instant::now() + HANDSHAKE_WAIT;
        let rules = self.replay.matcher().rules_of_take(self.first).cloned().unwrap_or_default();
        let first = first_digest(handshake, first, &rules);
        loop {
            let added = self.replay.waiting.added.notified();
            let is_over = match self.exchange_take(first) {
                TakeChoice::Found(take) => return take,
                TakeChoice::InUse => timeout_at(until, added).await.is_err(),
                TakeChoice::None => true,
            };
            if is_over {
                break;
            }
        }
        self.leave_with_take()
    }

    /// Gives the connection a take that begins with this message of the client, and which no other gets
    /// any more.
    fn exchange_take(&self, first: MessageDigest) -> TakeChoice {
        let matcher = self.replay.matcher();
        let mut takes = self.replay.waiting.lock_takes();
        let Some(mut own) = takes.by_number.remove(&self.number) else { return TakeChoice::None };
        let choice = matcher.exchange_take(&mut own, first, &mut takes);
        if !matches!(choice, TakeChoice::Found(_)) {
            takes.by_number.insert(self.number, own);
        }
        choice
    }
}

impl Drop for WaitingPlace {
    fn drop(&mut self) {
        self.replay.waiting.lock_takes().by_number.remove(&self.number);
    }
}
