//! The progress of a download, and the room that it takes in memory.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The unit of the room for objects in memory, in bytes.
const UNIT: u64 = 4 << 10;

/// The room for objects in memory, in units: 64 MiB. A larger one is alone.
const ROOM: u32 = 16 << 10;

/// The callback for progress: how many objects are there, and how many are needed.
pub type OnFetchProgress = Arc<dyn Fn(u64, u64) + Send + Sync>;

/// The progress of a download.
pub(crate) struct DownloadProgress<'a> {
    on_progress: &'a OnFetchProgress,
    pub(crate) done: u64,
    total: u64,
}

/// The room for what a download has in memory.
#[derive(Clone, Debug)]
pub(crate) struct DownloadRoom(Arc<Semaphore>);

impl<'a> DownloadProgress<'a> {
    /// Begins a download of this many entries.
    pub(crate) fn new(on_progress: &'a OnFetchProgress, total: u64) -> Self {
        on_progress(0, total);
        Self { on_progress, done: 0, total }
    }

    /// Notes entries that have arrived.
    pub(crate) fn note_arrived(&mut self, entries: u64) {
        self.done += entries;
        (self.on_progress)(self.done, self.total);
    }
}

impl DownloadRoom {
    /// Creates the room of one download.
    pub(crate) fn new() -> Self {
        Self(Arc::new(Semaphore::new(ROOM as usize)))
    }

    /// Waits for the room that this many bytes need.
    pub(crate) async fn wait_for_room(&self, bytes: u64) -> Option<OwnedSemaphorePermit> {
        let units = u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(ROOM).clamp(1, ROOM);
        // The semaphore is never closed.
        Arc::clone(&self.0).acquire_many_owned(units).await.ok()
    }
}
