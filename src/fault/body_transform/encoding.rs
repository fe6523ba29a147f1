//! A body said to be gzip that does not inflate.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, HeaderValue};

use super::{BodyStep, TransformOutput};

/// Gzip's own header, and the beginning of a block of the kind that is none.
const BEGINNING: [u8; 11] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0b111];

/// A body behind a beginning that only looks like gzip's.
#[derive(Debug, Default)]
pub(super) struct FakeEncoding {
    begun: bool,
}

/// The head of such a body.
pub(super) fn head(headers: &mut HeaderMap) {
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse().ok());
    if let Some(length) = length {
        let longer = u64::saturating_add(length, BEGINNING.len() as u64);
        headers.insert(CONTENT_LENGTH, longer.into());
    }
}

impl FakeEncoding {
    pub(super) fn feed(&mut self, chunk: Bytes, out: &mut TransformOutput) {
        if self.begun {
            return out.send(chunk);
        }
        self.begun = true;
        out.strike();
        out.send([&BEGINNING, chunk.as_ref()].concat().into());
    }

    pub(super) fn finish(&mut self, out: &mut TransformOutput) {
        if !self.begun {
            out.strike();
            out.send(Bytes::from_static(&BEGINNING));
        }
        out.last(BodyStep::End);
    }
}
