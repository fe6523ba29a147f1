//! What is a good answer, from which a program has recovered from a fault.

use http::Response;

use super::super::Proxy;
use super::super::open_call::OpenCall;
use super::settlement::FaultSettlement;
use super::tracked_call::TrackedCall;
use loomrec_engine::{AnswerBody, CallOutcome, IncomingCall};
use loomrec_identity::media_type;
use loomrec_provider::{AnswerOutcome, Framing, rpc_reports_error};
use loomrec_recording::encoding;
use loomrec_telemetry::call_record::CallRecord;

/// Arranges that the open faults that a call recovers from end once a good answer was sent whole.
pub(super) fn mark_recovered(
    proxy: &Proxy,
    call: &IncomingCall,
    response: &Response<AnswerBody>,
    tracked: TrackedCall,
    open: &mut OpenCall,
) {
    if proxy.faults.watch.is_open() && is_good_answer(call, response, open.record_mut()) {
        *open.settlement_mut() = Some(Box::new(FaultSettlement::for_recovery(tracked)));
    }
}

/// Whether this response to a call is a good answer: it is neither an error of loomrec's nor a
/// placeholder, it did not fail by its status or when it was recorded, and no tool reports an error
/// in it. What a live answer says is not known before it is sent.
pub(super) fn is_good_answer(
    call: &IncomingCall,
    response: &Response<AnswerBody>,
    record: &CallRecord,
) -> bool {
    let is_answer = match record.outcome {
        CallOutcome::Served { .. }
        | CallOutcome::Recorded
        | CallOutcome::Forwarded
        | CallOutcome::Scripted { .. }
        | CallOutcome::Prescribed { .. } => true,
        CallOutcome::Left
        | CallOutcome::Unanswered
        | CallOutcome::Unreachable { .. }
        | CallOutcome::Unscripted { .. }
        | CallOutcome::Placeholder
        | CallOutcome::Faulted
        | CallOutcome::Missed(_)
        | CallOutcome::Refused { .. }
        | CallOutcome::UpgradeRefused => false,
    };
    is_answer
        && response.status().as_u16() < 400
        && !record.answer_outcome().is_some_and(AnswerOutcome::is_failure)
        && !reports_tool_error(call, response)
}

fn reports_tool_error(call: &IncomingCall, response: &Response<AnswerBody>) -> bool {
    let AnswerBody::Replay(body) = response.body() else { return false };
    if !call.storable_request().call.operation.has_tool_results() {
        return false;
    }
    let headers = response.headers();
    let media = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let framing = media.and_then(|value| Framing::of_media(media_type(value)));
    match encoding::coding_of(headers) {
        None => rpc_reports_error(framing, &body.whole_bytes()),
        Some(coding) => {
            let decoded =
                encoding::decode_available(&coding, &body.whole_bytes(), encoding::LARGEST);
            rpc_reports_error(framing, &decoded.plain)
        }
    }
}
