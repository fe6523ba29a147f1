//! The fault layer: decides the fault of a call, and wraps the engine that answers it.

use std::sync::Arc;

use http::Response;

use super::super::connection_context::ConnectionContext;
use super::super::open_call::OpenCall;
use super::super::respond::ResponseBody;
use super::super::response_control::ResponseControl;
use super::active_fault::ActiveFault;
use super::apply::mark_recovered;
use super::decision::{CallDecision, decide_fault};
use super::declared::{CallDeclarations, REFUSED};
use super::faulted_call::FaultedCall;
use super::no_response::AbandonedCall;
use super::recovery_tracker;
use super::tracked_call::TrackedCall;
use loomrec_engine::{
    AnswerBody, AnswerOrigin, CallOutcome, FoundCall, IncomingCall, error_response,
};
use loomrec_fault::{CallAttempt, CallConclusion};

/// The fault layer around the engine, for one call.
pub(in crate::server) struct FaultLayer<'a> {
    pub(in crate::server) caller: &'a ConnectionContext,
    pub(in crate::server) control: &'a ResponseControl,
    pub(in crate::server) open: &'a mut OpenCall,
}

impl FaultLayer<'_> {
    /// Answers the call, with the fault that is decided for it.
    ///
    /// # Errors
    /// [`AbandonedCall`] if the fault leaves the call without an answer.
    pub(in crate::server) async fn answer(
        mut self,
        call: Box<IncomingCall>,
    ) -> Result<Response<ResponseBody>, AbandonedCall> {
        let proxy = &self.caller.proxy;
        let faults = &proxy.faults;
        let declarations = match CallDeclarations::read(proxy, &call) {
            Ok(declarations) => declarations,
            Err(why) => return Ok(self.refuse_declaration(&call, why)),
        };
        let is_idle = faults.idle && declarations.is_without_headers() && !faults.run_time.is_set();
        if is_idle && !faults.watch.is_open() {
            let found = proxy.engine.find_answer(&call.parsed);
            return Ok(self.answer_without_fault(&call, found).await.map(ResponseBody::Answer));
        }
        let tracked = recovery_tracker::note_arrival(proxy, &call);
        let parsed = Arc::clone(&call.parsed);
        let decision = match is_idle {
            // The call is not counted: whether it counts must not depend on the faults of other calls.
            true => CallDecision::without_fault(proxy.engine.find_answer(&parsed)),
            false => decide_fault(self.caller, &call, &parsed, &tracked.key, &declarations).await,
        };
        let Some(fault) = decision.fault else {
            let response = self.answer_without_fault(&call, decision.found).await;
            return Ok(self.conclude_passed(&call, tracked, decision.is_take_concluded, response));
        };
        let Self { caller, control, open } = self;
        let fault = ActiveFault::begin(caller, open.record_mut(), fault, &call, tracked);
        let attempt = decision.attempt;
        let faulted = FaultedCall { caller, control, open, call, fault, attempt };
        faulted.answer_with_fault(decision.found, decision.lease).await
    }

    /// Lets the engine answer the call.
    async fn answer_without_fault(
        &mut self,
        call: &IncomingCall,
        found: FoundCall<'_>,
    ) -> Response<AnswerBody> {
        let result = found.answer(call, || self.open.expect_exchange()).await;
        self.open.accept_result(call, result).await
    }

    /// Takes account of the answer of a call that gets no fault, and arranges that the open faults
    /// that it recovers from end with it.
    fn conclude_passed(
        self,
        call: &IncomingCall,
        tracked: TrackedCall,
        is_take_concluded: bool,
        response: Response<AnswerBody>,
    ) -> Response<ResponseBody> {
        let (proxy, origin) = (&self.caller.proxy, &self.open.record_mut().origin);
        let is_concluded = is_take_concluded && matches!(origin, Some(AnswerOrigin::Take(_)));
        if !is_concluded {
            let answered = CallConclusion::Answered { is_good: response.status().as_u16() < 400 };
            let mut attempt = CallAttempt::default();
            proxy.faults.decider.conclude_call(&tracked.key, &mut attempt, answered);
        }
        mark_recovered(proxy, call, &response, tracked, self.open);
        response.map(ResponseBody::Answer)
    }

    /// Refuses the call, because its headers declare an invalid fault.
    fn refuse_declaration(
        &mut self,
        call: &IncomingCall,
        message: String,
    ) -> Response<ResponseBody> {
        let shape = call.error_shape();
        let response = error_response::final_error(shape, REFUSED, "BadFault", &message);
        self.open.set_outcome(CallOutcome::Refused { kind: None, message }, Some(REFUSED));
        response.map(ResponseBody::Answer)
    }
}
