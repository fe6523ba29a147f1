//! The tee: one owner of the upstream's body, which feeds the client and the copy.
//!
//! A body that arrives with its head needs no task: it is stored, then handed over whole. Any other
//! body gets a pump in a separate task. While the copy holds a response's chunks, the client's
//! queue shares them and needs no bound. Once the copy has been dropped, the queue is limited to a
//! megabyte by slowing the upstream down.

use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::response::Parts;
use http::{HeaderMap, Response};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::upgrade::OnUpgrade;
use tokio::sync::{mpsc, watch};
use tokio::time::{Sleep, sleep};

use super::active_exchange::ActiveExchange;
use super::capture::ExchangeCapture;
use super::client_feed::{ClientFeed, FeedMessage, Gauge};
use super::conversation::{ConversationCopy, LiveConversation};
use super::delivery_gauge::DeliveryGauge;
use super::keep::store_and_report;
use crate::upstream;
use crate::websocket::conversation::NextConversation;
use loomrec_recording::entry::{RecordedCut, ResponseEnd};

/// The client's side of the tee.
pub struct TeeBody {
    /// The chunk that came with the head.
    first: Option<Bytes>,
    rest: RestOfBody,
    remaining: Option<u64>,
    delivery: Arc<DeliveryGauge>,
}

/// What follows the first chunk.
enum RestOfBody {
    Queue { parts: mpsc::UnboundedReceiver<FeedMessage>, gauge: Arc<Gauge> },
    Cut(RecordedCut),
    Nothing,
}

impl TeeBody {
    /// Returns a body that is already complete. `remaining` is its length, if known; `end` is how
    /// it ended.
    fn already_complete(
        first: Option<Bytes>,
        remaining: Option<u64>,
        end: ResponseEnd,
        delivery: Arc<DeliveryGauge>,
    ) -> Self {
        let rest = match end {
            ResponseEnd::UpstreamAbort(cut) => RestOfBody::Cut(cut),
            _ => RestOfBody::Nothing,
        };
        Self { first, rest, remaining, delivery }
    }

    /// Notes that the client gets a changed answer: it does not count how much of this one is read.
    pub fn note_change(&self) {
        self.delivery.mark_changed();
    }
}

impl Body for TeeBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let data = match (self.first.take(), &mut self.rest) {
            (Some(data), _) => data,
            (None, RestOfBody::Nothing) => return Poll::Ready(None),
            (None, RestOfBody::Cut(cut)) => return Poll::Ready(Some(Err(*cut))),
            (None, RestOfBody::Queue { parts, gauge }) => match ready!(parts.poll_recv(cx)) {
                Some(FeedMessage::Data(data)) => {
                    gauge.bytes.fetch_sub(data.len(), Ordering::Relaxed);
                    gauge.drained.notify_one();
                    data
                }
                Some(FeedMessage::Cut(cut)) => return Poll::Ready(Some(Err(cut))),
                Some(FeedMessage::Trailers(trailers)) => {
                    self.rest = RestOfBody::Nothing;
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
                Some(FeedMessage::End) => {
                    self.rest = RestOfBody::Nothing;
                    return Poll::Ready(None);
                }
                None => return Poll::Ready(Some(Err(RecordedCut::Close))),
            },
        };
        self.delivery.pass_chunk();
        if let Some(remaining) = self.remaining.as_mut() {
            *remaining = remaining.saturating_sub(data.len() as u64);
        }
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_none() && matches!(self.rest, RestOfBody::Nothing)
    }

    fn size_hint(&self) -> SizeHint {
        self.remaining.map_or_else(SizeHint::new, SizeHint::with_exact)
    }
}

impl Drop for TeeBody {
    fn drop(&mut self) {
        if matches!(self.rest, RestOfBody::Queue { .. }) {
            self.delivery.mark_client_left();
        }
    }
}

/// A response whose head has arrived.
pub(super) struct OpenedResponse {
    pub(super) parts: Parts,
    pub(super) body: upstream::UpstreamBody,
    pub(super) capture: ExchangeCapture,
    /// The fields that followed the body, once they have arrived.
    pub(super) trailers: Option<HeaderMap>,
    /// The length that the head announces.
    pub(super) announced: Option<u64>,
    /// Whether the response cannot have a body.
    pub(super) bodiless: bool,
    pub(super) busy: ActiveExchange,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) delivery: Arc<DeliveryGauge>,
}

impl OpenedResponse {
    /// Returns the response for the client. A response that is complete is stored first. Any other
    /// is pumped; a chunk that came with its head is handed over with it.
    pub(super) async fn hand_over(mut self) -> Response<TeeBody> {
        if let Some(upstream) = self.parts.extensions.remove::<OnUpgrade>() {
            return self.into_conversation(upstream);
        }
        let (first, end) = self.read_first_chunk().await;
        let Some(end) = end else {
            let (response, pump) = self.into_response_and_pump(first);
            tokio::spawn(pump.run());
            return response;
        };
        drop(self.body);
        store_and_report(self.capture, end, &self.busy, &self.delivery).await;
        let body = match self.bodiless {
            true => TeeBody::already_complete(None, Some(0), ResponseEnd::Complete, self.delivery),
            false => TeeBody::already_complete(first, self.announced, end, self.delivery),
        };
        Response::from_parts(self.parts, body)
    }

    /// Returns the response that accepts a WebSocket, with the conversation that follows it.
    fn into_conversation(self, upstream: OnUpgrade) -> Response<TeeBody> {
        let Self { parts, capture, busy, stop, delivery, .. } = self;
        let body = TeeBody::already_complete(None, Some(0), ResponseEnd::Complete, delivery);
        let mut response = Response::from_parts(parts, body);
        let copy = Some(ConversationCopy { capture, busy, stop });
        NextConversation::attach_to_response(&mut response, LiveConversation { upstream, copy });
        response
    }

    /// Returns the chunk that came with the head, and how the body ended if it is over.
    async fn read_first_chunk(&mut self) -> (Option<Bytes>, Option<ResponseEnd>) {
        if self.bodiless {
            let end = match self.body.frame().await {
                Some(Err(cut)) => ResponseEnd::UpstreamAbort(cut),
                _ => ResponseEnd::Complete,
            };
            return (None, Some(end));
        }
        let mut frame = pin!(self.body.frame());
        let frame = poll_fn(|cx| Poll::Ready(frame.as_mut().poll(cx))).await;
        match frame.map(|frame| frame.map(|frame| frame.map(Frame::into_data))) {
            Poll::Pending => (None, None),
            Poll::Ready(Some(Ok(Err(frame)))) => {
                self.trailers = trailers_of(frame, &mut self.capture);
                (None, None)
            }
            Poll::Ready(None) => (None, Some(ResponseEnd::Complete)),
            Poll::Ready(Some(Err(cut))) => (None, Some(ResponseEnd::UpstreamAbort(cut))),
            Poll::Ready(Some(Ok(Ok(data)))) => {
                self.capture.add_chunk(data.clone());
                let whole = self.announced == Some(data.len() as u64);
                (Some(data), whole.then_some(ResponseEnd::Complete))
            }
        }
    }

    /// Returns the client's response and the pump that feeds it.
    fn into_response_and_pump(self, first: Option<Bytes>) -> (Response<TeeBody>, ResponsePump) {
        self.delivery.pass_head();
        let (mut feed, receiver, gauge) = ClientFeed::open();
        if first.is_some() {
            feed.begin_burst();
        }
        let received = first.as_ref().map_or(0, |data| data.len() as u64);
        let rest = RestOfBody::Queue { parts: receiver, gauge };
        let delivery = Arc::clone(&self.delivery);
        let body = TeeBody { first, rest, remaining: self.announced, delivery };
        let Self { body: upstream, capture, trailers, announced, busy, stop, delivery, .. } = self;
        let pump = ResponsePump {
            body: upstream,
            capture,
            trailers,
            busy,
            stop,
            feed,
            announced,
            received,
            delivery,
        };
        (Response::from_parts(self.parts, body), pump)
    }
}

/// Relays a response to its client and into the recording.
struct ResponsePump {
    body: upstream::UpstreamBody,
    capture: ExchangeCapture,
    trailers: Option<HeaderMap>,
    busy: ActiveExchange,
    stop: watch::Receiver<bool>,
    feed: ClientFeed,
    announced: Option<u64>,
    received: u64,
    delivery: Arc<DeliveryGauge>,
}

impl ResponsePump {
    /// Relays the body to its end, stores the exchange, then sends the last byte to the client.
    async fn run(mut self) {
        let (held, end) = self.relay_body().await;
        self.feed.end_burst();
        // A body that is dropped half-way closes its connection; the connection of a complete one
        // is pooled.
        drop(self.body);
        if end == ResponseEnd::ClientAbort {
            // The client gets no more of it, even if it is the run that ends and not the client
            // that has left.
            self.delivery.mark_client_left();
        }
        store_and_report(self.capture, end, &self.busy, &self.delivery).await;
        if let Some(data) = held {
            self.feed.send_chunk(data);
        }
        // The send fails if the client has left.
        drop(self.feed.parts.send(match end {
            ResponseEnd::UpstreamAbort(cut) => FeedMessage::Cut(cut),
            ResponseEnd::ClientAbort => FeedMessage::Cut(RecordedCut::Close),
            ResponseEnd::Complete | ResponseEnd::Truncated => {
                self.trailers.map_or(FeedMessage::End, FeedMessage::Trailers)
            }
        }));
    }

    /// Relays until the body ends. Returns the chunk to hold back until the exchange is stored.
    async fn relay_body(&mut self) -> (Option<Bytes>, ResponseEnd) {
        let Self { body, capture, trailers, busy, stop, feed, announced, received, .. } = self;
        let mut held = None;
        let parts = feed.parts.clone();
        let mut closed = pin!(parts.closed());
        let mut stopped = pin!(wait_until_stopped(stop));
        // Set when the client leaves: the time when the rest of the body is given up.
        let mut give_up: Option<Pin<Box<Sleep>>> = None;
        loop {
            let next = match feed.is_in_burst() {
                true => next_of_burst(body).await,
                false => None,
            };
            let frame = match next {
                Some(frame) => frame,
                None => {
                    if !feed.end_burst() && give_up.is_none() {
                        give_up = Some(Box::pin(sleep(busy.shared.config.drain)));
                    }
                    tokio::select! {
                        biased;
                        frame = body.frame() => frame,
                        () = &mut closed, if give_up.is_none() => {
                            give_up = Some(Box::pin(sleep(busy.shared.config.drain)));
                            continue;
                        }
                        () = wait_to_give_up(&mut give_up) => return (held, ResponseEnd::ClientAbort),
                        () = &mut stopped => return (held, ResponseEnd::ClientAbort),
                    }
                }
            };
            let data = match frame {
                None => return (held, ResponseEnd::Complete),
                Some(Err(cut)) => return (held, ResponseEnd::UpstreamAbort(cut)),
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => data,
                    Err(frame) => {
                        *trailers = trailers_of(frame, capture);
                        continue;
                    }
                },
            };
            *received += data.len() as u64;
            capture.add_chunk(data.clone());
            if *announced == Some(*received) {
                held = Some(data);
            } else if give_up.is_some() {
                continue;
            } else if !feed.add_chunk(data) {
                give_up = Some(Box::pin(sleep(busy.shared.config.drain)));
            } else if !capture.is_whole() {
                feed.flush();
                tokio::select! {
                    () = feed.wait_until_drained() => {}
                    () = &mut stopped => return (held, ResponseEnd::ClientAbort),
                }
            }
        }
    }
}

/// Returns the fields of a frame that follows the body, and adds them to the copy.
fn trailers_of(frame: Frame<Bytes>, capture: &mut ExchangeCapture) -> Option<HeaderMap> {
    let trailers = frame.into_trailers().ok()?;
    capture.add_trailers(&trailers);
    Some(trailers)
}

/// Returns the next frame of a burst; `None` if the upstream has nothing more at hand. Its
/// connection hands over one frame at a time, so it gets a turn to hand over the next one.
async fn next_of_burst(
    body: &mut upstream::UpstreamBody,
) -> Option<Option<Result<Frame<Bytes>, RecordedCut>>> {
    let mut frame = pin!(body.frame());
    let mut had_turn = false;
    poll_fn(|cx| match frame.as_mut().poll(cx) {
        Poll::Ready(frame) => Poll::Ready(Some(frame)),
        Poll::Pending if std::mem::replace(&mut had_turn, true) => Poll::Ready(None),
        Poll::Pending => {
            // Behind the connection's task, which was woken when the last frame was taken, and
            // before the sockets are looked at, as a runtime does after a yield.
            cx.waker().wake_by_ref();
            Poll::Pending
        }
    })
    .await
}

/// Returns once the wait that begins when the client leaves is over; never, if it has not left.
async fn wait_to_give_up(give_up: &mut Option<Pin<Box<Sleep>>>) {
    match give_up {
        Some(sleep) => sleep.as_mut().await,
        None => std::future::pending().await,
    }
}

/// Returns once the run is told to end its open exchanges.
async fn wait_until_stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone counts as a stop as well.
    drop(stop.wait_for(|stop| *stop).await.map(|value| *value));
}
