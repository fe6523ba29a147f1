//! A recording for each session: `-r 'FOLDER/{session}.json'`. docs/sessions.md describes it.

mod command;
mod host;
mod recording;
mod report;
mod shared_host;
mod template;

use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use super::args::{RecordArgs, ReplayArgs};
use super::in_force::InForce;
use super::replay::SharedReplay;
use super::server_run::{RunContext, RunEngines, RunSessions, SessionTerms, StartSessions};
use super::{fault, record, replay, server_run, stand_ins};
use command::SessionCommand;
use host::CommandHost;
use loomrec_cli::exit::{CommandFailure, NO, NOT_KEPT};
use loomrec_cli::preset::Preset;
use loomrec_cli::settings::Settings;
use loomrec_cli::wrapped_command::StandInKeys;
use loomrec_cli::{serve_setup, set_aside};
use loomrec_engine::replay::{Latency, Matcher, ReplayEngine, ReplayTerms};
use loomrec_engine::{Engine, MissPolicy, RunStrictness};
use loomrec_proxy::server::session::{
    OutsideCalls, SessionHost, SessionJudge, SessionLimits, SessionTable,
};
use loomrec_store::RecordingLocation;
use shared_host::SharedHost;
pub(super) use template::SessionTemplate;

/// How long a session that a control call began may have no call, if it has a recording of its own:
/// its test may be in a debugger.
const FORGOTTEN: Duration = Duration::from_secs(86_400);

/// Creates the table of sessions that have a recording each.
fn start(host: CommandHost) -> Arc<SessionTable> {
    let args = host.command.serve_args().sessions.clone();
    let idle = Duration::from_secs(args.session_idle);
    let outside = match args.sessions_by_control {
        true => OutsideCalls::Refuse,
        false => OutsideCalls::OpenSession,
    };
    let judge = session_judge(host.shared.strictness.is_strict(), outside);
    let limits = SessionLimits { idle, control_idle: idle.max(FORGOTTEN), outside, judge };
    let strictness = Arc::clone(&host.shared.strictness);
    start_table(Arc::new(host), limits, strictness)
}

/// Returns what creates the table of sessions that share the recordings of a replay.
fn start_shared(replay: Arc<SharedReplay>) -> StartSessions {
    let args = replay.args.serve.sessions.clone();
    let idle = Duration::from_secs(args.session_idle);
    let outside = match args.sessions_by_control {
        true => OutsideCalls::Refuse,
        false => OutsideCalls::AnswerInRun,
    };
    let judge = session_judge(replay.args.strict, outside);
    let limits = SessionLimits { idle, control_idle: idle, outside, judge };
    Box::new(move |shared| {
        let strictness = Arc::clone(&shared.strictness);
        let host = SharedHost { replay, shared };
        start_table(Arc::new(host), limits, strictness)
    })
}

/// Returns who judges sessions that control calls began: in a strict replay the run itself, unless
/// it was started for a test framework.
fn session_judge(is_strict: bool, outside: OutsideCalls) -> SessionJudge {
    match is_strict && outside != OutsideCalls::Refuse {
        true => SessionJudge::Run,
        false => SessionJudge::Framework,
    }
}

/// Creates a table of sessions, and starts the task that ends idle ones.
fn start_table(
    host: Arc<dyn SessionHost>,
    limits: SessionLimits,
    strictness: Arc<RunStrictness>,
) -> Arc<SessionTable> {
    let table = Arc::new(SessionTable::new(host, limits, strictness));
    tokio::spawn(end_idle(Arc::downgrade(&table), limits.idle));
    table
}

/// Ends idle sessions, until the table is dropped.
async fn end_idle(table: Weak<SessionTable>, idle: Duration) {
    let pause = (idle / 4).clamp(Duration::from_millis(250), Duration::from_secs(5));
    loop {
        tokio::time::sleep(pause).await;
        let Some(table) = table.upgrade() else { return };
        table.end_idle().await;
    }
}

/// Runs `loomrec record`, with one recording or with one for each session.
///
/// # Errors
/// As for `record::run`; a template that is invalid.
pub async fn run_record(args: RecordArgs, settings: &Settings) -> Result<u8, CommandFailure> {
    match SessionTemplate::from_location(&args.recording)? {
        None if args.serve.sessions.sessions_by_control => Err(CommandFailure::usage(
            "--sessions-by-control: record with -r 'FOLDER/{session}.json', so that each session \
             has a recording",
        )),
        None => record::run(args, settings).await,
        Some(template) => run(SessionCommand::Record(args), template, settings).await,
    }
}

/// Runs `loomrec replay`, with one recording or with one for each session.
///
/// # Errors
/// As for `replay::run`; a template that is invalid.
pub async fn run_replay(args: ReplayArgs, settings: &Settings) -> Result<u8, CommandFailure> {
    match SessionTemplate::of_all(&args.recordings)? {
        None => replay::run(args, settings, start_shared).await,
        Some(template) => run(SessionCommand::Replay(args), template, settings).await,
    }
}

/// Runs a command that has a recording for each session.
///
/// # Errors
/// Anything that keeps the run from starting.
async fn run(
    mut command: SessionCommand,
    template: SessionTemplate,
    settings: &Settings,
) -> Result<u8, CommandFailure> {
    command.refuse_flags()?;
    let preset = Preset::find_for_command(command.serve_args(), &settings.presets);
    let preset = match &mut command {
        SessionCommand::Record(_) => preset,
        SessionCommand::Replay(args) => preset.map(|preset| set_aside::preset_aside(args, preset)),
    };
    let args = command.serve_args().clone();
    let location = RecordingLocation::from(template.as_path());
    let ground = RunContext::read(&args, std::slice::from_ref(&location), preset)?
        .limiting_cost(command.max_cost());
    let cost_limit = ground.cost_limit.clone();
    let is_replay = matches!(command, SessionCommand::Replay(_));
    let stand_in_keys = match is_replay {
        true => stand_ins::for_template(&template, args.sessions.sessions_by_control),
        false => StandInKeys::None,
    };
    if args.print_env {
        return ground.print_environment(&args, &stand_in_keys);
    }
    let allow_empty = command.allows_no_call();
    let client = if is_replay { None } else { Some(serve_setup::upstream_client()?) };
    let context = ground.for_session(&args, &location, SessionTerms::default())?;
    let (name, guard) = (command.name(), command.escape_policy());
    let run_counters = Arc::clone(&ground.counters);
    let matcher = Matcher::new(Vec::new(), ReplayTerms::default())?;
    let in_force = command.in_force(&matcher);
    let engines = no_engines(&ground, matcher, &command, stand_in_keys.clone(), in_force.as_ref());
    let sessions_in_force = Arc::new(Mutex::new(in_force.clone().unwrap_or_default()));
    let in_force_of_sessions = Arc::clone(&sessions_in_force);
    let output = ground.output.clone();
    let start_sessions: StartSessions = Box::new(|shared| {
        start(CommandHost {
            command,
            template,
            context,
            stand_in_keys,
            run_counters,
            client,
            shared,
            in_force: in_force_of_sessions,
        })
    });
    let sessions = Some(RunSessions { start: start_sessions, read_again: None });
    let ran = ground.run(&args, engines, sessions).await?;
    let mut receipt = report::of_run(name, &ran, guard, allow_empty);
    receipt.in_force = in_force;
    record::add_cost_limit(&mut receipt, cost_limit.as_deref());
    if is_replay {
        let in_force = sessions_in_force.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let control = ran.proxy.strictness.admission_counts();
        receipt.in_force = Some(in_force.with_clients(control, (0, 0)));
    }
    server_run::write_receipt(&receipt, &args, &output)?;
    Ok(ran.exit_code(match receipt.complaints.is_empty() {
        _ if receipt.unkept > 0 || receipt.more.unfolded.is_some() => NOT_KEPT,
        true => 0,
        false => NO,
    }))
}

/// Returns the engine of the run itself, which answers no call.
fn no_engines(
    ground: &RunContext,
    matcher: Matcher,
    command: &SessionCommand,
    stand_in_keys: StandInKeys,
    in_force: Option<&InForce>,
) -> RunEngines {
    let replay = Arc::new(ReplayEngine::new(matcher, Latency::None));
    let on_explained = ground.miss_sink(None);
    RunEngines {
        redactor: Arc::clone(&ground.redactor),
        engine: Engine::Replay { replay, on_miss: MissPolicy::Error, on_explained },
        decider: fault::no_faults(),
        budget: None,
        stand_in_keys,
        notice: in_force.and_then(InForce::summary_line),
        guard: command.escape_policy(),
        strictness: command.strictness(),
    }
}
