//! The decision about a call: what is found for it, which fault it gets, and what becomes of its take.

use super::super::connection_context::ConnectionContext;
use super::declared::CallDeclarations;
use super::fault_outcome::OutcomePermit;
use super::settlement::LeasedAnswer;
use loomrec_engine::{AnswerDeclarer, FoundCall, KeptLease, ParsedRequest, TakeLease};
use loomrec_fault::{
    CallAttempt, CallConclusion, CallFacts, CallKey, CallTurn, ChaosRates, DecidedFault,
    FaultSource, LazyBody,
};
use loomrec_script::DeclaredFault;

/// What was found for a call, and what was decided.
pub(super) struct CallDecision<'a> {
    /// The fault that the call gets.
    pub(super) fault: Option<FaultDecision>,
    pub(super) found: FoundCall<'a>,
    /// The lease of the take, if it depends on what the client gets whether the call uses it up.
    pub(super) lease: Option<LeasedAnswer>,
    /// The attempt that the call is. If its client does not get the answer, it has failed after all,
    /// unless the take is used up all the same.
    pub(super) attempt: CallAttempt,
    /// Whether the attempts of the key take account of the answer of a take already.
    pub(super) is_take_concluded: bool,
}

impl<'a> CallDecision<'a> {
    /// Returns the decision that a call gets no fault.
    pub(super) fn without_fault(found: FoundCall<'a>) -> Self {
        let attempt = CallAttempt::default();
        Self { fault: None, found, lease: None, attempt, is_take_concluded: false }
    }
}

/// A fault that was decided, and where it was declared.
pub(super) struct FaultDecision {
    pub(super) decided: DecidedFault,
    /// Where the rate of a chaos fault was declared. `None` for other faults.
    pub(super) chaos: Option<ChaosAction>,
    /// Whether its entry or rule has it in place of an answer.
    pub(super) is_alone: bool,
    /// The name of the entry or the rule that would have answered the call.
    pub(super) answers: Option<String>,
    /// Held until it is known whether the fault happens, if that depends on the answer.
    pub(super) order: Option<OutcomePermit>,
}

/// An action of chaos, for the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChaosAction {
    /// Where the rate was declared: `header`, `entry`, `control` or `plan`.
    pub(super) source: &'static str,
    /// What would have answered the call, as `fixture`, `proxy` or `internal`.
    pub(super) front: &'static str,
}

/// Finds the take of a call and decides its fault, once it may be decided. Calls of one key are
/// decided one after the other, so that the nth call gets the same in every run. A fault that does
/// more than delay gives the take back.
pub(super) async fn decide_fault<'a>(
    caller: &'a ConnectionContext,
    parsed: &'a ParsedRequest,
    key: &CallKey,
    declarations: &CallDeclarations,
) -> CallDecision<'a> {
    let faults = &caller.proxy.faults;
    let order = match faults.depend_on_answers {
        true => Some(faults.order.wait_for_turn(key).await),
        false => None,
    };
    let engine = &caller.proxy.engine;
    let mut turn = faults.decider.begin_turn(key);
    let found = engine.find_answer(parsed);
    let declarer = found.answer_declarer();
    let declared = declarer.as_ref().and_then(|declarer| declarer.declared);
    let entry_name = found.entry_name();
    let observed = parsed.redacted.storable_request();
    let step = observed.step.as_deref().or(entry_name.as_ref().and_then(|name| name.step_id()));
    let of_step = step.map(|step| turn.enter_step(step));
    let facts = CallFacts {
        key: key.request_or_name(),
        step,
        upstream: &observed.upstream,
        provider: observed.call.provider.name(),
        operation: observed.call.operation.as_str(),
        rpc: observed.call.rpc.as_ref(),
        model: observed.call.model.as_deref(),
        path: observed.path(),
        session: observed.session.as_deref(),
        body: LazyBody::from(&**observed.body()),
        of_key: turn.of_key,
        of_step,
        connection: caller.number.accepted,
    };
    let decided = turn.decide_fault(&facts, declarations.with_those_of(declarer.as_ref()));
    let fault = decided.map(|decided| FaultDecision {
        chaos: chaos_action(&decided, declarations, declarer.as_ref(), engine.goes_upstream()),
        is_alone: decided.source == FaultSource::Entry
            && declared.is_some_and(DeclaredFault::is_alone),
        order: order.filter(|_| decided.fault.depends_on_answer()),
        decided,
        answers: declarer.map(|declarer| declarer.name),
    });
    settle_take(&mut turn, found, fault)
}

/// Returns where the rate of a chaos action was declared, and what would have answered the call.
fn chaos_action(
    decided: &DecidedFault,
    declarations: &CallDeclarations,
    declarer: Option<&AnswerDeclarer<'_>>,
    goes_upstream: bool,
) -> Option<ChaosAction> {
    if decided.source != FaultSource::Chaos {
        return None;
    }
    let of_entry = declarer.and_then(|declarer| declarer.declared?.chaos_rates());
    let has_rate =
        |rates: Option<&ChaosRates>| rates.is_some_and(|rates| rates.has_rate(&decided.rule));
    let source = match declarations.header_rates() {
        in_headers if has_rate(in_headers) => "header",
        _ if has_rate(of_entry) => "entry",
        _ if has_rate(declarations.run_time.as_deref()) => "control",
        _ => "plan",
    };
    let front = match declarer {
        Some(_) => "fixture",
        None if goes_upstream => "proxy",
        None => "internal",
    };
    Some(ChaosAction { source, front })
}

/// Decides what becomes of the take of a call that gets this fault, if any.
fn settle_take<'a>(
    turn: &mut CallTurn<'_>,
    mut found: FoundCall<'a>,
    fault: Option<FaultDecision>,
) -> CallDecision<'a> {
    let is_good = found.matched_take().is_some_and(|take| take.is_success());
    let (mut attempt, is_take_concluded) = (turn.attempt(), true);
    let mut conclude = || {
        let answered = CallConclusion::Answered { is_good };
        turn.conclude_call(&mut attempt, answered);
    };
    let Some(FaultDecision { decided, .. }) = &fault else {
        match found.is_fault_alone() {
            // The entry's fault has come as often as it may, and there is no answer beside it.
            true => found = found.without_take(),
            false => conclude(),
        }
        return CallDecision { fault, found, lease: None, attempt, is_take_concluded };
    };
    found.leave_order();
    let only_delays = decided.fault.only_delays();
    if only_delays {
        conclude();
    }
    if found.is_used_by(decided) {
        found.consume();
        let attempt = turn.attempt();
        return CallDecision { fault, found, lease: None, attempt, is_take_concluded };
    }
    let lease = found.take_lease().map(TakeLease::keep_for_delay);
    let lease = if only_delays { lease } else { lease.map(KeptLease::lend_answer) };
    let lease = lease.map(|lease| LeasedAnswer { lease, is_good });
    CallDecision { fault, found, lease, attempt, is_take_concluded }
}
