//! What opens sessions: it makes the flags of a session from those of the command and from the
//! request, and a proxy from them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use http::StatusCode;
use time::OffsetDateTime;

use super::command::SessionCommand;
use super::recording::{RecordedSession, Staging};
use super::report;
use super::template::SessionTemplate;
use crate::args::{HEADER, NORMALIZE, RecordArgs, RecordMode, ReplayArgs, ServeArgs, ignored_rule};
use crate::in_force::InForce;
use crate::replay::{KeptRequests, ReplaySetup};
use crate::server_run::{ProxyRole, RunContext, RunEngines, SessionTerms, SharedRun};
use crate::{fault, record, replay};
use loomrec_cli::exit::{CommandFailure, NOT_KEPT, RECORDING, USAGE};
use loomrec_cli::wrapped_command::StandInKeys;
use loomrec_dialect::suite::read_plan;
use loomrec_engine::upstream::UpstreamClient;
use loomrec_engine::{StrictAdmission, blocking};
use loomrec_fault::FaultPlan;
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_proxy::server::Proxy;
use loomrec_proxy::server::session::{
    CloseSession, OpenedSession, ReportSession, SessionBegin, SessionHost, SessionInfo,
    SessionMode, SessionRefusal, SessionRequest, prefix_url,
};
use loomrec_recording::redact::{CallCredentials, RedactError, Redactor};
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::RunCounters;

/// Opens the sessions of a command.
pub(super) struct CommandHost {
    pub(super) command: SessionCommand,
    pub(super) template: SessionTemplate,
    /// The context that those of sessions are made from.
    pub(super) context: RunContext,
    /// Which missing API keys of programs get a stand-in.
    pub(super) stand_in_keys: StandInKeys,
    /// The counters of the run.
    pub(super) run_counters: Arc<RunCounters>,
    /// The client that recording sessions share. `None` if the command replays.
    pub(super) client: Option<UpstreamClient>,
    /// What the proxies of the server share.
    pub(super) shared: SharedRun,
    /// What is in force in the sessions so far.
    pub(super) in_force: Arc<Mutex<InForce>>,
}

/// A session that is being opened.
struct OpeningSession<'a> {
    session_request: &'a SessionRequest,
    admission: StrictAdmission,
    mode: SessionMode,
    /// The recording.
    path: PathBuf,
    plan: Option<FaultPlan>,
}

impl SessionHost for CommandHost {
    fn open(
        &self,
        request: &SessionRequest,
        admission: StrictAdmission,
    ) -> Result<OpenedSession, SessionRefusal> {
        let invalid = |why: String| SessionRefusal::new(StatusCode::BAD_REQUEST, why);
        let path = match &request.recording {
            Some(named) => self.template.named_recording(named).map_err(invalid)?,
            None => self.template.recording_path(&request.name),
        };
        refuse_names_with_keys(request)?;
        refuse_link(&path)?;
        let plan = request.faults.as_ref().map(read_plan).transpose();
        let plan = plan.map_err(|error| invalid(format!("faults: {error}")))?;
        let mode = self.session_mode(request)?;
        let opening = OpeningSession { session_request: request, admission, mode, path, plan };
        let opened = match &self.command {
            SessionCommand::Replay(args) => self.open_replay(args.clone(), &opening),
            SessionCommand::Record(args) => self.open_record(args.clone(), &opening),
        };
        opened.map_err(refusal_of)
    }

    fn client_variables(&self, prefix: Option<&str>) -> Vec<(String, String)> {
        let origin = match prefix {
            Some(prefix) => prefix_url(&self.server_url(), prefix),
            None => self.server_url(),
        };
        let (serve, keys) = (self.command.serve_args(), &self.stand_in_keys);
        let mut variables = self.context.sdk_variables(serve, &origin, keys);
        variables.extend(self.shared.guard.iter().cloned());
        variables
    }

    fn server_url(&self) -> String {
        self.shared.origin.clone()
    }
}

/// Returns the refusal for a failure of the command line.
pub(super) fn refusal_of(failure: CommandFailure) -> SessionRefusal {
    let status = match failure.code {
        USAGE => StatusCode::BAD_REQUEST,
        RECORDING => StatusCode::UNPROCESSABLE_ENTITY,
        // Another process records there.
        NOT_KEPT => StatusCode::CONFLICT,
        _ => StatusCode::INTERNAL_SERVER_ERROR,
    };
    SessionRefusal::new(status, failure.message)
}

impl CommandHost {
    /// Returns the mode of a session.
    fn session_mode(&self, request: &SessionRequest) -> Result<SessionMode, SessionRefusal> {
        let own = match &self.command {
            SessionCommand::Replay(_) => SessionMode::Replay,
            SessionCommand::Record(args) => match args.mode {
                RecordMode::All => SessionMode::Record,
                RecordMode::NewEpisodes | RecordMode::Once | RecordMode::None => SessionMode::New,
            },
        };
        let mode = request.mode.unwrap_or(own);
        if mode.is_recording() && own == SessionMode::Replay {
            let why = "mode: this server was started with `loomrec replay`, which records nothing";
            return Err(SessionRefusal::new(StatusCode::FORBIDDEN, why));
        }
        Ok(mode)
    }

    fn open_replay(
        &self,
        mut args: ReplayArgs,
        opening: &OpeningSession<'_>,
    ) -> Result<OpenedSession, CommandFailure> {
        add_request(&mut args.serve, opening.session_request, opening.admission);
        refuse_connection_rules(&args.serve, opening.plan.as_ref())?;
        args.recordings = vec![opening.recording_location()];
        if !opening.path.exists() {
            // A recording that does not exist is recorded: no new answer can be compared with it.
            args.pending = None;
        }
        let terms = self.session_terms(opening, None);
        let mut ground =
            self.context.for_session(&args.serve, &opening.recording_location(), terms)?;
        let ReplaySetup::Parts(parts) = replay::load_setup(&args, &mut ground)? else {
            return Err(CommandFailure::usage("--print-env: there is no session"));
        };
        let parts = *parts;
        let (budget, in_force, expired, missed) =
            (parts.engines.budget, parts.in_force.clone(), parts.expired, parts.missed);
        let shown = opening.recording_location().display().to_string();
        self.in_force.lock().unwrap_or_else(PoisonError::into_inner).add_session(&shown, &in_force);
        let proxy = self.create_proxy(&ground, &args.serve, parts.engines, opening);
        let (of_proxy, closed_proxy) = (Arc::clone(&proxy), Arc::clone(&proxy));
        let kept: Arc<OnceLock<KeptRequests>> = Arc::default();
        let reported = Arc::clone(&kept);
        let report: ReportSession = Arc::new(move || {
            let mut receipt =
                replay::create_receipt(&args, &ground.session_result(&of_proxy, budget));
            reported.get().iter().for_each(|kept| kept.add_to_receipt(&args, &mut receipt));
            receipt.in_force = Some(with_clients(&in_force, &of_proxy));
            receipt.add_expired(expired.clone(), args.expiry.fails_run());
            report::of_session(receipt)
        });
        let close: CloseSession = Box::new(move |_keep| {
            Box::pin(blocking::run_blocking(move || {
                let finished =
                    missed.and_then(|missed| KeptRequests::from_session(&missed, &closed_proxy));
                finished.into_iter().for_each(|finished| drop(kept.set(finished)));
                Ok(false)
            }))
        });
        Ok(OpenedSession { info: opening.session_info(), proxy, close, report })
    }

    fn open_record(
        &self,
        mut args: RecordArgs,
        opening: &OpeningSession<'_>,
    ) -> Result<OpenedSession, CommandFailure> {
        add_request(&mut args.serve, opening.session_request, opening.admission);
        refuse_connection_rules(&args.serve, opening.plan.as_ref())?;
        let place = opening.recording_location();
        make_folder(place.as_path())?;
        args.mode = match (opening.mode, args.mode) {
            (SessionMode::Record, _) => RecordMode::All,
            (SessionMode::Replay, _) => RecordMode::None,
            (SessionMode::New, RecordMode::Once) => RecordMode::Once,
            (SessionMode::New, _) => RecordMode::NewEpisodes,
        };
        let is_staged = opening.mode.is_recording()
            && opening.session_request.begun_by == SessionBegin::Control;
        if opening.mode.is_recording() && !is_staged {
            loomrec_store::refuse_leased(&place)?;
        }
        let begin = || Staging::begin(&place, opening.mode, args.keep_failures);
        let staging = is_staged.then(begin).transpose()?;
        args.recording = staging.as_ref().map_or(&place, Staging::unfinished_location).clone();
        let rules_of = staging.as_ref().map(|_| place.clone());
        let terms = self.session_terms(opening, rules_of);
        let ground = self.context.for_session(&args.serve, &place, terms)?;
        let engines = record::create_engines(&args, &ground, None);
        if engines.is_err() {
            // The error that counts is that of the engines.
            staging.iter().for_each(|staging| drop(staging.end(false, |_| {})));
        }
        let (engines, in_force) = engines?;
        let budget = engines.budget;
        let proxy = self.create_proxy(&ground, &args.serve, engines, opening);
        let recorded = RecordedSession {
            args: args.clone(),
            run_values: ground.run_values.all.clone(),
            proxy: Arc::clone(&proxy),
            staging,
            began: OffsetDateTime::now_utc(),
            notify: ground.notice_callback(),
        };
        let close: CloseSession = Box::new(|keep| Box::pin(recorded.close(keep)));
        // The receipt is about the recording, not about the unfinished one.
        args.recording = place;
        let report = report_of_record(args, ground, in_force, Arc::clone(&proxy), budget);
        Ok(OpenedSession { info: opening.session_info(), proxy, close, report })
    }

    fn session_terms(
        &self,
        opening: &OpeningSession<'_>,
        rules_of: Option<RecordingLocation>,
    ) -> SessionTerms {
        let (plan, client) = (opening.plan.clone(), self.client.clone());
        let rules_by_control = rules_of_request(opening.session_request);
        SessionTerms { plan, rules_by_control, rules_of, client, may_lack_recording: true }
    }

    fn create_proxy(
        &self,
        ground: &RunContext,
        args: &ServeArgs,
        engines: RunEngines,
        opening: &OpeningSession<'_>,
    ) -> Arc<Proxy> {
        let role =
            ProxyRole::Session(&opening.session_request.name, Arc::clone(&self.run_counters));
        Arc::new(ground.create_proxy(args, engines, &self.shared, role))
    }
}

impl OpeningSession<'_> {
    fn recording_location(&self) -> RecordingLocation {
        RecordingLocation::from(self.path.clone())
    }

    fn session_info(&self) -> SessionInfo {
        SessionInfo {
            prefix: self.session_request.prefix.clone(),
            name: self.session_request.name.clone(),
            recording: self.path.display().to_string(),
            mode: self.mode,
            begun_by: self.session_request.begun_by,
            exists: self.path.exists(),
        }
    }
}

fn report_of_record(
    args: RecordArgs,
    ground: RunContext,
    in_force: Option<InForce>,
    proxy: Arc<Proxy>,
    budget: Option<RecoveryBudget>,
) -> ReportSession {
    Arc::new(move || {
        let mut receipt = record::create_receipt(&args, &ground.session_result(&proxy, budget));
        receipt.in_force.clone_from(&in_force);
        report::of_session(receipt)
    })
}

/// Refuses names that look like a key: files are named after them.
fn refuse_names_with_keys(request: &SessionRequest) -> Result<(), SessionRefusal> {
    let failed = |error: RedactError| {
        SessionRefusal::new(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    };
    let redactor = Redactor::new(&[]).map_err(failed)?;
    let none = CallCredentials::default();
    let names = [Some(&request.name), Some(&request.prefix), request.recording.as_ref()];
    if names.into_iter().flatten().all(|name| redactor.is_clean_name(name, &none)) {
        return Ok(());
    }
    let text = "the session's name, prefix or recording holds what looks like a credential, \
                    and files are named after it: give it another name";
    Err(SessionRefusal::new(StatusCode::BAD_REQUEST, text))
}

/// Returns what is in force in a session, with what its clients changed until now.
pub(super) fn with_clients(in_force: &InForce, proxy: &Proxy) -> InForce {
    let again = proxy.engine.replay_engine().map(|replay| replay.matcher().served_again());
    in_force.clone().with_clients(proxy.strictness.admission_counts(), again.unwrap_or_default())
}

/// Returns the rules that a request asks for, in words.
fn rules_of_request(request: &SessionRequest) -> Vec<String> {
    let ignored = ignored_texts(request).map(|text| ignored_rule(&text));
    let renamed = request.normalize.iter();
    let renamed = renamed.map(|rule| format!("{NORMALIZE}{rule}"));
    ignored.chain(renamed).collect()
}

/// Returns what a request asks to ignore, as values of `--ignore`.
fn ignored_texts(request: &SessionRequest) -> impl Iterator<Item = String> {
    let headers = request.ignore_headers.iter().map(|name| format!("{HEADER}{name}"));
    request.ignore.iter().cloned().chain(headers)
}

/// Adds what a request asks for to the flags of a session. The strictness of the run has to let it
/// through.
pub(super) fn add_request(args: &mut ServeArgs, request: &SessionRequest, _: StrictAdmission) {
    // Those of the run are written once, at its end.
    (args.receipt, args.summary, args.journal) = (None, None, None);
    args.cmd.clear();
    args.trouble.fault.extend(request.fault.iter().cloned());
    args.trouble.seed = request.seed.or(args.trouble.seed);
    args.trouble.recovery.clone_from(&request.recovery);
    args.identity.ignore.extend(ignored_texts(request));
    args.identity.normalize.extend(request.normalize.iter().cloned());
    args.run_values.vars.extend(request.vars.iter().cloned());
}

/// Refuses rules for connections: those are accepted before their session is known.
pub(super) fn refuse_connection_rules(
    args: &ServeArgs,
    plan: Option<&FaultPlan>,
) -> Result<(), CommandFailure> {
    let planned = fault::read_plans(args, plan)?;
    match planned.plan.rules.iter().find(|rule| rule.is_at_accept()) {
        None => Ok(()),
        Some(rule) => Err(CommandFailure::usage(format!(
            "the fault {:?} is for connections before their first request, whose session is not \
             known yet: use connection_reset or connection_drop for a call",
            rule.name
        ))),
    }
}

/// Refuses a link in the place of a recording: a session's recordings are the files of its folder.
fn refuse_link(path: &Path) -> Result<(), SessionRefusal> {
    match path.is_symlink() {
        false => Ok(()),
        true => Err(SessionRefusal::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!(
                "{} is a symbolic link, which no session follows: put the recording there itself",
                path.display()
            ),
        )),
    }
}

/// Makes the folder of a recording.
fn make_folder(recording: &Path) -> Result<(), CommandFailure> {
    let Some(folder) = recording.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    std::fs::create_dir_all(folder).map_err(|error| {
        CommandFailure::new(RECORDING, format!("failed to make {}: {error}", folder.display()))
    })
}
