//! Calls whose answers a fault changes or delays: the engine answers them, and the fault is applied
//! to that.

use std::time::Duration;

use http::{HeaderValue, Response};

use super::super::respond::ResponseBody;
use super::apply::looks_inside;
use super::faulted_call::FaultedCall;
use super::settlement::{DelayedAnswer, FaultSettlement, LeasedAnswer, PendingFault};
use loomrec_engine::{AnswerBody, FoundCall, KeptLease, MissedCall};
use loomrec_fault::{Fault, FaultObstacle};

impl FaultedCall<'_> {
    /// Lets the engine answer the call, and applies the fault to that answer.
    pub(super) async fn change(
        mut self,
        mut found: FoundCall<'_>,
        mut lease: Option<KeptLease>,
    ) -> Response<ResponseBody> {
        let proxy = &self.caller.proxy;
        if !self.fault.is_alone && found.is_fault_alone() {
            // The words of the entry are made up, for its own fault to break.
            (found, lease) = (found.without_take(), None);
        }
        let is_good = found.take().is_some_and(|take| take.is_success());
        self.begin_settlement(lease.map(|lease| LeasedAnswer { lease, is_good }));
        let mut delay_ms = 0;
        if let Fault::Slow { delay_ms: by } = self.fault.decided.fault {
            self.fault.fired();
            delay_ms = by;
        }
        if looks_inside(&self.fault.decided.fault) {
            let coding = HeaderValue::from_static("identity");
            self.call.headers.insert(http::header::ACCEPT_ENCODING, coding);
        }
        if found.take().is_some() {
            proxy.faults.pause(delay_ms).await;
        }
        // Later chunks of a paced answer are late by the same delay.
        let late = Duration::from_millis(delay_ms.saturating_add(self.fault.decided.delay_ms));
        let response = match found.deliver(&self.call, self.call.arrived + late).await {
            Ok(result) => {
                self.foresee(&result.response);
                self.open.accept(result).await
            }
            Err(missed) => {
                let response = self.answer_missed(missed).await;
                // The answer is obtained first, so that a client that leaves during the delay does
                // not keep it from being recorded.
                proxy.faults.pause(delay_ms).await;
                if response.headers().contains_key("x-loomrec-error") {
                    return self.pass_unchanged(response);
                }
                response
            }
        };
        if let Some(delayed) = self.open.settlement().as_mut().and_then(|it| it.delayed.as_mut()) {
            delayed.has_head = true;
        }
        self.apply(response).await
    }

    /// Begins what is settled when the answer of the call is over.
    fn begin_settlement(&mut self, lease: Option<LeasedAnswer>) {
        let (decided, id) = (self.fault.decided.clone(), self.fault.reported.id);
        let delayed = DelayedAnswer { fault: id, was_good: false, has_head: false };
        *self.open.settlement() = Some(Box::new(FaultSettlement {
            call: self.fault.call.clone(),
            attempt: decided.attempt,
            lease,
            delayed: decided.fault.only_delays().then_some(delayed),
            error_of: decided.fault.ends_in_error_event().then_some(id),
            recovers: false,
            pending: Some(PendingFault { decided, outcome: self.fault.outcome.clone() }),
        }));
    }

    /// Answers the call live, from the script, or with an error, because no take does.
    async fn answer_missed(&mut self, missed: MissedCall<'_>) -> Response<AnswerBody> {
        let proxy = &self.caller.proxy;
        if let Some(settlement) = self.open.settlement() {
            settlement.release(proxy);
        }
        if proxy.engine.goes_upstream() {
            self.fault.release_order();
        }
        let result = missed.answer(&self.call, || self.open.expect_exchange()).await;
        match result.response.headers().contains_key("x-loomrec-error") {
            true => self.fault.note_obstacle(FaultObstacle::NoAnswer),
            false => self.foresee(&result.response),
        }
        let response = self.open.accept(result).await;
        let is_good = response.status().as_u16() < 400;
        let scripted = self.open.script_turn();
        let Some(settlement) = self.open.settlement() else { return response };
        let (is_delayed, is_unchanged) =
            (settlement.delayed.is_some(), self.fault.obstacle.is_some());
        let session = self.fault.key().session();
        if let Some(lease) = scripted.and_then(|turn| proxy.engine.lease_scripted(session, turn)) {
            let is_kept = is_delayed || is_unchanged;
            let lease = if is_kept { lease } else { lease.lent() };
            // If it is kept, the delayed answer records whether it was good.
            let is_good = is_good && !is_kept;
            settlement.lease = Some(LeasedAnswer { lease, is_good });
        }
        if is_unchanged && is_good {
            proxy.faults.decider.reset_attempts(self.fault.key());
        }
        // A call that does not get its answer unchanged will be made again.
        if let Some(delayed) = settlement.delayed.as_mut() {
            delayed.has_head = true;
            if is_good {
                delayed.was_good = true;
                proxy.faults.decider.reset_attempts(self.fault.key());
            }
        }
        response
    }
}
