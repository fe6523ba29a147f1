//! The body of an answer, from whichever engine it comes.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

use crate::record::tee::TeeBody;
use crate::replay::ReplayBody;
use crate::upstream::UpstreamBody;
use loomrec_recording::entry::RecordedCut;

/// The body of an answer.
pub enum AnswerBody {
    /// Bytes that loomrec made itself.
    Full(Full<Bytes>),
    /// A live answer that is recorded while it passes.
    Tee(TeeBody),
    /// A recorded or scripted answer.
    Replay(ReplayBody),
    /// A live answer that is not recorded.
    Live(UpstreamBody),
    /// Any of these, after a beginning that was read before.
    Prefixed(Box<PrefixedBody>),
}

impl Body for AnswerBody {
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
            Self::Live(body) => Pin::new(body).poll_frame(cx),
            Self::Prefixed(body) => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Tee(body) => body.is_end_stream(),
            Self::Replay(body) => body.is_end_stream(),
            Self::Live(body) => body.is_end_stream(),
            Self::Prefixed(body) => body.first.is_empty() && body.rest.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Tee(body) => body.size_hint(),
            Self::Replay(body) => body.size_hint(),
            Self::Live(body) => body.size_hint(),
            // The head announces the length, if there is one.
            Self::Prefixed(_) => SizeHint::new(),
        }
    }
}

/// A body whose beginning was read before.
pub struct PrefixedBody {
    first: VecDeque<Bytes>,
    rest: AnswerBody,
}

impl PrefixedBody {
    /// Returns a body that yields `first` and then `rest`.
    pub fn new(first: VecDeque<Bytes>, rest: AnswerBody) -> Self {
        Self { first, rest }
    }

    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        match self.first.pop_front() {
            Some(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }
}
