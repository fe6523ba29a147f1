//! Keeps the thread of a server from going to sleep right after work.
//!
//! A program that makes one call after the other sends the next one some microseconds after an
//! answer. On a virtual machine, waking a thread on a core that has gone to sleep takes longer than
//! the whole call. So the thread looks for more work for a moment before it sleeps.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// How long a thread looks for more work.
const SEARCH_TIME: Duration = Duration::from_micros(200);

/// After how many looks that found nothing other threads that wait for this core go first. Each time
/// takes about as long as a look does.
const LOOKS_PER_YIELD: u32 = 4;

thread_local! {
    /// When this thread had work last.
    static LAST_WORK: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Wakes [`keep_awake`] of this thread while it waits for work.
    static WAITING: RefCell<Option<Waker>> = const { RefCell::new(None) };
}

/// Notes that this thread has work.
pub(super) fn note_work() {
    LAST_WORK.set(Some(Instant::now()));
    if let Some(waker) = WAITING.take() {
        waker.wake();
    }
}

/// Keeps the runtime of this thread from sleeping for a moment after work. Never returns.
pub(super) async fn keep_awake() {
    let (mut seen, mut looks) = (None, 0_u32);
    loop {
        let last = LAST_WORK.get();
        if last.is_some_and(|at| at.elapsed() < SEARCH_TIME) {
            looks = if last == seen { looks.wrapping_add(1) } else { 0 };
            if looks % LOOKS_PER_YIELD == 1 {
                std::thread::yield_now();
            }
            seen = last;
            // Other tasks run first, and the sockets are looked at.
            tokio::task::yield_now().await;
            continue;
        }
        LAST_WORK.set(None);
        poll_fn(|cx| match LAST_WORK.get() {
            Some(_) => Poll::Ready(()),
            None => {
                WAITING.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        })
        .await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_sleeps_a_moment_after_its_last_work_and_wakes_for_the_next() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let is_asleep = || LAST_WORK.get().is_none() && WAITING.with_borrow(Option::is_some);
        runtime.block_on(async {
            let task = tokio::spawn(keep_awake());
            for _ in 0..3 {
                let deadline = Instant::now() + Duration::from_secs(30);
                while !is_asleep() {
                    assert!(Instant::now() < deadline, "the thread does not go to sleep");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
                let noted = Instant::now();
                note_work();
                assert!(!is_asleep());
                for _ in 0..10 {
                    tokio::task::yield_now().await;
                    assert!(!is_asleep() || noted.elapsed() >= SEARCH_TIME, "it slept too soon");
                }
            }
            assert!(!task.is_finished());
        });
    }
}
