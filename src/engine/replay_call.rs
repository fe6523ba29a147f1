//! Calls that a recording answers.

use std::time::Instant;

use super::answer_body::AnswerBody;
use super::call_outcome::{AnswerOrigin, CallOutcome, ServedTake};
use super::call_result::{CallResult, RecordedUsage};
use super::incoming_call::IncomingCall;
use super::parsed_request::ParsedRequest;
use crate::replay::{ENTRY, ReplayAnswer, ReplayEngine, TakeMatch, UnexplainedMiss};
use loomrec_recording::normalized_request::NormalizedRequest;

/// The take that was found for a call, and the request that it was found by.
pub struct FoundTake<'a> {
    replay: &'a ReplayEngine,
    observed: &'a NormalizedRequest,
    matched: TakeMatch<'a>,
    /// Whether this call uses the take up.
    is_held: bool,
}

impl<'a> FoundTake<'a> {
    /// Returns the take.
    pub fn matched(&self) -> &TakeMatch<'a> {
        &self.matched
    }

    /// Whether this call uses the take up.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Hands the take over to a lease. [`FoundTake::release`] does nothing after that.
    pub fn hand_over(&mut self) {
        self.is_held = false;
    }

    /// Takes the call out of the order in which answers end, because it does not go as recorded.
    pub fn leave_order(&mut self) {
        self.matched.leave_order();
    }

    /// Gives the take back, so that the session can get it again.
    pub fn release(&mut self) {
        self.matched.leave_order();
        if std::mem::replace(&mut self.is_held, false) {
            self.replay.release(self.matched.index(), self.observed.session.as_deref());
        }
    }
}

/// Finds the take for a call.
///
/// # Errors
/// A miss if no take answers the call.
pub(super) fn find<'a>(
    replay: &'a ReplayEngine,
    parsed: &'a ParsedRequest,
) -> Result<FoundTake<'a>, UnexplainedMiss> {
    let redacted = &parsed.redacted;
    let find = |observed: &'a NormalizedRequest| {
        let matched = replay.find(observed)?;
        Ok(FoundTake { replay, observed, matched, is_held: true })
    };
    // If the body holds the caller's own key, the request was recorded without that key.
    match (find(&redacted.observed), &redacted.scrubbed) {
        (Err(_), Some(scrubbed)) => find(scrubbed),
        (found, _) => found,
    }
}

/// Answers a call with its take, due as if the call had arrived at `arrived`.
///
/// # Errors
/// A miss if the take cannot be sent in the form that the call asks for. The take is given back.
pub(super) async fn deliver(
    call: &IncomingCall,
    mut found: FoundTake<'_>,
    arrived: Instant,
) -> Result<CallResult, UnexplainedMiss> {
    let accepted = call.accept_encoding();
    let FoundTake { replay, observed, matched, .. } = &mut found;
    call.set_held(matched.take.is_undelivered());
    let delivered = replay.deliver(matched, observed, accepted, arrived.into()).await;
    call.set_held(false);
    match delivered {
        Ok(answer) => Ok(served(answer)),
        Err(miss) => {
            found.release();
            Err(miss)
        }
    }
}

fn served(answer: ReplayAnswer) -> CallResult {
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
