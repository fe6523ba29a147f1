//! Calls whose answers a fault changes or delays: the engine answers them, and the fault is applied
//! to that.

use http::Response;

use super::super::respond::ResponseBody;
use super::faulted_call::FaultedCall;
use super::settlement::{DelayedAnswer, FaultSettlement, LeasedAnswer, PendingFault};
use loomrec_engine::{AnswerBody, CallOutcome, CallResult, FoundCall, UnrecordedCall};
use loomrec_fault::{CallConclusion, Fault, FaultObstacle};

impl FaultedCall<'_> {
    /// Lets the engine answer the call, and applies the fault to that answer.
    pub(super) async fn change_answer(
        mut self,
        mut found: FoundCall<'_>,
        mut lease: Option<LeasedAnswer>,
    ) -> Response<ResponseBody> {
        let proxy = &self.caller.proxy;
        if !self.fault.is_alone && found.is_fault_alone() {
            // The words of the entry are made up, for its own fault to break.
            (found, lease) = (found.without_take(), None);
        }
        self.begin_settlement(lease);
        let mut delay_ms = 0;
        if let Fault::Slow { delay_ms: by } = self.fault.decided.fault {
            self.fault.note_fired();
            delay_ms = by;
        }
        if found.matched_take().is_some() {
            proxy.faults.pass_time(delay_ms).await;
        }
        // Later chunks of a paced answer are late by the same delay.
        let delay = delay_ms.saturating_add(self.fault.decided.delay_ms);
        let late = proxy.faults.lateness(delay);
        let response = match found.deliver_take(self.call, self.call.arrived + late).await {
            Ok(result) => {
                self.foresee_obstacle(&result.response);
                self.accept_answer(result).await
            }
            Err(unrecorded) => {
                let response = self.answer_unrecorded(unrecorded).await;
                // The answer is obtained first, so that a client that leaves during the delay does
                // not keep it from being recorded.
                proxy.faults.pass_time(delay_ms).await;
                if response.headers().contains_key("x-loomrec-error") {
                    return self.pass_unchanged(response);
                }
                response
            }
        };
        self.apply_fault(response).await
    }

    /// Accepts the answer of the engine, once it is due, and notes that its head is available.
    async fn accept_answer(&mut self, result: CallResult) -> Response<AnswerBody> {
        let response = self.open.accept_result(self.call, result).await;
        if let Some(settlement) = self.open.settlement_mut()
            && let Some(delayed) = settlement.delayed.as_mut()
        {
            delayed.has_head = true;
        }
        response
    }

    /// Begins what is settled when the answer of the call is over.
    fn begin_settlement(&mut self, lease: Option<LeasedAnswer>) {
        let (decided, id) = (self.fault.decided.clone(), self.fault.reported.id);
        let delayed = DelayedAnswer { fault: id, has_head: false };
        *self.open.settlement_mut() = Some(Box::new(FaultSettlement {
            tracked: self.fault.tracked.clone(),
            attempt: self.attempt,
            lease,
            delayed: decided.fault.only_delays().then_some(delayed),
            error_of: decided.fault.ends_in_error_event().then_some(id),
            recovers: false,
            pending: Some(PendingFault { decided, outcome: self.fault.outcome.clone() }),
        }));
    }

    /// Answers the call live, from the script, or with an error, because no take does.
    async fn answer_unrecorded(&mut self, unrecorded: UnrecordedCall<'_>) -> Response<AnswerBody> {
        let proxy = &self.caller.proxy;
        if let Some(settlement) = self.open.settlement_mut() {
            settlement.release_lease(proxy);
        }
        if proxy.engine.goes_upstream() {
            self.fault.release_order();
        }
        let result = unrecorded.answer(self.call, || self.open.expect_exchange()).await;
        match result.response.headers().contains_key("x-loomrec-error") {
            true => self.fault.note_obstacle(FaultObstacle::NoAnswer),
            false => self.foresee_obstacle(&result.response),
        }
        self.lease_scripted_answer(&result);
        self.accept_answer(result).await
    }

    /// Keeps the lease of what of the script answers the call, and concludes the attempt if the client
    /// gets that answer unchanged. This comes before any wait: a client that leaves during it has not
    /// used up the script's call.
    fn lease_scripted_answer(&mut self, result: &CallResult) {
        let proxy = &self.caller.proxy;
        let is_good = result.response.status().as_u16() < 400;
        let scripted = match &result.outcome {
            CallOutcome::Scripted { turn } => turn.clone(),
            _ => None,
        };
        let Some(settlement) = self.open.settlement_mut() else { return };
        // A call that does not get its answer unchanged will be made again.
        let is_kept = settlement.delayed.is_some() || self.fault.obstacle.is_some();
        let session = self.fault.call_key().session();
        if let Some(lease) = scripted.and_then(|turn| proxy.engine.lease_scripted(session, turn)) {
            let lease = if is_kept { lease } else { lease.lend_answer() };
            settlement.lease = Some(LeasedAnswer { lease, is_good });
        }
        if is_kept {
            settlement.conclude_attempt(proxy, CallConclusion::Answered { is_good });
        }
    }
}
