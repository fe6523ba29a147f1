//! The nearest recorded call to a request that was not answered, and how they differ.
//!
//! Requests are not kept in memory: a few candidates are chosen by their sketches and read again.
//! So this blocks on files, and must not run on a serving thread.

use std::cmp::Reverse;
use std::collections::HashMap;

use serde_json::Value;

use super::matcher::Matcher;
use super::mismatch::{HIDDEN, HeaderDelta, NearestCall, RequestDifference, bounded_values};
use super::reason::MissReason;
use super::remedy::HOST;
use super::take::ReplayTake;
use super::take_scope::TakeScope;
use super::tool_results::{in_order_of, without_results};
use loomrec_curation::noise;
use loomrec_identity::likeness::RequestWords;
use loomrec_identity::{
    IdentityRules, JsonPointer, RequestDelta, RequestParts, RunBinding, TextRole, header,
    request_delta,
};
use loomrec_recording::Entry;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::similarity::RequestSketch;

/// How many recorded calls are read again because their sketches are similar.
const ALIKE: usize = 48;
/// How many more are read because the program seems to have reached them.
const AHEAD: usize = 16;
/// The approximate number of bytes of recorded bodies that are read again.
const READ: usize = 32 << 20;
/// The most differences that are reported.
const MAX_DELTAS: usize = 16;
/// The most differences that are looked at: rules for what clients make anew may explain some.
const MOST_COMPARED: usize = 512;

/// A recorded call that was read again, and its rank.
struct NearbyCall {
    rank: (bool, u64, bool, usize),
    is_alike: bool,
    index: usize,
    entry: Entry,
}

/// Returns the recorded call that differs least from `observed`, and the differences that no value of
/// the run and no rule explains. It has the same operation. Calls at the same upstream and mount come first,
/// and at the same distance unused ones come before used ones. The returned bool is true if
/// `observed` has drifted from it: it is at the same upstream and mount, no call has used it, and their texts
/// are alike.
pub(super) fn find_nearest(
    matcher: &Matcher,
    observed: &NormalizedRequest,
    reason: MissReason,
) -> Option<(bool, NearestCall)> {
    let rules = matcher.rules.get(matcher.explaining_rules)?;
    let asked = without_results(observed.to_unanswered(), rules);
    let now = asked.key_parts(&observed.call)?;
    let mut best: Option<NearbyCall> = None;
    visit_candidates(matcher, observed, |index, apart, entry| {
        let take = &matcher.takes[index];
        let rank =
            (is_elsewhere(matcher, take, observed), apart.bytes, matcher.is_used(index), index);
        if best.as_ref().is_none_or(|best| rank < best.rank) {
            best = Some(NearbyCall { rank, is_alike: apart.is_alike, index, entry });
        }
    });
    let NearbyCall { index, entry, is_alike, .. } = best?;
    let found = &matcher.takes[index];
    let is_elsewhere = is_elsewhere(matcher, found, observed);
    let mut differences = scope_differences(matcher, found, &entry, observed);
    let call = entry.recognise_call()?;
    let outside_key = HeaderDelta::from_names(
        &entry.headers_outside_key(&call, rules),
        &observed.headers_outside_key(rules),
    );
    let recorded = entry.key_parts(&call)?;
    let deltas = request_delta::request_deltas(&recorded, &now, rules, MOST_COMPARED);
    let (of_entry, runs) = matcher.bound.rules_and_binding(&entry, rules);
    let roles = shared_roles(&entry, observed);
    let unexplained = |delta: RequestDelta| {
        let role = roles.get(&delta.pointer).copied();
        unexplained_rest(delta, role, &of_entry, &runs)
    };
    let mut deltas: Vec<_> = deltas.into_iter().filter_map(unexplained).collect();
    let is_noise = !is_elsewhere && noise::are_of_known_kinds(&deltas);
    if deltas.is_empty() && !is_elsewhere && reason == MissReason::Unknown {
        deltas = raw_deltas(matcher, found, &now, rules);
    }
    differences.extend(deltas.into_iter().take(MAX_DELTAS).map(|delta| {
        let (recorded, now) = (delta.recorded.map(readable_json), delta.now.map(readable_json));
        let (recorded, now) = bounded_values(recorded.map(hide_digest), now.map(hide_digest));
        RequestDifference { place: delta.pointer, recorded, now }
    }));
    let request_hash = entry.request_hash.clone();
    let request_hash = request_hash.or_else(|| entry.compute_key(&call, rules));
    let nearest = NearestCall {
        outside_key,
        request_hash,
        is_noise,
        preset: matcher.bound.preset_of(&entry),
        ..NearestCall::from_take(matcher, found, differences)
    };
    Some((is_alike && !is_elsewhere && !matcher.is_used(index), nearest))
}

/// Returns the differences in where two calls go: in their upstream and their mount.
fn scope_differences(
    matcher: &Matcher,
    found: &ReplayTake,
    entry: &Entry,
    observed: &NormalizedRequest,
) -> Vec<RequestDifference> {
    let scope = TakeScope::from_request(observed, &matcher.names);
    let quote = |name: &str| Some(Value::from(name).to_string());
    let mut differences = Vec::new();
    if !scope.has_host_of(found) {
        let recorded = entry.provider_host().and_then(quote);
        let (place, now) = (HOST.to_owned(), observed.named_host.as_deref().and_then(quote));
        differences.push(RequestDifference { place, recorded, now });
    } else if is_at_other_upstream(scope, found) {
        differences.push(RequestDifference {
            place: "upstream".to_owned(),
            recorded: entry.upstream.as_deref().and_then(quote),
            now: quote(&observed.upstream),
        });
    }
    if !scope.has_mount_of(found) {
        let recorded = entry.request_path().and_then(quote);
        let (place, now) = ("path".to_owned(), quote(observed.path()));
        differences.push(RequestDifference { place, recorded, now });
    }
    differences
}

/// Returns the roles of the texts that are texts of the same role in both requests, by their places.
fn shared_roles(recorded: &Entry, now: &NormalizedRequest) -> HashMap<String, TextRole> {
    let by_place = |roles: Vec<(TextRole, JsonPointer)>| -> HashMap<String, TextRole> {
        roles.into_iter().map(|(role, place)| (place.to_string(), role)).collect()
    };
    let now = by_place(now.text_roles());
    let mut shared = by_place(recorded.text_roles());
    shared.retain(|place, role| now.get(place) == Some(role));
    shared
}

/// Returns what rules and the values of the two runs leave of a difference: the values begin to
/// differ where nothing explains it. `None` if all of it is explained. `role` is that of the text.
fn unexplained_rest(
    mut delta: RequestDelta,
    role: Option<TextRole>,
    rules: &IdentityRules,
    runs: &RunBinding,
) -> Option<RequestDelta> {
    if let (Some(recorded), Some(now)) = (&delta.recorded, &delta.now) {
        let explained = rules.explained_value(&delta.pointer, role, [recorded, now], runs);
        delta.recorded = explained.or(delta.recorded);
    }
    (delta.recorded != delta.now).then_some(delta)
}

/// Returns the differences as they are in the two requests: each of them can be explained, but not
/// all together. One id may stand for two, or a value of the run may have changed in some places
/// only.
fn raw_deltas(
    matcher: &Matcher,
    take: &ReplayTake,
    now: &RequestParts<'_>,
    rules: &IdentityRules,
) -> Vec<RequestDelta> {
    let Some(entry) = matcher.read_entry(take) else { return Vec::new() };
    let entry = without_results(entry, rules);
    let Some(call) = entry.recognise_call() else { return Vec::new() };
    let recorded = entry.key_parts(&call);
    let deltas = |parts| request_delta::request_deltas(&parts, now, rules, MAX_DELTAS);
    recorded.map(deltas).unwrap_or_default()
}

/// Returns the recorded call that `observed` may stand in the place of, by their step alone: the
/// first of the step that no call has used, or else its last. Returns `None` if its entry has no
/// hash.
pub(super) fn in_step(matcher: &Matcher, observed: &NormalizedRequest) -> Option<NearestCall> {
    let step = matcher.names.find(observed.step.as_deref()?)?;
    let takes = || matcher.steps.takes(step).map(|take| take as usize);
    let take = takes().find(|take| !matcher.is_used(*take)).or_else(|| takes().last())?;
    let take = &matcher.takes[take];
    let request_hash = Some(matcher.read_entry(take)?.request_hash?);
    Some(NearestCall { request_hash, ..NearestCall::from_take(matcher, take, Vec::new()) })
}

/// Hides a header's value that is kept as a digest only.
fn hide_digest(value: String) -> String {
    if header::is_digest(value.trim_matches('"')) { HIDDEN.to_owned() } else { value }
}

/// How far a recorded request is from another request.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestDistance {
    /// The approximate number of bytes in which their bodies differ.
    pub(super) bytes: u64,
    /// Whether a person would say that one has become the other.
    pub(super) is_alike: bool,
}

/// Reads the calls that may be near to `observed` again, one after the other.
fn visit_candidates(
    matcher: &Matcher,
    observed: &NormalizedRequest,
    mut visit: impl FnMut(usize, RequestDistance, Entry),
) {
    let Some(rules) = matcher.rules.get(matcher.explaining_rules) else { return };
    let asked = without_results(observed.to_unanswered(), rules);
    let Some(now) = asked.key_parts(&observed.call) else { return };
    let body = now.json_body();
    let words = body.as_ref().map(RequestWords::from_body);
    let mut read = 0;
    for index in candidate_takes(matcher, observed) {
        let take = &matcher.takes[index];
        let length = take.sketch().map_or(0, RequestSketch::body_length);
        if read > 0 && read + length > READ {
            continue;
        }
        let Some(entry) = matcher.read_entry(take) else { continue };
        let entry = matcher.bound.in_this_run(entry);
        let of_entry = matcher.bound.rules_of(&entry, rules);
        let entry = without_results(entry, rules);
        let entry = in_order_of(entry, &asked, of_entry.normalize_rules());
        let Some(call) = entry.recognise_call() else { continue };
        let Some(recorded) = entry.key_parts(&call) else { continue };
        read += length;
        let recorded_body = recorded.json_body();
        let bytes = match (&recorded_body, &body) {
            (Some(recorded), Some(now)) => request_delta::body_distance(recorded, now, rules),
            _ if recorded.body == now.body => 0,
            _ => u64::MAX,
        };
        let is_alike = match (recorded_body.as_ref().map(RequestWords::from_body), &words) {
            (Some(known), Some(words)) if !(known.is_empty() && words.is_empty()) => {
                known.is_alike(words)
            }
            _ => {
                let longer = recorded.body.len().max(now.body.len()) as u64;
                has_same_path(&entry, observed) && bytes.saturating_mul(2) <= longer
            }
        };
        visit(index, RequestDistance { bytes, is_alike }, entry);
    }
}

/// Whether two requests have the same method and path.
fn has_same_path(entry: &Entry, observed: &NormalizedRequest) -> bool {
    entry.request_method() == Some(observed.method())
        && entry.request_path() == Some(observed.path())
}

/// Returns the unused takes of the same operation, upstream and mount, which `observed` may replace, and
/// how far each is from it.
pub(super) fn replaceable_takes(
    matcher: &Matcher,
    observed: &NormalizedRequest,
) -> Vec<(usize, RequestDistance)> {
    let mut found = Vec::new();
    visit_candidates(matcher, observed, |index, apart, _| {
        let take = &matcher.takes[index];
        let is_left = !matcher.is_used(index) && !take.is_undelivered();
        if is_left && !is_elsewhere(matcher, take, observed) {
            found.push((index, apart));
        }
    });
    found
}

/// Returns the takes that are worth reading again: those with the most similar sketches, and those
/// that the program seems to have reached.
fn candidate_takes(matcher: &Matcher, observed: &NormalizedRequest) -> Vec<usize> {
    let sketch = observed.to_sketch();
    let of_operation = |&index: &usize| {
        let known = matcher.takes[index].sketch();
        known.is_some_and(|known| known.operation == sketch.operation)
    };
    let step = observed.step.as_ref().and_then(|step| matcher.names.find(step));
    let mut all: Vec<usize> = match step.filter(|step| matcher.steps.contains(*step)) {
        Some(step) => {
            matcher.steps.takes(step).map(|turn| turn as usize).filter(of_operation).collect()
        }
        None => (0..matcher.takes.len()).filter(of_operation).collect(),
    };
    if all.len() <= ALIKE + AHEAD {
        return all;
    }
    let likeness = |index: &usize| {
        let take = &matcher.takes[*index];
        let distance = take.sketch().map(|known| known.distance(&sketch));
        (is_elsewhere(matcher, take, observed), distance, matcher.is_used(*index), *index)
    };
    all.select_nth_unstable_by_key(ALIKE, likeness);
    let mut rest = all.split_off(ALIKE);
    // A program that makes its calls in the recorded order is now after the last take that it got.
    let ahead = |index: &usize| {
        let take = &matcher.takes[*index];
        let next = *index > 0 && matcher.is_used(*index - 1);
        (is_elsewhere(matcher, take, observed), matcher.is_used(*index), Reverse(next), *index)
    };
    if rest.len() > AHEAD {
        rest.select_nth_unstable_by_key(AHEAD, ahead);
        rest.truncate(AHEAD);
    }
    all.append(&mut rest);
    all
}

fn is_elsewhere(matcher: &Matcher, take: &ReplayTake, observed: &NormalizedRequest) -> bool {
    let scope = TakeScope::from_request(observed, &matcher.names);
    is_at_other_upstream(scope, take) || !scope.has_mount_of(take)
}

fn is_at_other_upstream(scope: TakeScope, take: &ReplayTake) -> bool {
    let is_named = scope.upstream.is_some() && take.under.upstream == scope.upstream;
    !is_named || !scope.has_host_of(take)
}

/// Returns canonical text, which escapes everything that is not ASCII, in readable form.
pub(super) fn readable_json(canonical: String) -> String {
    serde_json::from_str::<Value>(&canonical).map_or(canonical, |value| value.to_string())
}
