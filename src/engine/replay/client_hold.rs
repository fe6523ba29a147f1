//! The hold at the point of an answer at which its recorded client left, and how long it lasts.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::time::{Sleep, sleep};

use super::mismatch::RecordingMismatchError;
use loomrec_recording::entry::ClientLeft;

/// How much longer than the recorded client a client may wait.
const MARGIN: Duration = Duration::from_secs(2);

/// The longest time that a call is held.
const LONGEST: Duration = Duration::from_secs(30);

/// Returns how long a call is held at the point that its recorded client reached at `since_ms`.
pub(super) fn longest_hold(left: ClientLeft, since_ms: f64) -> Duration {
    let waited = (left.at_ms - since_ms).max(0.0) / 1000.0;
    Duration::try_from_secs_f64(waited).map_or(LONGEST, |waited| (waited + MARGIN).min(LONGEST))
}

/// The hold at the end of what the recorded client got.
#[derive(Debug)]
pub(super) struct ClientHold {
    /// How long it lasts; `None` if until the client leaves.
    time: Option<Duration>,
    timer: Option<Pin<Box<Sleep>>>,
    /// The miss, if the hold ends before the client leaves.
    error: Arc<RecordingMismatchError>,
    is_over: bool,
}

impl ClientHold {
    pub(super) fn new(time: Option<Duration>, error: RecordingMismatchError) -> Self {
        Self { time, timer: None, error: Arc::new(error), is_over: false }
    }

    /// Ready when the client has waited for too long.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(time) = self.time else { return Poll::Pending };
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(time)));
        let polled = timer.as_mut().poll(cx);
        self.is_over |= polled.is_ready();
        polled
    }

    /// Returns the miss, if the client has waited for too long.
    pub(super) fn outwaited_miss(&self) -> Option<Arc<RecordingMismatchError>> {
        self.is_over.then(|| Arc::clone(&self.error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_is_held_a_little_longer_than_its_recorded_client_waited_and_never_long() {
        let held = |at_ms, since_ms| longest_hold(ClientLeft { at_ms, bytes: None }, since_ms);
        assert_eq!(held(1500.0, 0.0), Duration::from_millis(3500));
        assert_eq!(held(1500.0, 1400.0), Duration::from_millis(2100));
        assert_eq!(held(1.0, 1400.0), MARGIN);
        assert_eq!(held(3_600_000.0, 0.0), LONGEST);
        assert_eq!(held(f64::MAX, 0.0), LONGEST);
    }
}
