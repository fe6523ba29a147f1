//! A call that gets a fault, from the decision to its answer.

use http::Response;

use super::super::connection_context::ConnectionContext;
use super::super::open_call::OpenCall;
use super::super::respond::ResponseBody;
use super::super::response_control::ResponseControl;
use super::active_fault::ActiveFault;
use super::no_response::AbandonedCall;
use super::settlement::LeasedAnswer;
use loomrec_engine::{FoundCall, IncomingCall};
use loomrec_fault::CallAttempt;

/// A call that gets a fault.
pub(super) struct FaultedCall<'a> {
    pub(super) caller: &'a ConnectionContext,
    pub(super) control: &'a ResponseControl,
    pub(super) open: &'a mut OpenCall,
    pub(super) call: &'a IncomingCall,
    pub(super) fault: ActiveFault,
    /// The attempt that the call is.
    pub(super) attempt: CallAttempt,
}

impl FaultedCall<'_> {
    /// Answers the call: with what replaces its answer, or with the changed or delayed answer.
    ///
    /// # Errors
    /// [`AbandonedCall`] if the fault leaves the call without an answer.
    pub(super) async fn answer_with_fault(
        self,
        found: FoundCall<'_>,
        lease: Option<LeasedAnswer>,
    ) -> Result<Response<ResponseBody>, AbandonedCall> {
        self.caller.proxy.faults.pass_time(self.fault.decided.delay_ms).await;
        match self.find_substitute(&found) {
            Some(substitute) => self.send_substitute(found, substitute).await,
            None => Ok(self.change_answer(found, lease).await),
        }
    }
}
