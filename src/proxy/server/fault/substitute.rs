//! Faults that replace an answer: what is sent in its place, or the silence that is kept.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};

use super::super::respond::ResponseBody;
use super::faulted_call::FaultedCall;
use super::no_response::{self, AbandonedCall};
use super::settlement::FaultSettlement;
use loomrec_engine::{AnswerBody, CallOutcome, FoundCall};
use loomrec_fault::{AnswerSubstitute, CallConclusion, Fault, SyntheticResponse};
use loomrec_recording::response_header::{is_replayed, leads_away};

impl FaultedCall<'_> {
    /// Returns what is sent in place of the answer, if the fault does not need the answer. That
    /// of an upstream is broken once it is there.
    pub(super) fn find_substitute(&self, found: &FoundCall<'_>) -> Option<AnswerSubstitute> {
        let (fault, call) = (&self.fault.decided.fault, self.call);
        let is_live = found.matched_take().is_none() && self.caller.proxy.engine.goes_upstream();
        if is_live && matches!(fault, Fault::Malformed { .. }) {
            return None;
        }
        if self.fault.gives_up_after.is_some() {
            return Some(AnswerSubstitute::Answer(SyntheticResponse::tool_timeout()));
        }
        let observed = call.storable_request();
        let format = observed.asked_format();
        loomrec_fault::substitute_for(fault, call.error_shape(), &format, observed.call.streamed)
    }

    /// Sends what replaces the answer, or nothing at all. A call that no recording answers still
    /// counts as a miss: a fault does not hide it.
    ///
    /// # Errors
    /// [`AbandonedCall`] if nothing is sent.
    pub(super) async fn send_substitute(
        mut self,
        found: FoundCall<'_>,
        substitute: AnswerSubstitute,
    ) -> Result<Response<ResponseBody>, AbandonedCall> {
        self.fault.note_fired();
        if !self.fault.is_alone {
            found.release_rule();
        }
        self.open.set_outcome(CallOutcome::Faulted, None);
        // A delay was taken for an answer before it was known that its client gives up.
        let decider = &self.caller.proxy.faults.decider;
        decider.conclude_call(
            &self.fault.tracked.key,
            &mut self.attempt,
            CallConclusion::NotReceived,
        );
        if let Some(error) = found.explain_hidden_miss(self.call).await {
            self.open.set_hidden_miss(Arc::new(error));
        }
        match substitute {
            AnswerSubstitute::Silence { for_ms, then } => {
                let cut = no_response::to_recorded_cut(then);
                Err(no_response::stay_silent(&self.caller.proxy, self.control, for_ms, cut).await)
            }
            AnswerSubstitute::Answer(mut synthetic) => {
                let limit = self.fault.gives_up_after;
                self.caller.proxy.faults.pass_time(limit.unwrap_or_default()).await;
                self.call.rpc_ids().iter().for_each(|ids| synthetic.set_rpc_ids(ids));
                let mut response = to_response(synthetic);
                self.fault.add_fault_headers(response.headers_mut());
                self.open.set_outcome(CallOutcome::Faulted, Some(response.status()));
                if limit.is_some() || response.status().as_u16() >= 400 {
                    let (tracked, fault) = (self.fault.tracked.clone(), self.fault.reported.id);
                    *self.open.settlement_mut() =
                        Some(Box::new(FaultSettlement::for_error(tracked, fault)));
                }
                Ok(response.map(ResponseBody::Answer))
            }
        }
    }
}

/// Turns a synthetic answer into a response. The fault may come from a recording that a stranger
/// made, so headers that a recorded answer may not send are dropped here too.
fn to_response(synthetic: SyntheticResponse) -> Response<AnswerBody> {
    let mut response = Response::new(AnswerBody::Full(Bytes::from(synthetic.body).into()));
    *response.status_mut() =
        StatusCode::from_u16(synthetic.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let is_sent = |(name, value): &&(String, String)| {
        let name = name.to_ascii_lowercase();
        is_replayed(&name) && !leads_away(&name, value)
    };
    for (name, value) in synthetic.headers.iter().filter(is_sent) {
        let name = HeaderName::try_from(name.as_str());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}
