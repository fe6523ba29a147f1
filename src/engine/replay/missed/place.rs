//! Which takes the missed calls of a run stand in the place of.
//!
//! A take that no call asked for is given to the missed call that is nearest to it,
//! the nearest pairs first, each take and each call once. A call that was missed more
//! often than there are takes to give it is kept once for each, and once at least.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::replay::matcher::Matcher;
use crate::replay::nearest_call::{self, RequestDistance};
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::pending::ReplacedTake;
use loomrec_recording::{EntryName, PendingChange};
use loomrec_store::{Recording, StoreError, TakeRef};

/// A missed call.
pub(super) struct MissedCall {
    pub(super) name: EntryName,
    pub(super) place: TakeRef,
    pub(super) pending: PendingChange,
    /// The session of the take that it replaces.
    pub(super) session: Option<String>,
    /// Whether it is one of those that are wanted.
    pub(super) stays: bool,
    key: RequestKey,
    own_session: Option<String>,
}

/// A missed call and a take that it may stand in the place of, the best first.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Pair {
    /// Whether they have no step in common.
    elsewhere: bool,
    distance: u64,
    other_session: bool,
    call: usize,
    take: usize,
}

/// The missed calls in their order, and what becomes of each.
///
/// # Errors
/// A file that cannot be read.
pub(super) fn calls(
    missed: &Recording,
    matcher: &Matcher,
    rules: &IdentityRules,
) -> Result<Vec<MissedCall>, StoreError> {
    let (mut calls, mut pairs) = (Vec::new(), Vec::new());
    for stored in missed.entries() {
        let stored = stored?;
        let Some(pending) = PendingChange::of(&stored.entry) else { continue };
        let Some(request) = stored.entry.request else { continue };
        let upstream = stored.entry.upstream.unwrap_or_default();
        let mut observed = NormalizedRequest::new(upstream, request, std::slice::from_ref(rules));
        observed.session.clone_from(&stored.entry.session);
        observed.step = stored.name.step_id().map(str::to_owned);
        pairs_of(calls.len(), &pending.reason, &observed, matcher, &mut pairs);
        calls.push(MissedCall {
            key: observed.key(rules),
            name: stored.name,
            place: stored.place,
            pending,
            session: None,
            stays: true,
            own_session: stored.entry.session,
        });
    }
    pairs.sort();
    give(&mut calls, &pairs, matcher);
    leave_out_copies(&mut calls);
    Ok(calls)
}

/// The takes that a call may stand in the place of.
fn pairs_of(
    call: usize,
    reason: &str,
    observed: &NormalizedRequest,
    matcher: &Matcher,
    pairs: &mut Vec<Pair>,
) {
    let found = match reason {
        "drifted" | "unknown" => nearest_call::unused(matcher, observed),
        // The take that was not recorded whole is this very request's.
        "incomplete" => nearest_call::unused(matcher, observed)
            .into_iter()
            .filter(|(take, apart)| apart.bytes == 0 && !matcher.takes[*take].servable)
            .collect(),
        _ => Vec::new(),
    };
    let named = |name: &Option<String>| name.as_ref().map(|name| matcher.names.find(name));
    let (step, session) = (named(&observed.step), named(&observed.session));
    for (take, apart) in found {
        let known = &matcher.takes[take];
        let same_step = step.is_some() && step.flatten() == known.under.step;
        // What belongs to another step, or to the first recording not at all, stays.
        let apart_by_step = step.is_some() != known.under.step.is_some() && !same_step;
        if known.source() != 0 || apart_by_step || !(same_step || is_like(apart)) {
            continue;
        }
        pairs.push(Pair {
            elsewhere: !same_step,
            distance: apart.bytes,
            other_session: session.flatten() != known.under.session,
            call,
            take,
        });
    }
}

/// Whether one request may have become the other: half of it is as it was.
fn is_like(apart: RequestDistance) -> bool {
    apart.bytes.saturating_mul(2) <= apart.of
}

/// Gives each call its take.
fn give(calls: &mut [MissedCall], pairs: &[Pair], matcher: &Matcher) {
    let mut taken: HashSet<usize> = HashSet::new();
    let mut given: HashSet<usize> = HashSet::new();
    for pair in pairs {
        if taken.contains(&pair.take) || given.contains(&pair.call) {
            continue;
        }
        let take = &matcher.takes[pair.take];
        let Some(entry) = matcher.entry(take) else { continue };
        taken.insert(pair.take);
        given.insert(pair.call);
        let call = &mut calls[pair.call];
        if call.pending.reason == "unknown" {
            call.pending.reason = "drifted".to_owned();
        }
        call.pending.replaces =
            Some(ReplacedTake::of(&matcher.name_of(take), take.number(), &entry));
        call.session = entry.session;
    }
    for call in calls.iter_mut().filter(|call| call.pending.replaces.is_none()) {
        if call.pending.reason == "drifted" {
            call.pending.reason = "unknown".to_owned();
        }
    }
}

/// Leaves out what another one of the same request answers as well: a call that takes
/// nobody's place is wanted once in each session, or once for all.
fn leave_out_copies(calls: &mut [MissedCall]) {
    let mut served: HashMap<(EntryName, RequestKey), BTreeSet<Option<String>>> = HashMap::new();
    for call in calls.iter().filter(|call| call.pending.replaces.is_some()) {
        let known = served.entry((call.name.clone(), call.key.clone())).or_default();
        known.insert(call.session.clone());
    }
    for call in calls.iter_mut().filter(|call| call.pending.replaces.is_none()) {
        let known = served.entry((call.name.clone(), call.key.clone())).or_default();
        let wanted = !known.contains(&call.own_session) && !known.contains(&None);
        call.stays = wanted || call.pending.reason == "exhausted";
        known.insert(call.own_session.clone());
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
