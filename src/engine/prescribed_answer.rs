//! The answers that the Model Context Protocol prescribes: a client gets them from every server, so
//! that they need no recording. Only servers that a recording knows give them.

use http::header::ALLOW;
use http::{HeaderValue, Response, StatusCode};

use super::answer_body::AnswerBody;
use super::call_outcome::CallOutcome;
use super::call_result::CallResult;
use super::error_response::{self, response_with_body};
use super::incoming_call::IncomingCall;
use super::request_summary::clip_text;
use crate::replay::{RecordedServers, RecordingMismatchError};
use loomrec_provider::RpcKind;

/// The code of an error for a method that the server does not have.
const NO_METHOD: i64 = -32601;
/// The code of a mismatch. The protocol does not reserve it.
const MISMATCH: i64 = 422;

/// Returns the answer to a call that no take answers; `None` if the protocol prescribes none.
pub(super) fn prescribed_answer(
    call: &IncomingCall,
    servers: &RecordedServers,
) -> Option<CallResult> {
    let observed = call.storable_request();
    let (upstream, path) = (&*observed.upstream, observed.path());
    let method = observed.call.rpc.as_ref()?;
    if !servers.has_endpoint(upstream, path) {
        return None;
    }
    let ids = || call.rpc_ids();
    let response = match method.kind {
        RpcKind::Notification => {
            response_with_body(StatusCode::ACCEPTED, "application/json", Vec::new())
        }
        RpcKind::CloseSession => response_with_body(StatusCode::OK, "application/json", Vec::new()),
        RpcKind::OpenStream => {
            let mut response =
                response_with_body(StatusCode::METHOD_NOT_ALLOWED, "text/plain", Vec::new());
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, DELETE"));
            response
        }
        RpcKind::Request if method.is_ping() => json_response(ids()?.empty_result()?),
        RpcKind::Request
            if method.is_discover() && servers.is_of_earlier_version(upstream, path) =>
        {
            json_response(ids()?.error_answers(NO_METHOD, "Method not found")?)
        }
        RpcKind::Request => return None,
    };
    let what = clip_text(&method.to_string());
    Some(CallResult::new(response, CallOutcome::Prescribed { what }))
}

/// Returns the response to a call that the recording holds no answer for. A request in JSON-RPC gets
/// an error under its own id: an HTTP status would tell its client something about the connection.
pub(super) fn mismatch_answer(
    call: &IncomingCall,
    mismatch: &RecordingMismatchError,
) -> Response<AnswerBody> {
    let shape = call.error_shape();
    let Some(ids) = call.rpc_ids() else { return error_response::mismatch_error(shape, mismatch) };
    match ids.error_answers(MISMATCH, &mismatch.message()) {
        Some(body) => {
            error_response::mark_final_error(json_response(body), error_response::MISMATCH)
        }
        None => error_response::mismatch_error(shape, mismatch),
    }
}

fn json_response(body: Vec<u8>) -> Response<AnswerBody> {
    response_with_body(StatusCode::OK, "application/json", body)
}
