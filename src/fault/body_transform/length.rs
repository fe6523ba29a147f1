//! A length that is not the body's.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

use super::{BodyStep, TransformOutput};
use crate::ConnectionCut;

/// A body whose head lies about its length.
#[derive(Debug)]
pub(super) struct FalseLength {
    by: i64,
    /// The true length.
    total: Option<u64>,
    sent: u64,
    /// Where less is announced than there is, the last bytes within that, and those
    /// behind it. They go out at the end: whoever has got what was announced asks for
    /// nothing more.
    last: Bytes,
    behind: BytesMut,
}

impl FalseLength {
    /// `None` where the length would be the true one.
    pub(super) fn new(by: i64, total: Option<u64>) -> Option<Self> {
        let (last, behind) = (Bytes::new(), BytesMut::new());
        (by != 0).then_some(Self { by, total, sent: 0, last, behind })
    }

    /// The length that is announced.
    fn told(&self) -> Option<u64> {
        let total = self.total?;
        // Less than nothing cannot be announced, and a body of which nothing is announced
        // is never asked for: one byte of it is.
        Some(total.saturating_add_signed(self.by).max(total.min(1)))
    }

    pub(super) fn head(&mut self, headers: &mut HeaderMap, total: Option<u64>) {
        self.total = self.total.or(total);
        if let Some(told) = self.told() {
            headers.remove(TRANSFER_ENCODING);
            headers.insert(CONTENT_LENGTH, told.into());
        }
    }

    pub(super) fn feed(&mut self, chunk: Bytes, out: &mut TransformOutput) {
        let room = self.told().map_or(u64::MAX, |told| told.saturating_sub(self.sent));
        let within = usize::try_from(room).unwrap_or(usize::MAX).min(chunk.len());
        self.sent += within as u64;
        let full = self.by < 0 && within as u64 == room;
        match chunk.slice(..within) {
            last if full && !last.is_empty() => self.last = last,
            data => out.send(data),
        }
        self.behind.extend_from_slice(&chunk[within..]);
    }

    pub(super) fn finish(&mut self, out: &mut TransformOutput) {
        if self.told().is_some_and(|told| self.sent < told) {
            out.strike();
            return out.last(BodyStep::Cut(ConnectionCut::Close));
        }
        self.release(out);
        if !self.behind.is_empty() {
            out.strike();
            out.steps.push_back(BodyStep::Behind(std::mem::take(&mut self.behind).freeze()));
        }
        out.last(BodyStep::End);
    }

    /// Lets go what is held and was announced.
    pub(super) fn release(&mut self, out: &mut TransformOutput) {
        out.send(std::mem::take(&mut self.last));
    }
}
