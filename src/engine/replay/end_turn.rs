//! The turn of one call in the order of ends: what has to end before its answer goes on, and how
//! long it waits for that.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, Sleep, sleep};

use super::end_order::{EndObstacle, EndOrder, ObstacleKind, OpenPlace};
use super::ready_response::ReadyResponse;
use super::recorded_ends::OverlapPlace;

/// The turn of one call. As long as it exists, the call is open.
#[derive(Debug)]
pub struct EndTurn {
    order: Arc<EndOrder>,
    place: OverlapPlace,
    session: Option<Arc<str>>,
    /// `None` while nobody waits for it.
    open: Option<OpenPlace>,
    wait: Option<TurnWait>,
    /// How much longer it may wait.
    patience: Duration,
}

/// A wait.
#[derive(Debug)]
struct TurnWait {
    reason: WaitReason,
    timer: Pin<Box<Sleep>>,
    since: Instant,
}

/// What a wait is for.
#[derive(Debug)]
enum WaitReason {
    /// For a call that has to end, or to come.
    Obstacle(oneshot::Receiver<()>, ObstacleKind),
    /// For the moment after an end.
    Moment,
}

/// How a wait ended.
enum WaitEnd {
    /// The obstacle is gone.
    Gone(ObstacleKind),
    /// The obstacle is still there, and the time is up.
    TimeUp(ObstacleKind),
    /// The moment is over.
    MomentOver,
}

impl EndTurn {
    /// Opens a call that has arrived.
    pub(super) fn new(
        order: Arc<EndOrder>,
        place: OverlapPlace,
        session: Option<Arc<str>>,
    ) -> Self {
        let open = Some(order.open(&place, session.clone()));
        let patience = order.limits().longest_wait;
        Self { order, place, session, open, wait: None, patience }
    }

    /// Ready when a piece of `answer`, or its end after the last one, may be sent. The last bytes are
    /// sent with the end: a client that has them may read no further.
    pub(super) fn poll_piece(
        &mut self,
        answer: &ReadyResponse,
        piece: usize,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        match answer.time_before_last(piece) {
            Some(at_ms) => self.poll(self.place.span.chunk_time(at_ms), false, cx),
            None => self.poll_end(cx),
        }
    }

    /// Ready when the end of the answer may be sent.
    fn poll_end(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.poll(self.place.span.ended, true, cx)
    }

    /// Ready when nothing is open that had ended before `time`, and, if `expects` is set, nothing of
    /// that kind is still to come; or after too long a wait.
    fn poll(&mut self, time: i64, expects: bool, cx: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(wait) = &mut self.wait {
                let end = ready!(wait.poll(cx));
                let waited = wait.since.elapsed();
                self.patience = self.patience.saturating_sub(waited);
                self.wait = None;
                self.note_wait_end(end, time, waited);
            } else if self.patience.is_zero() {
                return Poll::Ready(());
            } else {
                let session = self.session.as_ref();
                match self.order.find_obstacle(&self.place, session, time, expects) {
                    None => return Poll::Ready(()),
                    Some(obstacle) => self.wait = Some(TurnWait::for_it(obstacle, self.patience)),
                }
            }
        }
    }

    /// Takes account of a wait that has ended.
    fn note_wait_end(&mut self, end: WaitEnd, time: i64, waited: Duration) {
        match end {
            // A call that comes may have ended before this one is polled again.
            WaitEnd::Gone(
                ObstacleKind::OpenCall { gap } | ObstacleKind::MissingCall { gap, .. },
            ) => {
                let moment = gap.min(self.order.limits().between_ends);
                self.wait = Some(TurnWait::new(WaitReason::Moment, moment));
            }
            WaitEnd::TimeUp(ObstacleKind::OpenCall { .. }) => {
                self.patience = Duration::ZERO;
                self.order.note_broken();
            }
            WaitEnd::TimeUp(ObstacleKind::MissingCall { .. }) => {
                self.order.stop_expecting(&self.place, time, waited);
            }
            WaitEnd::MomentOver => {}
        }
    }

    /// Does some work that may wait for what a waiting answer holds. As long as it waits, nobody waits
    /// for this call.
    pub(super) async fn step_aside<T>(turn: Option<&mut Self>, work: impl Future<Output = T>) -> T {
        let Some(turn) = turn else { return work.await };
        let mut work = pin!(work);
        let first = std::future::poll_fn(|cx| Poll::Ready(work.as_mut().poll(cx))).await;
        if let Poll::Ready(done) = first {
            return done;
        }
        turn.close();
        let done = work.await;
        turn.open = Some(turn.order.open(&turn.place, turn.session.clone()));
        done
    }

    fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.order.close(&self.place, &open);
        }
    }
}

impl Drop for EndTurn {
    fn drop(&mut self) {
        self.close();
    }
}

impl TurnWait {
    fn new(reason: WaitReason, most: Duration) -> Self {
        Self { reason, timer: Box::pin(sleep(most)), since: Instant::now() }
    }

    /// Begins to wait until `obstacle` is gone.
    fn for_it(EndObstacle { gone, kind }: EndObstacle, patience: Duration) -> Self {
        let most = match kind {
            ObstacleKind::OpenCall { .. } => patience,
            ObstacleKind::MissingCall { grace, .. } => grace.min(patience),
        };
        Self::new(WaitReason::Obstacle(gone, kind), most)
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<WaitEnd> {
        if let WaitReason::Obstacle(gone, kind) = &mut self.reason
            && Pin::new(gone).poll(cx).is_ready()
        {
            return Poll::Ready(WaitEnd::Gone(*kind));
        }
        ready!(self.timer.as_mut().poll(cx));
        Poll::Ready(match self.reason {
            WaitReason::Obstacle(_, kind) => WaitEnd::TimeUp(kind),
            WaitReason::Moment => WaitEnd::MomentOver,
        })
    }
}

#[cfg(test)]
#[path = "end_turn_tests.rs"]
mod tests;
