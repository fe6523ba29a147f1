//! The responder: a request in, the recorded response out, paced as asked.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{HeaderValue, Response};
use http_body::{Body, Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use super::delivery::Delivery;
use super::latency::{Latency, Schedule};
use super::matcher::{MatchedBy, Matcher};
use super::mismatch::RecordingMismatchError;
use super::plain;
use super::prepared::Take;
use crate::provider::{Answer, Usage};
use crate::recording::body::Chunk;
use crate::recording::entry::{Cut, End};
use crate::recording::observed::Observed;

/// The text of the placeholder answer, as in AgentLoom.
const PLACEHOLDER: &str = "Mock response";

/// The replaying engine.
#[derive(Debug)]
pub struct Replayer {
    matcher: Matcher,
    latency: Latency,
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
        Self { matcher, latency }
    }

    /// The takes and how far they are used.
    pub fn matcher(&self) -> &Matcher {
        &self.matcher
    }

    /// The recorded answer to `observed`, due from `arrived` on.
    ///
    /// # Errors
    /// [`RecordingMismatchError`] when the recordings owe this call no answer.
    pub fn answer(
        &self,
        observed: &Observed,
        accept_encoding: Option<&str>,
        arrived: Instant,
    ) -> Result<Answered, Box<RecordingMismatchError>> {
        let hit = self.matcher.find(observed).map_err(|reason| {
            Box::new(RecordingMismatchError::explain(&self.matcher, reason, observed))
        })?;
        let delivery = hit.take.deliver(observed, accept_encoding).map_err(|why| {
            self.matcher.give_back(&hit, observed);
            Box::new(RecordingMismatchError::other_form(&self.matcher, hit.take, observed, why))
        })?;
        let entry = &hit.take.entry;
        let schedule = self.latency.schedule(
            &delivery.chunks,
            entry.latency_ms,
            &hit.take.name,
            hit.take.number,
        );
        let mut response = respond(delivery, schedule, arrived);
        label(&mut response, hit.by, hit.take);
        Ok(Answered {
            response,
            usage: entry.usage.unwrap_or_default(),
            cost_usd: entry.cost_usd.unwrap_or(0.0),
        })
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
        let schedule = self.latency.schedule(&delivery.chunks, None, PLACEHOLDER, 0);
        let mut response = respond(delivery, schedule, arrived);
        response.headers_mut().insert("x-loomrec-matched-by", HeaderValue::from_static("default"));
        Ok(response)
    }
}

/// Says on the response where it came from.
fn label(response: &mut Response<ReplayBody>, by: MatchedBy, take: &Take) {
    let headers = response.headers_mut();
    headers.insert("x-loomrec-matched-by", HeaderValue::from_static(by.as_str()));
    let hash = || take.entry.request_hash.as_ref().map(|hash| hash.as_str().to_owned());
    let key = HeaderValue::from_str(&take.name).ok();
    if let Some(value) = key.or_else(|| HeaderValue::from_str(&hash()?).ok()) {
        headers.insert("x-loomrec-entry", value);
    }
}

/// A delivery as a response whose body keeps to `schedule`.
fn respond(
    delivery: Delivery,
    schedule: Option<Schedule>,
    arrived: Instant,
) -> Response<ReplayBody> {
    let length = delivery.headers.get(http::header::CONTENT_LENGTH);
    let announced = length.and_then(|value| value.to_str().ok()?.parse().ok());
    let body = ReplayBody {
        chunks: delivery.chunks.into_iter(),
        sent: 0,
        announced,
        schedule,
        arrived,
        timer: None,
        end: match delivery.end {
            End::UpstreamAbort(cut) => Some(cut),
            End::Complete | End::ClientAbort | End::Truncated => None,
        },
        over: false,
    };
    let mut response = Response::new(body);
    *response.status_mut() = delivery.status;
    *response.headers_mut() = delivery.headers;
    response
}

/// The recorded chunks, one frame each, then the recorded end.
#[derive(Debug)]
pub struct ReplayBody {
    chunks: std::vec::IntoIter<Chunk>,
    sent: usize,
    announced: Option<u64>,
    schedule: Option<Schedule>,
    arrived: Instant,
    timer: Option<Pin<Box<Sleep>>>,
    end: Option<Cut>,
    over: bool,
}

impl ReplayBody {
    /// When the first byte is due; the head should not go out before.
    pub fn first_due(&self) -> Option<Instant> {
        let schedule = self.schedule.as_ref()?;
        Some(self.arrived + schedule.chunks.first().copied().unwrap_or(schedule.end))
    }

    /// Waits until the next frame, or the end, is due.
    fn poll_due(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(schedule) = &self.schedule else { return Poll::Ready(()) };
        let due = self.arrived + schedule.chunks.get(self.sent).copied().unwrap_or(schedule.end);
        if due <= Instant::now() {
            return Poll::Ready(());
        }
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(due)));
        if timer.deadline() != due {
            timer.as_mut().reset(due);
        }
        timer.as_mut().poll(cx)
    }
}

impl Body for ReplayBody {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        if self.over {
            return Poll::Ready(None);
        }
        ready!(self.poll_due(cx));
        if let Some(chunk) = self.chunks.next() {
            self.sent += 1;
            return Poll::Ready(Some(Ok(Frame::data(chunk.data))));
        }
        self.over = true;
        Poll::Ready(self.end.map(Err))
    }

    fn is_end_stream(&self) -> bool {
        let nothing_due = self.schedule.is_none() || self.announced.is_some();
        self.over || (self.chunks.as_slice().is_empty() && self.end.is_none() && nothing_due)
    }

    fn size_hint(&self) -> SizeHint {
        match (self.announced, self.end) {
            (Some(_), None) => {
                let left = self.chunks.as_slice().iter().map(|chunk| chunk.data.len() as u64);
                SizeHint::with_exact(left.sum())
            }
            _ => SizeHint::new(),
        }
    }
}
