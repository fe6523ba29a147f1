//! The answer to a call that was read, over HTTP or as a turn over a WebSocket.

use std::sync::Arc;

use bytes::Bytes;
use http::Response;
use http::request::Parts;

use super::call_refusal::refuse_call;
use super::connection_context::ConnectionContext;
use super::fault::{self, AbandonedCall, FaultLayer};
use super::open_call::OpenCall;
use super::peer::CallerStanding;
use super::read_call::open_call;
use super::respond::{self, OutBody, ResponseBody};
use super::response_control::ResponseControl;
use loomrec_engine::replay::WithheldAnswer;
use loomrec_engine::websocket::turn_link::SocketTurn;
use loomrec_engine::{IncomingCall, error_response};
use loomrec_provider::Provider;

/// Answers a call that was read.
pub(super) async fn answer_open(
    caller: &Arc<ConnectionContext>,
    response_control: &ResponseControl,
    call: Box<IncomingCall>,
    open: &mut OpenCall,
) -> Result<Response<ResponseBody>, AbandonedCall> {
    let shape = call.error_shape();
    let layer = FaultLayer { caller, control: response_control, open };
    let mut response = layer.answer(call).await?;
    if open.record_mut().mismatch().is_some() {
        response = Box::pin(withhold_mismatch(caller, shape, response)).await;
    }
    match response.extensions().get() {
        Some(WithheldAnswer { cut }) => Err(fault::withhold_answer(response_control, open, *cut)),
        None => Ok(response),
    }
}

/// Answers a turn over a WebSocket as the call over HTTP with this head and body.
///
/// # Errors
/// [`AbandonedCall`] if a fault or a script leaves the call without an answer.
pub(super) async fn answer_turn(
    caller: &Arc<ConnectionContext>,
    mut parts: Parts,
    body: Bytes,
    turn: Option<SocketTurn>,
) -> Result<Response<OutBody>, AbandonedCall> {
    let response_control = ResponseControl::begin_turn(&caller.connection);
    let (open, response) = match open_call(caller, &mut parts, body, None).await {
        Ok((mut call, mut open)) => {
            (call.turn, call.is_turn, open.is_turn) = (turn, true, true);
            let response = answer_open(caller, &response_control, call, &mut open).await?;
            (open, response)
        }
        Err(refusal) => refuse_call(caller, &parts, refusal),
    };
    Ok(respond::prepare_response(response, response_control, Some(open)))
}

/// Leaves out of a miss what the recording holds, for callers of another user of this machine.
async fn withhold_mismatch(
    caller: &ConnectionContext,
    shape: Provider,
    response: Response<ResponseBody>,
) -> Response<ResponseBody> {
    if caller.peer.control_caller().await.standing != CallerStanding::OtherUser {
        return response;
    }
    let why = "no recorded answer for this call; what the recording holds is shown to the user \
               that runs loomrec only";
    let kind = "RecordingMismatchError";
    error_response::final_error(shape, response.status(), kind, why).map(ResponseBody::Answer)
}
