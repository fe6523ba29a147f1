//! Recording: forwards a call to its upstream and stores the exchange.
//!
//! [`RecordEngine::run`] sends the request on and returns the response as soon as its head is
//! there. A response whose body came with the head is stored first. Any other body belongs to a
//! pump task from then on, which feeds the client and the copy side by side, so a copy that fails
//! does not affect the client. A client that leaves early, at whatever point, does not lose the
//! recording (`detach`). The last byte of a response (or its end, if the length is not announced)
//! is sent to the client only once the exchange is stored.

mod active_exchange;
pub mod capture;
mod client_feed;
pub(crate) mod conversation;
mod cost_limit;
mod delivery_gauge;
mod detach;
mod keep;
mod message_log;
mod overlap;
mod record_job;
mod record_outcome;
pub mod rerecord;
pub mod tee;
pub mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http::header::{CONNECTION, HeaderName, TRAILER};
use http::{HeaderMap, Response, StatusCode};
use http_body::Body as _;
use tokio::sync::{Notify, watch};

use crate::upstream::{UpstreamClient, UpstreamError, UpstreamRequest};
use crate::websocket::handshake;
use active_exchange::{ActiveExchange, RecordContext};
use capture::ExchangeCapture;
use delivery_gauge::DeliveryGauge;
use detach::DetachOnDrop;
use loomrec_identity::{IdentityRules, RunValueFinder};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{HOP_BY_HOP, Redactor};
use overlap::OverlapCounter;
use tee::{OpenedResponse, TeeBody};
use writer::RecordWriter;

pub use active_exchange::RecordConfig;
pub use cost_limit::{CostLimit, CostRefusal, CostReserve};
pub use record_job::{KeepFilter, OnRecorded, RecordJob};
pub use record_outcome::{CallFailure, RecordOutcome, UpstreamTimes};

/// The recording engine.
pub struct RecordEngine {
    client: UpstreamClient,
    shared: Arc<RecordContext>,
    stop: watch::Sender<bool>,
}

impl RecordEngine {
    /// Returns an engine that sends through `client` and stores through `writer`.
    pub fn new(
        config: RecordConfig,
        client: UpstreamClient,
        writer: RecordWriter,
        redactor: Arc<Redactor>,
    ) -> Self {
        let (busy, idle) = (AtomicUsize::new(0), Notify::new());
        let has_run_values = AtomicBool::new(false);
        let overlap = OverlapCounter::default();
        let shared = Arc::new(RecordContext {
            has_run_values,
            busy,
            overlap,
            idle,
            config,
            redactor,
            writer,
        });
        Self { client, shared, stop: watch::channel(false).0 }
    }

    /// Returns the place of this recorder in its run, counted from 0.
    pub fn place_in_run(&self) -> usize {
        self.shared.config.place
    }

    /// Returns the rules that keys are made under.
    pub fn identity_rules(&self) -> &IdentityRules {
        &self.shared.config.rules
    }

    /// Whether an exchange was stored that holds a value of the run.
    pub fn has_run_values(&self) -> bool {
        self.shared.has_run_values.load(Ordering::Relaxed)
    }

    /// Returns the values of this run.
    pub(crate) fn run_values(&self) -> &Arc<RunValueFinder> {
        &self.shared.config.run_values
    }

    /// Sets aside what a call may cost; `None` if the run has no limit.
    ///
    /// # Errors
    /// The call would pass the limit, or its price is not known.
    pub(crate) fn reserve_cost(
        &self,
        request: &NormalizedRequest,
    ) -> Result<Option<CostReserve>, CostRefusal> {
        let RecordConfig { cost_limit, prices, .. } = &self.shared.config;
        cost_limit.as_ref().map(|limit| limit.reserve_cost(request, prices)).transpose()
    }

    /// Returns how many connections to upstreams were opened so far.
    pub fn opened_connections(&self) -> u64 {
        self.client.opened_connections()
    }

    /// Sends the request on, stores the exchange, and returns the upstream's response without
    /// hop-by-hop headers. If the caller stops waiting, the exchange is still recorded, as long as
    /// its head arrives within [`RecordConfig::drain`].
    ///
    /// # Errors
    /// [`UpstreamError`] if there was no response. Nothing is recorded then.
    pub fn run(
        self: &Arc<Self>,
        job: Box<RecordJob>,
        forward: UpstreamRequest,
    ) -> impl Future<Output = Result<Response<TeeBody>, UpstreamError>> + Send + use<> {
        let recorder = Arc::clone(self);
        let busy = ActiveExchange::new(&self.shared);
        let delivery = Arc::<DeliveryGauge>::default();
        let head = recorder.open(job, forward, busy, Arc::clone(&delivery));
        DetachOnDrop::new(head, self.shared.config.drain, delivery)
    }

    /// Returns the response as soon as its head is there, unless the run ends first.
    async fn open(
        self: Arc<Self>,
        job: Box<RecordJob>,
        forward: UpstreamRequest,
        busy: ActiveExchange,
        delivery: Arc<DeliveryGauge>,
    ) -> Result<OpenedResponse, UpstreamError> {
        let head = forward.method == http::Method::HEAD;
        let upstream = forward.upstream.clone();
        let mut stop = self.stop.subscribe();
        let sent = job.arrived.elapsed();
        let response = tokio::select! {
            biased;
            response = self.client.send_request(forward) => response?,
            _ = stop.wait_for(|stop| *stop) => return Err(UpstreamError::Stopped { upstream }),
        };
        let (mut parts, body) = response.into_parts();
        remove_connection_headers(&mut parts.headers);
        if parts.status == StatusCode::SWITCHING_PROTOCOLS {
            handshake::remove_proof(&mut parts.headers);
        }
        let announced = announced_length(&parts.headers);
        let bodiless = head
            || announced == Some(0)
            || body.is_end_stream()
            || matches!(parts.status.as_u16(), 204 | 304);
        let capture = ExchangeCapture::new((job, sent), &parts, self.shared.config.max_copy);
        Ok(OpenedResponse {
            parts,
            body,
            capture,
            trailers: None,
            announced,
            bodiless,
            busy,
            stop,
            delivery,
        })
    }

    /// Waits up to `grace` for open exchanges, then ends them as `client_abort`. Returns when
    /// everything is on disk.
    ///
    /// # Errors
    /// The reason why the recording does not hold everything that was stored in it.
    pub async fn finish_exchanges(&self, grace: Duration) -> Result<(), String> {
        // Whether the wait ended or timed out, no new exchange may begin.
        let _out_of_time = tokio::time::timeout(grace, self.wait_until_idle()).await;
        self.stop.send_replace(true);
        self.wait_until_idle().await;
        self.shared.writer.close().await
    }

    /// Ends open exchanges as `client_abort`, and prevents new ones.
    pub fn give_up(&self) {
        self.stop.send_replace(true);
    }

    /// Returns when no exchange is open.
    async fn wait_until_idle(&self) {
        loop {
            // Created before the check, so that an exchange that ends in between is not missed.
            let idle = self.shared.idle.notified();
            if self.open_exchanges() == 0 {
                return;
            }
            idle.await;
        }
    }

    /// Returns the number of open exchanges.
    pub fn open_exchanges(&self) -> usize {
        self.shared.busy.load(Ordering::Acquire)
    }
}

/// Returns the Content-Length, if the response announces one.
fn announced_length(headers: &HeaderMap) -> Option<u64> {
    headers.get(http::header::CONTENT_LENGTH)?.to_str().ok()?.trim().parse().ok()
}

/// Removes the headers of a response that apply to one connection only. The names of its trailers
/// stay, since the trailers are sent on.
pub fn remove_connection_headers(headers: &mut HeaderMap) {
    let announced = headers.get_all(TRAILER).iter().cloned().collect::<Vec<_>>();
    remove_hop_by_hop(headers);
    for names in announced {
        headers.append(TRAILER, names);
    }
}

/// Removes the headers that apply to one connection only, including those named by `connection`.
pub fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        .collect();
    let is_hop_by_hop = |name: &&HeaderName| {
        HOP_BY_HOP.contains(&name.as_str()) || named.iter().any(|named| name.as_str() == named)
    };
    // Most heads have one such header at most: to look for each of them would take longer.
    let removed: Vec<HeaderName> = headers.keys().filter(is_hop_by_hop).cloned().collect();
    removed.into_iter().for_each(|name| _ = headers.remove(name));
}
