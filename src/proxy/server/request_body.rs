//! Reading of request bodies, within limits of size and time.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::{Instant, timeout};

/// The most bytes that are allocated at once for a body with an announced length: the announcement
/// may be wrong.
const SET_ASIDE: usize = 1 << 20;

/// The bytes that a body must bring for each second that it takes beyond the time limit. Even the
/// slowest lines bring more. A client that drips, one byte before each timeout, does not.
pub(super) const SLOWEST_RATE: u32 = 1024;

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyReadError {
    /// It is larger than the limit.
    Larger,
    /// It ended before its announced length.
    Broken,
    /// No byte of it arrived for too long.
    Late,
    /// It arrived at less than [`SLOWEST_RATE`].
    Slow,
}

/// Returns the whole of a body of up to `max` bytes. Each piece must arrive within `patience` of
/// the one before, and all of them within `patience` plus one second for each [`SLOWEST_RATE`]
/// bytes. A body that arrives in one piece is not copied.
///
/// # Errors
/// [`BodyReadError`], which gives the reason.
pub(super) async fn collect_body<B>(
    mut body: B,
    max: usize,
    patience: Duration,
) -> Result<Bytes, BodyReadError>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > max as u64 {
        return Err(BodyReadError::Larger);
    }
    let mut first = Bytes::new();
    let mut all: Vec<u8> = Vec::new();
    let mut pace = ArrivalPace::new(patience);
    while let Some(frame) = pace.next(&mut body).await? {
        // Trailers are not part of the body.
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + all.len() + data.len() > max {
            return Err(BodyReadError::Larger);
        }
        if first.is_empty() && all.is_empty() {
            first = data;
            continue;
        }
        if all.is_empty() {
            let left = usize::try_from(body.size_hint().lower()).unwrap_or(SET_ASIDE);
            all.reserve(first.len() + data.len() + left.min(SET_ASIDE));
            all.extend_from_slice(&std::mem::take(&mut first));
        }
        all.extend_from_slice(&data);
    }
    Ok(if all.is_empty() { first } else { all.into() })
}

/// Reads up to `max` bytes of a body, and discards them.
pub(super) async fn discard_body<B>(mut body: B, max: u64, patience: Duration)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut pace = ArrivalPace::new(patience);
    while let Ok(Some(_)) = pace.next(&mut body).await {
        if pace.read > max {
            return;
        }
    }
}

/// How fast a body arrives.
struct ArrivalPace {
    patience: Duration,
    /// Bytes that have arrived.
    read: u64,
    /// When the body first had to be waited for. A body that is available at once needs no clock.
    since: Option<Instant>,
}

impl ArrivalPace {
    fn new(patience: Duration) -> Self {
        Self { patience, read: 0, since: None }
    }

    /// Returns the next frame. The clock is read only if the frame is not available yet.
    async fn next<B>(&mut self, body: &mut B) -> Result<Option<Frame<Bytes>>, BodyReadError>
    where
        B: Body<Data = Bytes> + Unpin,
    {
        let there = poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx))).await;
        let frame = match there {
            Poll::Ready(frame) => frame,
            Poll::Pending => {
                let (time, late) = self.time_left(Instant::now());
                timeout(time, poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)))
                    .await
                    .map_err(|_| late)?
            }
        };
        let frame = frame.transpose().map_err(|_| BodyReadError::Broken)?;
        let data = frame.as_ref().and_then(Frame::data_ref);
        self.read += data.map_or(0, Bytes::len) as u64;
        Ok(frame)
    }

    /// Returns how long the next frame may take, and the error if it takes longer.
    fn time_left(&mut self, now: Instant) -> (Duration, BodyReadError) {
        let waited = now.saturating_duration_since(*self.since.get_or_insert(now));
        let earned =
            Duration::from_millis(self.read.saturating_mul(1000) / u64::from(SLOWEST_RATE));
        let left = self.patience.saturating_add(earned).saturating_sub(waited);
        match left < self.patience {
            true => (left, BodyReadError::Slow),
            false => (self.patience, BodyReadError::Late),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::task::Context;

    use super::*;

    /// A body in pieces that breaks or goes silent after them.
    struct Pieces {
        left: Vec<&'static str>,
        behind: Poll<Option<()>>,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            if self.left.is_empty() {
                return self.behind.map(|broken| broken.map(Err));
            }
            let piece = self.left.remove(0);
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(piece.as_bytes())))))
        }
    }

    async fn collected(
        left: &[&'static str],
        behind: Poll<Option<()>>,
        max: usize,
    ) -> Result<Bytes, BodyReadError> {
        let body = Pieces { left: left.to_vec(), behind };
        collect_body(body, max, Duration::from_millis(20)).await
    }

    #[tokio::test]
    async fn body_is_read_whole_up_to_its_limit() {
        let end = Poll::Ready(None);
        assert_eq!(collected(&[], end, 0).await, Ok(Bytes::new()));
        assert_eq!(collected(&["ab"], end, 2).await, Ok("ab".into()));
        assert_eq!(collected(&["ab", "", "c"], end, 3).await, Ok("abc".into()));
        assert_eq!(collected(&["ab", "c"], end, 2).await, Err(BodyReadError::Larger));
        assert_eq!(collected(&["ab"], Poll::Ready(Some(())), 9).await, Err(BodyReadError::Broken));
    }

    /// A body of single bytes with a pause before each.
    struct Drips {
        left: usize,
        pause: Pin<Box<tokio::time::Sleep>>,
    }

    const PAUSE: Duration = Duration::from_millis(20);

    impl Body for Drips {
        type Data = Bytes;
        type Error = ();

        fn poll_frame(
            mut self: Pin<&mut Self>,
            cx: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, ()>>> {
            std::task::ready!(self.pause.as_mut().poll(cx));
            if self.left == 0 {
                return Poll::Ready(None);
            }
            self.left -= 1;
            self.pause = Box::pin(tokio::time::sleep(PAUSE));
            Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b"x")))))
        }
    }

    #[tokio::test]
    async fn body_that_drips_is_not_waited_for() {
        let body = Drips { left: 200, pause: Box::pin(tokio::time::sleep(PAUSE)) };
        assert_eq!(collect_body(body, 1000, 20 * PAUSE).await, Err(BodyReadError::Slow));
    }

    #[tokio::test]
    async fn body_earns_time_by_its_bytes() {
        let second = Duration::from_secs(1);
        let start = Instant::now();
        let mut pace = ArrivalPace::new(60 * second);
        assert_eq!(pace.time_left(start), (60 * second, BodyReadError::Late));
        assert_eq!(pace.time_left(start + 59 * second), (second, BodyReadError::Slow));
        // One megabyte, which earns 1024 seconds.
        pace.read = 1 << 20;
        assert_eq!(pace.time_left(start + 1000 * second), (60 * second, BodyReadError::Late));
        assert_eq!(pace.time_left(start + 1024 * second), (60 * second, BodyReadError::Late));
        assert_eq!(pace.time_left(start + 1080 * second), (4 * second, BodyReadError::Slow));
        assert_eq!(pace.time_left(start + 2000 * second), (Duration::ZERO, BodyReadError::Slow));
        pace.read = u64::MAX;
        assert_eq!(pace.time_left(start), (60 * second, BodyReadError::Late));
    }

    #[tokio::test]
    async fn body_of_which_nothing_comes_any_more_is_not_waited_for() {
        assert_eq!(collected(&["ab"], Poll::Pending, 9).await, Err(BodyReadError::Late));
        let silent = Pieces { left: vec!["ab"], behind: Poll::Pending };
        discard_body(silent, 9, Duration::from_millis(20)).await;
    }
}
