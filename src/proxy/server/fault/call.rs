//! The fault layer: decides the fault of a call, and wraps the engine that answers it.

use http::header::ACCEPT_ENCODING;
use http::{HeaderValue, Response};

use super::super::connection_context::ConnectionContext;
use super::super::open_call::OpenCall;
use super::super::respond::ResponseBody;
use super::super::response_control::ResponseControl;
use super::active_fault::ActiveFault;
use super::apply::looks_inside;
use super::decision::{CallDecision, decide_fault};
use super::declared::{CallDeclarations, REFUSED};
use super::faulted_call::FaultedCall;
use super::no_response::AbandonedCall;
use super::passed_call::PassedCall;
use super::recovery_tracker;
use loomrec_engine::{CallOutcome, IncomingCall, error_response};
use loomrec_provider::Provider;

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
        self,
        mut call: Box<IncomingCall>,
    ) -> Result<Response<ResponseBody>, AbandonedCall> {
        let Self { caller, control, open } = self;
        let proxy = &caller.proxy;
        let faults = &proxy.faults;
        let declarations = match CallDeclarations::read(proxy, &call) {
            Ok(declarations) => declarations,
            Err(why) => return Ok(refuse_declaration(open, call.error_shape(), why)),
        };
        let is_idle = faults.idle && declarations.is_without_headers() && !faults.run_time.is_set();
        if is_idle && !faults.watch.is_open() {
            let found = proxy.engine.find_answer(&call.parsed);
            let response = PassedCall { open, call: &call }.answer_without_fault(found).await;
            return Ok(response.map(ResponseBody::Answer));
        }
        let mut tracked = recovery_tracker::note_arrival(proxy, &call);
        let decision = match is_idle {
            // The call is not counted: whether it counts must not depend on the faults of other calls.
            true => CallDecision::without_fault(proxy.engine.find_answer(&call.parsed)),
            false => decide_fault(caller, &call.parsed, &tracked.key, &declarations).await,
        };
        let Some(fault) = decision.fault else {
            let mut passed = PassedCall { open, call: &call };
            let response = passed.answer_without_fault(decision.found).await;
            passed.note_answer(proxy, tracked, decision.is_take_concluded, &response);
            return Ok(response.map(ResponseBody::Answer));
        };
        tracked.prepare_recovery(&call);
        let fault = ActiveFault::begin(caller, open.record_mut(), fault, &call, tracked);
        if looks_inside(&fault.decided.fault) {
            call.headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        let (call, attempt) = (&*call, decision.attempt);
        let faulted = FaultedCall { caller, control, open, call, fault, attempt };
        faulted.answer_with_fault(decision.found, decision.lease).await
    }
}

/// Refuses a call whose headers declare an invalid fault, in this shape of errors.
fn refuse_declaration(
    open: &mut OpenCall,
    shape: Provider,
    message: String,
) -> Response<ResponseBody> {
    let response = error_response::final_error(shape, REFUSED, "BadFault", &message);
    open.set_outcome(CallOutcome::Refused { kind: None, message }, Some(REFUSED));
    response.map(ResponseBody::Answer)
}
