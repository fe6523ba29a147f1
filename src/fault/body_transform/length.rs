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
    fn announced_length(&self) -> Option<u64> {
        let total = self.total?;
        // A length below 0 cannot be announced, and a body with an announced length of 0 is never
        // read. So at least one byte is announced.
        Some(total.saturating_add_signed(self.by).max(total.min(1)))
    }

    pub(super) fn change_head(&mut self, headers: &mut HeaderMap, total: Option<u64>) {
        self.total = self.total.or(total);
        if let Some(told) = self.announced_length() {
            headers.remove(TRANSFER_ENCODING);
            headers.insert(CONTENT_LENGTH, told.into());
        }
    }

    pub(super) fn feed(&mut self, chunk: Bytes, out: &mut TransformOutput) {
        let room = self.announced_length().map_or(u64::MAX, |told| told.saturating_sub(self.sent));
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
        if self.announced_length().is_some_and(|told| self.sent < told) {
            out.mark_struck();
            return out.end_with(BodyStep::Cut(ConnectionCut::Close));
        }
        self.send_held_bytes(out);
        if !self.behind.is_empty() {
            out.mark_struck();
            out.steps.push_back(BodyStep::Behind(std::mem::take(&mut self.behind).freeze()));
        }
        out.end_with(BodyStep::End);
    }

    /// Sends the bytes that are held within the announced length.
    pub(super) fn send_held_bytes(&mut self, out: &mut TransformOutput) {
        out.send(std::mem::take(&mut self.last));
    }
}
