//! The `loomrec record` command.

mod recorder;
pub(super) mod superseded;

use std::collections::BTreeSet;
use std::sync::Arc;

use time::OffsetDateTime;

use super::args::{RecordArgs, RecordMode};
use super::in_force::InForce;
use super::receipt::Receipt;
use super::remote::RemoteRecording;
use super::server_run::{RunContext, RunEngines, RunResult};
use super::{fault, no_call, server_run, stand_ins};
use loomrec_cli::amount::format_dollars;
use loomrec_cli::exit::{CommandFailure, NO, NOT_KEPT, RECORDING, UNUSABLE};
use loomrec_cli::preset::Preset;
use loomrec_cli::settings::Settings;
use loomrec_cli::wrapped_command::StandInKeys;
use loomrec_cli::{serve_setup, terminal};
use loomrec_engine::record::{CostLimit, RecordEngine};
use loomrec_engine::replay::{Latency, Matcher, ReplayEngine, ReplayTerms};
use loomrec_engine::{Engine, MissPolicy, Strictness};
use loomrec_fault::FaultCounters;
use loomrec_identity::IdentityRules;
use loomrec_proxy::guard::EscapePolicy;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::{EarlierTakes, RunCounters};
pub(super) use recorder::on_appender_event;
use recorder::{open_existing, open_recorder};

/// Runs the command.
///
/// # Errors
/// Anything that keeps the run from starting.
pub async fn run(args: RecordArgs, settings: &Settings) -> Result<u8, CommandFailure> {
    let place = args.recording.clone();
    let is_new = !place.is_remote() && place.as_path().symlink_metadata().is_err();
    let done = run_recorder(args, settings, is_new).await;
    if done.is_err() && is_new {
        remove_empty(&place);
    }
    done
}

/// Removes the recording if the run created it and recorded nothing. An empty one that cannot be
/// removed does no harm.
fn remove_empty(recording: &RecordingLocation) {
    let _ = loomrec_store::remove_empty(recording);
}

async fn run_recorder(
    mut args: RecordArgs,
    settings: &Settings,
    is_new: bool,
) -> Result<u8, CommandFailure> {
    let preset = Preset::find_for_command(&args.serve, &settings.presets);
    let recordings = std::slice::from_ref(&args.recording);
    let mut ground =
        RunContext::read(&args.serve, recordings, preset)?.limiting_cost(args.max_cost);
    let cost_limit = ground.cost_limit.clone();
    if args.serve.print_env {
        return ground.print_environment(&args.serve, &StandInKeys::None);
    }
    let output = ground.output.clone();
    let remote = RemoteRecording::begin(&mut args, settings, &output, &ground.metrics).await?;
    if let Some(remote) = &remote {
        ground.clock = Arc::clone(&remote.clock);
    }
    let (engines, in_force) = create_engines(&args, &ground, remote.as_ref())?;
    let (run_values, began) = (ground.run_values.all.clone(), OffsetDateTime::now_utc());
    let ran = ground.run(&args.serve, engines, None).await?;
    // To look for entries reads the whole file.
    if is_new && RunCounters::counter_value(&ran.proxy.telemetry.counters.recorded) == 0 {
        remove_empty(&args.recording);
    }
    // A recorder that joined others cannot tell their takes from earlier ones by their time.
    let is_first = |record: &RecordEngine| record.place_in_run() == 0 && args.run.is_none();
    let record = ran.proxy.engine.record_engine();
    let has_values = record.is_some_and(|record| record.has_run_values() && is_first(record));
    // In an object store, takes are replaced by the rules for runs alone.
    let has_values = has_values && remote.is_none();
    let superseded = superseded::remove(&args, &run_values, began, has_values)?;
    let mut receipt = Receipt { in_force, ..create_receipt(&args, &ran) };
    add_cost_limit(&mut receipt, cost_limit.as_deref());
    receipt.notes.extend(superseded::note(superseded));
    let is_kept = remote.is_none() && receipt.recorded > 0;
    let ignored = is_kept.then(|| serve_setup::ignoring_rule(args.recording.as_path()));
    if let Some(rule) = ignored.flatten() {
        receipt.notes.push(format!(
            "git ignores {path} ({rule}): `git add -f {path}` keeps it with the code",
            path = args.recording.display()
        ));
    }
    if let Some(remote) = remote {
        receipt.add_upload(remote.finish().await);
    }
    server_run::write_receipt(&receipt, &args.serve, &output)?;
    Ok(ran.exit_code(match ran.cmd_exit() {
        _ if receipt.unkept > 0 || receipt.more.unfolded.is_some() => NOT_KEPT,
        _ if receipt.upload.as_ref().is_some_and(|upload| upload.left > 0) => NOT_KEPT,
        _ if receipt.upload.as_ref().is_some_and(|upload| upload.lost.is_some()) => RECORDING,
        _ if receipt.unreachable > 0 && receipt.recorded == 0 => UNUSABLE,
        _ if receipt.missed > 0 || receipt.failed_faults || receipt.all_failed => NO,
        Some(0) if receipt.calls == 0 && !args.allow_empty => NO,
        _ => 0,
    }))
}

/// Returns the engine for the recording mode, and the settings in force if recorded calls are
/// answered.
pub(super) fn create_engines(
    args: &RecordArgs,
    ground: &RunContext,
    remote: Option<&RemoteRecording>,
) -> Result<(RunEngines, Option<InForce>), CommandFailure> {
    let path = remote.and_then(|remote| remote.answers.as_ref()).unwrap_or(&args.recording);
    refuse_folder(&args.recording)?;
    // What an earlier recorder left in the log is merged before anything is answered from it.
    let exists = args.mode != RecordMode::All && open_existing(path, ground)?.is_some();
    let rules = ground.identity_rules(&args.serve)?;
    let mut plan = fault::read_plans(&args.serve, ground.session.plan.as_ref())?;
    let budget = fault::recovery_budget(&args.serve.trouble, &plan)?;
    ground.check_fault_upstreams(&mut plan, &args.serve, args.mode != RecordMode::None)?;
    let forwarding = ground.forwarding();
    let engine = match (args.mode, exists) {
        (RecordMode::All, _) | (RecordMode::NewEpisodes | RecordMode::Once, false) => {
            Engine::Record { record: open_recorder(args, ground, rules, remote)?, forwarding }
        }
        (RecordMode::NewEpisodes, true) => {
            let replay = create_replay_engine(path, &rules, args, ground)?;
            let record = open_recorder(args, ground, rules, remote)?;
            Engine::NewEpisodes { replay, record, forwarding }
        }
        (RecordMode::Once, true) | (RecordMode::None, _) => Engine::Replay {
            replay: create_replay_engine(path, &rules, args, ground)?,
            on_miss: MissPolicy::Error,
            on_explained: ground.miss_sink(None),
        },
    };
    let in_force = engine.replay_engine().map(|replay| {
        InForce::of_record(args, replay.matcher()).by_control(&ground.session.rules_by_control)
    });
    let in_force = in_force.or_else(|| InForce::of_settings(&args.serve));
    // If nothing is recorded, nothing is sent upstream, so no key is needed.
    let replayed = engine.replay_engine().filter(|_| !engine.goes_upstream());
    let stand_in_keys =
        replayed.map_or(StandInKeys::None, |replay| stand_ins::for_matcher(replay.matcher()));
    let engines = RunEngines {
        redactor: ground.redactor_under(&args.serve, engine.identity_rules())?,
        engine,
        stand_in_keys,
        budget,
        decider: fault::create_decider(
            plan,
            FaultCounters::default(),
            args.serve.trouble.seed,
            false,
            &ground.output,
        ),
        notice: in_force.as_ref().and_then(InForce::summary_line),
        guard: (!args.no_guard).then_some(EscapePolicy::Count),
        strictness: Strictness::Lenient,
    };
    Ok((engines, in_force))
}

/// Refuses a path that names a folder, and says how to name a file in it.
fn refuse_folder(recording: &RecordingLocation) -> Result<(), CommandFailure> {
    if !recording.names_folder() {
        return Ok(());
    }
    let file = |name: &str| terminal::quote_word(&recording.as_path().join(name).to_string_lossy());
    Err(CommandFailure::usage(format!(
        "-r {}: a recording is one file, and this names a folder: name a file in it, such as \
         -r {}, or -r {} for a recording for each session",
        recording.display(),
        file("agent.json"),
        file("{session}.json"),
    )))
}

/// Creates the engine that answers from the recording.
fn create_replay_engine(
    path: &RecordingLocation,
    rules: &IdentityRules,
    args: &RecordArgs,
    ground: &RunContext,
) -> Result<Arc<ReplayEngine>, CommandFailure> {
    let values = ground.run_values.with_repository(&args.serve);
    let terms = ReplayTerms {
        rules: Some(rules),
        run_values: Some(&values.all),
        repository: Some(&values.states),
        is_of_session: ground.session.may_lack_recording,
        exact_scope: args.mode == RecordMode::NewEpisodes,
        ..ReplayTerms::default()
    };
    let is_lacking = ground.session.may_lack_recording && !path.as_path().exists();
    let sources = if is_lacking {
        Vec::new()
    } else {
        vec![serve_setup::source(path, true, &ground.output)?]
    };
    let matcher = Matcher::new(sources, terms)?;
    ground.counters.bound.start_values(matcher.bound_pairs());
    Ok(Arc::new(ReplayEngine::new(matcher, Latency::None)))
}

/// Returns how many calls arrived, however they ended.
fn count_calls(receipt: &Receipt, ran: &RunResult) -> u64 {
    // Includes the faults of connections, whose calls were never read.
    let fired = ran.proxy.faults.decider().counters().total_fired();
    let answered = receipt.recorded + receipt.faulted + receipt.served;
    let refused = receipt.refused + receipt.refused_upgrades;
    answered + receipt.unkept + receipt.missed + refused + receipt.unreachable + fired
}

/// Adds a complaint if every call failed, unless that is allowed, and one if nothing was recorded
/// because calls were refused.
fn add_failures(receipt: &mut Receipt, allowed: bool) {
    let failed: u64 = receipt.more.failed_calls.values().sum();
    let all = failed > 0 && failed == receipt.recorded && receipt.served == 0;
    if all && !allowed {
        receipt.all_failed = true;
        let text = "every call failed: fix the cause and record again (--keep-failures permits \
                    that)";
        receipt.complaints.push(text.to_owned());
    }
    if receipt.refused > 0 && receipt.recorded + receipt.served == 0 {
        receipt.all_failed = true;
        let text = format!("nothing was recorded, since calls were refused: {}", receipt.refused);
        receipt.complaints.push(text);
    }
}

/// Adds a complaint about calls that were refused because of the limit of what the run may spend.
pub(crate) fn add_cost_limit(receipt: &mut Receipt, limit: Option<&CostLimit>) {
    let Some(limit) = limit.filter(|limit| limit.refused_calls() > 0) else { return };
    receipt.all_failed = true;
    receipt.complaints.push(format!(
        "calls refused because of --max-cost {}: {}",
        format_dollars(limit.maximum_dollars()),
        limit.refused_calls()
    ));
}

/// How many requests with takes that the run did not reach are named.
const NAMED: usize = 3;

/// Adds notes about takes of earlier runs that the run did not reach.
fn add_earlier_takes(receipt: &mut Receipt, recording: &RecordingLocation) {
    let is_partial = |earlier: &EarlierTakes| earlier.replaced > 0 && earlier.kept > 0;
    let partial: Vec<_> =
        receipt.more.earlier_takes.iter().filter(|(_, earlier)| is_partial(earlier)).collect();
    if partial.is_empty() {
        return;
    }
    let mut notes: Vec<String> = Vec::new();
    for (name, EarlierTakes { replaced, kept, .. }) in partial.iter().take(NAMED) {
        notes.push(format!(
            "{name}: {replaced} of {} earlier takes replaced; {kept} kept, which this run did not \
             reach",
            replaced + kept
        ));
    }
    if partial.len() > NAMED {
        notes.push(format!("the same holds for {} more requests", partial.len() - NAMED));
    }
    notes.push(format!(
        "if the program makes fewer of these calls now, remove the kept takes: `loomrec replay -r \
         {0} --receipt run.receipt -- CMD`, then `loomrec prune {0} --unused run.receipt --apply`",
        recording.display()
    ));
    receipt.notes.extend(notes);
}

/// Adds a note about declared faults that went with the takes that the run replaced.
fn add_replaced_faults(receipt: &mut Receipt) {
    let takes = receipt.more.earlier_takes.iter().filter(|(_, earlier)| earlier.faults > 0);
    let takes: Vec<_> = takes.collect();
    let faults: u64 = takes.iter().map(|(_, earlier)| earlier.faults).sum();
    let names: Vec<&str> = takes.iter().take(NAMED).map(|(name, _)| name.as_str()).collect();
    let more = if takes.len() > NAMED { ", …" } else { "" };
    if faults > 0 {
        receipt.notes.push(format!(
            "faults that the replaced takes declared, and the new ones do not: {faults} \
             ({}{more}); declare them again",
            names.join(", ")
        ));
    }
}

/// Adds messages about upstreams, and about calls that reached none.
fn add_upstreams(receipt: &mut Receipt) {
    if receipt.unreachable > 0 {
        let text = receipt.unreachable_text();
        match receipt.recorded {
            0 => receipt.complaints.push(text),
            _ => receipt.notes.push(text),
        }
    }
    if receipt.refused > 0 {
        receipt
            .notes
            .push(format!("calls refused, which the recording does not hold: {}", receipt.refused));
    }
    for (upstream, answers) in &receipt.more.ambiguous {
        receipt.notes.push(format!(
            "answers of {upstream} that are recorded as cut, since their framing can be read in \
             two ways: {answers}"
        ));
    }
}

/// Adds notes about entries that a strict replay of the recording refuses.
fn add_unchecked(receipt: &mut Receipt) {
    for (why, entries) in &receipt.more.unchecked_entries {
        receipt.notes.push(format!(
            "entries that `replay --strict` refuses: {entries}; each {}; {}",
            why.as_str(),
            why.remedy()
        ));
    }
}

/// Returns the upstreams that the program should have called: those of the flags, and of the
/// recording if calls are answered from it.
fn expected_upstreams(args: &RecordArgs, ran: &RunResult) -> BTreeSet<String> {
    let names = args.serve.upstream.iter().filter_map(|text| Some(text.split_once('=')?.0));
    let flags = names.filter(|name| !name.contains('/'));
    let matcher = ran.proxy.engine.replay_engine().map(|replay| replay.matcher());
    let recorded = matcher.into_iter().flat_map(Matcher::recorded_upstreams);
    flags.chain(recorded).map(str::to_owned).collect()
}

/// Returns the receipt of the run.
pub(super) fn create_receipt(args: &RecordArgs, ran: &RunResult) -> Receipt {
    let proxy = &ran.proxy;
    let recordings = [args.recording.clone()];
    let mut receipt = Receipt::from_counters("record", &proxy.telemetry.counters, &recordings);
    receipt.cmd_exit = ran.cmd_exit();
    receipt.upstream_connections = proxy.engine.upstream_connections();
    if let Some(replay) = proxy.engine.replay_engine() {
        receipt.takes = replay.matcher().len();
        receipt.recorded_ms = replay.matcher().recorded_ms();
        receipt.unused = Some(serve_setup::unused_takes(replay, args.serve.receipt.is_some()));
    }
    receipt.add_faults(&proxy.faults, &args.serve.trouble, ran.budget.as_ref());
    receipt.calls = count_calls(&receipt, ran);
    receipt.add_unanswered();
    if ran.cmd.is_some() && receipt.calls == 0 {
        let (upstreams, is_allowed) = (expected_upstreams(args, ran), args.allow_empty);
        let why = no_call::explain("nothing was recorded", ran, &upstreams, is_allowed);
        let list = if is_allowed { &mut receipt.notes } else { &mut receipt.complaints };
        list.push(why);
    }
    if ran.cmd.is_none() && receipt.calls == 0 {
        receipt.notes.push("nothing was recorded: no call came to this address".to_owned());
    }
    if let Some(matcher) = proxy.engine.replay_engine().map(|replay| replay.matcher()) {
        receipt.unchecked_calls = matcher.unchecked_calls();
    }
    receipt.notes.extend(serve_setup::ineffective_rules(&proxy.redactor));
    receipt.notes.extend(ran.unused_upstreams());
    receipt.add_addresses();
    receipt.add_escapes(&ran.hosts, EscapePolicy::Count);
    if receipt.unkept > 0 {
        receipt.complaints.push(format!(
            "{} exchanges are NOT in {}: fix the cause and record again",
            receipt.unkept,
            args.recording.display()
        ));
    }
    if let Some(reason) = &receipt.more.unfolded {
        let [log, folding] = args.recording.log_files();
        receipt.complaints.push(format!(
            "{path} is not up to date: failed to {reason}; the missing calls are safe in {log} or \
             {folding}: fix the cause, then run `loomrec verify --fix {path}`",
            path = args.recording.display(),
            log = log.display(),
            folding = folding.display(),
        ));
    }
    add_failures(&mut receipt, args.keep_failures);
    receipt.add_refused_upgrades("nothing was recorded", args.allow_empty);
    add_upstreams(&mut receipt);
    add_unchecked(&mut receipt);
    add_earlier_takes(&mut receipt, &args.recording);
    add_replaced_faults(&mut receipt);
    if receipt.missed > 0 {
        receipt.complaints.push(format!("calls without a recorded answer: {}", receipt.missed));
    }
    receipt
}
