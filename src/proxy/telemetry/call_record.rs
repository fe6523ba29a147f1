//! What is known of a call once it is over: the facts that the journal writes down and
//! the metrics count.
//!
//! Nothing in it is a secret: it is made of what may be stored. It holds no body, no
//! header's value and no query string, and no text of a caller's is longer in it than
//! [`LONGEST`](loomrec_engine::LONGEST).

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::span::parent::ParentSpan;
use loomrec_engine::record::RecordOutcome;
use loomrec_engine::replay::RecordingMismatchError;
use loomrec_engine::{AnswerOrigin, AnswerSource, CallOutcome, RequestSummary, ServedTake};
use loomrec_fault::CallFault;

/// How the sending of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// All of it was sent.
    Complete,
    /// Its client left before.
    ClientLeft,
    /// It was cut: by the upstream, as it was recorded, by a fault, or by the end of the
    /// run.
    Aborted,
}

impl SendEnd {
    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientLeft => "client_left",
            Self::Aborted => "aborted",
        }
    }
}

/// Tokens of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Those of the prompt.
    pub input: u64,
    /// Those of the answer.
    pub output: u64,
}

/// A call that is over. All times count from its arrival.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// When it arrived, in microseconds since 1970, unique in the run.
    pub at: i64,
    /// The request.
    pub facts: Arc<RequestSummary>,
    /// What the run does: `record`, `new_episodes` or `replay`.
    pub mode: &'static str,
    /// What it was answered with.
    pub outcome: CallOutcome,
    /// The status it was answered with, where it was answered.
    pub status: Option<StatusCode>,
    /// What its answer was found in.
    pub origin: Option<AnswerOrigin>,
    /// Until its answer's head.
    pub head: Duration,
    /// How much of that was waiting: for an upstream, or until the answer was due.
    pub waited: Duration,
    /// Until the first byte of its answer's body; `None` where none was sent.
    pub first_byte: Option<Duration>,
    /// Until its answer was over.
    pub total: Duration,
    /// Bytes of the body that were sent.
    pub bytes: u64,
    /// The pieces they were sent in.
    pub chunks: u64,
    /// How the sending ended.
    pub end: SendEnd,
    /// Tokens, where the answer tells them.
    pub tokens: Option<TokenCounts>,
    /// What it cost in US dollars, or had when it was recorded, where that is known.
    pub cost_usd: Option<f64>,
    /// The exchange with the upstream, where it was to be kept.
    pub exchange: Option<Box<RecordOutcome>>,
    /// A miss of which its client learned nothing, since a fault replaced the answer.
    pub hidden_miss: Option<Arc<RecordingMismatchError>>,
    /// The fault it got.
    pub fault: Option<Arc<CallFault>>,
    /// Which try of the call it is, from 1, where its client tells.
    pub attempt: Option<u64>,
    /// The caller's own span, where it names one and spans are made.
    pub parent: Option<Box<ParentSpan>>,
}

impl CallRecord {
    /// A call that has just arrived.
    pub fn new(at: i64, facts: Arc<RequestSummary>, mode: &'static str) -> Self {
        Self {
            at,
            facts,
            mode,
            outcome: CallOutcome::Left,
            status: None,
            origin: None,
            head: Duration::ZERO,
            waited: Duration::ZERO,
            first_byte: None,
            total: Duration::ZERO,
            bytes: 0,
            chunks: 0,
            end: SendEnd::ClientLeft,
            tokens: None,
            cost_usd: None,
            exchange: None,
            hidden_miss: None,
            fault: None,
            attempt: None,
            parent: None,
        }
    }

    /// The bytes it takes in memory, about; those that it shares with others too.
    pub fn weight(&self) -> usize {
        let fault = self.fault.as_deref().map_or(0, CallFault::weight);
        let exchange = self.exchange.as_ref().map_or(0, |exchange| exchange.weight());
        let parent =
            self.parent.as_ref().map_or(0, |parent| size_of_val(&**parent) + parent.state.len());
        let hidden = self.hidden_miss.as_ref().map_or(0, |miss| miss.weight());
        let shared = self.facts.weight() + fault + hidden;
        size_of::<Self>() + shared + exchange + parent + self.outcome.weight()
    }

    /// The model that answered, where the answer tells it.
    pub fn answered_by(&self) -> Option<&str> {
        self.exchange.as_ref()?.model.as_deref()
    }

    /// Whether the exchange was kept, where it was to be.
    pub fn is_kept(&self) -> Option<bool> {
        self.exchange.as_ref().map(|exchange| exchange.outcome.is_ok())
    }

    /// Where its answer came from.
    pub fn source(&self) -> AnswerSource {
        self.outcome.source()
    }

    /// By what its answer was found: `step_id`, `request_hash`, `script` or `default`.
    pub fn matched_by(&self) -> Option<&'static str> {
        self.origin.as_ref().map(AnswerOrigin::as_str)
    }

    /// The take that answers it.
    pub fn take(&self) -> Option<&ServedTake> {
        match &self.origin {
            Some(AnswerOrigin::Take(take)) => Some(take),
            _ => None,
        }
    }

    /// The name of the entry that answered it.
    pub fn entry(&self) -> Option<&str> {
        match &self.outcome {
            CallOutcome::Served { entry } => entry.as_ref()?.to_str().ok(),
            _ => None,
        }
    }

    /// Which attempt of the call it is, from 1: as its client says, else as its fault was
    /// decided.
    pub fn attempt(&self) -> Option<u64> {
        self.attempt.or_else(|| Some(self.fault.as_deref()?.attempt))
    }

    /// Its mismatch, where it was missed.
    pub fn mismatch(&self) -> Option<&RecordingMismatchError> {
        match &self.outcome {
            CallOutcome::Missed(mismatch) => Some(mismatch),
            _ => None,
        }
    }

    /// The reason of its mismatch, where it was missed.
    pub fn mismatch_reason(&self) -> Option<&'static str> {
        self.mismatch().map(|mismatch| mismatch.reason.as_str())
    }
}
