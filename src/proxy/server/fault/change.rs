//! Calls whose answers a fault changes or delays: the engine answers them, and the fault is applied
//! to that.

use std::time::Duration;

use http::{HeaderValue, Response};

use super::super::Proxy;
use super::super::connection_context::ConnectionContext;
use super::super::open_call::OpenCall;
use super::super::respond::ResponseBody;
use super::super::response_control::ResponseControl;
use super::active_fault::ActiveFault;
use super::apply::{apply_to_answer, foresee, looks_inside};
use super::declarer::{FoundAnswer, is_fault_alone, without_answer};
use super::settlement::{DelayedAnswer, FaultBodyEnd, FaultSettlement, LeasedAnswer, PendingFault};
use loomrec_engine::replay::UnexplainedMiss;
use loomrec_engine::{AnswerBody, IncomingCall, KeptLease};
use loomrec_fault::{Fault, FaultObstacle};
use loomrec_script::ScriptTurn;

/// Lets the engine answer a call, and applies the fault to that answer.
pub(super) async fn change_answer(
    caller: &ConnectionContext,
    control: &ResponseControl,
    mut fault: ActiveFault,
    mut call: Box<IncomingCall>,
    open: &mut OpenCall,
    (mut found, mut lease): (FoundAnswer<'_>, Option<KeptLease>),
) -> Response<ResponseBody> {
    let proxy = &caller.proxy;
    let decided = fault.decided.clone();
    if !fault.is_alone && is_fault_alone(&found) {
        // The words of the entry are made up, for its own fault to break.
        (found, lease) = (without_answer(found), None);
    }
    let is_good = found.as_ref().is_ok_and(|found| found.matched().take.is_success());
    let lease = lease.map(|lease| LeasedAnswer { lease, is_good });
    *open.settlement() = Some(Box::new(settlement(&fault, lease)));
    let mut delay_ms = 0;
    if let Fault::Slow { delay_ms: by } = decided.fault {
        fault.fired();
        delay_ms = by;
    }
    if looks_inside(&decided.fault) {
        call.headers.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let delivered = match found {
        Ok(found_take) => {
            proxy.faults.pause(delay_ms).await;
            // Later chunks of a paced answer are late by the same delay.
            let late = Duration::from_millis(delay_ms.saturating_add(decided.delay_ms));
            let arrived = call.arrived + late;
            proxy.engine.deliver(&call, found_take, arrived).await
        }
        Err(miss) => Err(miss),
    };
    let response = match delivered {
        Ok(result) => {
            foresee(proxy, &mut fault, open, call.storable(), &result.response);
            open.accept(result).await
        }
        Err(miss) => {
            let response = answer_without_take(proxy, &mut fault, &call, open, miss).await;
            // The answer is obtained first, so that a client that leaves during the delay does not
            // keep it from being recorded.
            proxy.faults.pause(delay_ms).await;
            if response.headers().contains_key("x-loomrec-error") {
                if let Some(settlement) = open.settlement().take() {
                    settlement.settle(proxy, FaultBodyEnd::UNCHANGED);
                }
                return response.map(ResponseBody::Answer);
            }
            response
        }
    };
    if let Some(delayed) = open.settlement().as_mut().and_then(|it| it.delayed.as_mut()) {
        delayed.has_head = true;
    }
    apply_to_answer(caller, control, fault, call.storable(), open, response).await
}

/// Returns what is to be settled when the answer of a call with this fault is over.
fn settlement(fault: &ActiveFault, lease: Option<LeasedAnswer>) -> FaultSettlement {
    let (decided, id) = (fault.decided.clone(), fault.reported.id);
    let delayed = DelayedAnswer { fault: id, was_good: false, has_head: false };
    FaultSettlement {
        call: fault.call.clone(),
        attempt: decided.attempt,
        lease,
        delayed: decided.fault.only_delays().then_some(delayed),
        error_of: decided.fault.ends_in_error_event().then_some(id),
        recovers: false,
        pending: Some(PendingFault { decided, outcome: fault.outcome.clone() }),
    }
}

/// Answers a call that no take answers: live, by a script, or with an error.
async fn answer_without_take(
    proxy: &Proxy,
    fault: &mut ActiveFault,
    call: &IncomingCall,
    open: &mut OpenCall,
    miss: UnexplainedMiss,
) -> Response<AnswerBody> {
    if let Some(settlement) = open.settlement() {
        settlement.release(proxy);
    }
    if proxy.engine.goes_upstream() {
        fault.release_order();
    }
    let result = proxy.engine.answer_unrecorded(call, miss, || open.expect_exchange()).await;
    match result.response.headers().contains_key("x-loomrec-error") {
        true => fault.note_obstacle(FaultObstacle::NoAnswer),
        false => foresee(proxy, fault, open, call.storable(), &result.response),
    }
    let response = open.accept(result).await;
    let is_good = response.status().as_u16() < 400;
    let scripted = open.script_turn();
    let Some(settlement) = open.settlement() else { return response };
    let (is_delayed, is_unchanged) = (settlement.delayed.is_some(), fault.obstacle.is_some());
    if let Some(scripted) = scripted {
        let is_kept = is_delayed || is_unchanged;
        let lease = scripted_lease(proxy, fault, scripted);
        let lease = if is_kept { lease } else { lease.map(KeptLease::lent) };
        // If it is kept, the delayed answer records whether it was good.
        let is_good = is_good && !is_kept;
        settlement.lease = lease.map(|lease| LeasedAnswer { lease, is_good });
    }
    if is_unchanged && is_good {
        proxy.faults.decider.reset_attempts(fault.key());
    }
    // A call that does not get its answer unchanged will be made again.
    if let Some(delayed) = settlement.delayed.as_mut() {
        delayed.has_head = true;
        if is_good {
            delayed.was_good = true;
            proxy.faults.decider.reset_attempts(fault.key());
        }
    }
    response
}

/// Returns the lease of a call or a rule of the script that has answered the call of a fault.
fn scripted_lease(proxy: &Proxy, fault: &ActiveFault, scripted: ScriptTurn) -> Option<KeptLease> {
    let replay = proxy.engine.replay()?;
    Some(KeptLease::of_script(replay, fault.key().session(), scripted))
}
