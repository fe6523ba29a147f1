//! The events that an open recording reports to its owner.

use std::sync::Arc;
use std::time::Duration;

use super::merge::TakeReplacement;
use super::store_event::StoreEvent;

/// An event of a recording, other than the outcome of an append.
#[derive(Debug)]
pub enum AppenderEvent<'a> {
    /// Something that is not an error but worth knowing.
    Note(&'a StoreEvent),
    /// A compaction failed and will be retried. Nothing is lost. Reported once as long as the
    /// failure lasts.
    CompactionFailed(&'a str),
    /// A compaction replaced takes of earlier runs, or kept takes that the run has not reached.
    Replaced(&'a TakeReplacement),
    /// A compaction is over. It took this long.
    Compacted(Duration),
    /// Stored takes were lost: the reason, and the number of names.
    Lost(&'a str, usize),
}

/// Callback for the events of a recording. Called once for each event, on the store's thread or on
/// the thread that closes the recording.
pub type OnAppenderEvent = Arc<dyn Fn(AppenderEvent<'_>) + Send + Sync>;
