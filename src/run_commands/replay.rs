//! The `loomrec replay` command.

mod end_order;
mod latency;
mod pending;
mod refused_rules;
mod unused;

use std::collections::BTreeSet;
use std::sync::Arc;

use super::args::{OnExpired, OnMissFlag, RepeatPolicy, ReplayArgs};
use super::expiry::ExpiredTakes;
use super::in_force::InForce;
use super::receipt::{Receipt, ScriptReceipt, SessionsReceipt};
use super::server_run::{RunContext, RunEngines, RunResult, SessionTerms, StartSessions};
use super::{fault, no_call, script, server_run, stand_ins};
use loomrec_cli::exit::{CommandFailure, NO};
use loomrec_cli::preset::Preset;
use loomrec_cli::settings::Settings;
use loomrec_cli::wrapped_command::StandInKeys;
use loomrec_cli::{serve_setup, set_aside, usage_hint};
use loomrec_engine::replay::{
    Matcher, MissedRequests, Repeat, ReplayEngine, ReplaySource, ReplayTerms,
};
use loomrec_engine::{Engine, MissPolicy, Strictness};
use loomrec_fault::FaultCounters;
use loomrec_proxy::guard::EscapePolicy;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::RunCounters;

pub(super) use latency::{draws_waits, latency};

/// Runs the command.
///
/// # Errors
/// Anything that keeps the run from starting.
pub async fn run(
    mut args: ReplayArgs,
    settings: &Settings,
    start_sessions: impl FnOnce(SharedReplay) -> StartSessions,
) -> Result<u8, CommandFailure> {
    if args.recordings.is_empty() && args.script.is_empty() {
        return Err(nothing_to_answer_from(&args, settings));
    }
    script::refuse_beside_strict(&args)?;
    let preset = Preset::of(&args.serve, &settings.presets);
    let preset = preset.map(|preset| set_aside::preset_aside(&mut args, preset));
    let mut ground = RunContext::read(&args.serve, &args.recordings, preset)?;
    let ReplayParts { engines, in_force, missed, expired } = match parts(&args, &mut ground)? {
        ReplaySetup::Parts(parts) => *parts,
        ReplaySetup::PrintEnvironment(keys) => return ground.print_environment(&args.serve, &keys),
    };
    let output = ground.output.clone();
    let counters = Arc::<RunCounters>::default();
    let shared = shared_replay(&args, &ground, &engines, (&in_force, &expired), &counters)?;
    ground.session_counters = shared.as_ref().map(|shared| Arc::clone(&shared.counters));
    if !args.serve.cmd.is_empty() {
        // The program saw this folder when it was recorded. A read-only checkout may lack it.
        args.recordings
            .iter()
            .for_each(|at| drop(loomrec_store::create_state_folder(at.as_path())));
    }
    let ran = ground.run(&args.serve, engines, shared.map(start_sessions)).await?;
    let unshown = ran.proxy.telemetry.counters.unshown_lenient_misses();
    if unshown > 0 {
        output.warning(&format!("{unshown} more calls had no recorded answer"));
    }
    let mut receipt = receipt(&args, &ran);
    let again = ran.proxy.engine.replay().map(|replay| replay.matcher().served_again());
    let control = ran.proxy.strictness.admitted();
    receipt.in_force = Some(in_force.with_clients(control, again.unwrap_or_default()));
    receipt.sessions = ran.sessions.as_ref().map(|table| table.totals()).and_then(|totals| {
        (totals.opened > 0).then(|| SessionsReceipt::new(totals).with_calls(&counters))
    });
    receipt.notes.extend(receipt.sessions.iter().flat_map(SessionsReceipt::notes));
    receipt.complaints.extend(receipt.sessions.iter().flat_map(SessionsReceipt::complaints));
    pending::end(&args, &ran.proxy, missed.as_deref(), &mut receipt);
    receipt.add_expired(expired, args.expiry.on_expired == OnExpired::Fail);
    server_run::write_receipt(&receipt, &args.serve, &output)?;
    Ok(match ran.cmd_exit {
        Some(code) if code != 0 => code,
        _ if receipt.complaints.is_empty() => 0,
        _ => NO,
    })
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
    missed: Option<Arc<MissedRequests>>,
    /// The takes that are too old.
    pub(super) expired: Option<ExpiredTakes>,
}

/// What the sessions of a replay share with its run.
pub(super) struct SharedReplay {
    /// The flags of the run.
    pub(super) args: ReplayArgs,
    /// The context that those of sessions are made from.
    pub(super) context: RunContext,
    /// The engine of the run, whose takes the sessions share.
    pub(super) engine: Arc<ReplayEngine>,
    /// What a missed call gets.
    pub(super) on_miss: MissPolicy,
    /// What is in force.
    pub(super) in_force: InForce,
    /// The takes that are too old.
    pub(super) expired: Option<ExpiredTakes>,
    /// The counters that the sessions add up in.
    pub(super) counters: Arc<RunCounters>,
    /// What became of the faults of the run.
    pub(super) fault_counters: Arc<FaultCounters>,
}

/// Returns what sessions share with a run. `None` if it has no recording, or a script, which has one
/// place for all calls, or forwards misses, whose connections are counted for the run.
fn shared_replay(
    args: &ReplayArgs,
    ground: &RunContext,
    engines: &RunEngines,
    (in_force, expired): (&InForce, &Option<ExpiredTakes>),
    counters: &Arc<RunCounters>,
) -> Result<Option<SharedReplay>, CommandFailure> {
    let Engine::Replay { replay, on_miss, .. } = &engines.engine else { return Ok(None) };
    let first = args.recordings.first().filter(|_| replay.script().is_none());
    let Some(first) = first.filter(|_| !matches!(on_miss, MissPolicy::Forward { .. })) else {
        return match args.serve.sessions.sessions_by_control {
            false => Ok(None),
            true => Err(CommandFailure::usage(
                "--sessions-by-control takes a recording, without --script and --on-miss forward",
            )),
        };
    };
    Ok(Some(SharedReplay {
        args: args.clone(),
        context: ground.for_session(&args.serve, first, SessionTerms::default())?,
        engine: Arc::clone(replay),
        on_miss: on_miss.clone(),
        in_force: in_force.clone(),
        expired: expired.clone(),
        counters: Arc::clone(counters),
        fault_counters: Arc::clone(engines.decider.counters()),
    }))
}

/// Loads the recordings and the script.
pub(super) fn parts(
    args: &ReplayArgs,
    ground: &mut RunContext,
) -> Result<ReplaySetup, CommandFailure> {
    latency::check_latency(args)?;
    let script = script::read(&args.script, &args.serve)?;
    let mut plan = fault::plan(&args.serve, ground.session.plan.as_ref())?;
    let budget = fault::budget(&args.serve.trouble, &plan)?;
    ground.run_values = ground.run_values.with_repository(&args.serve);
    let (matcher, expired) = matcher(args, ground)?;
    refused_rules::refuse(args.strict, &matcher, &ground.output)?;
    let in_force = InForce::of_replay(args, &matcher).with_script(script.as_ref());
    let in_force = in_force.by_control(&ground.session.rules_by_control);
    let rules: BTreeSet<String> = matcher.normalize_rules().collect();
    ground.counters.bound.start(matcher.bound_pairs());
    ground.counters.bound.start_rules(rules, matcher.client_rules());
    let recorded: BTreeSet<String> = matcher.upstreams().map(str::to_owned).collect();
    serve_setup::add_recorded(&mut ground.upstreams, &recorded);
    let stand_in_keys = stand_ins::for_matcher(&matcher);
    if args.serve.print_env {
        return Ok(ReplaySetup::PrintEnvironment(stand_in_keys));
    }
    let on_miss = miss_policy(args, ground)?;
    fault::check_upstreams(&mut plan, &ground.upstreams.routes)?;
    // With a script or an upstream, a rule may also name calls that no recording holds.
    if matches!(on_miss, MissPolicy::Error) && script.is_none() {
        fault::check(&plan, &matcher, &ground.output)?;
    }
    let seed = args.serve.trouble.seed;
    let decider =
        fault::decider(plan, FaultCounters::default(), seed, draws_waits(args), &ground.output);
    let missed = pending::begin(args, &on_miss, &matcher, &ground.run_values)?;
    let replay = ReplayEngine::new(matcher, latency(args, decider.seed()));
    let replay = replay.with_script(script).with_default_response(args.default_response.clone());
    let replay = Arc::new(replay);
    let on_explained = ground.miss_sink(missed.clone());
    let engines = RunEngines {
        engine: Engine::Replay { replay, on_miss, on_explained },
        decider,
        budget,
        stand_in_keys,
        notice: in_force.text(),
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

/// Loads every recording, and checks which takes are too old.
fn matcher(
    args: &ReplayArgs,
    ground: &RunContext,
) -> Result<(Matcher, Option<ExpiredTakes>), CommandFailure> {
    let rules = ground.rules(&args.serve)?;
    let is_there =
        |at: &&RecordingLocation| !ground.session.may_lack_recording || at.as_path().exists();
    let open = |at: &RecordingLocation| serve_setup::source(at, args.strict, &ground.output);
    let sources: Result<Vec<ReplaySource>, CommandFailure> =
        args.recordings.iter().filter(is_there).map(open).collect();
    let repeat = args.repeat.or(args.strict.then_some(RepeatPolicy::Error));
    let repeat = repeat.map(|policy| match policy {
        RepeatPolicy::Error => Repeat::Error,
        RepeatPolicy::Last => Repeat::Last,
        RepeatPolicy::Cycle => Repeat::Cycle,
    });
    let refuse_unchecked = args.strict && !args.allow_unchecked;
    let terms = ReplayTerms {
        rules: Some(&rules),
        repeat,
        run_values: Some(&ground.run_values.all),
        repository: Some(&ground.run_values.states),
        ignores_presets: args.serve.run_values.no_preset,
        refuse_unchecked,
        allow_messages: args.allow_unchecked,
        faults_use_takes: args.strict,
        keeps_end_order: args.keeps_end_order(),
        is_of_session: ground.session.may_lack_recording,
    };
    let sources = sources?;
    let expired = ExpiredTakes::find(&args.expiry, &sources)?;
    Ok((Matcher::new(sources, terms)?, expired))
}

/// Returns what a missed call gets. Only the policy `forward` has an HTTP client.
fn miss_policy(args: &ReplayArgs, ground: &RunContext) -> Result<MissPolicy, CommandFailure> {
    let fallback = args.allow_default_fallback.then_some(OnMissFlag::Default);
    // `--strict` always wins: a policy from the environment has been set aside.
    let policy = match args.strict {
        true => OnMissFlag::Error,
        false => args.on_miss.or(fallback).unwrap_or(OnMissFlag::Error),
    };
    if !args.script.is_empty() && policy != OnMissFlag::Error {
        return Err(CommandFailure::usage(
            "--script and --on-miss: the script answers the calls that the recordings do not, and \
             refuses the others; leave one of the two out",
        ));
    }
    if args.default_response.is_some() && policy != OnMissFlag::Default && !args.strict {
        return Err(CommandFailure::usage(
            "--default-response is the answer of --on-miss default: add that, or leave it out",
        ));
    }
    Ok(match policy {
        OnMissFlag::Error => MissPolicy::Error,
        OnMissFlag::Default => MissPolicy::Placeholder,
        OnMissFlag::Forward => {
            let client = serve_setup::upstream_client()?;
            MissPolicy::Forward { client, forwarding: ground.forwarding(false) }
        }
    })
}

/// Returns the receipt of the run, with its complaints.
pub(super) fn receipt(args: &ReplayArgs, ran: &RunResult) -> Receipt {
    let (proxy, cmd_exit) = (&ran.proxy, ran.cmd_exit);
    let mut receipt = Receipt::of("replay", &proxy.telemetry.counters, &args.recordings);
    receipt.cmd_exit = cmd_exit;
    receipt.upstream_connections = proxy.engine.upstream_connections();
    let named_all = args.serve.receipt.is_some();
    let unused = proxy.engine.replay().map(|replay| serve_setup::unused(replay, named_all));
    let unused = unused.unwrap_or_default();
    if let Some(matcher) = proxy.engine.replay().map(|replay| replay.matcher()) {
        receipt.takes = matcher.len();
        receipt.recorded_ms = matcher.recorded_ms();
        receipt.unchecked_calls = matcher.unchecked_calls();
    }
    receipt.notes.extend(serve_setup::ineffective_rules(&proxy.redactor));
    receipt.notes.extend(proxy.engine.replay().and_then(|replay| end_order::broken(replay)));
    receipt.notes.extend(ran.unused_upstreams());
    let unreachable = receipt.unreachable_text();
    receipt.add_escapes(&ran.hosts, EscapePolicy::Refuse);
    let mut complain = |text: String| receipt.complaints.push(text);
    if receipt.missed > 0 {
        complain(format!("calls without a recorded answer: {}", receipt.missed));
    }
    if receipt.refused > 0 {
        complain(format!("calls refused: {}", receipt.refused));
    }
    if receipt.unreachable > 0 {
        complain(unreachable);
    }
    if args.fail_unused && unused.count > 0 {
        complain(unused::complaint(&unused));
        receipt.next.extend(unused::next_steps(args, &receipt));
    }
    receipt.script = script_receipt(ran);
    receipt.complaints.extend(script_complaints(receipt.script.as_ref(), args.fail_unused));
    let script = receipt.script.as_ref();
    let (scripted, unscripted) = script.map_or((0, 0), |script| (script.calls, script.unanswered));
    let answered = receipt.served + receipt.defaulted + receipt.forwarded + scripted;
    receipt.calls = answered
        + receipt.faulted
        + receipt.missed
        + receipt.refused
        + receipt.refused_upgrades
        + receipt.unreachable
        + unscripted
        // Includes the faults of connections, whose calls were never read.
        + proxy.faults.decider().counters().total_fired();
    receipt.add_unanswered();
    // Connections that went around loomrec say already where the calls went.
    let of_sessions = ran.sessions.as_ref().map_or(0, |table| table.totals().calls);
    let is_empty = receipt.calls == 0 && receipt.escapes.is_empty() && of_sessions == 0;
    if cmd_exit.is_some() && !args.allow_empty && is_empty {
        let matcher = proxy.engine.replay().map(|replay| replay.matcher());
        let upstreams = matcher.into_iter().flat_map(Matcher::upstreams).map(str::to_owned);
        let upstreams = upstreams.collect();
        receipt.complaints.push(no_call::explain("nothing was tested", ran, &upstreams, false));
    }
    receipt.add_refused_upgrades("nothing was tested", args.allow_empty);
    receipt.add_faults(&proxy.faults, &args.serve.trouble, ran.budget.as_ref());
    // With a script alone, there are no takes that could be used.
    receipt.unused = (!args.recordings.is_empty()).then_some(unused);
    receipt
}

/// Returns what is wrong with the use of a script.
fn script_complaints(script: Option<&ScriptReceipt>, fail_unused: bool) -> Vec<String> {
    let Some(script) = script else { return Vec::new() };
    let mut complaints = Vec::new();
    if script.unanswered > 0 {
        let count = script.unanswered;
        complaints.push(format!("calls that the script has no answer for: {count}"));
    }
    if fail_unused && script.left > 0 {
        complaints.push(format!("calls of the script that no call used: {}", script.left));
    }
    if fail_unused && !script.unused_rules.is_empty() {
        let (count, unused) = (script.unused_rules.len(), &script.unused_rules);
        let named = unused::named(unused, count);
        complaints.push(format!("rules of the script that no call used: {count}: {named}"));
    }
    complaints
}

/// Returns the receipt's part about the script, if there was one.
fn script_receipt(ran: &RunResult) -> Option<ScriptReceipt> {
    let script = ran.proxy.engine.replay()?.script()?;
    let counters = &ran.proxy.telemetry.counters;
    Some(ScriptReceipt {
        calls: RunCounters::read(&counters.scripted),
        unanswered: RunCounters::read(&counters.unscripted),
        left: script.left(),
        of: script.len(),
        drained: RunCounters::read(&counters.streams_drained),
        client_left: RunCounters::read(&counters.streams_left),
        rules: script.rule_count(),
        unused_rules: script.unused_rules(),
        not_played: script.notes().to_vec(),
    })
}
