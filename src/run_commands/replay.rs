//! The `loomrec replay` command.

mod end_order;
mod latency;
mod loading;
mod pending;
mod refused_rules;
mod run_receipt;
mod shared_replay;
mod unused;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::args::{OnMissFlag, ReplayArgs};
use super::expiry::ExpiredTakes;
use super::in_force::InForce;
use super::receipt::SessionsReceipt;
use super::server_run::{RunContext, RunEngines, RunSessions, StartSessions};
use super::{fault, script, server_run, stand_ins};
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::preset::Preset;
use loomrec_cli::settings::Settings;
use loomrec_cli::wrapped_command::StandInKeys;
use loomrec_cli::{serve_setup, set_aside, usage_hint};
use loomrec_engine::replay::{MissedRequests, ReplayEngine};
use loomrec_engine::{Engine, MissPolicy, Strictness};
use loomrec_fault::FaultCounters;
use loomrec_proxy::guard::EscapePolicy;

pub(super) use latency::{draws_waits, latency_model};
use loading::{TakesInForce, load_takes};
pub(super) use pending::KeptRequests;
pub(super) use run_receipt::create_receipt;
pub(super) use shared_replay::{SharedReplay, SharedTakes};

/// Runs the command.
///
/// # Errors
/// Anything that keeps the run from starting.
pub async fn run(
    mut args: ReplayArgs,
    settings: &Settings,
    start_sessions: impl FnOnce(Arc<SharedReplay>) -> StartSessions,
) -> Result<u8, CommandFailure> {
    if args.recordings.is_empty() && args.script.is_empty() {
        return Err(nothing_to_answer_from(&args, settings));
    }
    script::refuse_beside_strict(&args)?;
    let preset = Preset::find_for_command(&args.serve, &settings.presets);
    let preset = preset.map(|preset| set_aside::preset_aside(&mut args, preset));
    let mut ground = RunContext::read(&args.serve, &args.recordings, preset)?;
    let ReplayParts { engines, in_force, missed, expired } = match load_setup(&args, &mut ground)? {
        ReplaySetup::Parts(parts) => *parts,
        ReplaySetup::PrintEnvironment(keys) => return ground.print_environment(&args.serve, &keys),
    };
    let output = ground.output.clone();
    ground.count_loads(&args.recordings);
    let shared = SharedReplay::new(&args, settings, &ground, &engines, (&in_force, &expired))?;
    let shared = shared.map(Arc::new);
    ground.session_counters = shared.as_ref().map(|shared| Arc::clone(&shared.counters));
    if !args.serve.cmd.is_empty() {
        // The program saw this folder when it was recorded. A read-only checkout may lack it.
        args.recordings
            .iter()
            .for_each(|at| drop(loomrec_store::create_state_folder(at.as_path())));
    }
    let sessions = shared.clone().map(|shared| RunSessions {
        read_again: shared.clone().recording_reader(),
        start: start_sessions(shared),
    });
    let mut ran = ground.run(&args.serve, engines, sessions).await?;
    let (mut in_force, mut expired) = (in_force, expired);
    if let Some(newest) = shared.as_ref().map(|shared| shared.current_takes()) {
        // The run is judged by the recordings as they were last read.
        ran.replay = Some(Arc::clone(&newest.engine));
        args.recordings.clone_from(&newest.recordings);
        (in_force, expired) = (newest.in_force.clone(), newest.expired.clone());
    }
    let unshown = ran.proxy.telemetry.counters.unshown_lenient_misses();
    if unshown > 0 {
        output.warning(&format!("{unshown} more calls had no recorded answer"));
    }
    let mut receipt = create_receipt(&args, &ran);
    let again = ran.replay.as_ref().map(|replay| replay.matcher().served_again());
    let control = ran.proxy.strictness.admission_counts();
    receipt.in_force = Some(in_force.with_clients(control, again.unwrap_or_default()));
    receipt.sessions = shared.iter().zip(&ran.sessions).find_map(|(shared, table)| {
        let totals = table.totals();
        (totals.opened > 0).then(|| SessionsReceipt::new(totals).with_calls(&shared.counters))
    });
    receipt.notes.extend(receipt.sessions.iter().flat_map(SessionsReceipt::unended_notes));
    receipt.complaints.extend(receipt.sessions.iter().flat_map(SessionsReceipt::complaints));
    pending::complete_file(&args, &ran.proxy, missed.as_deref(), &mut receipt);
    receipt.add_expired(expired, args.expiry.fails_run());
    server_run::write_receipt(&receipt, &args.serve, &output)?;
    Ok(ran.exit_code(if receipt.complaints.is_empty() { 0 } else { NO }))
}

/// What a replay is to do.
pub(super) enum ReplaySetup {
    /// To serve.
    Parts(Box<ReplayParts>),
    /// To print the environment of its programs alone, with these stand-ins for keys.
    PrintEnvironment(StandInKeys),
}

/// The parts of a replay.
pub(super) struct ReplayParts {
    /// The engine, and its settings.
    pub(super) engines: RunEngines,
    /// What is in force.
    pub(super) in_force: InForce,
    /// The missed requests that are kept.
    pub(super) missed: Option<Arc<MissedRequests>>,
    /// The takes that are too old.
    pub(super) expired: Option<ExpiredTakes>,
}

/// Loads the recordings and the script.
pub(super) fn load_setup(
    args: &ReplayArgs,
    ground: &mut RunContext,
) -> Result<ReplaySetup, CommandFailure> {
    latency::check_latency(args)?;
    let script = script::read(&args.script, &args.serve)?;
    let mut plan = fault::read_plans(&args.serve, ground.session.plan.as_ref())?;
    let budget = fault::recovery_budget(&args.serve.trouble, &plan)?;
    ground.run_values = ground.run_values.with_repository(&args.serve);
    let TakesInForce { matcher, expired, in_force } = load_takes(args, ground)?;
    let in_force = in_force.with_script(script.as_ref());
    let in_force = in_force.by_control(&ground.session.rules_by_control);
    let rules: BTreeSet<String> = matcher.normalize_rules().collect();
    ground.counters.bound.start_values(matcher.bound_pairs());
    ground.counters.bound.start_rules(rules, matcher.client_rules());
    let stand_in_keys = stand_ins::for_matcher(&matcher);
    if args.serve.print_env {
        return Ok(ReplaySetup::PrintEnvironment(stand_in_keys));
    }
    let on_miss = miss_policy(args, ground)?;
    let goes_upstream = matches!(on_miss, MissPolicy::Forward { .. });
    ground.check_fault_upstreams(&mut plan, &args.serve, goes_upstream)?;
    // With a script or an upstream, a rule may also name calls that no recording holds.
    if matches!(on_miss, MissPolicy::Error) && script.is_none() {
        fault::check_entry_names(&plan, &matcher, &ground.output)?;
    }
    let seed = args.serve.trouble.seed;
    let decider = fault::create_decider(
        plan,
        FaultCounters::default(),
        seed,
        draws_waits(args),
        &ground.output,
    );
    let missed = pending::create_file(args, &on_miss, &matcher, &ground.run_values)?;
    let replay = ReplayEngine::new(matcher, latency_model(args, decider.seed()));
    let replay = replay.with_script(script).with_default_response(args.default_response());
    let replay = Arc::new(replay);
    let on_explained = ground.miss_sink(missed.clone());
    let engines = RunEngines {
        redactor: ground.redactor_under(&args.serve, replay.matcher().identity_rules())?,
        engine: Engine::Replay { replay, on_miss, on_explained },
        decider,
        budget,
        stand_in_keys,
        notice: in_force.summary_line(),
        guard: (!args.no_guard).then_some(EscapePolicy::Refuse),
        strictness: strictness(args),
    };
    Ok(ReplaySetup::Parts(Box::new(ReplayParts { engines, in_force, missed, expired })))
}

/// Returns whether what clients ask for may weaken the replay.
pub(super) fn strictness(args: &ReplayArgs) -> Strictness {
    match (args.strict, args.allow_control) {
        (false, _) => Strictness::Lenient,
        (true, false) => Strictness::Strict,
        (true, true) => Strictness::StrictWithControl,
    }
}

/// Returns the failure of a replay without a recording and a script.
fn nothing_to_answer_from(args: &ReplayArgs, settings: &Settings) -> CommandFailure {
    let aside = match args.set_aside.settings.is_empty() {
        true => String::new(),
        false => format!(" (--strict sets aside {})", args.set_aside.settings.join(", ")),
    };
    let hint = usage_hint::with_known_recording(settings);
    let hint = hint.map(|line| format!(": {line}")).unwrap_or_default();
    CommandFailure::usage(format!(
        "there is nothing to answer from: name a recording with --recording FILE (-r), or a script \
         with --script FILE{aside}{hint}"
    ))
}

/// Returns what a missed call gets. Only the policy `forward` has an HTTP client.
fn miss_policy(args: &ReplayArgs, ground: &RunContext) -> Result<MissPolicy, CommandFailure> {
    // `--strict` always wins: a policy from the environment has been set aside.
    let policy = match args.strict {
        true => OnMissFlag::Error,
        false => args.on_miss.as_ref().map_or(OnMissFlag::Error, |answer| answer.word),
    };
    if !args.script.is_empty() && policy != OnMissFlag::Error {
        return Err(CommandFailure::usage(
            "--script and --on-miss: the script answers the calls that the recordings do not, and \
             refuses the others; leave one of the two out",
        ));
    }
    if args.default_response().is_some() && policy != OnMissFlag::Default && !args.strict {
        return Err(CommandFailure::usage("--on-miss: only default takes a text behind a colon"));
    }
    Ok(match policy {
        OnMissFlag::Error => MissPolicy::Error,
        OnMissFlag::Default => MissPolicy::Placeholder,
        OnMissFlag::Forward => {
            let client = serve_setup::upstream_client()?;
            MissPolicy::Forward { client, forwarding: ground.forwarding() }
        }
    })
}
