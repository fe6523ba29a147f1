//! Recording: forwards a call to its upstream and keeps what came back.
//!
//! [`Recorder::run`] sends the request on and hands the response back as
//! soon as its head is there. A pump task owns the upstream's body from then on:
//! it feeds the client and the copy side by side, so a client that leaves early
//! does not lose the recording, and a copy that fails does not touch the client.
//! The last byte of a response (or its end, where the length is not announced)
//! is passed on only once the exchange is kept.

pub mod capture;
pub mod tee;
pub mod writer;

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::{HeaderMap, Response};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinSet;

use crate::identity::IdentityRules;
use crate::recording::EntryName;
use crate::recording::cost::PriceTable;
use crate::recording::entry::End;
use crate::recording::observed::Observed;
use crate::recording::redact::{HOP_BY_HOP, Redactor, Secrets};
use crate::upstream::{Client, Forward, UpstreamError};
use capture::Capture;
use tee::{Pump, TeeBody};
use writer::Writer;

/// How often the end of the last exchange is looked for.
const POLL: Duration = Duration::from_millis(5);

/// How a recorder behaves.
#[derive(Clone, Debug)]
pub struct Config {
    /// A copy larger than this many bytes is dropped and marked `truncated`.
    pub max_copy: usize,
    /// How long a response, or the rest of one, is awaited after its client has left.
    pub drain: Duration,
    /// The rules keys are made under.
    pub rules: IdentityRules,
    /// What models cost.
    pub prices: PriceTable,
}

/// What is recorded of a request, and under which name.
#[derive(Debug)]
pub struct Job {
    /// The request as it is stored.
    pub observed: Observed,
    /// The name it is stored under.
    pub name: EntryName,
    /// The credentials it carried: none of them may be stored.
    pub secrets: Secrets,
    /// When it arrived: times in the recording count from here.
    pub arrived: Instant,
    /// The same moment as text: RFC 3339, UTC, microseconds, unique in this process.
    pub recorded_at: String,
}

/// What became of one exchange, for the receipt.
#[derive(Clone, Debug)]
pub struct Kept {
    /// Whether it is on disk; the reason where it is not.
    pub outcome: Result<(), String>,
    /// How it ended, where that makes it an exchange that is never replayed.
    pub incomplete: Option<End>,
    /// The request, in a few words.
    pub label: String,
    /// The model that answered.
    pub model: Option<String>,
    /// Input and output tokens.
    pub tokens: (u64, u64),
    /// Cost in US dollars; `None` where the model's price is not known.
    pub cost_usd: Option<f64>,
}

/// Called once for each exchange when it is over.
pub type OnKept = Arc<dyn Fn(Kept) + Send + Sync>;

/// The recording engine.
pub struct Recorder {
    client: Client,
    shared: Arc<Shared>,
    pumps: std::sync::Mutex<JoinSet<()>>,
    stop: watch::Sender<bool>,
}

/// What every pump needs.
pub(crate) struct Shared {
    pub(crate) config: Config,
    pub(crate) redactor: Arc<Redactor>,
    pub(crate) writer: Writer,
    pub(crate) on_kept: OnKept,
}

impl Recorder {
    /// A recorder that sends through `client` and keeps through `writer`.
    pub fn new(
        config: Config,
        client: Client,
        writer: Writer,
        redactor: Arc<Redactor>,
        on_kept: OnKept,
    ) -> Self {
        let shared = Arc::new(Shared { config, redactor, writer, on_kept });
        let pumps = std::sync::Mutex::new(JoinSet::new());
        Self { client, shared, pumps, stop: watch::channel(false).0 }
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
    /// upstream gave it, hop-by-hop headers removed. All of it is done in a task of
    /// its own: a caller that stops waiting for the response loses it, the
    /// recording does not, as long as its head comes within [`Config::drain`].
    ///
    /// # Errors
    /// [`UpstreamError`] when there was no response; nothing is recorded then.
    pub async fn run(
        self: &Arc<Self>,
        job: Job,
        forward: Forward,
    ) -> Result<Response<TeeBody>, UpstreamError> {
        let (mut sender, receiver) = oneshot::channel();
        let recorder = Arc::clone(self);
        let mut stop = self.stop.subscribe();
        let upstream = forward.upstream.clone();
        self.track(async move {
            let abandoned = async {
                sender.closed().await;
                tokio::time::sleep(recorder.shared.config.drain).await;
            };
            let response = tokio::select! {
                response = recorder.forward(job, forward) => response,
                _ = stop.wait_for(|stop| *stop) => return,
                () = abandoned => return,
            };
            // A caller that has left drops its body, and the pump drains the rest.
            drop(sender.send(response));
        });
        receiver.await.unwrap_or(Err(UpstreamError::Stopped { upstream }))
    }

    /// The response's head as soon as it is there; its body is a pump's from then on.
    async fn forward(
        &self,
        job: Job,
        forward: Forward,
    ) -> Result<Response<TeeBody>, UpstreamError> {
        let head = forward.method == http::Method::HEAD;
        let (mut parts, body) = self.client.send(forward).await?.into_parts();
        remove_hop_by_hop(&mut parts.headers);
        let announced = announced_length(&parts.headers);
        let bodiless = head || announced == Some(0) || matches!(parts.status.as_u16(), 204 | 304);
        let capture = Capture::new(job, &parts, self.shared.config.max_copy);
        let pump = Pump::new(body, capture, Arc::clone(&self.shared));
        let body = if bodiless {
            pump.keep_whole().await;
            TeeBody::empty()
        } else {
            let (body, task) = pump.start(announced, self.stop.subscribe());
            self.track(task);
            body
        };
        Ok(Response::from_parts(parts, body))
    }

    /// Starts `task` so that [`Recorder::finish`] waits for it.
    fn track(&self, task: impl Future<Output = ()> + Send + 'static) {
        let mut pumps = self.pumps.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while pumps.try_join_next().is_some() {}
        pumps.spawn(task);
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

    /// Returns when no task is left; tasks may start others.
    async fn idle(&self) {
        while self.busy() > 0 {
            tokio::time::sleep(POLL).await;
        }
    }

    /// How many exchanges are under way.
    pub fn busy(&self) -> usize {
        let mut pumps = self.pumps.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        while pumps.try_join_next().is_some() {}
        pumps.len()
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
