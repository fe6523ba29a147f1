//! Polling of rare futures beside one that wakes its task often: they are polled only when they are
//! ready.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

/// Polls futures only after one of them has woken the task.
#[derive(Debug, Default)]
pub(super) struct SidePoll(Option<Arc<WakeFlag>>);

/// Wakes a task, and notes that it did.
#[derive(Debug)]
struct WakeFlag {
    woken: AtomicBool,
    task: Waker,
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.woken.store(true, Ordering::Release);
        self.task.wake_by_ref();
    }
}

impl SidePoll {
    /// Polls with `poll` if this is the first time, if what it polled before has woken the
    /// task, or if the task has another waker. A future that `poll` has not polled before
    /// needs a new `SidePoll`.
    pub(super) fn poll<T>(
        &mut self,
        cx: &Context<'_>,
        poll: impl FnOnce(&mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let flag = self.0.take().filter(|flag| flag.task.will_wake(cx.waker()));
        let flag = flag.unwrap_or_else(|| {
            Arc::new(WakeFlag { woken: AtomicBool::new(true), task: cx.waker().clone() })
        });
        let flag = self.0.insert(flag);
        if !flag.woken.swap(false, Ordering::Acquire) {
            return Poll::Pending;
        }
        poll(&mut Context::from_waker(&Waker::from(Arc::clone(flag))))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::pin::pin;

    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn future_is_polled_at_first_and_then_only_when_it_woke_the_task() {
        // A spawned task always has the same waker.
        let counted = tokio::spawn(async {
            let (sender, receiver) = oneshot::channel::<u8>();
            let (mut receiver, mut side) = (pin!(receiver), SidePoll::default());
            let mut sender = Some(sender);
            let (mut polls, mut rounds) = (0, 0);
            let received = poll_fn(|cx| {
                rounds += 1;
                let received = side.poll(cx, |cx| {
                    polls += 1;
                    receiver.as_mut().poll(cx)
                });
                if received.is_pending() && rounds < 10 {
                    cx.waker().wake_by_ref();
                } else if let Some(sender) = sender.take() {
                    sender.send(7).unwrap();
                }
                received
            });
            (received.await, polls, rounds)
        });
        assert_eq!(counted.await.unwrap(), (Ok(7), 2, 11));
    }
}
