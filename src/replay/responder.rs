//! The responder: a request in, the recorded response out, paced as asked.

use std::sync::Arc;

use http::{HeaderValue, Response};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use super::answer::{MATCHED_BY, Prepared};
use super::body::ReplayBody;
use super::explain::Miss;
use super::form::Wanted;
use super::latency::{Latency, Schedule};
use super::matcher::{MatchedBy, Matcher};
use super::mismatch::RecordingMismatchError;
use super::plain;
use super::reason::Reason;
use crate::provider::{Answer, Usage};
use crate::recording::observed::Observed;

/// The text of the placeholder answer, as in AgentLoom.
const PLACEHOLDER: &str = "Mock response";

/// How many misses are explained at once: each may hold a few large requests.
const EXPLAINED: usize = 2;

/// The replaying engine.
#[derive(Debug)]
pub struct Replayer {
    matcher: Matcher,
    latency: Latency,
    explaining: Semaphore,
}

/// An answer, and where it came from.
#[derive(Debug)]
pub struct Answered {
    /// The response, ready to be sent.
    pub response: Response<ReplayBody>,
    /// Tokens that the recorded call had used.
    pub usage: Usage,
    /// What the recorded call had cost.
    pub cost_usd: f64,
}

impl Replayer {
    /// A replayer over loaded recordings.
    pub fn new(matcher: Matcher, latency: Latency) -> Self {
        Self { matcher, latency, explaining: Semaphore::new(EXPLAINED) }
    }

    /// The takes and how far they are used.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// The recorded answer to `observed`, due from `arrived` on.
    ///
    /// # Errors
    /// A [`Miss`] when the recordings owe this call no answer; see
    /// [`Replayer::explain`].
    pub fn answer(
        &self,
        observed: &Observed,
        accept_encoding: Option<&str>,
        arrived: Instant,
    ) -> Result<Answered, Miss> {
        let miss = |reason| Miss { reason, refused: None };
        let hit = self.matcher.find(observed).map_err(miss)?;
        let take = hit.take;
        let answer =
            take.deliver(observed, Wanted::of(observed), accept_encoding).map_err(|why| {
                self.matcher.give_back(&hit, observed);
                Miss { reason: Reason::OtherForm, refused: Some((hit.index, why)) }
            })?;
        let schedule =
            self.latency.schedule(answer.times(), take.latency_ms, &take.name, take.number);
        let mut response = respond(answer, schedule, arrived);
        if hit.by != MatchedBy::RequestHash {
            let by = HeaderValue::from_static(hit.by.as_str());
            response.headers_mut().insert(MATCHED_BY, by);
        }
        Ok(Answered { response, usage: take.usage, cost_usd: take.cost_usd })
    }

    /// Waits for the turn to have a miss explained, which ends with what is returned.
    pub async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.explaining.acquire().await.ok()
    }

    /// Explains a miss of `observed`. It reads recorded calls again: it blocks, and
    /// belongs on no thread that serves.
    pub fn explain(&self, miss: &Miss, observed: &Observed) -> RecordingMismatchError {
        RecordingMismatchError::explain(&self.matcher, miss, observed)
    }

    /// What can be told of a miss without reading a recording again.
    pub fn describe(&self, miss: &Miss, observed: &Observed) -> RecordingMismatchError {
        RecordingMismatchError::of(&self.matcher, miss, observed)
    }

    /// The placeholder answer of `--on-miss default`, in the caller's shape.
    ///
    /// # Errors
    /// For an operation whose answers cannot be made up.
    pub fn placeholder(
        &self,
        observed: &Observed,
        arrived: Instant,
    ) -> Result<Response<ReplayBody>, String> {
        let answer = Answer {
            content: PLACEHOLDER.to_owned(),
            model: observed.call.model.clone(),
            usage: Some(Usage::default()),
            ..Answer::default()
        };
        let delivery = plain::build(&answer, observed, PLACEHOLDER, 0.0)?;
        let answer = Arc::new(Prepared::of(delivery, None));
        let schedule = self.latency.schedule(answer.times(), None, &PLACEHOLDER, 0);
        let mut response = respond(answer, schedule, arrived);
        response.headers_mut().insert(MATCHED_BY, HeaderValue::from_static("default"));
        Ok(response)
    }
}

/// An answer as a response whose body keeps to `schedule`.
fn respond(
    answer: Arc<Prepared>,
    schedule: Option<Schedule>,
    arrived: Instant,
) -> Response<ReplayBody> {
    let (status, headers) = (answer.status, answer.headers.clone());
    let mut response = Response::new(ReplayBody::new(answer, schedule, arrived));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}
