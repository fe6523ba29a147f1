//! The fault layer: decides the fault of a call, and wraps the engine that answers it.

use std::sync::Arc;

use http::Response;

use super::super::Proxy;
use super::super::connection_context::ConnectionContext;
use super::super::open_call::OpenCall;
use super::super::respond::ResponseBody;
use super::super::response_control::ResponseControl;
use super::active_fault::{ActiveFault, ChaosAction};
use super::apply::mark_recovered;
use super::change::change_answer;
use super::declared::{FaultHeaders, REFUSED};
use super::declarer::{AnswerDeclarer, FoundAnswer, is_used_by, without_answer};
use super::no_response::AbandonedCall;
use super::recovery_tracker;
use super::substitute::{replace_answer, substitute};
use loomrec_dialect::compat::test_name::test_of;
use loomrec_engine::replay::UnexplainedMiss;
use loomrec_engine::{AnswerBody, CallOutcome, IncomingCall, KeptLease, TakeLease, error_response};
use loomrec_fault::{
    CallFacts, CallKey, ChaosRates, DecidedFault, EntryFault, FaultDeclarations, FaultSource,
    LazyBody,
};
use loomrec_script::{DeclaredFault, ScriptTurn};
use loomrec_telemetry::journaled_request::JournaledChaos;

/// Answers a call, with the fault that is decided for it.
///
/// # Errors
/// [`AbandonedCall`] if the fault leaves the call without an answer.
pub(in crate::server) async fn answer(
    caller: &ConnectionContext,
    control: &ResponseControl,
    call: Box<IncomingCall>,
    open: &mut OpenCall,
) -> Result<Response<ResponseBody>, AbandonedCall> {
    let (proxy, faults) = (&caller.proxy, &caller.proxy.faults);
    let headers = match FaultHeaders::admitted(&call.headers, &proxy.strictness) {
        Ok(headers) => headers,
        Err(why) => return Ok(refuse(proxy, &call, open, &why).map(ResponseBody::Answer)),
    };
    headers.ignored.iter().for_each(|text| faults.warn((*text).to_owned()));
    let run_time = run_time_rates(proxy, &call);
    let is_idle = faults.idle && headers.is_empty() && !faults.run_time.is_set();
    if is_idle && !faults.watch.is_open() {
        return Ok(answer_plainly(proxy, &call, open).await.map(ResponseBody::Answer));
    }
    let key = call_key(proxy, &call);
    let mut tracked = recovery_tracker::note_arrival(proxy, key, &call);
    if is_idle {
        // The call is not counted: whether it counts must not depend on the faults of other calls.
        let response = answer_plainly(proxy, &call, open).await;
        reset_attempts_if_good(proxy, &tracked.key, &response);
        mark_recovered(proxy, &response, tracked, open);
        return Ok(response.map(ResponseBody::Answer));
    }
    let parsed = Arc::clone(&call.parsed);
    let rates = CallRates { headers: &headers, run_time: run_time.as_deref() };
    let order = match faults.depend_on_answers {
        true => Some(faults.order.admit(&tracked.key).await),
        false => None,
    };
    let CallDecision { fault, found, lease } = decide(caller, &call, &tracked.key, rates, &parsed);
    let Some(decided) = fault else {
        drop(order);
        let response = answer_found(proxy, &call, found, &tracked.key, open).await;
        mark_recovered(proxy, &response, tracked, open);
        return Ok(response.map(ResponseBody::Answer));
    };
    let declarer = AnswerDeclarer::of(proxy, &found);
    let chaos = chaos(proxy, &decided, rates, &declarer);
    if let (Some(chaos), Some(request)) = (chaos, &mut open.record().journaled) {
        let entry = declarer.answers.then(|| declarer.name.clone());
        request.chaos = Some(JournaledChaos { front: chaos.front, entry });
    }
    let is_alone = decided.source == FaultSource::Entry && declarer.is_fault_alone();
    recovery_tracker::find_work(&mut tracked, call.storable());
    let mut fault = ActiveFault::new(proxy, decided, tracked, caller.number, order);
    (fault.chaos, fault.is_alone) = (chaos, is_alone);
    fault.workflow = open.record().workflow.clone();
    open.record().fault = Some(Arc::clone(&fault.reported));
    proxy.faults.pause(fault.decided.delay_ms).await;
    let is_live = found.is_err() && proxy.engine.goes_upstream();
    match substitute(&fault.decided.fault, &call, is_live) {
        Some(substitute) => {
            fault.fired();
            if let (Err(miss), false) = (&found, fault.is_alone) {
                release_rule(proxy, &fault, miss);
            }
            replace_answer(caller, control, &fault, &call, open, found.err(), substitute).await
        }
        None => Ok(change_answer(caller, control, fault, call, open, (found, lease)).await),
    }
}

/// The faults that a call declares, and the rates that are set for it while the run goes on.
#[derive(Clone, Copy)]
struct CallRates<'a> {
    headers: &'a FaultHeaders,
    run_time: Option<&'a ChaosRates>,
}

/// Returns the rates that are set for a call while the run goes on.
fn run_time_rates(proxy: &Proxy, call: &IncomingCall) -> Option<Arc<ChaosRates>> {
    let run_time = &proxy.faults.run_time;
    // Most runs set none, so the test of the call is not looked for.
    let test = match run_time.is_set() && proxy.telemetry.metrics.is_compat() {
        true => test_of(&call.headers, &call.storable().request.query),
        false => None,
    };
    run_time.rates_for(call.storable().session.as_deref(), test.as_deref())
}

/// Lets the engine answer a call to which no fault applies.
async fn answer_plainly(
    proxy: &Proxy,
    call: &IncomingCall,
    open: &mut OpenCall,
) -> Response<AnswerBody> {
    let result = proxy.engine.answer(call, || open.expect_exchange()).await;
    open.accept(result).await
}

/// Lets the engine answer a call whose take, or miss, was found already.
async fn answer_found(
    proxy: &Proxy,
    call: &IncomingCall,
    found: FoundAnswer<'_>,
    key: &CallKey,
    open: &mut OpenCall,
) -> Response<AnswerBody> {
    let delivered = match found {
        Ok(found_take) => proxy.engine.deliver(call, found_take, call.arrived).await,
        Err(miss) => Err(miss),
    };
    match delivered {
        Ok(result) => open.accept(result).await,
        Err(miss) => {
            let response = answer_unrecorded(proxy, call, miss, open).await;
            reset_attempts_if_good(proxy, key, &response);
            response
        }
    }
}

async fn answer_unrecorded(
    proxy: &Proxy,
    call: &IncomingCall,
    miss: UnexplainedMiss,
    open: &mut OpenCall,
) -> Response<AnswerBody> {
    let result = proxy.engine.answer_unrecorded(call, miss, || open.expect_exchange()).await;
    open.accept(result).await
}

fn reset_attempts_if_good(proxy: &Proxy, key: &CallKey, response: &Response<AnswerBody>) {
    if response.status().as_u16() < 400 {
        proxy.faults.decider.reset_attempts(key);
    }
}

/// Returns the key that repetitions of this call share: that of the recorded request which answers
/// them, if there is one.
fn call_key(proxy: &Proxy, call: &IncomingCall) -> CallKey {
    let observed = call.storable();
    let recorded = proxy.engine.recorded_key(&call.parsed);
    CallKey::Request {
        session: observed.session.clone(),
        request: recorded.unwrap_or_else(|| observed.key(&proxy.faults.rules)),
        upstream: observed.upstream.clone(),
        step: observed.step.clone(),
    }
}

/// Returns where the rate of a chaos action was declared, and what would have answered the call.
fn chaos(
    proxy: &Proxy,
    decided: &DecidedFault,
    rates: CallRates<'_>,
    declarer: &AnswerDeclarer<'_>,
) -> Option<ChaosAction> {
    if decided.source != FaultSource::Chaos {
        return None;
    }
    let entry = declarer.declared.and_then(DeclaredFault::rates);
    let has_rate =
        |rates: Option<&ChaosRates>| rates.is_some_and(|rates| rates.has_rate(&decided.rule));
    let source = match rates.headers.rates.as_ref() {
        in_headers if has_rate(in_headers) => "header",
        _ if has_rate(entry) => "entry",
        _ if has_rate(rates.run_time) => "control",
        _ => "plan",
    };
    let front = match declarer.answers {
        true => "fixture",
        false if proxy.engine.goes_upstream() => "proxy",
        false => "internal",
    };
    Some(ChaosAction { source, front })
}

/// Gives back the claim to a rule of the script, whose answer a fault replaces.
fn release_rule(proxy: &Proxy, fault: &ActiveFault, miss: &UnexplainedMiss) {
    let script = proxy.engine.replay().and_then(|replay| replay.script());
    if let (Some(script), Some(claim)) = (script, miss.rule()) {
        script.release(fault.key().session(), &ScriptTurn::Rule(claim.clone()));
    }
}

/// Refuses a call whose headers declare an invalid fault.
fn refuse(
    proxy: &Proxy,
    call: &IncomingCall,
    open: &mut OpenCall,
    why: &str,
) -> Response<AnswerBody> {
    // The message may quote a part of a value, and a part of a credential would not be redacted.
    let message = match FaultHeaders::are_clean(&call.headers, call.secrets()) {
        true => proxy.redactor.redact_text(why, call.secrets()).into_owned(),
        false => "a header that declares a fault holds a credential of the call".to_owned(),
    };
    let response = error_response::final_error(call.error_shape(), REFUSED, "BadFault", &message);
    open.set_outcome(CallOutcome::Refused { kind: None, message }, Some(REFUSED));
    response
}

/// What was found for a call, and what was decided.
struct CallDecision<'a> {
    fault: Option<DecidedFault>,
    found: FoundAnswer<'a>,
    /// The lease of the take, if it depends on the client whether the call uses it up.
    lease: Option<KeptLease>,
}

/// Finds the take of a call and decides its fault. Calls of one key are decided one after the
/// other, so that the nth call gets the same in every run. A fault that does more than delay gives
/// the take back.
fn decide<'a>(
    caller: &'a ConnectionContext,
    call: &IncomingCall,
    key: &CallKey,
    CallRates { headers, run_time }: CallRates<'_>,
    parsed: &'a loomrec_engine::ParsedRequest,
) -> CallDecision<'a> {
    let proxy = &*caller.proxy;
    let mut turn = proxy.faults.decider.turn(key);
    let mut found = proxy.engine.find(parsed);
    if let Err(miss) = &mut found {
        proxy.engine.claim_rule(call, miss);
    }
    let take = found.as_ref().ok().map(|found_take| found_take.matched().take);
    let known_name = take.zip(proxy.engine.replay());
    let known_name = known_name.map(|(take, replay)| replay.matcher().name_of(take));
    let AnswerDeclarer { name, declared, .. } = AnswerDeclarer::of(proxy, &found);
    let of_entry = |declared: &'a DeclaredFault| {
        Some(EntryFault { name: &name, rule: declared.rule()?, alone: declared.is_alone() })
    };
    let declarations = FaultDeclarations {
        header: headers.fault.as_ref(),
        header_rates: headers.rates.as_ref(),
        entry: declared.and_then(of_entry),
        entry_rates: declared.and_then(DeclaredFault::rates),
        run_time_rates: run_time,
    };
    let observed = call.storable();
    let step = observed.step.as_deref().or(known_name.as_ref().and_then(|name| name.step_id()));
    let of_step = step.map(|step| turn.enter_step(step));
    let facts = CallFacts {
        key: key.request(),
        step,
        upstream: &observed.upstream,
        provider: observed.call.provider.name(),
        operation: observed.call.operation.as_str(),
        model: observed.call.model.as_deref(),
        path: &observed.request.path,
        session: observed.session.as_deref(),
        body: LazyBody::from(&*observed.request.body),
        of_key: turn.of_key,
        of_step,
        connection: caller.number,
    };
    let fault = turn.decide(&facts, declarations);
    let Ok(found_take) = &mut found else { return CallDecision { fault, found, lease: None } };
    let is_good = found_take.matched().take.is_success();
    let Some(decided) = &fault else {
        if declared.is_some_and(DeclaredFault::is_alone) {
            // The entry's fault has come as often as it may, and there is no answer beside it.
            found = without_answer(found);
        } else if is_good {
            turn.reset_attempts();
        }
        return CallDecision { fault, found, lease: None };
    };
    found_take.leave_order();
    let only_delays = decided.fault.only_delays();
    if only_delays && is_good {
        turn.reset_attempts();
    }
    let lease = match is_used_by(proxy, found_take, decided) {
        true => {
            found_take.consume();
            None
        }
        false => found_take.take_lease().map(TakeLease::keep_for_delay),
    };
    let lease = if only_delays { lease } else { lease.map(KeptLease::lent) };
    CallDecision { fault, found, lease }
}
