//! Responses on their way out: every kind of body under one type, cuts made
//! real on the socket, and errors in the shape that the caller's SDK reads.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;
use tokio::time::{Sleep, sleep};

use super::call_tracker::{CallTracker, SentProgress};
use super::fault::{FaultBody, PrefixedBody};
use super::socket::ConnectionHandle;
use super::stream::StreamBody;
use crate::provider::{self, Provider};
use crate::record::tee::TeeBody;
use crate::recording::entry::RecordedCut;
use crate::replay::{RecordingMismatchError, ReplayBody};
use crate::telemetry::journal::follow::JournalFollower;
use crate::upstream;

/// How long a reset waits behind the last bytes. A client that finds both at once
/// may see the end and not the reset (Node does): upstreams leave it time, so must we.
const BEFORE_RESET: Duration = Duration::from_millis(50);

/// A body of any origin.
pub enum AnyBody {
    /// Bytes of our own.
    Full(Full<Bytes>),
    /// A live response passing through.
    Tee(TeeBody),
    /// A recorded response.
    Replay(ReplayBody),
    /// A script's stream, counted when it is over.
    Script(StreamBody),
    /// A live response of which nothing is kept.
    Live(upstream::UpstreamBody),
    /// The journal as it grows.
    Follow(Box<JournalFollower>),
    /// Any of these, to which something happens.
    Fault(Box<FaultBody>),
    /// Any of these, of which the beginning was read before.
    Resumed(Box<PrefixedBody>),
}

impl Body for AnyBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        match self.get_mut() {
            Self::Full(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Self::Tee(body) => Pin::new(body).poll_frame(cx),
            Self::Replay(body) => Pin::new(body).poll_frame(cx),
            Self::Script(body) => Pin::new(body).poll_frame(cx),
            Self::Live(body) => Pin::new(body).poll_frame(cx),
            Self::Follow(body) => Pin::new(body).poll_frame(cx),
            Self::Fault(body) => Pin::new(body).poll_frame(cx),
            Self::Resumed(body) => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Tee(body) => body.is_end_stream(),
            Self::Replay(body) => body.is_end_stream(),
            Self::Script(body) => body.is_end_stream(),
            Self::Live(body) => body.is_end_stream(),
            Self::Follow(body) => body.is_end_stream(),
            Self::Fault(body) => body.is_end_stream(),
            Self::Resumed(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Tee(body) => body.size_hint(),
            Self::Replay(body) => body.size_hint(),
            Self::Script(body) => body.size_hint(),
            Self::Live(body) => body.size_hint(),
            Self::Follow(body) => body.size_hint(),
            Self::Fault(body) => body.size_hint(),
            // The head announces what there is to announce.
            Self::Resumed(_) => SizeHint::new(),
        }
    }
}

/// A body that ends its connection as it is told to. It goes through many hands: in a box, it
/// is no burden to any.
pub struct OutBody(Box<Sending>);

/// An answer while it is sent.
struct Sending {
    body: AnyBody,
    /// What of it has been sent, where it answers a call.
    sent: Option<SentProgress>,
    connection: Arc<ConnectionHandle>,
    /// A cut that waits for the bytes before it to leave, and since when.
    cut: Option<(RecordedCut, u64)>,
    before_reset: Option<Pin<Box<Sleep>>>,
}

impl OutBody {
    /// `body` on `connection`.
    fn new(body: AnyBody, connection: Arc<ConnectionHandle>, sent: Option<SentProgress>) -> Self {
        Self(Box::new(Sending { body, sent, connection, cut: None, before_reset: None }))
    }
}

impl Sending {
    /// What a poll gave, counted.
    fn count(&mut self, polled: Option<&Frame<Bytes>>) {
        let Some(sent) = &mut self.sent else { return };
        let bytes = polled.and_then(Frame::data_ref).map_or(0, Bytes::len);
        sent.add(bytes, polled.is_none() || self.body.is_end_stream());
    }

    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        if self.cut.is_none() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                // An error makes the server drop what it has not yet written, so
                // the cut waits until all before it has gone to the system.
                Some(Err(cut)) => {
                    self.cut = Some((cut, self.connection.flushes()));
                    self.sent.iter_mut().for_each(|sent| sent.cut = true);
                }
                Some(Ok(frame)) => {
                    self.count(Some(&frame));
                    return Poll::Ready(Some(Ok(frame)));
                }
                None => {
                    self.count(None);
                    return Poll::Ready(None);
                }
            }
        }
        let Some((cut, since)) = self.cut else { return Poll::Ready(None) };
        self.connection.cut();
        ready!(self.connection.poll_flushed(since, cx));
        if cut == RecordedCut::Reset {
            let wait = self.before_reset.get_or_insert_with(|| Box::pin(sleep(BEFORE_RESET)));
            ready!(wait.as_mut().poll(cx));
            self.connection.reset_at_end();
        }
        Poll::Ready(Some(Err(cut)))
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.connection.end();
    }
}

impl Body for OutBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        self.get_mut().0.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.0.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.body.size_hint()
    }
}

/// A response with a body of our own.
pub fn full(status: StatusCode, media: &'static str, body: Vec<u8>) -> Response<AnyBody> {
    let mut response = Response::new(AnyBody::Full(Full::new(body.into())));
    *response.status_mut() = status;
    response.headers_mut().insert(http::header::CONTENT_TYPE, HeaderValue::from_static(media));
    response
}

/// An error of ours in the shape of `provider`.
pub fn error(
    provider: Provider,
    status: StatusCode,
    kind: &'static str,
    message: &str,
) -> Response<AnyBody> {
    let body = provider::error_body(provider, status.as_u16(), kind, message);
    let mut response = full(status, "application/json", body);
    response.headers_mut().insert("x-loomrec-error", HeaderValue::from_static(kind));
    for (name, value) in provider::error_headers(provider, kind) {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// A mismatch: not to be retried, since the next try would miss as well.
pub fn mismatch(provider: Provider, error_data: &RecordingMismatchError) -> Response<AnyBody> {
    let message = error_data.message();
    let mut response =
        error(provider, StatusCode::UNPROCESSABLE_ENTITY, "RecordingMismatchError", &message);
    response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    response
}

/// `response` with its body tied to `connection` and, where it answers a call, to that
/// call's account.
pub(super) fn tie(
    response: Response<AnyBody>,
    connection: Arc<ConnectionHandle>,
    account: Option<Arc<CallTracker>>,
) -> Response<OutBody> {
    let (status, length) = (response.status(), response.body().size_hint().exact());
    let sent = account.map(|account| SentProgress::new(account, status, length));
    response.map(|body| OutBody::new(body, connection, sent))
}
