//! What a recording that is appended to reports to its owner.

use std::sync::Arc;
use std::time::Duration;

use super::store_event::StoreEvent;

/// What happens to a recording beside the outcome of each append.
#[derive(Debug)]
pub enum AppenderEvent<'a> {
    /// Something that is well, and worth knowing.
    Note(&'a StoreEvent),
    /// A compaction failed, and is tried again. Nothing is lost by it. Reported once for
    /// as long as it lasts.
    CompactionFailed(&'a str),
    /// A compaction is over: how long it took.
    Compacted(Duration),
    /// What had been kept and is kept no more: the reason, and how many names.
    Lost(&'a str, usize),
}

/// Callback for the events of a recording. Called once for each, on the store's thread or
/// the one that closes the recording.
pub type OnAppenderEvent = Arc<dyn Fn(AppenderEvent<'_>) + Send + Sync>;
