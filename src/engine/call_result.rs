//! The result of a call: the response, and what is reported about it.

use std::time::Duration;

use http::Response;
use http::header::TRAILER;
use tokio::time::Instant;

use super::answer_body::AnswerBody;
use super::call_outcome::{AnswerOrigin, CallOutcome};
use super::incoming_call::IncomingCall;
use super::trailer;
use loomrec_provider::TokenUsage;

/// The result of a call.
pub struct CallResult {
    /// The response.
    pub response: Response<AnswerBody>,
    /// What the call was answered with.
    pub outcome: CallOutcome,
    /// Where the answer was found.
    pub origin: Option<AnswerOrigin>,
    /// Tokens and cost of the recorded call, if a take answers.
    pub spent: Option<RecordedUsage>,
    /// When the response's first byte is due, if it is held back until then.
    pub due: Option<Instant>,
    /// How long the call waited for the upstream.
    pub waited: Duration,
}

/// Tokens and cost of a recorded call.
#[derive(Clone, Copy, Debug)]
pub struct RecordedUsage {
    /// The tokens that it used.
    pub tokens: TokenUsage,
    /// What it cost, in US dollars; `None` if that is unknown.
    pub cost_usd: Option<f64>,
}

impl CallResult {
    /// Returns a result whose response is sent at once.
    pub(super) fn new(response: Response<AnswerBody>, outcome: CallOutcome) -> Self {
        Self { response, outcome, origin: None, spent: None, due: None, waited: Duration::ZERO }
    }

    /// Returns the result as the client of this call gets it: the head names trailers only if the
    /// client takes them.
    pub fn sent_to(mut self, call: &IncomingCall) -> Self {
        let headers = self.response.headers_mut();
        if headers.contains_key(TRAILER) && !trailer::accepts_trailers(&call.headers) {
            headers.remove(TRAILER);
        }
        self
    }
}
