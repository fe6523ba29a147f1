//! Calls that go to a live upstream: recorded, or only forwarded.

use std::fmt::Display;
use std::time::Instant;

use http::{Response, StatusCode};
use hyper::upgrade::OnUpgrade;

use super::answer_body::AnswerBody;
use super::call_outcome::CallOutcome;
use super::call_result::CallResult;
use super::clock::timestamp_of;
use super::error_response;
use super::forwarding::Forwarding;
use super::incoming_call::IncomingCall;
use crate::record::conversation::LiveConversation;
use crate::record::{CostRefusal, OnRecorded, RecordEngine, RecordJob, remove_connection_headers};
use crate::upstream::{UpstreamClient, UpstreamError};
use crate::websocket::conversation::NextConversation;
use loomrec_recording::EntryName;
use std::sync::Arc;

/// Sends the call on and records it.
pub(super) async fn record_call(
    engine: &Arc<RecordEngine>,
    forwarding: &Forwarding,
    call: &IncomingCall,
    on_recorded: OnRecorded,
) -> CallResult {
    // Copies names and counts only: the body is shared.
    let (observed, secrets) = call.parsed.redacted.clone().into_stored();
    let key = observed.key_under(engine.identity_rules());
    let name = match &observed.step {
        Some(step) => match EntryName::from_step_id(step) {
            Ok(name) => name,
            Err(error) => return refused_result(forwarding, call, &error),
        },
        None => EntryName::Hash(key.clone()),
    };
    let Some(request) = forwarding.upstream_request(call) else { return no_address(call) };
    let reserve = match engine.reserve_cost(&observed) {
        Ok(reserve) => reserve,
        Err(refusal) => return over_cost(call, &refusal),
    };
    let (arrived, recorded_at) =
        (call.arrived, timestamp_of(call.arrived_at, engine.place_in_run()));
    let job = Box::new(RecordJob {
        observed,
        key,
        name,
        secrets,
        arrived,
        recorded_at,
        // The socket of a bridge is of this run alone.
        upstream_origin: request.stored_origin().filter(|_| call.route().bridge.is_none()),
        run_values: Arc::clone(engine.run_values()),
        on_recorded: on_recorded.with_cost_reserve(reserve),
        keeps: None,
    });
    let before = Instant::now();
    let result = match engine.run(job, request).await {
        Ok(response) => CallResult::new(response.map(AnswerBody::Tee), CallOutcome::Recorded),
        Err(error) => unreachable_result(forwarding, call, &error),
    };
    CallResult { waited: before.elapsed(), ..result }
}

/// Sends the call on without recording it (`--on-miss forward`).
pub(super) async fn forward_call(
    client: &UpstreamClient,
    forwarding: &Forwarding,
    call: &IncomingCall,
) -> CallResult {
    let Some(request) = forwarding.upstream_request(call) else { return no_address(call) };
    let before = Instant::now();
    let result = match client.send_request(request).await {
        Ok(response) => {
            let (mut parts, body) = response.into_parts();
            remove_connection_headers(&mut parts.headers);
            let upgraded = parts.extensions.remove::<OnUpgrade>();
            let mut response = Response::from_parts(parts, AnswerBody::Live(body));
            if let Some(upstream) = upgraded {
                let live = LiveConversation { upstream, copy: None };
                NextConversation::attach_to_response(&mut response, live);
            }
            CallResult::new(response, CallOutcome::Forwarded)
        }
        Err(error) => unreachable_result(forwarding, call, &error),
    };
    CallResult { waited: before.elapsed(), ..result }
}

/// Refuses a request that cannot be recorded or forwarded.
fn refused_result(
    forwarding: &Forwarding,
    call: &IncomingCall,
    error: &impl Display,
) -> CallResult {
    let message = forwarding.error_message(call, error);
    let response = error_response::shaped_error(
        call.error_shape(),
        StatusCode::BAD_REQUEST,
        "BadRequest",
        &message,
    );
    CallResult::new(response, CallOutcome::Refused { kind: None, message })
}

/// Refuses a call that would pass the limit of what the run may spend.
fn over_cost(call: &IncomingCall, refusal: &CostRefusal) -> CallResult {
    let (message, status) = (refusal.to_string(), StatusCode::UNPROCESSABLE_ENTITY);
    let response =
        error_response::final_error(call.error_shape(), status, "CostLimitError", &message);
    CallResult::new(response, CallOutcome::Refused { kind: Some("CostLimitError"), message })
}

/// Answers a call to an upstream whose address is not known.
fn no_address(call: &IncomingCall) -> CallResult {
    let name = &call.route().upstream;
    let message = format!(
        "upstream {name} has no public address: say where yours is with --upstream {name}=URL"
    );
    let (shape, status) = (call.error_shape(), StatusCode::BAD_GATEWAY);
    let response = error_response::shaped_error(shape, status, "UpstreamUnknown", &message);
    CallResult::new(response, CallOutcome::Unreachable { message })
}

/// Answers a call whose upstream did not answer. Nothing is recorded.
fn unreachable_result(
    forwarding: &Forwarding,
    call: &IncomingCall,
    error: &UpstreamError,
) -> CallResult {
    if matches!(error, UpstreamError::Path { .. }) {
        return refused_result(forwarding, call, error);
    }
    let message = forwarding.error_message(call, error);
    let (shape, status) = (call.error_shape(), StatusCode::BAD_GATEWAY);
    let response = error_response::shaped_error(shape, status, "UpstreamUnreachable", &message);
    CallResult::new(response, CallOutcome::Unreachable { message })
}
