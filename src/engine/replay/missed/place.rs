//! The choice of the takes that the missed calls of a run replace.
//!
//! A take that no call asked for is replaced by the missed call that is nearest to it. A take of
//! another session stays. The nearest pairs come first, and each take and each call is used once. A
//! call that was missed more often than there are takes to replace is kept once for each of them, and
//! at least once.

use std::collections::{BTreeSet, HashMap, HashSet};

use crate::replay::matcher::Matcher;
use crate::replay::nearest_call;
use loomrec_identity::{IdentityRules, RequestKey};
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::pending::ReplacedTake;
use loomrec_recording::{EntryName, PendingChange};
use loomrec_store::{Recording, StoreError, TakeRef};

/// A request that one answer serves: under its name, at its upstream and mount.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct RequestToAnswer {
    name: EntryName,
    key: RequestKey,
    upstream: String,
    mount: String,
}

impl RequestToAnswer {
    /// Returns the request of a call with this name and this key.
    pub(super) fn new(name: EntryName, key: RequestKey, observed: &NormalizedRequest) -> Self {
        let mount = observed.chat_mount().to_owned();
        Self { name, key, upstream: observed.upstream.clone(), mount }
    }
}

/// A missed call.
pub(super) struct MissedCall {
    pub(super) name: EntryName,
    pub(super) place: TakeRef,
    pub(super) pending: PendingChange,
    /// The session of the take that it replaces.
    pub(super) session: Option<String>,
    /// Whether the call is to be kept.
    pub(super) stays: bool,
    asked: RequestToAnswer,
    own_session: Option<String>,
}

/// A missed call and a take that it may replace. The best pair is the least.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ReplacedPair {
    /// Whether they have no step in common.
    elsewhere: bool,
    distance: u64,
    other_session: bool,
    call: usize,
    take: usize,
}

/// Returns the missed calls in their order, each with the take that it replaces, if any.
///
/// # Errors
/// A file cannot be read.
pub(super) fn calls_with_takes(
    missed: &Recording,
    matcher: &Matcher,
    rules: &IdentityRules,
) -> Result<Vec<MissedCall>, StoreError> {
    let (mut calls, mut pairs) = (Vec::new(), Vec::new());
    for stored in missed.entries() {
        let stored = stored?;
        let Some(pending) = PendingChange::from_entry(&stored.entry) else { continue };
        if !stored.entry.has_request() {
            continue;
        }
        let mut observed =
            NormalizedRequest::from_entry(&stored.entry, std::slice::from_ref(rules));
        observed.session.clone_from(&stored.entry.session);
        observed.step = stored.name.step_id().map(str::to_owned);
        pairs_of(calls.len(), &pending.reason, &observed, matcher, &mut pairs);
        calls.push(MissedCall {
            asked: RequestToAnswer::new(stored.name.clone(), observed.key_under(rules), &observed),
            name: stored.name,
            place: stored.place,
            pending,
            session: None,
            stays: true,
            own_session: stored.entry.session,
        });
    }
    pairs.sort_unstable();
    assign_takes(&mut calls, &pairs, matcher);
    leave_out_copies(&mut calls);
    Ok(calls)
}

/// Adds the takes that a call may replace to `pairs`.
fn pairs_of(
    call: usize,
    reason: &str,
    observed: &NormalizedRequest,
    matcher: &Matcher,
    pairs: &mut Vec<ReplacedPair>,
) {
    let found = match reason {
        "drifted" | "unknown" => nearest_call::replaceable_takes(matcher, observed),
        // The incomplete take belongs to the same request.
        "incomplete" => nearest_call::replaceable_takes(matcher, observed)
            .into_iter()
            .filter(|(take, apart)| apart.bytes == 0 && !matcher.takes[*take].servable)
            .collect(),
        _ => Vec::new(),
    };
    let named = |name: &Option<String>| name.as_ref().map(|name| matcher.names.find(name));
    let (step, session) = (named(&observed.step), named(&observed.session));
    for (take, apart) in found {
        let known = &matcher.takes[take];
        let other_session = session.flatten() != known.under.session;
        if other_session && known.under.session.is_some() {
            continue;
        }
        let same_step = step.is_some() && step.flatten() == known.under.step;
        // Takes of another step, or of another recording than the first, stay.
        let apart_by_step = step.is_some() != known.under.step.is_some() && !same_step;
        if known.source_index() != 0 || apart_by_step || !(same_step || apart.is_alike) {
            continue;
        }
        pairs.push(ReplacedPair {
            elsewhere: !same_step,
            distance: apart.bytes,
            other_session,
            call,
            take,
        });
    }
}

/// Assigns a take to each call.
fn assign_takes(calls: &mut [MissedCall], pairs: &[ReplacedPair], matcher: &Matcher) {
    let mut taken: HashSet<usize> = HashSet::new();
    let mut given: HashSet<usize> = HashSet::new();
    for pair in pairs {
        if taken.contains(&pair.take) || given.contains(&pair.call) {
            continue;
        }
        let take = &matcher.takes[pair.take];
        let Some(entry) = matcher.read_entry(take) else { continue };
        taken.insert(pair.take);
        given.insert(pair.call);
        let call = &mut calls[pair.call];
        if call.pending.reason == "unknown" {
            call.pending.reason = "drifted".to_owned();
        }
        call.pending.replaces =
            Some(ReplacedTake::from_entry(&matcher.name_of(take), take.number(), &entry));
        call.session = entry.session;
    }
    for call in calls.iter_mut().filter(|call| call.pending.replaces.is_none()) {
        if call.pending.reason == "drifted" {
            call.pending.reason = "unknown".to_owned();
        }
    }
}

/// Leaves out calls that are answered by another one of the same request. A call that replaces no
/// take is kept once in each session, or once for all.
fn leave_out_copies(calls: &mut [MissedCall]) {
    let mut served: HashMap<RequestToAnswer, BTreeSet<Option<String>>> = HashMap::new();
    for call in calls.iter().filter(|call| call.pending.replaces.is_some()) {
        let known = served.entry(call.asked.clone()).or_default();
        known.insert(call.session.clone());
    }
    for call in calls.iter_mut().filter(|call| call.pending.replaces.is_none()) {
        let known = served.entry(call.asked.clone()).or_default();
        let wanted = !known.contains(&call.own_session) && !known.contains(&None);
        call.stays = wanted || call.pending.reason == "exhausted";
        known.insert(call.own_session.clone());
    }
}

#[cfg(test)]
#[path = "place_tests.rs"]
mod tests;
