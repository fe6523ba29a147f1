//! Bodies that are buffered to their end before any byte is sent on.

use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;

use loomrec_engine::replay::ReplayBody;
use loomrec_engine::{AnswerBody, PrefixedBody};
use loomrec_recording::entry::ResponseEnd;

/// Why a body is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnchangedBody<E> {
    /// It has more bytes than may be buffered.
    TooLarge,
    /// It was cut.
    Cut,
    /// The change is not possible.
    Refused(E),
}

/// Applies `change` to a whole body of at most `most` bytes that is not recorded. If that is
/// impossible, returns the body unchanged, and the reason.
pub(super) async fn change_whole_body<E>(
    mut body: AnswerBody,
    most: usize,
    change: impl FnOnce(&[u8]) -> Result<Vec<Vec<u8>>, E>,
) -> Result<AnswerBody, (AnswerBody, UnchangedBody<E>)> {
    let announced = body.size_hint().exact().is_some();
    let (mut chunks, mut held, mut end) = (VecDeque::new(), 0, ResponseEnd::Complete);
    let mut trailers = HeaderMap::new();
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => {
                held += data.len();
                chunks.push_back(data);
            }
            Ok(Err(frame)) => trailers = frame.into_trailers().unwrap_or_default(),
            Err(cut) => {
                // A body that was cut may return the error again and again.
                end = ResponseEnd::UpstreamAbort(cut);
                break;
            }
        }
        if held > most {
            let body = AnswerBody::Prefixed(Box::new(PrefixedBody::new(chunks, body)));
            return Err((body, UnchangedBody::TooLarge));
        }
    }
    let chunks = Vec::from(chunks);
    let made =
        |chunks, end| AnswerBody::Replay(ReplayBody::from_chunks(chunks, announced, trailers, end));
    if end != ResponseEnd::Complete {
        return Err((made(chunks, end), UnchangedBody::Cut));
    }
    match change(&chunks.concat()) {
        Ok(changed) => Ok(made(changed.into_iter().map(Bytes::from).collect(), end)),
        Err(why) => Err((made(chunks, end), UnchangedBody::Refused(why))),
    }
}
