//! Calls that a recording answers.

use std::sync::Arc;
use std::time::Instant;

use http::StatusCode;

use super::answer_body::AnswerBody;
use super::call_outcome::{AnswerOrigin, CallOutcome, ServedTake};
use super::call_result::{CallResult, RecordedUsage};
use super::incoming_call::IncomingCall;
use super::parsed_request::ParsedRequest;
use super::take_lease::TakeLease;
use crate::replay::{
    AskedForm, ENTRY, ReplayAnswer, ReplayEngine, TakeConversation, TakeMatch, UnexplainedMiss,
    WaitingPlace,
};
use crate::websocket::conversation::NextConversation;
use crate::websocket::handshake;
use crate::websocket::turn_link::UpstreamClose;
use loomrec_fault::SocketClose;
use loomrec_recording::message::CUT_CLOSE_CODE;
use loomrec_recording::normalized_request::NormalizedRequest;

/// The take that was found for a call, and the request that it was found by. If it is dropped before
/// it is delivered, the take is given back.
pub(super) struct FoundTake<'a> {
    replay: &'a Arc<ReplayEngine>,
    observed: &'a NormalizedRequest,
    matched: TakeMatch<'a>,
    /// `None` if it was taken out: then its owner ends it.
    lease: Option<TakeLease<'a>>,
}

impl<'a> FoundTake<'a> {
    /// Returns the take.
    pub(super) fn take_match(&self) -> &TakeMatch<'a> {
        &self.matched
    }

    /// Takes the call out of the order in which answers end, because it does not go as recorded.
    pub(super) fn leave_order(&mut self) {
        self.matched.leave_order();
    }

    /// Leaves the take used up, unless it cannot be delivered.
    pub(super) fn consume(&mut self) {
        self.lease.iter_mut().for_each(TakeLease::consume);
    }

    /// Gives the take back, because its entry has a fault and no answer. Returns the miss.
    pub(super) fn without_answer(mut self) -> UnexplainedMiss {
        self.leave_order();
        self.lease.take().into_iter().for_each(TakeLease::release);
        UnexplainedMiss::without_answer(&self.matched)
    }

    /// Takes the lease out. `None` if it was taken out before.
    pub(super) fn take_lease(&mut self) -> Option<TakeLease<'a>> {
        self.lease.take()
    }
}

/// Finds the take for a call.
///
/// # Errors
/// A miss if no take answers the call.
pub(super) fn find_take<'a>(
    replay: &'a Arc<ReplayEngine>,
    parsed: &'a ParsedRequest,
) -> Result<FoundTake<'a>, UnexplainedMiss> {
    let redacted = &parsed.redacted;
    let find = |observed: &'a NormalizedRequest| {
        let matched = replay.find_take(observed)?;
        let lease = TakeLease::new(replay, observed.session.as_deref(), matched.index());
        Ok(FoundTake { replay, observed, matched, lease: Some(lease) })
    };
    // If the body holds the caller's own key, the request was recorded without that key.
    match (find(&redacted.observed), &redacted.scrubbed) {
        (Err(_), Some(scrubbed)) => find(scrubbed),
        (found, _) => found,
    }
}

/// Answers a call with its take, due as if the call had arrived at `arrived`. A client that leaves
/// meanwhile has used the take up.
///
/// # Errors
/// A miss if the take cannot be sent in the form that the call asks for. The take is given back.
pub(super) async fn deliver_take(
    call: &IncomingCall,
    found: FoundTake<'_>,
    arrived: Instant,
) -> Result<CallResult, UnexplainedMiss> {
    let FoundTake { replay, observed, mut matched, mut lease } = found;
    lease.iter_mut().for_each(TakeLease::consume);
    // A fault that has the lease settles this very take.
    let may_exchange = lease.is_some();
    let ids = call.rpc_ids();
    let asked = AskedForm {
        accept_encoding: call.accept_encoding(),
        ids: ids.as_ref(),
        rpc_session: call.rpc_session(),
        resumes_stream: call.resumes_rpc_stream(),
    };
    call.set_held(matched.take.is_undelivered());
    let delivered = replay.deliver_take(&mut matched, observed, asked, arrived.into()).await;
    call.set_held(false);
    if delivered.is_err() {
        matched.leave_order();
        lease.into_iter().for_each(TakeLease::release);
    }
    let mut result = served_result(delivered?);
    if result.response.status() == StatusCode::SWITCHING_PROTOCOLS
        && let Err(why) =
            attach_conversation(&mut result, replay, call, &matched, may_exchange).await
    {
        replay.release_take(matched.index(), observed.session.as_deref());
        return Err(UnexplainedMiss::of_take(&matched, why));
    }
    if call.is_turn && matches!(result.response.body(), AnswerBody::Replay(body) if body.is_cut()) {
        attach_close(&mut result, replay, &matched).await;
    }
    Ok(result)
}

/// Has a turn over a WebSocket end as its upstream closed that when it was recorded.
async fn attach_close(
    result: &mut CallResult,
    replay: &Arc<ReplayEngine>,
    matched: &TakeMatch<'_>,
) {
    let (own, index) = (Arc::clone(replay), matched.index());
    let read = move || own.matcher().recorded_close(index);
    let recorded = replay.read_connection(read).await;
    let (code, reason) = recorded.unwrap_or((CUT_CLOSE_CODE, String::new()));
    let close = UpstreamClose::new(SocketClose { code, reason });
    result.response.extensions_mut().insert(close);
}

/// Has the recorded conversation follow the response.
///
/// # Errors
/// Why there can be no conversation.
async fn attach_conversation(
    result: &mut CallResult,
    replay: &Arc<ReplayEngine>,
    call: &IncomingCall,
    matched: &TakeMatch<'_>,
    may_exchange: bool,
) -> Result<(), &'static str> {
    if !handshake::is_offered(&call.method, &call.headers) {
        return Err("it was recorded over a WebSocket");
    }
    let session = call.storable_request().session.as_deref();
    let open = || WaitingPlace::open(replay, matched.index(), session);
    let waiting = may_exchange.then(open).flatten();
    let place = matched.index_and_number();
    let (own, observed) = (Arc::clone(replay), call.storable_request().clone());
    let secrets = call.secrets().clone();
    let read = move || TakeConversation::read_take(&own, observed, secrets, place, waiting);
    match replay.read_connection(read).await {
        Some(conversation) => {
            NextConversation::attach_to_response(&mut result.response, conversation);
            Ok(())
        }
        None => Err("its entry cannot be read any more"),
    }
}

fn served_result(answer: ReplayAnswer) -> CallResult {
    let ReplayAnswer { response, usage, cost_usd, by, take, index, outcome, bound } = answer;
    let due = response.body().first_due();
    let entry = response.headers().get(ENTRY).cloned();
    let take = ServedTake { matched_by: by, number: take, index, outcome, bound };
    CallResult {
        origin: Some(AnswerOrigin::Take(take)),
        spent: Some(RecordedUsage { tokens: usage, cost_usd }),
        due,
        ..CallResult::new(response.map(AnswerBody::Replay), CallOutcome::Served { entry })
    }
}
