//! The counts of a run whose recording is in an object store.

use std::sync::atomic::{AtomicU64, Ordering};

/// What a run has exchanged with an object store.
#[derive(Debug, Default)]
pub struct RemoteCounts {
    fetched: AtomicU64,
    cached: AtomicU64,
    sent: AtomicU64,
    failed: AtomicU64,
    left: AtomicU64,
}

impl RemoteCounts {
    /// Counts a recording that was loaded, and whether the cache had all of it.
    pub fn count_load(&self, is_cached: bool) {
        let count = if is_cached { &self.cached } else { &self.fetched };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Adds segments that were uploaded.
    pub fn add_sent(&self, segments: u64) {
        self.sent.fetch_add(segments, Ordering::Relaxed);
    }

    /// Counts an upload that failed. It is tried again.
    pub fn count_failed(&self) {
        self.failed.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes how many segments are on this machine only.
    pub fn set_left(&self, segments: u64) {
        self.left.store(segments, Ordering::Relaxed);
    }

    /// Returns how many recordings were fetched, at least in part, and how many the cache had.
    pub(super) fn load_counts(&self) -> [u64; 2] {
        [self.fetched.load(Ordering::Relaxed), self.cached.load(Ordering::Relaxed)]
    }

    /// Returns how many uploads of segments succeeded, and how many failed.
    pub(super) fn upload_counts(&self) -> [u64; 2] {
        [self.sent.load(Ordering::Relaxed), self.failed.load(Ordering::Relaxed)]
    }

    /// Returns how many segments are on this machine only.
    pub(super) fn segments_left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }
}
