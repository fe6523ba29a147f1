//! The outcome of a call: what it was answered with, and where the answer came from.

use std::sync::Arc;

use http::HeaderValue;

use crate::replay::{MatchedBy, RecordingMismatchError};

/// What a call was answered with.
#[derive(Clone, Debug)]
pub enum CallOutcome {
    /// Nothing: its client left first.
    Left,
    /// A take of a recording.
    Served {
        /// The header that names the entry.
        entry: Option<HeaderValue>,
    },
    /// A live answer that is recorded.
    Recorded,
    /// A live answer of which nothing is kept.
    Forwarded,
    /// An error: no upstream answered.
    Unreachable {
        /// The error, without credentials.
        message: String,
    },
    /// A script's answer.
    Scripted {
        /// Which call of the script it is, from 1; `None` for one that fails for now.
        call: Option<usize>,
    },
    /// An error: the script has no answer.
    Unscripted {
        /// The error.
        message: String,
    },
    /// The placeholder.
    Placeholder,
    /// A fault in place of any answer.
    Faulted,
    /// A mismatch error.
    Missed(Arc<RecordingMismatchError>),
    /// An error: the request was not taken on.
    Refused {
        /// The kind of the error, where it has one.
        kind: Option<&'static str>,
        /// The error, without credentials.
        message: String,
    },
}

impl CallOutcome {
    /// The word for it in journals, spans and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Served { .. } => "served",
            Self::Recorded => "recorded",
            Self::Forwarded => "forwarded",
            Self::Unreachable { .. } => "unreachable",
            Self::Scripted { .. } => "scripted",
            Self::Unscripted { .. } => "unscripted",
            Self::Placeholder => "default",
            Self::Faulted => "faulted",
            Self::Missed(_) => "missed",
            Self::Refused { .. } => "refused",
        }
    }

    /// Where the answer came from.
    pub fn source(&self) -> AnswerSource {
        AnswerSource::of(self.as_str())
    }

    /// The bytes it takes in memory beside itself, about.
    pub fn weight(&self) -> usize {
        match self {
            Self::Served { entry } => entry.as_ref().map_or(0, HeaderValue::len),
            Self::Unreachable { message }
            | Self::Unscripted { message }
            | Self::Refused { message, .. } => message.len(),
            Self::Missed(mismatch) => mismatch.weight(),
            _ => 0,
        }
    }
}

/// Where an answer came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerSource {
    /// A take of a recording.
    Recording,
    /// The live upstream, its errors included.
    Upstream,
    /// A script, its errors included.
    Script,
    /// The placeholder.
    Default,
    /// A fault in place of any answer.
    Fault,
    /// Nowhere: the call was missed or refused, or its client left before.
    Nowhere,
}

impl AnswerSource {
    /// The word for it; `None` for nowhere.
    pub fn as_str(self) -> Option<&'static str> {
        match self {
            Self::Recording => Some("recording"),
            Self::Upstream => Some("upstream"),
            Self::Script => Some("script"),
            Self::Default => Some("default"),
            Self::Fault => Some("fault"),
            Self::Nowhere => None,
        }
    }

    /// Where the answer of a call with this word for its outcome came from.
    pub fn of(outcome: &str) -> Self {
        match outcome {
            "served" => Self::Recording,
            "recorded" | "forwarded" | "unreachable" => Self::Upstream,
            "scripted" | "unscripted" => Self::Script,
            "default" => Self::Default,
            "faulted" => Self::Fault,
            _ => Self::Nowhere,
        }
    }
}

/// The take that answers a call.
#[derive(Clone, Copy, Debug)]
pub struct ServedTake {
    /// By what the take was found.
    pub matched_by: MatchedBy,
    /// Which take of its entry it is, from 1.
    pub number: usize,
    /// The same take, as an index of the matcher's.
    pub index: usize,
}

/// What an answer was found in. It is known before the answer is due, and stays known where the
/// client does not wait for it.
#[derive(Clone, Copy, Debug)]
pub enum AnswerOrigin {
    /// A take of a recording.
    Take(ServedTake),
    /// A script.
    Script {
        /// Whether the answer is a stream.
        streamed: bool,
    },
    /// The placeholder.
    Placeholder,
}

impl AnswerOrigin {
    /// The word for it under `matched_by`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Take(take) => take.matched_by.as_str(),
            Self::Script { .. } => "script",
            Self::Placeholder => "default",
        }
    }
}
