//! Notices for the person at the terminal, sent at once.

use std::sync::Arc;

use loomrec_engine::replay::RecordingMismatchError;
use loomrec_telemetry::call_record::CallRecord;

/// An event that the person at the terminal should see at once.
#[derive(Debug)]
pub enum UserNotice<'a> {
    /// A call without a recorded answer.
    Missed(&'a RecordingMismatchError),
    /// An upstream gave no answer, or a request was refused, for example because it was too large.
    Refused(&'a str),
    /// An exchange could not be kept. Sent once for each reason.
    Unkept(&'a str),
    /// Something that has recovered, was repaired, or is worth knowing.
    Warning(&'a str),
    /// A call is over.
    Call(&'a CallRecord),
    /// An exchange was kept, but not in full: it will not be replayed.
    Incomplete(&'a str),
}

/// Callback for each [`UserNotice`].
pub type OnNotice = Arc<dyn Fn(UserNotice<'_>) + Send + Sync>;
