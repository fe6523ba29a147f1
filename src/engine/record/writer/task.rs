//! The messages between the writer and its thread.

use tokio::sync::oneshot;

use loomrec_store::{EncodedFrame, StoreError};

/// A task for the thread.
pub(super) enum WriterTask {
    /// Exchanges to write, each with the sender of its result.
    Keep(Vec<WaitingExchange>),
    /// The last task: close the recording.
    Close,
}

/// An exchange that waits to be written, and the sender of its result.
pub(super) struct WaitingExchange {
    pub(super) frame: EncodedFrame,
    pub(super) done: oneshot::Sender<KeepResult>,
}

/// The result of one exchange: stored, or the text of the store's error.
pub(super) type KeepResult = Result<(), String>;

/// Sends the outcome to each exchange of a batch.
pub(super) fn report_all(
    batch: impl Iterator<Item = WaitingExchange>,
    outcome: &Result<(), StoreError>,
) {
    let result = outcome.as_ref().copied().map_err(|error| error.error_chain());
    for waiting in batch {
        // A receiver that is gone has no client to answer any more.
        drop(waiting.done.send(result.clone()));
    }
}
