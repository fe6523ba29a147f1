//! What is known of a client that has closed the side of its connection that sends, while it is
//! being answered.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

/// The state of one connection.
#[derive(Debug, Default)]
pub(super) struct HalfCloseState {
    /// Whether the client has closed its side.
    is_closed: AtomicBool,
    /// Notified when it closes its side, and when somebody waits to know whether it is still there.
    look_wanted: Notify,
    known: Mutex<KnownClient>,
}

#[derive(Debug, Default)]
struct KnownClient {
    /// Until when it counts as being there.
    there_until: Option<Instant>,
    /// Learns that the client has closed its side once the answer is over.
    reader: Option<Waker>,
    /// Waits to know whether the client is still there.
    writer: Option<Waker>,
}

impl HalfCloseState {
    /// Notes that the client has closed its side. Its reader is woken when the answer is over.
    pub(super) fn note_closed(&self, reader: &Waker) {
        self.change_known(|known| known.reader = Some(reader.clone()));
        if !self.is_closed.swap(true, Ordering::AcqRel) {
            self.look_wanted.notify_one();
        }
    }

    /// Notes that an answer is over.
    pub(super) fn answer_over(&self) {
        if self.is_closed.load(Ordering::Acquire) {
            self.change_known(|known| known.reader.take()).into_iter().for_each(Waker::wake);
        }
    }

    /// Ready if bytes may be sent: the client has not closed its side, or is known to be there.
    pub(super) fn poll_send(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.is_closed.load(Ordering::Acquire) {
            return Poll::Ready(());
        }
        let is_there = self.change_known(|known| {
            let is_there = known.there_until.is_some_and(|until| Instant::now() < until);
            known.writer = (!is_there).then(|| cx.waker().clone());
            is_there
        });
        if is_there {
            return Poll::Ready(());
        }
        self.look_wanted.notify_one();
        Poll::Pending
    }

    /// Notes that the client is there, which counts for this time.
    pub(super) fn note_there(&self, time: Duration) {
        let writer = self.change_known(|known| {
            known.there_until = Some(Instant::now() + time);
            known.writer.take()
        });
        writer.into_iter().for_each(Waker::wake);
    }

    /// Returns once a look at the client is wanted.
    pub(super) async fn look_wanted(&self) {
        self.look_wanted.notified().await;
    }

    fn change_known<T>(&self, change: impl FnOnce(&mut KnownClient) -> T) -> T {
        change(&mut self.known.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_wait_until_a_client_that_has_closed_its_side_is_seen() {
        let (state, cx) = (HalfCloseState::default(), Context::from_waker(Waker::noop()));
        assert!(state.poll_send(&cx).is_ready());
        state.note_closed(Waker::noop());
        assert!(state.poll_send(&cx).is_pending());
        state.note_there(Duration::from_secs(600));
        assert!(state.poll_send(&cx).is_ready());
        state.note_there(Duration::ZERO);
        assert!(state.poll_send(&cx).is_pending());
    }
}
