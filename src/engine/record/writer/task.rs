//! What the writer and its thread tell each other.

use tokio::sync::oneshot;

use loomrec_store::{EncodedFrame, StoreError};

/// What the thread waits for.
pub(super) enum WriterTask {
    /// Exchanges to be kept, and who waits for the word.
    Keep(Vec<WaitingExchange>),
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
