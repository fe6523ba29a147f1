//! The body of a request: read whole, within bounds of size and of patience.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame};
use tokio::time::timeout;

/// How much is set aside at once for a body that announces its length: it is only
/// an announcement.
const SET_ASIDE: usize = 1 << 20;

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is larger than it may be.
    Larger,
    /// It ended before its length.
    Broken,
    /// No byte of it came for too long.
    Late,
}

/// Returns all of a body of up to `max` bytes, each of which comes within `patience` of the
/// one before. A body that comes in one piece is not copied.
///
/// # Errors
/// [`Unread`], which says why not.
pub(super) async fn collect<B>(mut body: B, max: usize, patience: Duration) -> Result<Bytes, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    if body.size_hint().lower() > max as u64 {
        return Err(Unread::Larger);
    }
    let mut first = Bytes::new();
    let mut all: Vec<u8> = Vec::new();
    while let Some(frame) = next(&mut body, patience).await? {
        // Trailers are no part of a body.
        let Ok(data) = frame.into_data() else { continue };
        if first.len() + all.len() + data.len() > max {
            return Err(Unread::Larger);
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

/// Reads up to `max` bytes of a body, and forgets them.
pub(super) async fn discard<B>(mut body: B, max: u64, patience: Duration)
where
    B: Body<Data = Bytes> + Unpin,
{
    let mut read = 0;
    while let Ok(Some(frame)) = next(&mut body, patience).await {
        read += frame.data_ref().map_or(0, Bytes::len) as u64;
        if read > max {
            return;
        }
    }
}

/// The next frame. Time is looked at only where it is not there yet.
async fn next<B>(body: &mut B, patience: Duration) -> Result<Option<Frame<Bytes>>, Unread>
where
    B: Body<Data = Bytes> + Unpin,
{
    let there = poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx))).await;
    let frame = match there {
        Poll::Ready(frame) => frame,
        Poll::Pending => timeout(patience, poll_fn(|cx| Pin::new(&mut *body).poll_frame(cx)))
            .await
            .map_err(|_| Unread::Late)?,
    };
    frame.transpose().map_err(|_| Unread::Broken)
}

#[cfg(test)]
mod tests {
    use std::task::Context;

    use super::*;

    /// A body in pieces, that breaks or goes silent behind them.
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
    ) -> Result<Bytes, Unread> {
        let body = Pieces { left: left.to_vec(), behind };
        collect(body, max, Duration::from_millis(20)).await
    }

    #[tokio::test]
    async fn body_is_read_whole_up_to_its_limit() {
        let end = Poll::Ready(None);
        assert_eq!(collected(&[], end, 0).await, Ok(Bytes::new()));
        assert_eq!(collected(&["ab"], end, 2).await, Ok("ab".into()));
        assert_eq!(collected(&["ab", "", "c"], end, 3).await, Ok("abc".into()));
        assert_eq!(collected(&["ab", "c"], end, 2).await, Err(Unread::Larger));
        assert_eq!(collected(&["ab"], Poll::Ready(Some(())), 9).await, Err(Unread::Broken));
    }

    #[tokio::test]
    async fn body_of_which_nothing_comes_any_more_is_not_waited_for() {
        assert_eq!(collected(&["ab"], Poll::Pending, 9).await, Err(Unread::Late));
        let silent = Pieces { left: vec!["ab"], behind: Poll::Pending };
        discard(silent, 9, Duration::from_millis(20)).await;
    }
}
