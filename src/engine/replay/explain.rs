//! The explanation of a miss: from a reason to everything that can be said about it.

use super::matcher::{Matcher, TakeMatch};
use super::mismatch::{NearestCall, RecordingMismatchError};
use super::nearest_call;
use super::reason::MissReason;
use super::take_answer::NO_ANSWER;
use loomrec_provider::RpcMethod;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_script::{RuleClaim, RuleLookup};

/// Why a call gets no recorded answer, before it is explained.
#[derive(Clone, Debug)]
pub struct UnexplainedMiss {
    /// The reason.
    pub reason: MissReason,
    /// The take that was found but cannot be sent in the form asked for, and why.
    pub(super) refused: Option<(usize, String)>,
    /// What is known of the rule of the script that answers the call instead.
    pub(crate) rule: RuleLookup,
}

impl UnexplainedMiss {
    /// Whether a take was found that cannot be given to the call.
    pub fn has_take(&self) -> bool {
        self.refused.is_some()
    }

    /// Returns the miss of a call whose take holds a fault and no answer.
    pub fn without_answer(take: &TakeMatch<'_>) -> Self {
        Self::of_take(take, NO_ANSWER)
    }

    /// Returns the miss of a call whose take cannot be sent, for this reason.
    pub(crate) fn of_take(take: &TakeMatch<'_>, why: &str) -> Self {
        let refused = Some((take.index(), why.to_owned()));
        Self { reason: MissReason::OtherForm, refused, rule: RuleLookup::Pending }
    }

    /// Returns the miss of a call that no recorded call is like.
    pub fn unknown() -> Self {
        Self { reason: MissReason::Unknown, refused: None, rule: RuleLookup::Pending }
    }

    /// Returns the claim to the rule of the script that answers the call.
    pub fn claimed_rule(&self) -> Option<&RuleClaim> {
        match &self.rule {
            RuleLookup::Claimed(claim) => Some(claim),
            RuleLookup::Pending | RuleLookup::Unanswered => None,
        }
    }
}

/// How many characters of a method and its tool are shown.
const METHOD_SHOWN: usize = 200;

impl RecordingMismatchError {
    /// Explains why `observed` is not answered. It reads recorded calls again to find the nearest
    /// one, so it blocks and must not run on a serving thread.
    pub fn explain_miss(
        matcher: &Matcher,
        miss: &UnexplainedMiss,
        observed: &NormalizedRequest,
    ) -> Self {
        let mut error = Self::from_miss(matcher, miss, observed);
        if miss.refused.is_some() {
            return error;
        }
        if let Some((has_drifted, nearest)) =
            nearest_call::find_nearest(matcher, observed, miss.reason)
        {
            if error.reason == MissReason::Unknown && has_drifted {
                error.reason = MissReason::Drifted;
            }
            error.nearest = Some(nearest);
        } else if error.reason == MissReason::Drifted {
            error.nearest = nearest_call::in_step(matcher, observed);
        }
        error
    }

    /// Returns what is known without reading a recording again.
    pub fn from_miss(
        matcher: &Matcher,
        miss: &UnexplainedMiss,
        observed: &NormalizedRequest,
    ) -> Self {
        let rules = matcher.rules.first().cloned().unwrap_or_default();
        let refused = miss.refused.as_ref();
        Self {
            reason: miss.reason,
            detail: refused.map(|(_, why)| why.clone()),
            key: observed.key_under(&rules),
            method: observed.method().to_owned(),
            path: observed.path().to_owned(),
            upstream: observed.upstream.clone(),
            rpc: observed.call.rpc.as_ref().map(method_words),
            model: observed.call.model.clone(),
            step: observed.step.clone(),
            session: observed.session.clone(),
            recordings: matcher.labels.clone(),
            outside_key: observed.headers_outside_key(&rules),
            same_messages: match miss.reason {
                MissReason::Unknown => matcher.refused_by_messages(observed),
                _ => None,
            },
            is_of_session: matcher.is_of_session,
            nearest: refused.map(|(take, _)| {
                NearestCall::from_take(matcher, &matcher.takes[*take], Vec::new())
            }),
        }
    }
}

/// Returns a method and its tool, cut if a client chose long names.
fn method_words(method: &RpcMethod) -> String {
    method.to_string().chars().take(METHOD_SHOWN).collect()
}
