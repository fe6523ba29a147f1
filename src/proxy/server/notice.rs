//! What the person at the terminal is told at once.

use std::sync::Arc;

use crate::telemetry::call_record::CallRecord;
use loomrec_engine::replay::RecordingMismatchError;

/// Something the person at the terminal should hear of at once.
#[derive(Debug)]
pub enum UserNotice<'a> {
    /// A call without a recorded answer.
    Missed(&'a RecordingMismatchError),
    /// An upstream gave no answer, or a request could not be placed or was too large.
    Refused(&'a str),
    /// An exchange could not be kept; said once for each reason.
    Unkept(&'a str),
    /// Something that is well again, or was put right, and is worth knowing.
    Warning(&'a str),
    /// A call is over.
    Call(&'a CallRecord),
    /// An exchange was kept, but not whole: it will not be replayed.
    Incomplete(&'a str),
}

/// Told of every [`UserNotice`].
pub type OnNotice = Arc<dyn Fn(UserNotice<'_>) + Send + Sync>;
