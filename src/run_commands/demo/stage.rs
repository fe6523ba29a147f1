//! loomrec itself on a free local port: the engines of `record` and `replay`, without output, flags
//! or environment.

use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::oneshot;
use url::Url;

use super::super::record;
use super::demo_check::demo_failure;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::serve_setup;
use loomrec_engine::observe::RequestObserver;
use loomrec_engine::record::writer::{KeepPolicy, RecordWriter};
use loomrec_engine::record::{RecordConfig, RecordEngine};
use loomrec_engine::replay::{Latency, Matcher, ReplayEngine, ReplaySource, ReplayTerms};
use loomrec_engine::route::{MountedUpstream, RouteTable};
use loomrec_engine::upstream::UpstreamClient;
use loomrec_engine::{Engine, Forwarding, MissPolicy};
use loomrec_identity::IdentityRules;
use loomrec_provider::Provider;
use loomrec_proxy::inspector::Inspector;
use loomrec_proxy::server::access::AccessPolicy;
use loomrec_proxy::server::fault::FaultContext;
use loomrec_proxy::server::limit::ConnectionLimit;
use loomrec_proxy::server::{
    self, ConnectionProxy, ListenerEntrance, OnNotice, Proxy, RunningServer, ServerThreads,
};
use loomrec_recording::cost::PriceTable;
use loomrec_recording::redact::Redactor;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::Telemetry;
use loomrec_telemetry::compat_journal::CompatJournal;
use loomrec_telemetry::journal::Journal;
use loomrec_telemetry::metric::{Metrics, RunInfo};
use loomrec_telemetry::run_counters::RunCounters;
use loomrec_telemetry::span::Spans;

/// A size limit far above anything that the demo sends.
const LIMIT: usize = 1 << 20;
/// More connections than the demo opens.
const CONNECTIONS: usize = 64;
/// How long the last exchange is awaited.
const GRACE: Duration = Duration::from_secs(10);

/// A running loomrec server.
pub(super) struct DemoServer {
    /// The URL of the server.
    pub(super) origin: String,
    proxy: Arc<Proxy>,
    /// Its threads. They are needed until the last exchange is kept.
    threads: Arc<ServerThreads>,
    stop: oneshot::Sender<()>,
    serving: RunningServer,
}

impl DemoServer {
    /// Starts a server that records the answers of `upstream` into `file`.
    pub(super) async fn start_recording(
        file: &RecordingLocation,
        upstream: &str,
    ) -> Result<Self, CommandFailure> {
        let base = Url::parse(upstream).map_err(|error| demo_failure(&error.to_string()))?;
        let counters = Arc::new(RunCounters::default());
        let redactor = create_redactor()?;
        let rules = IdentityRules::default();
        let recording =
            loomrec_store::RecordingAppender::open(file, &loomrec_store::RunChoice::New, &rules)?;
        let (place, prices) = (recording.place_in_run(), PriceTable::built_in());
        let counts = (Arc::clone(&counters), unscraped_metrics());
        let on_event = record::on_appender_event(counts, silent_notices());
        let writer = RecordWriter::start(recording, KeepPolicy::Successes, on_event)
            .map_err(|error| demo_failure(&error.to_string()))?;
        // A proxy from the environment is not used for calls that stay on this machine.
        let client =
            UpstreamClient::new().map_err(|error| demo_failure(&format!("failed to {error}")))?;
        let run_values = Arc::default();
        let config = RecordConfig {
            max_copy: LIMIT,
            drain: GRACE,
            keep_audio: false,
            rules,
            prices,
            cost_limit: None,
            run_values,
            place,
        };
        let recorder = RecordEngine::new(config, client, writer, Arc::clone(&redactor));
        let routes = Arc::new(demo_routes(Some(base)));
        let forwarding =
            Forwarding { routes: Arc::clone(&routes), redactor: Arc::clone(&redactor) };
        let engine = Engine::Record { record: Arc::new(recorder), forwarding };
        Self::start(routes, redactor, counters, engine).await
    }

    /// Starts a server that answers strictly from `file`.
    pub(super) async fn start_replay(file: &RecordingLocation) -> Result<Self, CommandFailure> {
        let recording = loomrec_store::Recording::open(file)?;
        let source = ReplaySource { label: "demo.json".to_owned(), recording };
        let replayer =
            ReplayEngine::new(Matcher::new(vec![source], ReplayTerms::default())?, Latency::None);
        let engine = Engine::Replay {
            replay: Arc::new(replayer),
            on_miss: MissPolicy::Error,
            on_explained: Arc::new(|_| {}),
        };
        Self::start(Arc::new(demo_routes(None)), create_redactor()?, Arc::default(), engine).await
    }

    async fn start(
        routes: Arc<RouteTable>,
        redactor: Arc<Redactor>,
        counters: Arc<RunCounters>,
        engine: Engine,
    ) -> Result<Self, CommandFailure> {
        let rules = vec![IdentityRules::default()];
        let proxy = Arc::new(Proxy {
            config: server::ServerConfig {
                access: AccessPolicy::default(),
                url: String::new(),
                client_timeout: GRACE,
                max_body: LIMIT,
                control_token: None,
                step_header: None,
            },
            connections: Arc::new(ConnectionLimit::new(CONNECTIONS)),
            routes,
            observer: RequestObserver::new(Arc::clone(&redactor), rules),
            redactor,
            engine,
            strictness: Arc::default(),
            faults: Arc::new(FaultContext::none()),
            telemetry: Telemetry {
                counters,
                run_counters: None,
                session_counters: None,
                session_calls: None,
                metrics: unscraped_metrics(),
                journal: Arc::new(Journal::new(None)),
                compat: CompatJournal::default(),
                spans: Arc::new(Spans::none()),
            },
            inspector: Inspector::new(Vec::new(), None, Arc::default()),
            notify: silent_notices(),
            clock: Arc::default(),
        });
        let listener = TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.map_err(|error| demo_failure(&error.to_string()))?;
        let origin = serve_setup::local_origin(&listener, serve_setup::UrlScheme::Http)?;
        let threads = ServerThreads::start().map_err(|error| demo_failure(&error.to_string()))?;
        let threads = Arc::new(threads);
        let (stop, stopped) = oneshot::channel::<()>();
        let answering = ConnectionProxy {
            proxy: Arc::clone(&proxy),
            sessions: None,
            entrance: ListenerEntrance::default(),
        };
        let serving = server::start_server(listener, answering, Arc::clone(&threads), stopped);
        Ok(Self { origin, proxy, threads, stop, serving })
    }

    /// Stops the server. After that, everything that it recorded is on disk.
    pub(super) async fn close(self) -> Arc<Proxy> {
        drop(self.stop);
        self.serving.wait_until_ended().await;
        if let Some(recorder) = self.proxy.engine.record_engine() {
            // If the recording is incomplete, the replay of it fails.
            drop(recorder.finish_exchanges(GRACE).await);
        }
        drop(self.threads);
        self.proxy
    }
}

/// Returns the route to the one upstream.
fn demo_routes(base: Option<Url>) -> RouteTable {
    let openai = MountedUpstream::new("openai", base, Provider::OPEN_AI);
    RouteTable { named: vec![openai], ..RouteTable::default() }
}

/// Whether a run has nothing that could open a connection to an upstream.
pub(super) fn has_no_client(proxy: &Proxy) -> bool {
    !proxy.engine.goes_upstream()
}

/// Creates a redactor without extra patterns.
fn create_redactor() -> Result<Arc<Redactor>, CommandFailure> {
    Redactor::new(&[]).map(Arc::new).map_err(|error| demo_failure(&format!("failed to {error}")))
}

/// Creates metrics that are never scraped.
fn unscraped_metrics() -> Arc<Metrics> {
    Arc::new(Metrics::new(RunInfo::default()))
}

/// Returns a callback that ignores notices: the demo itself prints what happens.
fn silent_notices() -> OnNotice {
    Arc::new(|_| {})
}
