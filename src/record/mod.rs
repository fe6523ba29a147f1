//! Recording: forwards a call to its upstream and keeps what came back.
//!
//! [`RecordEngine::run`] sends the request on and hands the response back as
//! soon as its head is there; one whose body came with the head is kept first. A
//! pump task owns any other body from then on: it feeds the client and the copy
//! side by side, so a copy that fails does not touch the client. A client that
//! leaves early does not lose the recording, whenever it leaves (`carry`).
//! The last byte of a response (or its end, where the length is not announced)
//! is passed on only once the exchange is kept.

pub mod capture;
mod detach;
pub mod rerecord;
pub mod tee;
pub mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use http::{HeaderMap, Response};
use tokio::sync::{Notify, watch};

use crate::identity::{IdentityRules, RequestKey};
use crate::recording::EntryName;
use crate::recording::cost::PriceTable;
use crate::recording::entry::{Entry, ResponseEnd};
use crate::recording::normalized_request::NormalizedRequest;
use crate::recording::redact::{CallCredentials, HOP_BY_HOP, Redactor};
use crate::upstream::{UpstreamClient, UpstreamError, UpstreamRequest};
use capture::ExchangeCapture;
use detach::DetachOnDrop;
use tee::{OpenedResponse, TeeBody};
use writer::RecordWriter;

/// How a recorder behaves.
#[derive(Clone, Debug)]
pub struct RecordConfig {
    /// A copy larger than this many bytes is dropped and marked `truncated`.
    pub max_copy: usize,
    /// How long a response, or the rest of one, is awaited after its client has left.
    pub drain: Duration,
    /// The rules keys are made under.
    pub rules: IdentityRules,
    /// What models cost.
    pub prices: PriceTable,
    /// Which recorder of its run this is: [`store::Recorder::place`].
    ///
    /// [`store::Recorder::place`]: crate::store::RecordingAppender::place
    pub place: usize,
}

/// What is recorded of a request, and under which name.
#[derive(Debug)]
pub struct RecordJob {
    /// The request as it is stored.
    pub observed: NormalizedRequest,
    /// Its key.
    pub key: RequestKey,
    /// The name it is stored under.
    pub name: EntryName,
    /// The credentials it carried: none of them may be stored.
    pub secrets: Arc<CallCredentials>,
    /// When it arrived: times in the recording count from here.
    pub arrived: Instant,
    /// The same moment as text: RFC 3339, UTC, unique in the run.
    pub recorded_at: String,
    /// Who has a say in whether it is kept; `None` where every exchange is.
    pub keeps: Option<KeepFilter>,
    /// Told what becomes of this exchange, before its client gets the end of the answer.
    pub on_recorded: OnRecorded,
}

/// A say in what becomes of one exchange: sees it once it is over, freed of secrets, and
/// may add to it. It is not kept where this says no.
pub struct KeepFilter(Box<dyn FnOnce(&mut Entry) -> bool + Send + Sync>);

impl KeepFilter {
    /// Has `keeps` asked.
    pub fn new(keeps: impl FnOnce(&mut Entry) -> bool + Send + Sync + 'static) -> Self {
        Self(Box::new(keeps))
    }

    fn ask(self, entry: &mut Entry) -> bool {
        (self.0)(entry)
    }
}

impl std::fmt::Debug for KeepFilter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("KeepFilter")
    }
}

/// Told once of one exchange: what became of it, or that nothing did.
pub struct OnRecorded(Option<Report>);

/// What is told.
type Report = Box<dyn FnOnce(Option<RecordOutcome>) + Send + Sync>;

impl OnRecorded {
    /// Has `report` told.
    pub fn new(report: impl FnOnce(Option<RecordOutcome>) + Send + Sync + 'static) -> Self {
        Self(Some(Box::new(report)))
    }

    fn report(mut self, outcome: RecordOutcome) {
        if let Some(report) = self.0.take() {
            report(Some(outcome));
        }
    }
}

impl Drop for OnRecorded {
    fn drop(&mut self) {
        self.0.take().into_iter().for_each(|report| report(None));
    }
}

impl std::fmt::Debug for OnRecorded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("OnRecorded")
    }
}

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

/// The recording engine.
pub struct RecordEngine {
    client: UpstreamClient,
    shared: Arc<RecordContext>,
    stop: watch::Sender<bool>,
}

/// What every exchange needs.
pub(crate) struct RecordContext {
    /// Exchanges under way.
    busy: AtomicUsize,
    /// Notified when no exchange is under way any more.
    idle: Notify,
    pub(crate) config: RecordConfig,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) writer: RecordWriter,
}

impl RecordEngine {
    /// A recorder that sends through `client` and keeps through `writer`.
    pub fn new(
        config: RecordConfig,
        client: UpstreamClient,
        writer: RecordWriter,
        redactor: Arc<Redactor>,
    ) -> Self {
        let (busy, idle) = (AtomicUsize::new(0), Notify::new());
        let shared = Arc::new(RecordContext { busy, idle, config, redactor, writer });
        Self { client, shared, stop: watch::channel(false).0 }
    }

    /// Which recorder of its run this is, counted from 0.
    pub fn place(&self) -> usize {
        self.shared.config.place
    }

    /// The rules keys are made under.
    pub fn rules(&self) -> &IdentityRules {
        &self.shared.config.rules
    }

    /// Connections opened to upstreams so far.
    pub fn connections(&self) -> u64 {
        self.client.connections()
    }

    /// Sends the request on, keeps the exchange, and returns the response as the
    /// upstream gave it, hop-by-hop headers removed. A caller that stops waiting for
    /// the response loses it, the recording does not, as long as its head comes
    /// within [`RecordConfig::drain`].
    ///
    /// # Errors
    /// [`UpstreamError`] when there was no response; nothing is recorded then.
    pub async fn run(
        self: &Arc<Self>,
        job: RecordJob,
        forward: UpstreamRequest,
    ) -> Result<Response<TeeBody>, UpstreamError> {
        let recorder = Arc::clone(self);
        let busy = ActiveExchange::new(&self.shared);
        DetachOnDrop::new(recorder.open(job, forward, busy), self.shared.config.drain).await
    }

    /// The response's head as soon as it is there, unless the run ends before.
    async fn open(
        self: Arc<Self>,
        job: RecordJob,
        forward: UpstreamRequest,
        busy: ActiveExchange,
    ) -> Result<OpenedResponse, UpstreamError> {
        let head = forward.method == http::Method::HEAD;
        let upstream = forward.upstream.clone();
        let mut stop = self.stop.subscribe();
        let sent = job.arrived.elapsed();
        let response = tokio::select! {
            biased;
            response = self.client.send(forward) => response?,
            _ = stop.wait_for(|stop| *stop) => return Err(UpstreamError::Stopped { upstream }),
        };
        let (mut parts, body) = response.into_parts();
        remove_hop_by_hop(&mut parts.headers);
        let announced = announced_length(&parts.headers);
        let bodiless = head || announced == Some(0) || matches!(parts.status.as_u16(), 204 | 304);
        let capture = ExchangeCapture::new((job, sent), &parts, self.shared.config.max_copy);
        Ok(OpenedResponse { parts, body, capture, announced, bodiless, busy, stop })
    }

    /// Waits up to `grace` for responses still under way, then ends them as
    /// `client_abort`, and returns when everything is on disk.
    ///
    /// # Errors
    /// Why the recording does not hold, at its end, what was kept in it.
    pub async fn finish(&self, grace: Duration) -> Result<(), String> {
        // A wait that is over or has run out: either way nothing may begin any more.
        let _out_of_time = tokio::time::timeout(grace, self.idle()).await;
        self.stop.send_replace(true);
        self.idle().await;
        self.shared.writer.close().await
    }

    /// Ends what is under way as `client_abort`, and lets nothing begin any more.
    pub fn give_up(&self) {
        self.stop.send_replace(true);
    }

    /// Returns when no exchange is under way.
    async fn idle(&self) {
        loop {
            // Made before the look, so that no end falls between the two.
            let idle = self.shared.idle.notified();
            if self.busy() == 0 {
                return;
            }
            idle.await;
        }
    }

    /// How many exchanges are under way.
    pub fn busy(&self) -> usize {
        self.shared.busy.load(Ordering::Acquire)
    }
}

/// One exchange under way: [`RecordEngine::finish`] waits for it.
pub(crate) struct ActiveExchange {
    pub(crate) shared: Arc<RecordContext>,
}

impl ActiveExchange {
    fn new(shared: &Arc<RecordContext>) -> Self {
        shared.busy.fetch_add(1, Ordering::AcqRel);
        Self { shared: Arc::clone(shared) }
    }
}

impl Drop for ActiveExchange {
    fn drop(&mut self) {
        if self.shared.busy.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.shared.idle.notify_waiters();
        }
    }
}

/// Content-Length, where the response announces one.
fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// Removes the headers that belong to one connection only, those named by
/// `connection` included.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<String> = headers
        .get_all(http::header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    for name in named.iter().map(String::as_str).chain(HOP_BY_HOP) {
        headers.remove(name);
    }
}
