//! The body of an upstream's response, whichever client it comes from.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http_body::{Body as _, Frame, SizeHint};
use hyper::body::Incoming;

use super::plain_client::READ_BUFFER;
use crate::recording::entry::RecordedCut;

/// A frame of up to this size does not keep a read buffer alive: it is copied out.
/// A larger one is a good part of the buffer that it keeps.
const SMALL: usize = READ_BUFFER / 4;

/// What small frames are copied into, one behind the other.
const SHELF: usize = 4096;

/// The body of a response; its error says how the connection under it was cut.
#[derive(Debug)]
pub struct UpstreamBody {
    source: Source,
    /// It ends in a cut, wherever that seems to be: its head says it in two ways.
    is_ambiguous: bool,
}

#[derive(Debug)]
enum Source {
    Near { incoming: Incoming, shelf: BytesMut },
    Away(reqwest::Body),
}

impl UpstreamBody {
    /// A body from a connection without TLS.
    pub(super) fn near(incoming: Incoming) -> Self {
        let source = Source::Near { incoming, shelf: BytesMut::new() };
        Self { source, is_ambiguous: false }
    }

    /// A body from reqwest.
    pub(super) fn away(body: reqwest::Body) -> Self {
        Self { source: Source::Away(body), is_ambiguous: false }
    }

    /// The same body with a cut at its end.
    pub(super) fn cut_at_end(self) -> Self {
        Self { is_ambiguous: true, ..self }
    }

    fn poll_source(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        match &mut self.source {
            Source::Near { incoming, shelf } => Pin::new(incoming).poll_frame(cx).map(|frame| {
                let frame = frame?.map_err(|error| cut_of(&error));
                Some(frame.map(|frame| frame.map_data(|data| settled(data, shelf))))
            }),
            Source::Away(body) => Pin::new(body).poll_frame(cx).map_err(|error| cut_of(&error)),
        }
    }
}

impl http_body::Body for UpstreamBody {
    type Data = Bytes;
    type Error = RecordedCut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let frame = ready!(self.poll_source(cx));
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
            Source::Near { incoming, .. } => incoming.is_end_stream(),
            Source::Away(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        if self.is_ambiguous {
            return SizeHint::new();
        }
        match &self.source {
            Source::Near { incoming, .. } => incoming.size_hint(),
            Source::Away(body) => body.size_hint(),
        }
    }
}

/// `data`, off the read buffer where it is a small part of it. A slow stream's
/// chunks come in a read each, and each would keep a buffer for as long as the
/// exchange is held.
fn settled(data: Bytes, shelf: &mut BytesMut) -> Bytes {
    if data.len() > SMALL {
        return data;
    }
    if shelf.capacity() < data.len() {
        *shelf = BytesMut::with_capacity(SHELF.max(data.len()));
    }
    shelf.extend_from_slice(&data);
    shelf.split().freeze()
}

/// How the connection under a response body was cut.
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
