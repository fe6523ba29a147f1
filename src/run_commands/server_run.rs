//! One run of the server: from the bound socket to the last response, until a wrapped command ends
//! or a signal comes.

mod bridge_setup;
mod fault_upstreams;
mod guard_setup;
mod launcher_setup;
mod printed_environment;
mod proxy_setup;
mod reload;
mod run_environment;
mod run_result;
mod serving;
mod session_context;
mod session_terms;
mod shared_run;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;

use http::HeaderName;
use tokio::net::TcpListener;

use super::args::ServeArgs;
use super::guard;
use super::interception;
use super::progress::{self, RunProgress};
use super::store_secrets::store_secrets;
use super::{log, open_files, trace};
use loomrec_cli::bridge_sockets::BridgeSockets;
use loomrec_cli::exit::{CommandFailure, UNEXPECTED};
use loomrec_cli::output::Output;
use loomrec_cli::preset::{AppliedPreset, Preset};
use loomrec_cli::serve_setup;
use loomrec_cli::serve_setup::{ListenerCertificate, PublicUrl, UpstreamSettings, UrlScheme};
use loomrec_cli::wrapped_command::{StandInKeys, key_variables};
use loomrec_engine::clock::ArrivalClock;
use loomrec_engine::observe::RequestObserver;
use loomrec_engine::record::CostLimit;
use loomrec_engine::replay::MissedRequests;
use loomrec_engine::{Engine, Forwarding, OnExplainedMiss, RunStrictness, Strictness};
use loomrec_fault::FaultDecider;
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_identity::IdentityRules;
use loomrec_proxy::guard::EscapePolicy;
use loomrec_proxy::inspector::RecentMisses;
use loomrec_proxy::server::access::AccessPolicy;
use loomrec_proxy::server::{
    self, CertificateAuthority, ListenerTls, OnNotice, ServerThreads, UserNotice,
};
use loomrec_recording::KeyVariables;
use loomrec_recording::redact::Redactor;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::journal::Journal;
use loomrec_telemetry::metric::Metrics;
use loomrec_telemetry::run_counters::RunCounters;
use reload::ServerReload;
pub use run_result::{RunResult, write_receipt};
use run_result::{begin_receipt, remove_empty_receipt};
use serving::{Opening, ServerParts, close_telemetry, serve, server_config};
pub use session_terms::SessionTerms;
pub use shared_run::{ProxyRole, ReadAgain, RunSessions, SharedRun, StartSessions};

/// What every run needs before its engine is built.
pub struct RunContext {
    /// The user's environment.
    current: Arc<BTreeMap<String, String>>,
    address: SocketAddr,
    /// The URL under which clients reach the listener, if the user gave it.
    public_url: Option<PublicUrl>,
    /// TLS on the listener.
    tls: Option<ListenerTls>,
    /// The user's authority, which signs certificates of hosts.
    authority: Option<Arc<CertificateAuthority>>,
    /// The access policy.
    access: AccessPolicy,
    /// The upstreams of requests.
    pub upstreams: UpstreamSettings,
    /// The folder for the sockets of `loomrec mcp`, if programs get the variables of this run.
    bridges: Option<Arc<BridgeSockets>>,
    /// Removes what must never be stored or shown.
    pub redactor: Arc<Redactor>,
    /// The values of this run.
    pub run_values: serve_setup::RunValueTerms,
    /// The key variables that the program has whose calls are recorded. None if it is not known.
    pub key_variables: KeyVariables,
    /// The preset of CMD.
    preset: Option<Arc<AppliedPreset>>,
    /// The program's own header for step ids.
    step_header: Option<HeaderName>,
    /// The counters.
    pub counters: Arc<RunCounters>,
    /// The counters that sessions add up in, if `counters` does not include them.
    pub session_counters: Option<Arc<RunCounters>>,
    /// The metrics.
    pub metrics: Arc<Metrics>,
    /// The output for messages.
    pub output: Output,
    progress: RunProgress,
    /// What a run that records may spend, with all its sessions.
    pub cost_limit: Option<Arc<CostLimit>>,
    /// The requests of the latest misses, for the inspector.
    recent_misses: Arc<RecentMisses>,
    /// The run's recordings.
    recordings: Vec<RecordingLocation>,
    /// The clock of arrivals.
    pub clock: Arc<ArrivalClock>,
    /// What a session adds to the run. Empty outside of sessions.
    pub session: SessionTerms,
}

/// The engine of a run, and its settings.
pub struct RunEngines {
    /// Answers calls.
    pub engine: Engine,
    /// Redacts requests as the flags and the recordings say.
    pub redactor: Arc<Redactor>,
    /// Decides about faults.
    pub decider: FaultDecider,
    /// How soon the program has to recover from faults.
    pub budget: Option<RecoveryBudget>,
    /// Which missing API keys get a stand-in.
    pub stand_in_keys: StandInKeys,
    /// A message to print once the listener is ready.
    pub notice: Option<String>,
    /// What happens to connections of CMD that go around loomrec. `None` without a guard.
    pub guard: Option<EscapePolicy>,
    /// Whether what clients ask for may weaken the replay. A session has that of its run.
    pub strictness: Strictness,
}

impl RunEngines {
    /// Creates the observer that parses requests for the engine.
    fn create_observer(&self, args: &ServeArgs) -> RequestObserver {
        RequestObserver::new(
            Arc::clone(&self.redactor),
            self.engine.identity_rules().cloned().collect(),
        )
        .with_credential_params(&args.identity.credential_param)
        .with_step_header(args.step_id_header.as_deref())
        .with_secrets(&store_secrets())
        .with_clients(serve_setup::known_clients(args))
    }

    /// Returns the identity rules of calls that nothing recorded answers.
    fn miss_rules(&self) -> IdentityRules {
        self.engine.rules_of_misses().cloned().unwrap_or_default()
    }
}

impl RunContext {
    /// Reads the flags that all runs share, for a CMD with this preset.
    ///
    /// # Errors
    /// Flags that are invalid.
    pub fn read(
        args: &ServeArgs,
        recordings: &[RecordingLocation],
        preset: Option<Preset>,
    ) -> Result<Self, CommandFailure> {
        serve_setup::refuse_overwriting(args, recordings)?;
        let current = serve_setup::read_environment();
        let output = Output::new(args.log_format, args.quiet, args.verbose)
            .with_disclosure(args.from_settings.is_quiet);
        let (output, progress) = match args.cmd.is_empty() {
            true => progress::above_live_line(output, args.print_env),
            false => progress::beside_command(output),
        };
        log::start(args.log.as_deref(), &output)?;
        let run_values = serve_setup::run_values(&args.run_values, &current)?;
        let counters = RunCounters::default();
        let public_urls = PublicUrl::read_all(args)?;
        let certificate = serve_setup::listener_certificate(&args.tls, args.intercept.intercept)?;
        let (tls, authority) = match certificate {
            ListenerCertificate::None => (None, None),
            ListenerCertificate::Server(tls) => (Some(tls), None),
            ListenerCertificate::Authority(authority) => (None, Some(authority)),
        };
        let is_https = tls.is_some();
        let address = serve_setup::listen_address(args)?;
        let mut upstreams = serve_setup::read_upstreams(args, &current)?;
        let has_clients = guard::has_clients(args, address.ip());
        let bridges = Self::start_bridges(has_clients, &mut upstreams, &output);
        Ok(Self {
            address,
            tls,
            authority,
            access: serve_setup::access_policy(args, &public_urls)?.over_tls(is_https),
            public_url: public_urls.into_iter().next(),
            upstreams,
            bridges,
            redactor: serve_setup::create_redactor(&args.redact)?,
            run_values,
            key_variables: match has_clients {
                true => key_variables(&current),
                false => KeyVariables::default(),
            },
            preset: AppliedPreset::new(preset, recordings)?.map(Arc::new),
            step_header: serve_setup::step_header(args)?,
            counters: Arc::new(counters),
            session_counters: None,
            metrics: Arc::new(Metrics::new(serve_setup::run_info(args, recordings))),
            current: Arc::new(current),
            output,
            progress,
            cost_limit: None,
            recent_misses: Arc::default(),
            recordings: recordings.to_vec(),
            clock: Arc::default(),
            session: SessionTerms::default(),
        })
    }

    /// Returns the same context, with what the run may spend in dollars.
    pub fn limiting_cost(self, dollars: Option<f64>) -> Self {
        Self { cost_limit: dollars.map(CostLimit::new).map(Arc::new), ..self }
    }

    /// Returns the rules for calls: those of flags, and those of the preset.
    ///
    /// # Errors
    /// A flag that is not a rule.
    pub fn identity_rules(&self, args: &ServeArgs) -> Result<IdentityRules, CommandFailure> {
        let of_project = self.preset.iter().filter(|applied| applied.preset.is_of_project);
        let preset = of_project.flat_map(|applied| applied.preset.normalize_rules());
        Ok(serve_setup::read_rules(&args.identity)?.with_normalize(preset))
    }

    /// Returns the callback for notices to the person at the terminal.
    pub fn notice_callback(&self) -> OnNotice {
        let output = self.output.clone();
        Arc::new(move |notice: UserNotice<'_>| output.print_notice(&notice))
    }

    /// Counts recordings of object stores that were loaded.
    pub fn count_loads(&self, recordings: &[RecordingLocation]) {
        for origin in recordings.iter().filter_map(RecordingLocation::remote_origin) {
            self.metrics.remote.count_load(origin.fetched == 0);
        }
    }

    /// Returns what redacts calls under these rules of recordings, besides the flags.
    ///
    /// # Errors
    /// A pattern that is invalid.
    pub fn redactor_under<'r>(
        &self,
        args: &ServeArgs,
        rules: impl IntoIterator<Item = &'r IdentityRules>,
    ) -> Result<Arc<Redactor>, CommandFailure> {
        let recorded = rules.into_iter().flat_map(|rules| rules.redactions().iter().cloned());
        let recorded: BTreeSet<String> = recorded.collect();
        if recorded.is_empty() {
            return Ok(Arc::clone(&self.redactor));
        }
        let typed = args.redact.iter().filter(|pattern| !recorded.contains(*pattern));
        serve_setup::create_redactor(&typed.chain(&recorded).cloned().collect::<Vec<_>>())
    }

    /// Returns what builds the requests that go upstream.
    pub fn forwarding(&self) -> Forwarding {
        let (routes, redactor) = (Arc::clone(&self.upstreams.routes), Arc::clone(&self.redactor));
        Forwarding { routes, redactor }
    }

    /// Returns the callback that keeps explained misses, also in `missed` if they are to be sent
    /// again.
    pub fn miss_sink(&self, missed: Option<Arc<MissedRequests>>) -> OnExplainedMiss {
        server::miss_sink(Arc::clone(&self.recent_misses), missed, self.notice_callback())
    }

    /// Returns the URL under which clients reach the listener.
    fn listener_origin(&self, listener: &TcpListener) -> Result<String, CommandFailure> {
        match &self.public_url {
            Some(public) => Ok(public.as_str().to_owned()),
            None => serve_setup::local_origin(listener, self.listener_scheme()),
        }
    }

    /// Returns the scheme of the listener's URLs.
    fn listener_scheme(&self) -> UrlScheme {
        if self.tls.is_some() { UrlScheme::Https } else { UrlScheme::Http }
    }

    /// Returns the messages to print once the listener is ready. `binds` says whether the values of the
    /// run are bound in every request.
    fn opening_notices(&self, engines: &RunEngines, binds: bool) -> Vec<String> {
        let upstreams =
            engines.engine.goes_upstream().then(|| self.upstreams.describe_destinations());
        let local = serve_setup::local_note(self.address, self.public_url.as_ref());
        let preset = self.preset.as_deref().map(AppliedPreset::summary_line);
        let unusable = self.run_values.unusable_note();
        let unusable = unusable.filter(|_| binds || preset.is_some());
        let notices = [preset, unusable, engines.notice.clone(), upstreams.flatten(), local];
        notices.into_iter().flatten().collect()
    }

    /// Binds the listener, serves until CMD ends or a signal comes, and closes what was opened.
    ///
    /// # Errors
    /// A port in use, a journal that cannot be written, a command that cannot be run.
    pub async fn run(
        self,
        args: &ServeArgs,
        engines: RunEngines,
        sessions: Option<RunSessions>,
    ) -> Result<RunResult, CommandFailure> {
        let journal = serve_setup::open_journal(args, self.notice_callback())?;
        begin_receipt(args)?;
        let ran = self.run_with_journal(args, journal, engines, sessions).await;
        if ran.is_err() {
            remove_empty_receipt(args);
        }
        ran
    }

    /// Serves with a journal that is open.
    async fn run_with_journal(
        self,
        args: &ServeArgs,
        journal: Journal,
        engines: RunEngines,
        sessions: Option<RunSessions>,
    ) -> Result<RunResult, CommandFailure> {
        let threads = Arc::new(ServerThreads::start().map_err(no_threads)?);
        let listener = serve_setup::bind_listener(self.address).await?;
        let origin = self.listener_origin(&listener)?;
        let own = listener.local_addr().ok();
        let bound = own.unwrap_or(self.address);
        let (guard, interception) = self.start_guard(args, engines.guard, bound).await?;
        let interception = interception.as_ref();
        let guarded =
            interception::run_variables(&guard, interception, &self.current, &args.no_env);
        let environment = self.environment_of_run(args, &engines, &origin, guarded)?;
        let place = (&*self.upstreams.routes, &*self.metrics);
        let spans = trace::start(args, &self.current, place, own, self.notice_callback())?;
        let shared = SharedRun {
            journal: Arc::new(journal),
            spans: Arc::new(spans),
            access: self.access.clone().listening_at(own),
            connections: Arc::new(open_files::connection_limit(engines.engine.goes_upstream())),
            strictness: Arc::new(RunStrictness::new(engines.strictness)),
            clock: Arc::clone(&self.clock),
            origin: origin.clone(),
            guard: environment.guard.clone(),
        };
        let (notices, budget) =
            (self.opening_notices(&engines, args.run_values.bind), engines.budget);
        let (sessions, read_again) = sessions.map_or((None, None), |sessions| {
            (Some((sessions.start)(shared.clone())), sessions.read_again)
        });
        let proxy = Arc::new(self.create_proxy(args, engines, &shared, ProxyRole::Run));
        let output = &self.output;
        let metrics = Arc::clone(&self.metrics);
        let reload = ServerReload::new(self.tls.clone(), args, read_again, metrics, output);
        let server = ServerParts {
            listener,
            entrance: self.listener_entrance(&guard, interception),
            guard: &guard,
            proxy: &proxy,
            threads: &threads,
            sessions: sessions.as_ref(),
            reload,
        };
        let work = serve(server, Opening { origin: &origin, notices }, args, &environment, output);
        let cmd = self.progress.show_during(self.counters, work).await?;
        let hosts = guard.end().await;
        close_telemetry(&proxy, output).await;
        let replay = proxy.engine.replay_engine().cloned();
        Ok(RunResult {
            proxy,
            replay,
            upstreams: self.upstreams,
            environment,
            cmd,
            budget,
            hosts,
            sessions,
            _threads: Some(threads),
        })
    }
}

/// The failure of a run whose threads do not start.
fn no_threads(error: std::io::Error) -> CommandFailure {
    CommandFailure::new(UNEXPECTED, format!("failed to start the threads of the server: {error}"))
}
