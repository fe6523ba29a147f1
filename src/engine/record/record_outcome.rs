//! What became of one exchange.

use std::time::Duration;

use loomrec_recording::entry::ResponseEnd;

/// When what happened at the upstream, counted from the call's arrival.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpstreamTimes {
    /// The request was on its way.
    pub sent: Duration,
    /// The answer's head was there.
    pub head: Duration,
    /// So was the first byte of its body; `None` where there is none.
    pub first: Option<Duration>,
    /// All of it was, or as much as came.
    pub last: Duration,
}

/// How a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CallFailure {
    /// It was answered with this status.
    Status(u16),
    /// Its answer did not come to its end.
    Cut,
    /// Its answer was not recorded whole: see [`RecordOutcome::incomplete`].
    Incomplete,
}

/// What became of one exchange, for the receipt.
#[derive(Clone, Debug)]
pub struct RecordOutcome {
    /// Whether it is on disk; the reason where it is not.
    pub outcome: Result<(), String>,
    /// How it ended, where that makes it an exchange that is never replayed.
    pub incomplete: Option<ResponseEnd>,
    /// The request, in a few words; empty where the exchange is complete.
    pub label: String,
    /// The model that answered.
    pub model: Option<String>,
    /// Input and output tokens.
    pub tokens: (u64, u64),
    /// Cost in US dollars; `None` where the model's price is not known.
    pub cost_usd: Option<f64>,
    /// How the call failed: its status, or that its answer was cut; `None` where it did not.
    pub failure: Option<CallFailure>,
    /// When what happened.
    pub times: UpstreamTimes,
    /// How long it took to put it on disk, waiting for others included.
    pub append: Duration,
}

impl RecordOutcome {
    /// The bytes it takes in memory, about.
    pub fn weight(&self) -> usize {
        let reason = self.outcome.as_ref().err().map_or(0, String::len);
        let model = self.model.as_ref().map_or(0, String::len);
        size_of::<Self>() + reason + model + self.label.len()
    }
}
