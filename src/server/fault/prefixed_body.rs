//! Bodies that are buffered to their end before any byte is sent on.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;

use super::super::respond::AnyBody;
use crate::fault::NotApplicable;
use crate::recording::entry::{RecordedCut, ResponseEnd};
use crate::replay::ReplayBody;

/// The most bytes that are held of one; a larger one goes on as it is.
const MOST: usize = 64 << 20;

/// A body of which so much was read before it went on.
pub struct PrefixedBody {
    first: VecDeque<Bytes>,
    rest: AnyBody,
}

impl PrefixedBody {
    /// The next frame.
    pub fn poll_frame(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RecordedCut>>> {
        match self.first.pop_front() {
            Some(data) => Poll::Ready(Some(Ok(Frame::data(data)))),
            None => Pin::new(&mut self.rest).poll_frame(cx),
        }
    }

    /// Whether all of it has been taken.
    pub fn is_end_stream(&self) -> bool {
        self.first.is_empty() && self.rest.is_end_stream()
    }
}

/// Has `change` work on all of a body that is not recorded. The body as it was, and why,
/// where it cannot.
pub(super) async fn changed(
    mut body: AnyBody,
    change: impl FnOnce(&[u8]) -> Result<Vec<Vec<u8>>, NotApplicable>,
) -> Result<AnyBody, (AnyBody, String)> {
    let announced = body.size_hint().exact().is_some();
    let (mut chunks, mut held, mut end) = (VecDeque::new(), 0, ResponseEnd::Complete);
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => {
                held += data.len();
                chunks.push_back(data);
            }
            // Trailers are no part of a body.
            Ok(Err(_)) => {}
            Err(cut) => {
                // A body that was cut may say so for ever.
                end = ResponseEnd::UpstreamAbort(cut);
                break;
            }
        }
        if held > MOST {
            let body = AnyBody::Resumed(Box::new(PrefixedBody { first: chunks, rest: body }));
            return Err((body, format!("its answer is larger than {} MiB", MOST >> 20)));
        }
    }
    let chunks = Vec::from(chunks);
    let made = |chunks, end| AnyBody::Replay(ReplayBody::made(chunks, announced, end));
    if end != ResponseEnd::Complete {
        return Err((made(chunks, end), "its answer was cut".to_owned()));
    }
    match change(&chunks.concat()) {
        Ok(changed) => Ok(made(changed.into_iter().map(Bytes::from).collect(), end)),
        Err(why) => Err((made(chunks, end), why.to_string())),
    }
}
