//! What the writer and its thread tell each other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::oneshot;

use crate::store::{CompactionDone, EncodedFrame, StoreError, StoreEvent};

/// What the writer has to tell beside the word on each exchange.
#[derive(Debug)]
pub enum WriterEvent<'a> {
    /// Something that is well, and worth knowing.
    Note(&'a StoreEvent),
    /// What could not be done, and is tried again. Nothing is lost by it.
    Trouble(&'a str),
    /// A compaction is over: how long it took.
    Folded(Duration),
    /// What had been kept and is kept no more: the reason, and how many names.
    Lost(&'a str, usize),
}

/// Called by the writer's thread with what it has to tell, once each.
pub type OnWriterEvent = Arc<dyn Fn(WriterEvent<'_>) + Send + Sync>;

/// What the thread waits for.
pub(super) enum WriterTask {
    /// Exchanges to be kept, and who waits for the word.
    Keep(Vec<WaitingExchange>),
    /// An exchange was kept without the thread: a compaction may be due some time, and
    /// there may be something to tell.
    Kept,
    /// A compaction is over: how long it took.
    Folded(Box<CompactionDone>, Duration),
    /// Nothing more will come.
    Close,
}

/// An exchange and who waits for the word.
pub(super) struct WaitingExchange {
    pub(super) parcel: EncodedFrame,
    pub(super) done: oneshot::Sender<KeepResult>,
}

/// What became of one exchange: kept, or the text of the store's error.
pub(super) type KeepResult = Result<(), String>;

/// Tells everyone what became of their exchanges.
pub(super) fn report_all(
    batch: impl Iterator<Item = WaitingExchange>,
    outcome: &Result<(), StoreError>,
) {
    let word = outcome.as_ref().copied().map_err(|error| error.chain());
    for waiting in batch {
        // A receiver that is gone has no client to answer any more.
        drop(waiting.done.send(word.clone()));
    }
}
