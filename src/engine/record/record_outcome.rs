//! The outcome of one recorded exchange.

use std::time::Duration;

use loomrec_provider::{AnswerOutcome, JudgedAnswer};
use loomrec_recording::UncheckedReason;
use loomrec_recording::entry::ResponseEnd;

/// The times of the upstream's part of a call, counted from the call's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpstreamTimes {
    /// When the request was about to be sent.
    pub sent: Duration,
    /// When the head of the response was there.
    pub head: Duration,
    /// When the first byte of the body was there; `None` if there is none.
    pub first: Option<Duration>,
    /// When the last byte that came was there.
    pub last: Duration,
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallFailure {
    /// It was answered with this error status.
    Status(u16),
    /// Its answer was cut.
    Cut,
    /// Its answer was not recorded in full: see [`RecordOutcome::incomplete`].
    Incomplete,
    /// The provider reported an error under a good status.
    Provider,
    /// Its answer lacks the end mark of its protocol.
    Unfinished,
    /// What arrived is no answer of its operation.
    NotAnAnswer,
}

impl CallFailure {
    /// Returns how a call with this outcome failed; `None` if it did not.
    pub fn new(outcome: AnswerOutcome, status: u16, end: ResponseEnd) -> Option<Self> {
        Some(match (outcome, end) {
            (AnswerOutcome::Complete, _) => return None,
            (AnswerOutcome::FailedByProvider, _) if status >= 400 => Self::Status(status),
            (AnswerOutcome::FailedByProvider, _) => Self::Provider,
            (AnswerOutcome::NotAnAnswer, _) => Self::NotAnAnswer,
            (AnswerOutcome::Unfinished, ResponseEnd::UpstreamAbort(_)) => Self::Cut,
            (AnswerOutcome::Unfinished, ResponseEnd::ClientAbort | ResponseEnd::Truncated) => {
                Self::Incomplete
            }
            (AnswerOutcome::Unfinished, ResponseEnd::Complete) => Self::Unfinished,
        })
    }
}

/// The outcome of one recorded exchange, for the receipt.
#[derive(Clone, Debug)]
pub struct RecordOutcome {
    /// Whether it is on disk, or the reason why not.
    pub outcome: Result<(), String>,
    /// How it ended, if it ended so that it is never replayed.
    pub incomplete: Option<ResponseEnd>,
    /// The method and path of the request; empty if the exchange is complete.
    pub label: String,
    /// The model that answered.
    pub model: Option<String>,
    /// Input and output tokens.
    pub tokens: (u64, u64),
    /// Cost in US dollars; `None` if it is not known.
    pub cost_usd: Option<f64>,
    /// Whether that is because no price is known for the model.
    pub is_unpriced: bool,
    /// The outcome of the answer; `None` if it cannot be looked into.
    pub judged: Option<JudgedAnswer>,
    /// Whether the client gave the call up before it got anything of the answer.
    pub is_given_up: bool,
    /// How the call failed; `None` if it did not.
    pub failure: Option<CallFailure>,
    /// Why a strict replay refuses the entry; `None` if it does not.
    pub unchecked: Option<UncheckedReason>,
    /// The times of the upstream's part.
    pub times: UpstreamTimes,
    /// How long the append took, including the wait for other appends.
    pub append: Duration,
}

impl RecordOutcome {
    /// Returns the approximate number of bytes it takes in memory.
    pub fn memory_size(&self) -> usize {
        let reason = self.outcome.as_ref().err().map_or(0, String::len);
        let model = self.model.as_ref().map_or(0, String::len);
        let judged = self.judged.as_ref().map_or(0, |judged| judged.description().len());
        size_of::<Self>() + reason + model + self.label.len() + judged
    }

    /// Whether the call failed.
    pub fn is_failure(&self) -> bool {
        self.judged.as_ref().is_some_and(JudgedAnswer::is_failure)
    }
}
