//! Faults that replace an answer: what is sent in its place, or the silence that is kept.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};

use super::super::connection_context::ConnectionContext;
use super::super::open_call::OpenCall;
use super::super::respond::ResponseBody;
use super::super::response_control::ResponseControl;
use super::active_fault::ActiveFault;
use super::apply::response_format;
use super::no_response::{self, AbandonedCall};
use super::settlement::FaultSettlement;
use loomrec_engine::replay::UnexplainedMiss;
use loomrec_engine::{AnswerBody, CallOutcome, IncomingCall};
use loomrec_fault::{AnswerSubstitute, Fault, SyntheticResponse};
use loomrec_recording::response_header::{is_replayed, leads_away};

/// Returns what is sent in place of the answer, if the fault does not need the answer. `is_live`
/// says whether an upstream answers the call: that answer is broken once it is there.
pub(super) fn substitute(
    fault: &Fault,
    call: &IncomingCall,
    is_live: bool,
) -> Option<AnswerSubstitute> {
    if is_live && matches!(fault, Fault::Malformed { .. }) {
        return None;
    }
    let observed = call.storable();
    let format = response_format(observed);
    loomrec_fault::substitute_for(fault, call.error_shape(), &format, observed.call.streamed)
}

/// Sends what replaces an answer, or nothing at all. A call that no recording answers still counts
/// as a miss: a fault does not hide it.
pub(super) async fn replace_answer(
    caller: &ConnectionContext,
    control: &ResponseControl,
    fault: &ActiveFault,
    call: &IncomingCall,
    open: &mut OpenCall,
    miss: Option<UnexplainedMiss>,
    substitute: AnswerSubstitute,
) -> Result<Response<ResponseBody>, AbandonedCall> {
    let proxy = &caller.proxy;
    open.set_outcome(CallOutcome::Faulted, None);
    if let Some(miss) = miss
        && let Some(error) = proxy.engine.explain_hidden_miss(call, miss).await
    {
        open.set_hidden_miss(Arc::new(error));
    }
    match substitute {
        AnswerSubstitute::Silence { for_ms, then } => {
            let cut = no_response::cut(then);
            Err(no_response::keep(proxy, control, for_ms, cut).await)
        }
        AnswerSubstitute::Answer(synthetic) => {
            let mut response = response(synthetic);
            fault.label(response.headers_mut());
            open.set_outcome(CallOutcome::Faulted, Some(response.status()));
            if response.status().as_u16() >= 400 {
                let settlement = FaultSettlement::error(fault.call.clone(), fault.reported.id);
                *open.settlement() = Some(Box::new(settlement));
            }
            Ok(response.map(ResponseBody::Answer))
        }
    }
}

/// Turns a synthetic answer into a response. The fault may come from a recording that a stranger
/// made, so headers that a recorded answer may not send are dropped here too.
fn response(synthetic: SyntheticResponse) -> Response<AnswerBody> {
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
