//! A length that is not the body's.

use bytes::Bytes;
use http::HeaderMap;
use http::header::{CONTENT_LENGTH, TRANSFER_ENCODING};

use super::{Out, Step};
use crate::fault::Cut;

/// A body whose head lies about its length.
#[derive(Debug)]
pub(super) struct Length {
    by: i64,
    /// The true length.
    total: Option<u64>,
    sent: u64,
}

impl Length {
    /// `None` where the length would be the true one.
    pub(super) fn new(by: i64, total: Option<u64>) -> Option<Self> {
        (by != 0).then_some(Self { by, total, sent: 0 })
    }

    /// The length that is announced.
    fn told(&self) -> Option<u64> {
        // Less than nothing cannot be announced.
        Some(self.total?.saturating_add_signed(self.by))
    }

    pub(super) fn head(&mut self, headers: &mut HeaderMap, total: Option<u64>) {
        self.total = self.total.or(total);
        if let Some(told) = self.told() {
            headers.remove(TRANSFER_ENCODING);
            headers.insert(CONTENT_LENGTH, told.into());
        }
    }

    pub(super) fn feed(&mut self, chunk: Bytes, out: &mut Out) {
        let room = self.told().map_or(u64::MAX, |told| told.saturating_sub(self.sent));
        let within = usize::try_from(room).unwrap_or(usize::MAX).min(chunk.len());
        self.sent += within as u64;
        let behind = chunk.slice(within..);
        out.send(chunk.slice(..within));
        if !behind.is_empty() {
            out.strike();
            out.steps.push_back(Step::Behind(behind));
        }
    }

    pub(super) fn finish(&mut self, out: &mut Out) {
        if self.told().is_some_and(|told| self.sent < told) {
            out.strike();
            return out.last(Step::Cut(Cut::Close));
        }
        out.last(Step::End);
    }
}
