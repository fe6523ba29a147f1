//! A scripted stream on its way out, counted once, however it ends.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

use crate::recording::entry::RecordedCut;
use crate::replay::ReplayBody;
use crate::telemetry::run_counters::RunCounters;

/// The body of a scripted stream, which is counted once, however it ends.
pub struct StreamBody {
    body: ReplayBody,
    over: bool,
    counters: Arc<RunCounters>,
}

impl StreamBody {
    /// Counts in `counters` how `body` ends.
    pub(super) fn new(body: ReplayBody, counters: Arc<RunCounters>) -> Self {
        Self { body, over: false, counters }
    }

    /// When the first byte is due.
    pub(super) fn first_due(&self) -> Option<Instant> {
        self.body.first_due()
    }
}

impl Drop for StreamBody {
    fn drop(&mut self) {
        let drained = self.over || self.body.is_end_stream();
        let counters = &self.counters;
        RunCounters::count(if drained {
            &counters.streams_drained
        } else {
            &counters.streams_left
        });
    }
}

impl Body for StreamBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        self.over |= matches!(polled, Poll::Ready(None));
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
