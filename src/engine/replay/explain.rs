//! The explanation of a miss: from a reason to all that can be told of it.

use super::matcher::Matcher;
use super::mismatch::{NearestCall, RecordingMismatchError};
use super::nearest_call;
use super::reason::MissReason;
use loomrec_recording::normalized_request::NormalizedRequest;

/// Why a call gets no recorded answer, not yet explained.
#[derive(Clone, Debug)]
pub struct UnexplainedMiss {
    /// Why.
    pub reason: MissReason,
    /// The take that was found and cannot be given in the form asked for, and why.
    pub(super) refused: Option<(usize, String)>,
}

impl UnexplainedMiss {
    /// A call that no recorded call is like.
    pub fn unknown() -> Self {
        Self { reason: MissReason::Unknown, refused: None }
    }
}

impl RecordingMismatchError {
    /// Explains why `observed` is not answered. It reads recorded calls again to
    /// find the nearest: it blocks, and belongs on no thread that serves.
    pub fn explain(
        matcher: &Matcher,
        miss: &UnexplainedMiss,
        observed: &NormalizedRequest,
    ) -> Self {
        let mut error = Self::of(matcher, miss, observed);
        if miss.refused.is_some() {
            return error;
        }
        if let Some((unused, nearest)) = nearest_call::nearest(matcher, observed) {
            // A recorded call that nothing has asked for yet, and this one in its place.
            if error.reason == MissReason::Unknown && unused {
                error.reason = MissReason::Drifted;
            }
            error.nearest = Some(nearest);
        }
        error
    }

    /// What is known without reading a recording again.
    pub fn of(matcher: &Matcher, miss: &UnexplainedMiss, observed: &NormalizedRequest) -> Self {
        let rules = matcher.rules.first().cloned().unwrap_or_default();
        let refused = miss.refused.as_ref();
        Self {
            reason: miss.reason,
            detail: refused.map(|(_, why)| why.clone()),
            key: observed.key(&rules),
            method: observed.request.method.clone(),
            path: observed.request.path.clone(),
            upstream: observed.upstream.clone(),
            model: observed.call.model.clone(),
            step: observed.step.clone(),
            session: observed.session.clone(),
            recordings: matcher.labels.clone(),
            outside_key: observed.request.headers_outside_key(&observed.call, &rules),
            nearest: refused
                .map(|(take, _)| NearestCall::of(matcher, &matcher.takes[*take], Vec::new())),
        }
    }
}
