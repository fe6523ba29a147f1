//! Recording: forwards a call to its upstream and keeps what came back.
//!
//! [`RecordEngine::run`] sends the request on and hands the response back as
//! soon as its head is there; one whose body came with the head is kept first. A
//! pump task owns any other body from then on: it feeds the client and the copy
//! side by side, so a copy that fails does not touch the client. A client that
//! leaves early does not lose the recording, whenever it leaves (`carry`).
//! The last byte of a response (or its end, where the length is not announced)
//! is passed on only once the exchange is kept.

mod active_exchange;
pub mod capture;
mod detach;
mod record_job;
mod record_outcome;
pub mod rerecord;
pub mod tee;
pub mod writer;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{HeaderMap, Response};
use tokio::sync::{Notify, watch};

use crate::upstream::{UpstreamClient, UpstreamError, UpstreamRequest};
use active_exchange::{ActiveExchange, RecordContext};
use capture::ExchangeCapture;
use detach::DetachOnDrop;
use loomrec_identity::IdentityRules;
use loomrec_recording::redact::{HOP_BY_HOP, Redactor};
use tee::{OpenedResponse, TeeBody};
use writer::RecordWriter;

pub use active_exchange::RecordConfig;
pub use record_job::{KeepFilter, OnRecorded, RecordJob};
pub use record_outcome::{CallFailure, RecordOutcome, UpstreamTimes};

/// The recording engine.
pub struct RecordEngine {
    client: UpstreamClient,
    shared: Arc<RecordContext>,
    stop: watch::Sender<bool>,
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
