//! The tee: one task owns the upstream's body and feeds the client and the copy.
//!
//! While the copy holds a response's chunks, the client's queue shares them and
//! needs no bound of its own; once the copy has been dropped, the queue is held
//! to a megabyte by slowing the upstream down.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use super::capture::Capture;
use super::{Kept, Shared};
use crate::recording::entry::{Cut, End};
use crate::upstream::cut_of;

/// Bytes a slow client may lag behind once the copy no longer holds them.
const HIGH_WATER: usize = 1 << 20;

/// What the pump hands to the client.
enum Part {
    Data(Bytes),
    Cut(Cut),
    /// The body is over: told, so that a pump that is gone is not taken for it.
    End,
}

/// Bytes queued for the client.
#[derive(Default)]
struct Gauge {
    bytes: AtomicUsize,
    drained: Notify,
}

/// The client's side of the tee.
pub struct TeeBody {
    parts: Option<mpsc::UnboundedReceiver<Part>>,
    gauge: Arc<Gauge>,
    remaining: Option<u64>,
}

impl TeeBody {
    /// A body of no bytes.
    pub fn empty() -> Self {
        Self { parts: None, gauge: Arc::default(), remaining: Some(0) }
    }
}

impl Body for TeeBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let Some(parts) = self.parts.as_mut() else { return Poll::Ready(None) };
        match ready!(parts.poll_recv(cx)) {
            Some(Part::Data(data)) => {
                self.gauge.bytes.fetch_sub(data.len(), Ordering::Relaxed);
                self.gauge.drained.notify_one();
                if let Some(remaining) = self.remaining.as_mut() {
                    *remaining = remaining.saturating_sub(data.len() as u64);
                }
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Some(Part::Cut(cut)) => Poll::Ready(Some(Err(cut))),
            Some(Part::End) => {
                self.parts = None;
                Poll::Ready(None)
            }
            None => Poll::Ready(Some(Err(Cut::Close))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.parts.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        self.remaining.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

/// The pump's side of the client's queue.
struct Feed {
    parts: mpsc::UnboundedSender<Part>,
    gauge: Arc<Gauge>,
}

impl Feed {
    /// Queues `data`, and where `bounded` waits until the client has taken enough
    /// of what is queued; `false` once the client has left.
    async fn send(&self, data: Bytes, bounded: bool) -> bool {
        self.gauge.bytes.fetch_add(data.len(), Ordering::Relaxed);
        if self.parts.send(Part::Data(data)).is_err() {
            return false;
        }
        while bounded && self.gauge.bytes.load(Ordering::Relaxed) > HIGH_WATER {
            tokio::select! {
                () = self.gauge.drained.notified() => {}
                () = self.parts.closed() => return false,
            }
        }
        true
    }
}

/// A response on its way to its client and into the recording.
pub(super) struct Pump {
    body: reqwest::Body,
    capture: Capture,
    shared: Arc<Shared>,
}

impl Pump {
    pub(super) fn new(body: reqwest::Body, capture: Capture, shared: Arc<Shared>) -> Self {
        Self { body, capture, shared }
    }

    /// Keeps a response that has no body; its head must not be sent before.
    pub(super) async fn keep_whole(mut self) {
        let end = match self.body.frame().await {
            Some(Err(error)) => End::UpstreamAbort(cut_of(&error)),
            _ => End::Complete,
        };
        keep(self.capture, end, &self.shared).await;
    }

    /// The client's body, and the task that feeds it.
    pub(super) fn start(
        self,
        announced: Option<u64>,
        stop: watch::Receiver<bool>,
    ) -> (TeeBody, impl Future<Output = ()> + Send + 'static) {
        let (sender, receiver) = mpsc::unbounded_channel();
        let gauge = Arc::<Gauge>::default();
        let body =
            TeeBody { parts: Some(receiver), gauge: Arc::clone(&gauge), remaining: announced };
        let feed = Feed { parts: sender, gauge };
        (body, self.run(feed, announced, stop))
    }

    /// Relays the body to its end, keeps the exchange, then lets the client have
    /// the last byte.
    async fn run(mut self, feed: Feed, announced: Option<u64>, mut stop: watch::Receiver<bool>) {
        let mut held = None;
        let mut received = 0_u64;
        let mut left: Option<Instant> = None;
        let end = loop {
            let give_up = left.map(|since| since + self.shared.config.drain);
            tokio::select! {
                frame = self.body.frame() => match frame {
                    None => break End::Complete,
                    Some(Err(error)) => break End::UpstreamAbort(cut_of(&error)),
                    Some(Ok(frame)) => {
                        let Ok(data) = frame.into_data() else { continue };
                        received += data.len() as u64;
                        self.capture.add(data.clone());
                        if announced == Some(received) {
                            held = Some(data);
                        } else if left.is_none() {
                            let here = tokio::select! {
                                here = feed.send(data, !self.capture.is_whole()) => here,
                                () = stopped(&mut stop) => break End::ClientAbort,
                            };
                            left = (!here).then(Instant::now);
                        }
                    }
                },
                () = feed.parts.closed(), if left.is_none() => left = Some(Instant::now()),
                () = sleep_until(give_up.unwrap_or_else(Instant::now)), if give_up.is_some() => {
                    break End::ClientAbort;
                }
                () = stopped(&mut stop) => break End::ClientAbort,
            }
        };
        // A body dropped half-way closes its connection; one that is over is pooled.
        drop(self.body);
        keep(self.capture, end, &self.shared).await;
        if let Some(data) = held {
            feed.send(data, false).await;
        }
        // A client that has left does not need to be told.
        drop(feed.parts.send(match end {
            End::UpstreamAbort(cut) => Part::Cut(cut),
            End::ClientAbort => Part::Cut(Cut::Close),
            End::Complete | End::Truncated => Part::End,
        }));
    }
}

/// Returns once the run is told to end what is under way.
async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone will not tell any more: that is a stop as well.
    drop(stop.wait_for(|stop| *stop).await.map(|value| *value));
}

/// Hands the exchange to the writer and tells what became of it.
async fn keep(capture: Capture, end: End, shared: &Shared) {
    let secrets = capture.secrets().clone();
    let (name, entry, cost_usd) = capture.finish(end, shared);
    let usage = entry.usage.unwrap_or_default();
    let incomplete = entry.response.as_ref().map(|response| response.end);
    let kept = Kept {
        outcome: Ok(()),
        incomplete: incomplete.filter(|end| matches!(end, End::ClientAbort | End::Truncated)),
        label: entry
            .request
            .as_ref()
            .map_or_else(String::new, |request| format!("{} {}", request.method, request.path)),
        model: entry.model.clone(),
        tokens: (usage.prompt_tokens, usage.completion_tokens),
        cost_usd,
    };
    let outcome = shared.writer.keep(name, entry, secrets).await;
    (shared.on_kept)(Kept { outcome, ..kept });
}
