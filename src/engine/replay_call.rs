//! Calls that a recording answers.

use std::time::Instant;

use super::answer_body::AnswerBody;
use super::call_outcome::{AnswerOrigin, CallOutcome, ServedTake};
use super::call_result::{CallResult, RecordedUsage};
use super::incoming_call::IncomingCall;
use super::parsed_request::ParsedRequest;
use crate::replay::{ENTRY, ReplayAnswer, ReplayEngine, TakeMatch, UnexplainedMiss};
use loomrec_recording::normalized_request::NormalizedRequest;

/// The take that a call is owed, and the request that it was found by.
pub struct OwedTake<'a> {
    replay: &'a ReplayEngine,
    observed: &'a NormalizedRequest,
    matched: TakeMatch<'a>,
    /// Whether the take is used up by this call.
    is_held: bool,
}

impl<'a> OwedTake<'a> {
    /// The take.
    pub fn matched(&self) -> &TakeMatch<'a> {
        &self.matched
    }

    /// Whether the take is used up by this call.
    pub fn is_held(&self) -> bool {
        self.is_held
    }

    /// Hands the use of the take over to a lease: [`OwedTake::release`] does nothing then.
    pub fn hand_over(&mut self) {
        self.is_held = false;
    }

    /// Gives the take back: it is still owed to the session.
    pub fn release(&mut self) {
        if std::mem::replace(&mut self.is_held, false) {
            self.replay.release(self.matched.index(), self.observed.session.as_deref());
        }
    }
}

/// Finds the take that a call is owed.
///
/// # Errors
/// A miss where no take answers the call.
pub(super) fn find<'a>(
    replay: &'a ReplayEngine,
    parsed: &'a ParsedRequest,
) -> Result<OwedTake<'a>, UnexplainedMiss> {
    let redacted = &parsed.redacted;
    let find = |observed: &'a NormalizedRequest| {
        let matched = replay.find(observed)?;
        Ok(OwedTake { replay, observed, matched, is_held: true })
    };
    // A body that holds the caller's own key was recorded without it.
    match (find(&redacted.observed), &redacted.scrubbed) {
        (Err(_), Some(scrubbed)) => find(scrubbed),
        (found, _) => found,
    }
}

/// Answers a call with the take that it is owed, due as if the call had come at `arrived`.
///
/// # Errors
/// A miss where the take cannot be given in the form that is asked for. It is given back.
pub(super) async fn deliver(
    call: &IncomingCall,
    mut owed: OwedTake<'_>,
    arrived: Instant,
) -> Result<CallResult, UnexplainedMiss> {
    let accepted = call.accept_encoding();
    let OwedTake { replay, observed, matched, .. } = &owed;
    match replay.deliver(matched, observed, accepted, arrived.into()).await {
        Ok(answer) => Ok(served(answer)),
        Err(miss) => {
            owed.release();
            Err(miss)
        }
    }
}

fn served(answer: ReplayAnswer) -> CallResult {
    let ReplayAnswer { response, usage, cost_usd, by, take, index } = answer;
    let due = response.body().first_due();
    let entry = response.headers().get(ENTRY).cloned();
    let take = ServedTake { matched_by: by, number: take, index };
    CallResult {
        origin: Some(AnswerOrigin::Take(take)),
        spent: Some(RecordedUsage { tokens: usage, cost_usd }),
        due,
        ..CallResult::new(response.map(AnswerBody::Replay), CallOutcome::Served { entry })
    }
}
