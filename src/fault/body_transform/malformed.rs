//! The body that does not parse, the same for every provider.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, StatusCode};

use super::{BodyStep, TransformOutput};

/// The body; in a stream, the data of its events.
pub(crate) const MALFORMED: &str = "{malformed json: <<<chaos>>>";

/// A complete answer that is replaced.
#[derive(Debug)]
pub(super) struct ReplacedAnswer;

/// Changes the status and headers to those of such an answer.
pub(super) fn change_head(status: &mut StatusCode, headers: &mut HeaderMap) {
    *status = StatusCode::OK;
    headers.remove(CONTENT_ENCODING);
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CONTENT_LENGTH, (MALFORMED.len() as u64).into());
}

impl ReplacedAnswer {
    /// Sends the body at once, without waiting for the true one.
    pub(super) fn feed(&mut self, out: &mut TransformOutput) {
        self.finish(out);
    }

    pub(super) fn finish(&mut self, out: &mut TransformOutput) {
        out.mark_struck();
        out.send(Bytes::from_static(MALFORMED.as_bytes()));
        out.end_with(BodyStep::End);
    }
}
