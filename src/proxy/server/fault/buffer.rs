//! Bodies that are buffered to their end before any byte is sent on.

use std::collections::VecDeque;

use bytes::Bytes;
use http_body::{Body as _, Frame};
use http_body_util::BodyExt as _;

use loomrec_engine::replay::ReplayBody;
use loomrec_engine::{AnswerBody, PrefixedBody};
use loomrec_fault::{FaultObstacle, NotApplicable};
use loomrec_recording::entry::ResponseEnd;

/// The most bytes that are buffered of a body. A larger body is sent on unchanged.
const MOST: usize = 64 << 20;

/// Applies `change` to a whole body that is not recorded. If that is impossible, returns the body
/// unchanged, and the reason.
pub(super) async fn changed(
    mut body: AnswerBody,
    change: impl FnOnce(&[u8]) -> Result<Vec<Vec<u8>>, NotApplicable>,
) -> Result<AnswerBody, (AnswerBody, FaultObstacle)> {
    let announced = body.size_hint().exact().is_some();
    let (mut chunks, mut held, mut end) = (VecDeque::new(), 0, ResponseEnd::Complete);
    while let Some(frame) = body.frame().await {
        match frame.map(Frame::into_data) {
            Ok(Ok(data)) => {
                held += data.len();
                chunks.push_back(data);
            }
            // Trailers are not part of the body.
            Ok(Err(_)) => {}
            Err(cut) => {
                // A body that was cut may return the error again and again.
                end = ResponseEnd::UpstreamAbort(cut);
                break;
            }
        }
        if held > MOST {
            let body = AnswerBody::Prefixed(Box::new(PrefixedBody::new(chunks, body)));
            return Err((body, FaultObstacle::LargeAnswer { mib: MOST >> 20 }));
        }
    }
    let chunks = Vec::from(chunks);
    let made = |chunks, end| AnswerBody::Replay(ReplayBody::made(chunks, announced, end));
    if end != ResponseEnd::Complete {
        return Err((made(chunks, end), FaultObstacle::CutAnswer));
    }
    match change(&chunks.concat()) {
        Ok(changed) => Ok(made(changed.into_iter().map(Bytes::from).collect(), end)),
        Err(why) => Err((made(chunks, end), why.into())),
    }
}
