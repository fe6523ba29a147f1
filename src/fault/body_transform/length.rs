//! Bodies with a false Content-Length.

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

use super::{BodyStep, TransformOutput};
use crate::{ConnectionCut, FaultObstacle};

/// A body whose headers announce a false length.
#[derive(Debug)]
pub(super) struct FalseLength {
    by: i64,
    /// The true length.
    total: Option<u64>,
    sent: u64,
    /// If the announced length is too small: the last bytes within it, and those after it. They are
    /// sent at the end, because a server does not ask the body for more once the announced length
    /// has been sent.
    last: Bytes,
    behind: BytesMut,
}

impl FalseLength {
    /// Returns an error if the length would be the true one.
    pub(super) fn new(by: i64, total: Option<u64>) -> Result<Self, FaultObstacle> {
        let (last, behind) = (Bytes::new(), BytesMut::new());
        match by {
            0 => Err(FaultObstacle::TrueLength),
            by => Ok(Self { by, total, sent: 0, last, behind }),
        }
    }

    /// The length that is announced.
    fn told(&self) -> Option<u64> {
        let total = self.total?;
        // A length below 0 cannot be announced, and a body with an announced length of 0 is never
        // read. So at least one byte is announced.
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

    /// Sends the bytes that are held within the announced length.
    pub(super) fn release(&mut self, out: &mut TransformOutput) {
        out.send(std::mem::take(&mut self.last));
    }
}
