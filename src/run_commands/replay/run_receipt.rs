//! The receipt of a replay, with what is wrong.

use super::{end_order, unused};
use crate::args::ReplayArgs;
use crate::no_call;
use crate::receipt::{Receipt, ScriptReceipt};
use crate::server_run::RunResult;
use loomrec_cli::serve_setup;
use loomrec_engine::replay::Matcher;
use loomrec_proxy::guard::EscapePolicy;
use loomrec_telemetry::run_counters::RunCounters;

/// Returns the receipt of the run, with its complaints.
pub(crate) fn create_receipt(args: &ReplayArgs, ran: &RunResult) -> Receipt {
    let (proxy, cmd_exit) = (&ran.proxy, ran.cmd_exit());
    let mut receipt = Receipt::from_counters("replay", &proxy.telemetry.counters, &args.recordings);
    receipt.cmd_exit = cmd_exit;
    receipt.upstream_connections = proxy.engine.upstream_connections();
    let named_all = args.serve.receipt.is_some();
    let unused = ran.replay.as_ref().map(|replay| serve_setup::unused_takes(replay, named_all));
    let unused = unused.unwrap_or_default();
    if let Some(matcher) = ran.replay.as_ref().map(|replay| replay.matcher()) {
        receipt.takes = matcher.len();
        receipt.recorded_ms = matcher.recorded_ms();
        receipt.unchecked_calls = matcher.unchecked_calls();
        receipt.notes.extend(edited_note(matcher.edited_takes()));
    }
    receipt.notes.extend(serve_setup::ineffective_rules(&proxy.redactor));
    receipt.notes.extend(ran.replay.as_ref().and_then(|replay| end_order::order_complaint(replay)));
    receipt.notes.extend(ran.unused_upstreams());
    receipt.add_addresses();
    receipt.add_prescribed();
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
        receipt.next.extend(unused::next_steps(args, &receipt, ran));
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
    let is_empty = receipt.calls == 0 && receipt.hosts.escapes.is_empty() && of_sessions == 0;
    if cmd_exit.is_some() && !args.allow_empty && is_empty {
        let matcher = ran.replay.as_ref().map(|replay| replay.matcher());
        let names = matcher.into_iter().flat_map(Matcher::recorded_upstreams);
        let upstreams = names.map(str::to_owned).collect();
        receipt.complaints.push(no_call::explain("nothing was tested", ran, &upstreams, false));
    }
    receipt.add_refused_upgrades("nothing was tested", args.allow_empty);
    receipt.add_faults(&proxy.faults, &args.serve.trouble, ran.budget.as_ref());
    // With a script alone, there are no takes that could be used.
    receipt.unused = (!args.recordings.is_empty()).then_some(unused);
    receipt
}

/// Says how many answers were edited by hand.
fn edited_note(takes: usize) -> Option<String> {
    (takes > 0).then(|| format!("takes whose answers were edited by hand: {takes}"))
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
        let named = unused::first_names(unused, count);
        complaints.push(format!("rules of the script that no call used: {count}: {named}"));
    }
    complaints
}

/// Returns the receipt's part about the script, if there was one.
fn script_receipt(ran: &RunResult) -> Option<ScriptReceipt> {
    let script = ran.replay.as_ref()?.script()?;
    let counters = &ran.proxy.telemetry.counters;
    Some(ScriptReceipt {
        calls: RunCounters::counter_value(&counters.scripted),
        unanswered: RunCounters::counter_value(&counters.unscripted),
        left: script.unreached_calls(),
        of: script.len(),
        drained: RunCounters::counter_value(&counters.streams_drained),
        client_left: RunCounters::counter_value(&counters.streams_left),
        rules: script.rule_count(),
        unused_rules: script.unused_rules(),
        not_played: script.unplayed_notes().to_vec(),
    })
}
