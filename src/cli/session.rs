//! One run of the server: from the bound socket to the last response, with a
//! wrapped command or until a signal.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;
use std::time::Duration;

use http::HeaderName;
use indicatif::ProgressBar;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::args::ServeArgs;
use super::exit::{Failure, UNEXPECTED};
use super::output::{Output, stdout};
use super::receipt::{self, Receipt};
use super::setup::Upstreams;
use super::wrap::{Environment, Wanted, Wrapped};
use super::{log, open_files, progress, setup, terminal, trace};
use crate::fault::Decider;
use crate::identity::IdentityRules;
use crate::record::Recorder;
use crate::recording::redact::Redactor;
use crate::recovery::Budget;
use crate::replay::{Missed, Replayer};
use crate::server::access::AccessPolicy;
use crate::server::fault::Faults;
use crate::server::inspector::Inspector;
use crate::server::metric::Metrics;
use crate::server::observe::Observer;
use crate::server::tally::Tally;
use crate::server::{self, Gateway, Notice, OnMiss, OnNotice};

/// How long answers still under way are awaited when a run ends.
const GRACE: Duration = Duration::from_secs(30);

/// What every run needs before its engines are built.
pub struct Ground {
    /// The user's environment.
    current: BTreeMap<String, String>,
    address: SocketAddr,
    /// What may call.
    access: AccessPolicy,
    /// Where requests go.
    pub upstreams: Upstreams,
    /// What must never be stored or shown.
    pub redactor: Arc<Redactor>,
    /// The program's own header for step ids.
    step_header: Option<HeaderName>,
    /// The counts.
    pub tally: Arc<Tally>,
    /// What scrapers are told.
    pub metrics: Arc<Metrics>,
    /// Where messages go.
    pub output: Output,
    bar: Option<Arc<ProgressBar>>,
    /// The run's recordings.
    recordings: Vec<PathBuf>,
}

/// The engines of a run.
pub struct Engines {
    /// The recording one.
    pub recorder: Option<Arc<Recorder>>,
    /// The replaying one.
    pub replayer: Option<Replayer>,
    /// What a miss gets.
    pub on_miss: OnMiss,
    /// Where requests without a recorded answer are kept, where they are.
    pub missed: Option<Arc<Missed>>,
    /// What goes wrong on purpose.
    pub decider: Decider,
    /// How soon the program is to recover from it.
    pub budget: Option<Budget>,
    /// Whether the client's own `accept-encoding` goes upstream.
    pub keep_encoding: bool,
    /// Whether keys that are missing get a stand-in.
    pub stand_in_keys: bool,
    /// What is said once the listener stands.
    pub told: Option<String>,
}

impl Engines {
    /// Whether calls may go to an upstream.
    fn goes_upstream(&self) -> bool {
        self.recorder.is_some() || matches!(self.on_miss, OnMiss::Forward(_))
    }

    /// What observes requests for them.
    fn observer(&self, redactor: &Arc<Redactor>, args: &ServeArgs) -> Observer {
        let replayed = self.replayer.iter().flat_map(|replayer| replayer.matcher().rules());
        let recorded = self.recorder.iter().map(|recorder| recorder.rules());
        Observer::new(Arc::clone(redactor), replayed.chain(recorded).cloned().collect())
            .with_credential_params(&args.identity.credential_param)
            .with_step_header(args.step_id_header.as_deref())
    }

    /// The rules by which calls are told apart: those of the first engine.
    fn rules(&self) -> IdentityRules {
        let replayed = self.replayer.iter().flat_map(|replayer| replayer.matcher().rules());
        let recorded = self.recorder.iter().map(|recorder| recorder.rules());
        replayed.chain(recorded).next().cloned().unwrap_or_default()
    }

    /// Whether a recording declares faults of its own.
    fn has_trouble(&self) -> bool {
        self.replayer.as_ref().is_some_and(|replayer| replayer.matcher().has_trouble())
    }
}

/// A run that is over.
pub struct Ran {
    /// Everything it used.
    pub gateway: Arc<Gateway>,
    /// What was set for CMD.
    pub environment: Environment,
    /// CMD's exit code.
    pub cmd_exit: Option<u8>,
    /// How soon the program was to recover from faults.
    pub budget: Option<Budget>,
}

impl Ground {
    /// Reads the flags that all runs share.
    ///
    /// # Errors
    /// Flags that cannot be.
    pub fn read(args: &ServeArgs, recordings: &[PathBuf]) -> Result<Self, Failure> {
        setup::refuse_overwriting(args, recordings)?;
        let current = setup::environment();
        let output = Output::new(args.log_format, args.quiet, args.verbose);
        let bar =
            (args.cmd.is_empty() && output.may_draw() && !args.print_env).then(progress::line);
        let output = bar.iter().fold(output, |output, bar| output.above(Arc::clone(bar)));
        log::start(args.log.as_deref(), &output)?;
        Ok(Self {
            address: setup::address(args)?,
            access: setup::access(args)?,
            upstreams: setup::upstreams(args, &current)?,
            redactor: setup::redactor(&args.redact)?,
            step_header: setup::step_header(args)?,
            tally: Arc::default(),
            metrics: Arc::new(Metrics::new(setup::about(args, recordings))),
            current,
            output,
            bar,
            recordings: recordings.to_vec(),
        })
    }

    /// What tells the person at the terminal at once.
    pub fn notify(&self) -> OnNotice {
        let output = self.output.clone();
        Arc::new(move |notice: Notice<'_>| output.notice(&notice))
    }

    /// What is set for a command.
    fn environment(&self, args: &ServeArgs, origin: &str, stand_in_keys: bool) -> Environment {
        let routes = &self.upstreams.routes;
        Environment::of(&Wanted {
            origin,
            current: &self.current,
            skip: &args.no_env,
            stand_in_keys,
            single: routes.single.is_some() || routes.unnamed,
            known: &self.upstreams.given,
        })
    }

    /// Prints the variables for a shell.
    ///
    /// # Errors
    /// A stdout that cannot be written.
    pub fn print_environment(&self, args: &ServeArgs, stand_in_keys: bool) -> Result<u8, Failure> {
        let origin = format!("http://{}", self.address);
        stdout(&self.environment(args, &origin, stand_in_keys).shell()).map(|()| 0).map_err(
            |error| Failure::new(UNEXPECTED, format!("failed to write to stdout: {error}")),
        )
    }

    /// Binds, serves until CMD ends or a signal comes, and closes what was opened.
    ///
    /// # Errors
    /// A port in use, a journal that cannot be written, a command that cannot run.
    pub async fn run(self, args: &ServeArgs, engines: Engines) -> Result<Ran, Failure> {
        let journal = setup::journal(args, self.notify())?;
        // Now, and not when the run is over: what cannot be written is said at
        // once, and a run that dies leaves no older run's receipt behind. A pipe
        // is left alone: its reader would take the closing for the end.
        let plain = |path: &&PathBuf| !path.exists() || path.is_file();
        if let Some(path) = args.receipt.as_ref().filter(plain) {
            setup::create(path, receipt::BEGINNING)?;
        }
        let listener = setup::listener(self.address).await?;
        let origin = setup::origin(&listener)?;
        let environment = self.environment(args, &origin, engines.stand_in_keys);
        let place = (&self.upstreams.routes, &*self.metrics);
        let own = listener.local_addr().ok();
        let spans = trace::start(args, &self.current, place, own, self.notify())?;
        let notify = self.notify();
        let observer = engines.observer(&self.redactor, args);
        let observer = observer.with_addresses(self.upstreams.routes.addresses());
        let (rules, trouble) = (engines.rules(), engines.has_trouble());
        let gateway = Arc::new(Gateway {
            config: server::Config {
                access: self.access.listening_at(own),
                client_timeout: Duration::from_secs(args.limits.client_timeout),
                max_body: args.max_body,
                keep_encoding: engines.keep_encoding,
                // An empty token, as an unset secret gives, protects nothing.
                control_token: args.control_token.clone().filter(|token| !token.is_empty()),
                step_header: self.step_header,
            },
            connections: open_files::limit(args, engines.goes_upstream()),
            routes: self.upstreams.routes,
            redactor: self.redactor,
            observer,
            recorder: engines.recorder,
            replayer: engines.replayer,
            on_miss: engines.on_miss,
            missed: engines.missed,
            faults: match engines.budget {
                Some(_) => Faults::new(engines.decider, rules, trouble).observed(),
                None => Faults::new(engines.decider, rules, trouble),
            },
            tally: Arc::clone(&self.tally),
            metrics: self.metrics,
            journal,
            spans,
            inspector: Inspector::new(self.recordings, engines.told.clone()),
            notify,
            clock: AtomicI64::new(0),
        });
        let output = &self.output;
        let opening = Opening { origin: &origin, told: engines.told.as_deref() };
        let work = serve(listener, opening, Arc::clone(&gateway), args, &environment, output);
        let cmd_exit = with_live_line(self.bar, self.tally, work).await?;
        gateway.journal.hang_up().await;
        if let Err(error) = gateway.journal.close() {
            output.error(&format!("the journal is not whole: {error}"));
        }
        if let Err(error) = gateway.spans.close().await {
            output.warning(&format!("the traces are not whole: {error}"));
        }
        Ok(Ran { gateway, environment, cmd_exit, budget: engines.budget })
    }
}

/// What is said when a server listens.
struct Opening<'a> {
    origin: &'a str,
    told: Option<&'a str>,
}

/// Serves until CMD ends or a signal comes. Returns CMD's exit code.
async fn serve(
    listener: TcpListener,
    Opening { origin, told }: Opening<'_>,
    gateway: Arc<Gateway>,
    args: &ServeArgs,
    environment: &Environment,
    output: &Output,
) -> Result<Option<u8>, Failure> {
    let unexpected = |error: std::io::Error| {
        Failure::new(UNEXPECTED, format!("failed to watch signals or the command: {error}"))
    };
    let mut stop_signals = Stop::watch().map_err(unexpected)?;
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(server::run(listener, Arc::clone(&gateway), async {
        // A dropped sender is a stop as well.
        drop(stopped.await);
    }));
    output.info(&format!("loomrec listening on {origin}"));
    told.into_iter().for_each(|told| output.info(told));
    if args.verbose {
        output.info(&format!("loomrec: look at the calls at {origin}/__loomrec/"));
    }
    let outcome = if args.cmd.is_empty() {
        open_files::raise();
        stop_signals.first().await;
        Ok(None)
    } else {
        match Wrapped::start(&args.cmd, environment) {
            Ok(wrapped) => {
                open_files::raise();
                wrapped.wait().await.map(Some).map_err(unexpected)
            }
            Err(failure) => Err(failure),
        }
    };
    drop(stop);
    // A signal that was meant for CMD is not one to hurry with.
    let mut hurry = Stop::watch().map_err(unexpected)?;
    let busy = gateway.recorder.as_ref().map_or(0, |recorder| recorder.busy());
    if busy > 0 {
        output.info(&format!(
            "loomrec: answers still on their way: {busy}; waiting for them \
             (Ctrl-C to keep them incomplete)"
        ));
    }
    let rest = async {
        // The server's own end; a panic in it has been printed.
        drop(serving.await);
        close(&gateway, GRACE).await;
    };
    tokio::select! {
        () = rest => {}
        () = hurry.first() => close(&gateway, Duration::ZERO).await,
    }
    outcome
}

/// Ends the recording. What its file could not be brought to hold is in the log
/// beside it.
async fn close(gateway: &Gateway, grace: Duration) {
    let Some(recorder) = &gateway.recorder else { return };
    if let Err(reason) = recorder.finish(grace).await {
        gateway.tally.unfolded(&reason);
    }
}

/// Draws the live line while `work` runs, where one may be drawn.
async fn with_live_line<T>(
    bar: Option<Arc<ProgressBar>>,
    tally: Arc<Tally>,
    work: impl Future<Output = T>,
) -> T {
    let Some(bar) = bar else { return work.await };
    let following = tokio::spawn(progress::follow(Arc::clone(&bar), tally));
    let result = work.await;
    following.abort();
    bar.finish_and_clear();
    result
}

/// Prints the receipt and writes it where it was asked for.
///
/// # Errors
/// A receipt or report that cannot be written.
pub fn hand_out(receipt: &Receipt, args: &ServeArgs, output: &Output) -> Result<(), Failure> {
    match receipt.verdict() {
        "ok" => output.report(&receipt.text()),
        _ => output.failed_report(&receipt.text()),
    }
    if let (Some(judged), Some(path)) = (&receipt.recovery, &args.trouble.junit) {
        judged.write_junit(path)?;
    }
    let Some(path) = &args.receipt else { return Ok(()) };
    let text = terminal::json(&format!("{:#}\n", receipt.to_json())).into_owned();
    let failed = |message: String| Failure::new(UNEXPECTED, message);
    let created = setup::create(path, receipt::BEGINNING);
    let mut file = created.map_err(|failure| failed(failure.message))?;
    file.write_all(text.as_bytes())
        .map_err(|error| failed(format!("failed to write {}: {error}", path.display())))
}

/// What may be wrong when a command made no call.
pub fn nothing_came(environment: &Environment) -> String {
    let urls: Vec<&str> = environment
        .variables
        .iter()
        .filter(|(_, value)| value.starts_with("http"))
        .map(|(name, _)| name.as_str())
        .collect();
    format!(
        "the command made no call here. These variables were set for it: {}. A base URL given \
         in its code wins over them; the Mistral SDK reads none (give it server_url, \
         $LOOMREC_URL/mistral); a test runner may clear the environment",
        urls.join(", ")
    )
}

/// The signals that end a run.
pub(super) struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    /// Watches for them from now on.
    pub(super) fn watch() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// The first of them to come.
    pub(super) async fn first(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
