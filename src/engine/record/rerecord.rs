//! Rerecording: sends recorded requests again, and stores the answers as the recorder stores those
//! of any live call.
//!
//! A [`RerecordSender`] sends [`RerecordRequest`]s. It limits how many are open at one upstream,
//! retries later if the upstream is busy, and sends nothing more once it is stopped. An answer that
//! did not end well is not stored. [`RerecordSender::run`] sends whole lanes: the requests of one
//! lane in order, the lanes side by side.

mod backoff;
mod judge;
mod request;
mod upstream_gate;

use std::collections::BTreeMap;
use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use http_body::Body;
use http_body_util::BodyExt as _;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::error::Elapsed;
use tokio::time::timeout;

use super::{KeepFilter, OnRecorded, RecordEngine, RecordJob, RecordOutcome};
use crate::upstream::{UpstreamError, UpstreamRequest};
pub use judge::AnswerChange;
use judge::RejectReason;
pub use request::RerecordRequest;
use upstream_gate::UpstreamGate;

/// The limits on load and waiting time.
#[derive(Clone, Copy, Debug)]
pub struct RerecordLimits {
    /// The most requests that are open at one upstream.
    pub at_once: usize,
    /// The most times that one request is sent.
    pub tries: u32,
    /// The longest wait before a request is sent again.
    pub patience: Duration,
    /// How long nothing may arrive before an attempt fails.
    pub silence: Duration,
}

/// The outcome of one rerecorded request.
#[derive(Clone, Debug, PartialEq)]
pub enum RerecordOutcome {
    /// Its answer is on disk.
    Kept {
        /// How many attempts failed before.
        retries: u32,
        /// How it differs from the take that it replaces.
        change: AnswerChange,
    },
    /// There was no answer worth storing.
    Failed {
        /// How many attempts failed before the last one.
        retries: u32,
        /// The reason, redacted.
        why: String,
    },
    /// There was an answer that could not be stored, for this reason.
    Unkept(String),
    /// It was not sent or was abandoned, because the run was stopped.
    Stopped,
}

/// Requests that are sent one after the other.
#[derive(Debug)]
pub struct RequestLane<T> {
    /// The upstream of the first request.
    pub upstream: String,
    /// What each request is made from.
    pub items: Vec<T>,
}

/// Returns the time as the recording writes it: unique, and rising.
pub type TimeSource = Arc<dyn Fn() -> String + Send + Sync>;

/// A request that is being sent.
type RerecordFuture<'a> = Pin<Box<dyn Future<Output = RerecordOutcome> + Send + 'a>>;

/// Callback for each exchange that is over.
pub type OnExchange = Arc<dyn Fn(&RecordOutcome) + Send + Sync>;

/// Sends requests again.
pub struct RerecordSender {
    recorder: Arc<RecordEngine>,
    limits: RerecordLimits,
    stamp: TimeSource,
    on_exchange: OnExchange,
    gates: Mutex<BTreeMap<String, Arc<UpstreamGate>>>,
    /// True once nothing more may be sent.
    stop: watch::Receiver<bool>,
}

/// The outcome of one attempt.
enum AttemptOutcome {
    Kept(AnswerChange),
    Unkept(String),
    Rejected(RejectReason),
}

impl RerecordSender {
    /// Returns a sender that sends through `recorder` until `stop` is true. It waits for the
    /// exchanges that are open then; [`RecordEngine::finish_exchanges`] ends that wait.
    pub fn new(
        recorder: Arc<RecordEngine>,
        limits: RerecordLimits,
        stamp: TimeSource,
        on_exchange: OnExchange,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self { recorder, limits, stamp, on_exchange, gates: Mutex::default(), stop }
    }

    /// Sends the items of all lanes. `prepare` makes the request of each item when its turn comes,
    /// on a thread that may block on files. `done` is called with the outcome of each item. An item
    /// without such a call was not sent.
    pub async fn run<T, P, D>(
        self: &Arc<Self>,
        lanes: Vec<RequestLane<T>>,
        prepare: Arc<P>,
        done: Arc<D>,
    ) where
        T: Send + Sync + 'static,
        P: Fn(&T) -> Result<RerecordRequest, String> + Send + Sync + 'static,
        D: Fn(&T, RerecordOutcome) + Send + Sync + 'static,
    {
        let mut queues: BTreeMap<String, VecDeque<RequestLane<T>>> = BTreeMap::new();
        for lane in lanes {
            queues.entry(lane.upstream.clone()).or_default().push_back(lane);
        }
        let mut workers = JoinSet::new();
        for queue in queues.into_values() {
            let count = queue.len().min(self.limits.at_once);
            let queue = Arc::new(Mutex::new(queue));
            for _ in 0..count {
                let (sender, queue) = (Arc::clone(self), Arc::clone(&queue));
                let (prepare, done) = (Arc::clone(&prepare), Arc::clone(&done));
                workers.spawn(async move {
                    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
                    while let Some(lane) = next() {
                        for item in lane.items {
                            if sender.is_stopped() {
                                return;
                            }
                            sender.process_item(item, &prepare, &done).await;
                        }
                    }
                });
            }
        }
        // A panic in a worker has been printed. Items without a call of `done` count as not sent.
        while workers.join_next().await.is_some() {}
    }

    async fn process_item<T, P, D>(&self, item: T, prepare: &Arc<P>, done: &Arc<D>)
    where
        T: Send + Sync + 'static,
        P: Fn(&T) -> Result<RerecordRequest, String> + Send + Sync + 'static,
        D: Fn(&T, RerecordOutcome) + Send + Sync + 'static,
    {
        let prepare = Arc::clone(prepare);
        let prepared = tokio::task::spawn_blocking(move || {
            let order = prepare(&item);
            (item, order)
        });
        let Ok((item, order)) = prepared.await else { return };
        let outcome = match order {
            Ok(order) => self.send_request(order).await,
            Err(why) => RerecordOutcome::Failed { retries: 0, why },
        };
        done(&item, outcome);
    }

    /// Sends one request, with retries within the limits.
    pub fn send_request(&self, order: RerecordRequest) -> RerecordFuture<'_> {
        Box::pin(self.send_in_turn(order))
    }

    async fn send_in_turn(&self, order: RerecordRequest) -> RerecordOutcome {
        let order = Arc::new(order);
        let gate = self.gate(&order.forward.upstream);
        let Some(_place) = gate.acquire_place(self.stop.clone()).await else {
            return RerecordOutcome::Stopped;
        };
        self.send_with_retries(&order, &gate).await
    }

    async fn send_with_retries(
        &self,
        order: &Arc<RerecordRequest>,
        gate: &UpstreamGate,
    ) -> RerecordOutcome {
        let mut retries = 0;
        loop {
            if !gate.wait_until_open(self.stop.clone()).await {
                return RerecordOutcome::Stopped;
            }
            if let Some(why) = gate.refusal_reason() {
                return RerecordOutcome::Failed { retries, why };
            }
            let (why, after) = match self.send_once(order).await {
                AttemptOutcome::Kept(change) => return RerecordOutcome::Kept { retries, change },
                AttemptOutcome::Unkept(why) => return RerecordOutcome::Unkept(why),
                AttemptOutcome::Rejected(RejectReason::Stopped) => return RerecordOutcome::Stopped,
                AttemptOutcome::Rejected(RejectReason::Refused { why }) => {
                    gate.refuse_all(&why);
                    return RerecordOutcome::Failed { retries, why };
                }
                AttemptOutcome::Rejected(RejectReason::Failed { why }) => {
                    return RerecordOutcome::Failed { retries, why };
                }
                AttemptOutcome::Rejected(RejectReason::Busy { why, after }) => (why, after),
            };
            if retries + 1 >= self.limits.tries {
                return RerecordOutcome::Failed { retries, why };
            }
            let wait = after.unwrap_or_else(|| backoff::jittered_wait(retries, order.key.as_str()));
            if wait > self.limits.patience {
                let (asked, limit) = (wait.as_secs(), self.limits.patience.as_secs());
                let why =
                    format!("{why}; to be asked again in {asked} s, and {limit} s is the limit");
                return RerecordOutcome::Failed { retries, why };
            }
            let until = Instant::now() + wait;
            match after {
                // The upstream asked for a pause, so it holds for every call.
                Some(_) => gate.pause_until(until),
                None if !self.sleep_unless_stopped(until).await => return RerecordOutcome::Stopped,
                None => {}
            }
            retries += 1;
        }
    }

    /// Sends a request once.
    async fn send_once(&self, order: &Arc<RerecordRequest>) -> AttemptOutcome {
        let (tell, mut judged) = oneshot::channel();
        let (kept, recorded) = oneshot::channel();
        let judging = Arc::clone(order);
        let keeps = KeepFilter::new(move |entry| {
            let verdict = judge::judge_answer(&judging, entry);
            let good = verdict.is_ok();
            // The receiver is gone if the attempt timed out. It counts as failed and may be
            // retried.
            tell.send(verdict).is_ok() && good
        });
        let on_exchange = Arc::clone(&self.on_exchange);
        let on_recorded = OnRecorded::new(move |recorded: Option<RecordOutcome>| {
            let Some(recorded) = recorded else { return };
            on_exchange(&recorded);
            // The receiver is gone if the attempt was abandoned.
            drop(kept.send(recorded.outcome));
        });
        let job = Box::new(RecordJob {
            observed: order.observed.clone(),
            key: order.key.clone(),
            name: order.name.clone(),
            secrets: Arc::clone(&order.secrets),
            arrived: Instant::now(),
            recorded_at: (self.stamp)(),
            upstream_origin: order.forward.stored_origin(),
            run_values: Arc::clone(&order.run_values),
            keeps: Some(keeps),
            on_recorded,
        });
        let drained = self.drain_answer(job, order).await;
        judged.close();
        match (judged.try_recv(), drained) {
            (Ok(Ok(change)), _) => match recorded.await {
                Ok(Ok(())) => AttemptOutcome::Kept(change),
                Ok(Err(why)) => AttemptOutcome::Unkept(why),
                Err(_) => {
                    AttemptOutcome::Unkept("store the exchange: its writer stopped".to_owned())
                }
            },
            (Ok(Err(bad)), _) => AttemptOutcome::Rejected(bad),
            (Err(_), Ok(Err(error))) => {
                AttemptOutcome::Rejected(self.unanswered_reason(order, &error))
            }
            (Err(_), _) => {
                let seconds = self.limits.silence.as_secs();
                let why = format!("nothing arrived for {seconds} s");
                AttemptOutcome::Rejected(RejectReason::Busy { why, after: None })
            }
        }
    }

    /// Sends the request and reads the answer to its end, as a client does.
    ///
    /// # Errors
    /// Nothing arrived for too long.
    async fn drain_answer(
        &self,
        job: Box<RecordJob>,
        order: &RerecordRequest,
    ) -> Result<Result<(), UpstreamError>, Elapsed> {
        let forward = &order.forward;
        let forward = UpstreamRequest {
            upstream: forward.upstream.clone(),
            base: forward.base.clone(),
            method: forward.method.clone(),
            path: forward.path.clone(),
            query: forward.query.clone(),
            headers: forward.headers.clone(),
            body: forward.body.clone(),
            aws: None,
            turn: None,
        };
        let silence = self.limits.silence;
        match timeout(silence, self.recorder.run(job, forward)).await? {
            Ok(answer) => read_to_end(answer.into_body(), silence).await.map(Ok),
            Err(error) => Ok(Err(error)),
        }
    }

    fn unanswered_reason(&self, order: &RerecordRequest, error: &UpstreamError) -> RejectReason {
        let redactor = &self.recorder.shared.redactor;
        let why = redactor.redact_text(&format!("failed to {error}"), &order.secrets).into_owned();
        match error {
            UpstreamError::Stopped { .. } => RejectReason::Stopped,
            UpstreamError::Setup { .. }
            | UpstreamError::Path { .. }
            | UpstreamError::Signature { .. } => RejectReason::Failed { why },
            UpstreamError::NoAnswer { .. } | UpstreamError::Unreachable { .. } => {
                RejectReason::Busy { why, after: None }
            }
        }
    }

    /// Sleeps until `until`. Returns `false` if the run is stopped first.
    async fn sleep_unless_stopped(&self, until: Instant) -> bool {
        let mut stop = self.stop.clone();
        tokio::select! {
            () = tokio::time::sleep_until(until.into()) => true,
            _ = stop.wait_for(|stop| *stop) => false,
        }
    }

    fn is_stopped(&self) -> bool {
        *self.stop.borrow()
    }

    fn gate(&self, upstream: &str) -> Arc<UpstreamGate> {
        let mut gates = self.gates.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = || Arc::new(UpstreamGate::new(self.limits.at_once));
        Arc::clone(gates.entry(upstream.to_owned()).or_insert_with(fresh))
    }
}

/// Reads an answer to its end; the entry shows how it ended.
///
/// # Errors
/// No piece arrived for the time of `silence`.
async fn read_to_end(mut body: impl Body + Unpin, silence: Duration) -> Result<(), Elapsed> {
    while let Some(Ok(_)) = timeout(silence, body.frame()).await? {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use bytes::Bytes;
    use futures_util::{Stream, StreamExt as _, stream};
    use http_body::Frame;
    use http_body_util::StreamBody;

    use super::*;

    /// The pieces of an answer that takes five minutes, one piece each minute.
    fn slow_pieces() -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
        stream::iter(0..5).then(|_| async {
            tokio::time::sleep(Duration::from_secs(60)).await;
            Ok(Frame::data(Bytes::from_static(b"data: {}\n\n")))
        })
    }

    #[tokio::test(start_paused = true)]
    async fn answer_may_take_long_unless_nothing_arrives() {
        let silence = Duration::from_secs(90);
        let slow = StreamBody::new(Box::pin(slow_pieces()));
        assert!(read_to_end(slow, silence).await.is_ok());
        let silent = StreamBody::new(Box::pin(slow_pieces().chain(stream::pending())));
        assert!(read_to_end(silent, silence).await.is_err());
    }
}
