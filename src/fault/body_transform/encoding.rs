//! Bodies that are announced as gzip and do not inflate.

use bytes::Bytes;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use http::{HeaderMap, HeaderValue};

use super::{BodyStep, TransformOutput};

/// A gzip header, followed by the start of a deflate block of the reserved type.
const BEGINNING: [u8; 11] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff, 0b111];

/// A body after a prefix that only looks like gzip.
#[derive(Debug, Default)]
pub(super) struct FakeEncoding {
    begun: bool,
}

/// Changes the headers to announce gzip, and the length with the prefix.
pub(super) fn change_head(headers: &mut HeaderMap) {
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
        out.mark_struck();
        out.send([&BEGINNING, chunk.as_ref()].concat().into());
    }

    pub(super) fn finish(&mut self, out: &mut TransformOutput) {
        if !self.begun {
            out.mark_struck();
            out.send(Bytes::from_static(&BEGINNING));
        }
        out.end_with(BodyStep::End);
    }
}
