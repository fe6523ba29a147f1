//! loomrec itself, on a free port of this machine: the engines of `record` and
//! `replay`, quiet, and without a flag or the environment having a say.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use url::Url;

use super::super::exit::Failure;
use super::super::{record, setup};
use super::broken;
use crate::identity::IdentityRules;
use crate::provider::Provider;
use crate::record::writer::{Keeping, Writer};
use crate::record::{Config, Recorder};
use crate::recording::cost::PriceTable;
use crate::recording::redact::Redactor;
use crate::replay::{Latency, Matcher, Replayer, Source, Terms};
use crate::server::access::AccessPolicy;
use crate::server::fault::Faults;
use crate::server::inspector::Inspector;
use crate::server::journal::Journal;
use crate::server::limit::ConnectionLimit;
use crate::server::metric::{About, Metrics};
use crate::server::observe::Observer;
use crate::server::route::{Routes, Upstream};
use crate::server::span::Spans;
use crate::server::tally::Tally;
use crate::server::{self, Gateway, OnMiss, OnNotice};
use crate::store;
use crate::upstream::Client;

/// What is far above anything the demo sends.
const LIMIT: usize = 1 << 20;
/// More than the demo opens.
const CONNECTIONS: usize = 64;
/// How long the last exchange is awaited.
const GRACE: Duration = Duration::from_secs(10);

/// A server of ours, running.
pub(super) struct Stage {
    /// Where it listens.
    pub(super) origin: String,
    gateway: Arc<Gateway>,
    stop: oneshot::Sender<()>,
    serving: JoinHandle<()>,
}

impl Stage {
    /// Records into `file` what `upstream` answers.
    pub(super) async fn record(file: &Path, upstream: &str) -> Result<Self, Failure> {
        let base = Url::parse(upstream).map_err(|error| broken(&error.to_string()))?;
        let tally = Arc::new(Tally::default());
        let redactor = redactor()?;
        let rules = IdentityRules::default();
        let recording = store::Recorder::open(file, &store::RunChoice::New, &rules)?;
        let (place, prices) = (recording.place(), PriceTable::builtin());
        let counts = (Arc::clone(&tally), metrics());
        let told = record::on_told(counts.clone(), silent());
        let writer = Writer::start(recording, Keeping::Successes, told)
            .map_err(|error| broken(&error.to_string()))?;
        // A proxy of the environment has no part in what stays on this machine.
        let client = Client::new().map_err(|error| broken(&format!("failed to {error}")))?;
        let config = Config { max_copy: LIMIT, drain: GRACE, rules, prices, place };
        let on_kept = record::on_kept(counts, silent());
        let recorder = Recorder::new(config, client, writer, Arc::clone(&redactor), on_kept);
        Self::start(Some(base), redactor, tally, Some(Arc::new(recorder)), None).await
    }

    /// Answers from `file`, strictly.
    pub(super) async fn replay(file: &Path) -> Result<Self, Failure> {
        let recording = store::Recording::open(file)?;
        let source = Source { label: "demo.json".to_owned(), recording };
        let replayer = Replayer::new(Matcher::new(vec![source], Terms::default())?, Latency::None);
        Self::start(None, redactor()?, Arc::default(), None, Some(replayer)).await
    }

    async fn start(
        base: Option<Url>,
        redactor: Arc<Redactor>,
        tally: Arc<Tally>,
        recorder: Option<Arc<Recorder>>,
        replayer: Option<Replayer>,
    ) -> Result<Self, Failure> {
        let openai = Upstream { name: "openai".to_owned(), base, provider: Provider::OpenAi };
        let rules = vec![IdentityRules::default()];
        let gateway = Arc::new(Gateway {
            config: server::Config {
                access: AccessPolicy::default(),
                client_timeout: GRACE,
                max_body: LIMIT,
                keep_encoding: false,
                control_token: None,
                step_header: None,
            },
            connections: ConnectionLimit::new(CONNECTIONS),
            routes: Routes { named: vec![openai], single: None, unnamed: false },
            observer: Observer::new(Arc::clone(&redactor), rules),
            redactor,
            recorder,
            replayer,
            on_miss: OnMiss::Error,
            missed: None,
            faults: Faults::none(),
            tally,
            metrics: metrics(),
            journal: Journal::new(None),
            spans: Spans::none(),
            inspector: Inspector::new(Vec::new(), None),
            notify: silent(),
            clock: AtomicI64::new(0),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| broken(&error.to_string()))?;
        let origin = setup::origin(&listener)?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serving = tokio::spawn(server::run(listener, Arc::clone(&gateway), async {
            // A dropped sender is a stop as well.
            drop(stopped.await);
        }));
        Ok(Self { origin, gateway, stop, serving })
    }

    /// Stops it; what it kept is on disk then.
    pub(super) async fn close(self) -> Arc<Gateway> {
        drop(self.stop);
        // The server's own end; a panic in it has been printed.
        drop(self.serving.await);
        if let Some(recorder) = &self.gateway.recorder {
            // A recording that does not hold what was kept fails the replay of it.
            drop(recorder.finish(GRACE).await);
        }
        self.gateway
    }
}

/// Whether a run has nothing that could open a connection to an upstream.
pub(super) fn has_no_client(gateway: &Gateway) -> bool {
    gateway.recorder.is_none() && matches!(gateway.on_miss, OnMiss::Error)
}

/// No extra patterns.
fn redactor() -> Result<Arc<Redactor>, Failure> {
    Redactor::new(&[]).map(Arc::new).map_err(|error| broken(&format!("failed to {error}")))
}

/// Nobody scrapes it.
fn metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new(About::default()))
}

/// The demo tells what happens itself.
fn silent() -> OnNotice {
    Arc::new(|_| {})
}
