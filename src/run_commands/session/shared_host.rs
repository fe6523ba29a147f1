//! What opens sessions of a replay's own recordings: they share the takes that the run has loaded.

use std::sync::Arc;

use http::StatusCode;

use super::host::{add_request, refusal_of, refuse_connection_rules, with_clients};
use super::report;
use crate::args::ReplayArgs;
use crate::fault;
use crate::replay::{self, SharedReplay, SharedTakes};
use crate::server_run::{ProxyRole, RunContext, RunEngines, SessionTerms, SharedRun};
use crate::stand_ins;
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::serve_setup;
use loomrec_dialect::suite::read_plan;
use loomrec_engine::{Engine, MissPolicy, StrictAdmission};
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_fault::{FaultCounters, FaultPlan};
use loomrec_proxy::server::Proxy;
use loomrec_proxy::server::session::{
    CloseSession, OpenedSession, ReportSession, SessionHost, SessionInfo, SessionMode,
    SessionRefusal, SessionRequest, prefix_url,
};

/// Opens the sessions of a replay.
pub(super) struct SharedHost {
    pub(super) replay: Arc<SharedReplay>,
    /// What the proxies of the server share.
    pub(super) shared: SharedRun,
}

impl SessionHost for SharedHost {
    fn open(
        &self,
        request: &SessionRequest,
        admission: StrictAdmission,
    ) -> Result<OpenedSession, SessionRefusal> {
        refuse_members(request)?;
        let invalid = |why: String| SessionRefusal::new(StatusCode::BAD_REQUEST, why);
        let plan = request.faults.as_ref().map(read_plan).transpose();
        let plan = plan.map_err(|error| invalid(format!("faults: {error}")))?;
        self.open_replay(request, admission, plan).map_err(refusal_of)
    }

    fn client_variables(&self, prefix: Option<&str>) -> Vec<(String, String)> {
        let origin = match prefix {
            Some(prefix) => prefix_url(&self.server_url(), prefix),
            None => self.server_url(),
        };
        let takes = self.replay.current_takes();
        let keys = stand_ins::for_matcher(takes.engine.matcher());
        takes.context.sdk_variables(&self.replay.args.serve, &origin, &keys)
    }

    fn server_url(&self) -> String {
        self.shared.origin.clone()
    }
}

/// Refuses what needs takes that are loaded for the session alone.
fn refuse_members(request: &SessionRequest) -> Result<(), SessionRefusal> {
    let refuse = |status, text: String| Err(SessionRefusal::new(status, text));
    if request.mode.is_some_and(SessionMode::is_recording) {
        let why = "mode: this server was started with `loomrec replay`, which records nothing";
        return refuse(StatusCode::BAD_REQUEST, why.to_owned());
    }
    let given = [
        ("recording", request.recording.is_some()),
        ("ignore", !request.ignore.is_empty()),
        ("ignore_headers", !request.ignore_headers.is_empty()),
        ("normalize", !request.normalize.is_empty()),
        ("vars", !request.vars.is_empty()),
    ];
    match given.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((member, _)) => refuse(
            StatusCode::BAD_REQUEST,
            format!(
                "{member}: the sessions of this server share the recording that it was started \
                 with: give this to the server, or start it with -r 'FOLDER/{{session}}.json'"
            ),
        ),
    }
}

impl SharedHost {
    fn open_replay(
        &self,
        request: &SessionRequest,
        admission: StrictAdmission,
        plan: Option<FaultPlan>,
    ) -> Result<OpenedSession, CommandFailure> {
        let SharedReplay { args, counters, .. } = &*self.replay;
        let takes = self.replay.current_takes();
        let mut args = args.clone();
        add_request(&mut args.serve, request, admission);
        refuse_connection_rules(&args.serve, plan.as_ref())?;
        // A session may use a part of the recording. The run is judged by the takes that none used.
        args.fail_unused = false;
        let terms = SessionTerms { plan, ..SessionTerms::default() };
        let ground = takes.context.for_session(&args.serve, &takes.first_recording(), terms)?;
        let engines = self.create_engines(request, &args, &ground, &takes)?;
        let budget = engines.budget;
        let role = ProxyRole::Session(&request.name, Arc::clone(counters));
        let proxy = Arc::new(ground.create_proxy(&args.serve, engines, &self.shared, role));
        let info = session_info(request, &takes);
        let report = report_of_replay(args, ground, takes, Arc::clone(&proxy), budget);
        let close: CloseSession = Box::new(|_keep| Box::pin(std::future::ready(Ok(false))));
        Ok(OpenedSession { info, proxy, close, report })
    }

    /// Returns an engine over the shared takes, and faults for the session alone.
    fn create_engines(
        &self,
        request: &SessionRequest,
        args: &ReplayArgs,
        ground: &RunContext,
        takes: &SharedTakes,
    ) -> Result<RunEngines, CommandFailure> {
        let (shared, on_miss) = (&takes.engine, self.replay.on_miss.clone());
        let mut plan = fault::read_plans(&args.serve, ground.session.plan.as_ref())?;
        let budget = fault::recovery_budget(&args.serve.trouble, &plan)?;
        let goes_upstream = matches!(on_miss, MissPolicy::Forward { .. });
        ground.check_fault_upstreams(&mut plan, &args.serve, goes_upstream)?;
        if matches!(on_miss, MissPolicy::Error) {
            fault::check_entry_names(&plan, shared.matcher(), &ground.output)?;
        }
        let draws_waits = replay::draws_waits(args);
        let counters = FaultCounters::with_shared_run(Arc::clone(&self.replay.fault_counters));
        let seed = args.serve.trouble.seed;
        let decider = fault::create_decider(plan, counters, seed, draws_waits, &ground.output);
        let latency = replay::latency_model(args, decider.seed());
        let replay = shared.for_session(&request.prefix, latency);
        let replay = Arc::new(match args.keeps_end_order() {
            true => replay,
            false => replay.without_end_order(),
        });
        let on_explained = ground.miss_sink(None);
        Ok(RunEngines {
            redactor: ground.redactor_under(&args.serve, replay.matcher().identity_rules())?,
            engine: Engine::Replay { replay, on_miss, on_explained },
            decider,
            budget,
            stand_in_keys: stand_ins::for_matcher(shared.matcher()),
            notice: None,
            guard: None,
            strictness: replay::strictness(args),
        })
    }
}

fn report_of_replay(
    args: ReplayArgs,
    ground: RunContext,
    takes: Arc<SharedTakes>,
    proxy: Arc<Proxy>,
    budget: Option<RecoveryBudget>,
) -> ReportSession {
    let args = ReplayArgs { recordings: Vec::new(), ..args };
    Arc::new(move || {
        let mut receipt = replay::create_receipt(&args, &ground.session_result(&proxy, budget));
        // Hashed once for all sessions.
        receipt.recordings = takes.hashed_recordings();
        let engine = proxy.engine.replay_engine();
        receipt.unused = engine.map(|replay| serve_setup::unused_takes(replay, false));
        receipt.in_force = Some(with_clients(&takes.in_force, &proxy));
        receipt.add_expired(takes.expired.clone(), false);
        report::of_session(receipt)
    })
}

fn session_info(request: &SessionRequest, takes: &SharedTakes) -> SessionInfo {
    SessionInfo {
        prefix: request.prefix.clone(),
        name: request.name.clone(),
        recording: takes.first_recording().display().to_string(),
        mode: SessionMode::Replay,
        begun_by: request.begun_by,
        exists: true,
    }
}
