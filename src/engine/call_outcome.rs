//! The outcome of a call: what it was answered with, and where the answer came from.

use std::sync::Arc;

use http::HeaderValue;

use crate::replay::{MatchedBy, RecordingMismatchError};
use loomrec_identity::BoundValues;
use loomrec_provider::AnswerOutcome;
use loomrec_script::ScriptTurn;

/// What a call was answered with.
#[derive(Clone, Debug)]
pub enum CallOutcome {
    /// Nothing: its client left first.
    Left,
    /// Nothing, or not all of it, and not because its client left: loomrec had no answer in time.
    Unanswered,
    /// A take of a recording.
    Served {
        /// The header that names the entry.
        entry: Option<HeaderValue>,
    },
    /// A live answer that is recorded.
    Recorded,
    /// A live answer that is not recorded.
    Forwarded,
    /// An error: no upstream answered.
    Unreachable {
        /// The error, without credentials.
        message: String,
    },
    /// A script's answer.
    Scripted {
        /// What of the script answers; `None` for a scripted temporary failure.
        turn: Option<ScriptTurn>,
    },
    /// An error: the script has no answer.
    Unscripted {
        /// The error.
        message: String,
    },
    /// The placeholder.
    Placeholder,
    /// The answer that the protocol prescribes, which needs no recording.
    Prescribed {
        /// The method that was asked for.
        what: String,
    },
    /// A fault instead of an answer.
    Faulted,
    /// A mismatch error.
    Missed(Arc<RecordingMismatchError>),
    /// An error: the request was refused.
    Refused {
        /// The kind of the error, if it has one.
        kind: Option<&'static str>,
        /// The error, without credentials.
        message: String,
    },
    /// An error: the request asked for a WebSocket. Programs that can make the call over HTTP as
    /// well do so next.
    UpgradeRefused,
}

impl CallOutcome {
    /// Returns the name of the outcome in journals, spans and logs.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::Unanswered => "unanswered",
            Self::Served { .. } => "served",
            Self::Recorded => "recorded",
            Self::Forwarded => "forwarded",
            Self::Unreachable { .. } => "unreachable",
            Self::Scripted { .. } => "scripted",
            Self::Unscripted { .. } => "unscripted",
            Self::Placeholder => "default",
            Self::Prescribed { .. } => "prescribed",
            Self::Faulted => "faulted",
            Self::Missed(_) => "missed",
            Self::Refused { .. } => "refused",
            Self::UpgradeRefused => "upgrade_refused",
        }
    }

    /// Returns where the answer came from.
    pub fn source(&self) -> AnswerSource {
        AnswerSource::from_outcome(self.as_str())
    }

    /// Returns the approximate number of bytes it takes in memory beyond its own size.
    pub fn memory_size(&self) -> usize {
        match self {
            Self::Served { entry } => entry.as_ref().map_or(0, HeaderValue::len),
            Self::Unreachable { message }
            | Self::Unscripted { message }
            | Self::Refused { message, .. }
            | Self::Prescribed { what: message } => message.len(),
            Self::Missed(mismatch) => mismatch.memory_size(),
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
    /// A fault instead of an answer.
    Fault,
    /// Nowhere: the call was missed, refused or never answered, or its client left first.
    Nowhere,
}

impl AnswerSource {
    /// Returns the name of the source; `None` for nowhere.
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

    /// Returns where the answer of a call with this outcome came from. `outcome` is the word that
    /// [`CallOutcome::as_str`] returns.
    pub fn from_outcome(outcome: &str) -> Self {
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
#[derive(Clone, Debug)]
pub struct ServedTake {
    /// How the take was found.
    pub matched_by: MatchedBy,
    /// The number of the take within its entry, from 1.
    pub number: usize,
    /// The index of the take in the matcher.
    pub index: usize,
    /// The outcome of its answer.
    pub outcome: AnswerOutcome,
    /// The values of this run that were put in the place of recorded ones.
    pub bound: Option<Arc<BoundValues>>,
}

/// Where an answer was found. It is known before the answer is due, and stays known if the client
/// leaves before that.
#[derive(Clone, Debug)]
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
    /// Returns the value that `matched_by` has for it.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Take(take) => take.matched_by.as_str(),
            Self::Script { .. } => "script",
            Self::Placeholder => "default",
        }
    }
}
