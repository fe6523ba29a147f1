//! The body of an upstream's response.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::sync::mpsc;

use crate::websocket::turn_link::{TurnAnswer, TurnEvent};
use loomrec_recording::entry::RecordedCut;

/// Bytes read at once. A transfer chunk that goes past the end of one read is passed on in two
/// parts, so the buffer is large enough for a burst.
pub(super) const READ_BUFFER: usize = 64 << 10;

/// A frame of up to this size is copied, so that it does not keep a read buffer alive. A larger
/// frame fills a good part of the buffer that it keeps.
const SMALL: usize = READ_BUFFER / 4;

/// The size of the buffers that small frames are copied into, one after the other.
const SHELF: usize = 4096;

/// Where a body comes from.
#[derive(Debug)]
enum BodySource {
    /// A connection.
    Connection(Incoming),
    /// A turn over a WebSocket: what came first, and what follows.
    Turn { first: Option<Bytes>, rest: Option<mpsc::Receiver<TurnEvent>> },
}

/// The body of a response. Its error says how the connection was cut.
#[derive(Debug)]
pub struct UpstreamBody {
    source: BodySource,
    /// The buffer that small frames are copied into.
    shelf: BytesMut,
    /// Whether the head gives the length in two ways. Such a body ends in a cut.
    is_ambiguous: bool,
}

impl UpstreamBody {
    /// Returns a body as it comes from the connection.
    pub(super) fn new(incoming: Incoming) -> Self {
        let source = BodySource::Connection(incoming);
        Self { source, shelf: BytesMut::new(), is_ambiguous: false }
    }

    /// Returns the answer to a turn over a WebSocket, as the body that it has over HTTP.
    pub(super) fn of_turn(answer: TurnAnswer) -> Self {
        let source = BodySource::Turn { first: Some(answer.first), rest: answer.rest };
        Self { source, shelf: BytesMut::new(), is_ambiguous: false }
    }

    /// Returns the same body with a cut at its end.
    pub(super) fn cut_at_end(self) -> Self {
        Self { is_ambiguous: true, ..self }
    }

    fn poll_incoming(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let Self { source, shelf, .. } = self;
        let incoming = match source {
            BodySource::Connection(incoming) => incoming,
            BodySource::Turn { first, rest } => return poll_turn(first, rest, cx),
        };
        Pin::new(incoming).poll_frame(cx).map(|frame| {
            let frame = frame?.map_err(|error| cut_of(&error));
            Some(frame.map(|frame| frame.map_data(|data| copy_if_small(data, shelf))))
        })
    }
}

impl http_body::Body for UpstreamBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let frame = ready!(self.poll_incoming(cx));
        if frame.is_none() && std::mem::take(&mut self.is_ambiguous) {
            return Poll::Ready(Some(Err(RecordedCut::Close)));
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        if self.is_ambiguous {
            return false;
        }
        match &self.source {
            BodySource::Connection(incoming) => incoming.is_end_stream(),
            BodySource::Turn { first, rest } => first.is_none() && rest.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_ambiguous {
            return SizeHint::new();
        }
        match &self.source {
            BodySource::Connection(incoming) => incoming.size_hint(),
            BodySource::Turn { .. } => SizeHint::new(),
        }
    }
}

/// Returns the next event of a turn over a WebSocket.
fn poll_turn(
    first: &mut Option<Bytes>,
    rest: &mut Option<mpsc::Receiver<TurnEvent>>,
    cx: &mut Context<'_>,
) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
    if let Some(first) = first.take() {
        return Poll::Ready(Some(Ok(Frame::data(first))));
    }
    let Some(events) = rest else { return Poll::Ready(None) };
    let next = ready!(events.poll_recv(cx));
    if !matches!(next, Some(Ok(_))) {
        *rest = None;
    }
    Poll::Ready(next.map(|event| event.map(|event| Frame::data(event.to_sse()))))
}

/// Returns `data`, copied out of the read buffer if it is a small part of it. Each chunk of a slow
/// stream comes in its own read, and would keep a buffer for as long as the exchange is held.
fn copy_if_small(data: Bytes, shelf: &mut BytesMut) -> Bytes {
    if data.len() > SMALL {
        return data;
    }
    if shelf.capacity() < data.len() {
        *shelf = BytesMut::with_capacity(SHELF.max(data.len()));
    }
    shelf.extend_from_slice(&data);
    shelf.split().freeze()
}

/// Returns how the connection under a response body was cut.
fn cut_of(error: &(dyn Error + 'static)) -> RecordedCut {
    let mut source = Some(error);
    while let Some(error) = source {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::ConnectionReset) {
            return RecordedCut::Reset;
        }
        source = error.source();
    }
    RecordedCut::Close
}
