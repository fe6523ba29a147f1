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
    /// Any of these, with its chunks changed as they pass.
    Edited(Box<EditedBody>),
}

impl AnswerBody {
    /// Notes that the client gets a changed answer, if it is recorded.
    pub fn note_change(&self) {
        match self {
            Self::Tee(body) => body.note_change(),
            Self::Prefixed(body) => body.rest.note_change(),
            Self::Edited(body) => body.rest.note_change(),
            Self::Full(_) | Self::Replay(_) | Self::Live(_) => {}
        }
    }
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
            Self::Edited(body) => body.poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Full(body) => body.is_end_stream(),
            Self::Tee(body) => body.is_end_stream(),
            Self::Replay(body) => body.is_end_stream(),
            Self::Live(body) => body.is_end_stream(),
            Self::Prefixed(body) => body.first.is_empty() && body.rest.is_end_stream(),
            Self::Edited(body) => body.rest.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Full(body) => body.size_hint(),
            Self::Tee(body) => body.size_hint(),
            Self::Replay(body) => body.size_hint(),
            Self::Live(body) => body.size_hint(),
            // The head announces the length, if there is one.
            Self::Prefixed(_) | Self::Edited(_) => SizeHint::new(),
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

/// Changes a chunk of a body.
pub type ChunkEdit = Box<dyn FnMut(Bytes) -> Bytes + Send>;

/// A body whose chunks are changed as they pass. None is held back.
pub struct EditedBody {
    rest: AnswerBody,
    edit: ChunkEdit,
}

impl EditedBody {
    /// Returns `rest` with each chunk changed by `edit`.
    pub fn new(rest: AnswerBody, edit: ChunkEdit) -> Self {
        Self { rest, edit }
    }

    fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        let Self { rest, edit } = self;
        let frame = Pin::new(rest).poll_frame(cx);
        frame.map(|frame| frame.map(|frame| frame.map(|frame| frame.map_data(edit))))
    }
}
