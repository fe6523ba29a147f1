//! The record of a finished call: the facts that the journal writes down and the metrics count.
//!
//! It contains no secrets: it is built only from data that may be stored. It holds no body, no
//! header value and no query string, apart from the request for the other journal, which is taken
//! out before the record is kept. No text from a caller in it is longer than
//! [`LONGEST`](loomrec_engine::LONGEST).

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;

use super::journaled_request::JournaledRequest;
use super::span::parent::ParentSpan;
use loomrec_engine::record::RecordOutcome;
use loomrec_engine::replay::RecordingMismatchError;
use loomrec_engine::{AnswerOrigin, AnswerSource, CallOutcome, RequestSummary, ServedTake};
use loomrec_fault::CallFault;
use loomrec_provider::AnswerOutcome;

/// How the sending of an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendEnd {
    /// All of it was sent.
    Complete,
    /// The client left before that.
    ClientLeft,
    /// It was cut: by the upstream, as recorded, by a fault, or by the end of the run.
    Aborted,
}

impl SendEnd {
    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::ClientLeft => "client_left",
            Self::Aborted => "aborted",
        }
    }
}

/// The token counts of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    /// Tokens of the prompt.
    pub input: u64,
    /// Tokens of the answer.
    pub output: u64,
}

impl TokenCounts {
    /// Whether both counts are zero.
    pub fn is_empty(self) -> bool {
        self.input == 0 && self.output == 0
    }
}

/// A finished call. All durations count from its arrival.
#[derive(Clone, Debug)]
pub struct CallRecord {
    /// The arrival time, in microseconds since 1970, unique in the run.
    pub at: i64,
    /// The request.
    pub facts: Arc<RequestSummary>,
    /// The session of the server that the call belongs to, if it has a recording for each session.
    pub run_session: Option<Arc<str>>,
    /// The mode of the run: `record`, `new_episodes` or `replay`.
    pub mode: &'static str,
    /// How the call was answered.
    pub outcome: CallOutcome,
    /// The status of the answer, if there was one.
    pub status: Option<StatusCode>,
    /// The source of the answer.
    pub origin: Option<AnswerOrigin>,
    /// The time until the head of the answer.
    pub head: Duration,
    /// How much of that was spent waiting: for an upstream, or until the answer was due.
    pub waited: Duration,
    /// The time until the first byte of the answer's body. `None` if none was sent.
    pub first_byte: Option<Duration>,
    /// The time until the answer was over.
    pub total: Duration,
    /// Bytes of the body that were sent.
    pub bytes: u64,
    /// The number of pieces in which they were sent.
    pub chunks: u64,
    /// How the sending ended.
    pub end: SendEnd,
    /// The token counts, if the answer states them.
    pub tokens: Option<TokenCounts>,
    /// The cost in US dollars, now or when it was recorded, if it is known.
    pub cost_usd: Option<f64>,
    /// The exchange with the upstream, if it was to be recorded.
    pub exchange: Option<Box<RecordOutcome>>,
    /// A miss that the client did not see, because a fault replaced the answer.
    pub hidden_miss: Option<Arc<RecordingMismatchError>>,
    /// The fault of the call.
    pub fault: Option<Arc<CallFault>>,
    /// The attempt number of the call, from 1, if the client states it.
    pub attempt: Option<u64>,
    /// The caller's own span, if it names one and spans are made.
    pub parent: Option<Box<ParentSpan>>,
    /// The workflow that the call names, if metrics need it.
    pub workflow: Option<Box<str>>,
    /// The request for the journal in another tool's shape, if there is one.
    pub journaled: Option<Box<JournaledRequest>>,
}

impl CallRecord {
    /// Returns the session that the request names, or else the server's session that it belongs to.
    pub fn session_name(&self) -> Option<&str> {
        self.facts.session.as_deref().or(self.run_session.as_deref())
    }

    /// Creates the record of a call that has just arrived.
    pub fn new(at: i64, facts: Arc<RequestSummary>, mode: &'static str) -> Self {
        Self {
            at,
            facts,
            run_session: None,
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
            workflow: None,
            journaled: None,
        }
    }

    /// Returns about how many bytes it takes in memory, including those that it shares.
    pub fn weight(&self) -> usize {
        let fault = self.fault.as_deref().map_or(0, CallFault::memory_size);
        let exchange = self.exchange.as_ref().map_or(0, |exchange| exchange.memory_size());
        let parent =
            self.parent.as_ref().map_or(0, |parent| size_of_val(&**parent) + parent.state.len());
        let hidden = self.hidden_miss.as_ref().map_or(0, |miss| miss.memory_size());
        let shared = self.facts.memory_size() + fault + hidden;
        size_of::<Self>() + shared + exchange + parent + self.outcome.memory_size()
    }

    /// Returns the model that answered, if the answer names it.
    pub fn answered_by(&self) -> Option<&str> {
        self.exchange.as_ref()?.model.as_deref()
    }

    /// Whether the exchange was kept. `None` if it was not to be recorded.
    pub fn is_kept(&self) -> Option<bool> {
        self.exchange.as_ref().map(|exchange| exchange.outcome.is_ok())
    }

    /// Returns the outcome of a recorded or served answer. `None` if none of these was sent, or it
    /// cannot be looked into.
    pub fn answer_outcome(&self) -> Option<AnswerOutcome> {
        match (&self.exchange, &self.outcome) {
            (Some(exchange), _) => Some(exchange.judged.as_ref()?.outcome),
            (None, CallOutcome::Served { .. }) => Some(self.served_take()?.outcome),
            (None, _) => None,
        }
    }

    /// Returns why a recorded answer failed.
    pub fn answer_reason(&self) -> Option<&str> {
        let judged = self.exchange.as_ref()?.judged.as_ref()?;
        Some(&*judged.reason).filter(|reason| !reason.is_empty())
    }

    /// Returns where the answer came from.
    pub fn answer_source(&self) -> AnswerSource {
        self.outcome.source()
    }

    /// Returns the values of this run that were put in the place of recorded ones.
    pub fn bound_values(&self) -> Option<String> {
        self.served_take()?.bound.as_ref().map(|bound| bound.to_string())
    }

    /// Returns how the answer was found: `step_id`, `request_hash`, `bound`, `script` or `default`.
    pub fn matched_by(&self) -> Option<&'static str> {
        self.origin.as_ref().map(AnswerOrigin::as_str)
    }

    /// Returns the take that answered the call.
    pub fn served_take(&self) -> Option<&ServedTake> {
        match &self.origin {
            Some(AnswerOrigin::Take(take)) => Some(take),
            _ => None,
        }
    }

    /// Returns the name of what answered the call of a script.
    pub fn script_turn(&self) -> Option<String> {
        match &self.outcome {
            CallOutcome::Scripted { turn: Some(turn) } => Some(turn.label()),
            _ => None,
        }
    }

    /// Returns the name of the entry that answered the call.
    pub fn entry_name(&self) -> Option<&str> {
        match &self.outcome {
            CallOutcome::Served { entry } => entry.as_ref()?.to_str().ok(),
            _ => None,
        }
    }

    /// Returns the attempt number of the call, from 1: the one that its client states, otherwise
    /// the one that its fault was decided for.
    pub fn attempt_number(&self) -> Option<u64> {
        self.attempt.or_else(|| Some(self.fault.as_deref()?.attempt))
    }

    /// Returns the mismatch of a missed call.
    pub fn mismatch(&self) -> Option<&RecordingMismatchError> {
        match &self.outcome {
            CallOutcome::Missed(mismatch) => Some(mismatch),
            _ => None,
        }
    }

    /// Returns the reason of the mismatch of a missed call.
    pub fn mismatch_reason(&self) -> Option<&'static str> {
        self.mismatch().map(|mismatch| mismatch.reason.as_str())
    }
}
