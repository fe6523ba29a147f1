//! A call that gets no fault, from the decision to its answer.

use http::Response;

use super::super::Proxy;
use super::super::open_call::OpenCall;
use super::good_answer::mark_recovered;
use super::tracked_call::TrackedCall;
use loomrec_engine::{AnswerBody, AnswerOrigin, FoundCall, IncomingCall};
use loomrec_fault::{CallAttempt, CallConclusion};

/// A call that gets no fault.
pub(super) struct PassedCall<'a> {
    pub(super) open: &'a mut OpenCall,
    pub(super) call: &'a IncomingCall,
}

impl PassedCall<'_> {
    /// Lets the engine answer the call.
    pub(super) async fn answer_without_fault(
        &mut self,
        found: FoundCall<'_>,
    ) -> Response<AnswerBody> {
        let result = found.answer(self.call, || self.open.expect_exchange()).await;
        self.open.accept_result(self.call, result).await
    }

    /// Takes account of the answer of the call, and arranges that the open faults that it recovers
    /// from end with it. `is_take_concluded` says whether that of a take was taken account of already.
    pub(super) fn note_answer(
        self,
        proxy: &Proxy,
        tracked: TrackedCall,
        is_take_concluded: bool,
        response: &Response<AnswerBody>,
    ) {
        let origin = &self.open.record_mut().origin;
        let is_concluded = is_take_concluded && matches!(origin, Some(AnswerOrigin::Take(_)));
        if !is_concluded {
            let answered = CallConclusion::Answered { is_good: response.status().as_u16() < 400 };
            let mut attempt = CallAttempt::default();
            proxy.faults.decider.conclude_call(&tracked.key, &mut attempt, answered);
        }
        mark_recovered(proxy, self.call, response, tracked, self.open);
    }
}
