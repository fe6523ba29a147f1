//! Calls whose recorded client left before the end of the answer: each is held at that point until its
//! own client leaves as well.
//!
//! A client that waits longer than the recorded one makes another call than the recorded one. Then
//! the call is a miss.

use std::time::Duration;

use tokio::time::{Instant, sleep_until};

use super::asked_form::AskedForm;
use super::client_hold::longest_hold;
use super::engine::{ReplayAnswer, ReplayEngine};
use super::explain::UnexplainedMiss;
use super::matcher::TakeMatch;
use super::reason::MissReason;
use loomrec_provider::RpcKind;
use loomrec_recording::entry::ClientLeft;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_script::RuleLookup;

/// How often a held call looks for a take that was given back.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

impl ReplayEngine {
    /// Holds a call whose recorded client left before the head of its answer, until this client
    /// leaves as well. Answers it with a take that a client got, if one is given back meanwhile.
    ///
    /// # Errors
    /// An [`UnexplainedMiss`] if this client waits longer than the recorded one.
    pub(super) async fn hold_call(
        &self,
        hit: &TakeMatch<'_>,
        observed: &NormalizedRequest,
        asked: AskedForm<'_>,
        arrived: Instant,
    ) -> Result<ReplayAnswer, UnexplainedMiss> {
        let Some(left) = hit.take.client_left().filter(|_| !is_endless(observed)) else {
            return Err(UnexplainedMiss::without_answer(hit));
        };
        let until = arrived + longest_hold(left, 0.0);
        loop {
            if let Some(found) = self.matcher().find_delivered(hit, observed) {
                let mut found = self.with_turn(found, observed);
                let answer = self.deliver_take(&mut found, observed, asked, arrived).await;
                if answer.is_err() {
                    self.release_take(found.index(), observed.session.as_deref());
                }
                return answer;
            }
            let now = Instant::now();
            if now >= until {
                return Err(miss_after_nothing(hit, left));
            }
            sleep_until(until.min(now + LOOK_AGAIN)).await;
        }
    }

    /// Holds the client at the end of an answer that its recorded client did not get whole.
    pub(super) fn hold_at_end(
        &self,
        mut answer: ReplayAnswer,
        hit: &TakeMatch<'_>,
        observed: &NormalizedRequest,
    ) -> ReplayAnswer {
        if let Some(left) = hit.take.client_left() {
            let error = self.describe_miss(&miss_after_part(hit, left), observed);
            answer.body_mut().hold_at_end(left, is_endless(observed), error);
        }
        answer
    }
}

/// Whether a call asks for a stream that lasts as long as its client stays, by its protocol.
fn is_endless(observed: &NormalizedRequest) -> bool {
    let method = observed.call.rpc.as_ref();
    method.is_some_and(|method| method.kind == RpcKind::OpenStream)
}

/// Returns the miss of a call that waited for an answer that no client got.
fn miss_after_nothing(hit: &TakeMatch<'_>, left: ClientLeft) -> UnexplainedMiss {
    let why = format!(
        "the recording has an answer that no client got: the recorded client gave the call up after \
         {:.1} s, and this one waited longer",
        left.at_ms / 1000.0
    );
    refused_miss(hit, MissReason::Exhausted, why)
}

/// Returns the miss of a call that waited for more of an answer than its recorded client got.
fn miss_after_part(hit: &TakeMatch<'_>, left: ClientLeft) -> UnexplainedMiss {
    let bytes = left.bytes.unwrap_or(0);
    let why = format!(
        "the recorded client left after {bytes} bytes of the answer, and this one waited for more"
    );
    refused_miss(hit, MissReason::Incomplete, why)
}

fn refused_miss(hit: &TakeMatch<'_>, reason: MissReason, why: String) -> UnexplainedMiss {
    UnexplainedMiss { reason, refused: Some((hit.index(), why)), rule: RuleLookup::Pending }
}
