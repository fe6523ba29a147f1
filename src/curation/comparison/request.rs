//! Differences between two requests.

use serde_json::Value;

use super::message_list::MessageLists;
use super::shown::{RequestDifferences, ShownDifferences};
use super::{CallDifference, CallHalf, ComparedSide, DiffScope, MOST, value};
use loomrec_identity::RequestParts;

/// Returns the differences between the requests of two calls that no earlier call has shown.
pub(super) fn unshown_differences(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    scope: &DiffScope,
    shown: &ShownDifferences,
) -> RequestDifferences {
    let mut out = RequestDifferences::default();
    let found = &mut out.found;
    add_name_difference(found, "step_id", a.name.step_id(), b.name.step_id());
    add_name_difference(found, "session", a.entry.session.as_deref(), b.entry.session.as_deref());
    let upstreams = (a.entry.upstream.as_deref(), b.entry.upstream.as_deref());
    // An entry with a summary only names no upstream. This is not a difference.
    if let (Some(_), Some(_)) = upstreams {
        add_name_difference(found, "upstream", upstreams.0, upstreams.1);
    }
    match (a.key_parts(), b.key_parts()) {
        (Some(_), Some(_)) if a.entry.asks_the_same(b.entry) => {}
        (Some(old), Some(new)) => compare_parts(&old, &new, scope, shown, &mut out),
        (old, new) => {
            let told = |told: bool| told.then(|| Value::from("recorded"));
            let (old, new) = (told(old.is_some()), told(new.is_some()));
            if old != new {
                let told = value::whole_difference(CallHalf::Request, "request", old, new);
                found.push(CallDifference { counts: false, ..told });
            }
            compare_hashes(a, b, found);
        }
    }
    out.found.retain(|difference| !scope.leaves_out(&difference.place));
    out
}

/// Compares everything that the keys of two requests are made of.
fn compare_parts(
    old: &RequestParts<'_>,
    new: &RequestParts<'_>,
    scope: &DiffScope,
    shown: &ShownDifferences,
    out: &mut RequestDifferences,
) {
    let bodies = old.json_body().zip(new.json_body());
    let lists =
        bodies.as_ref().and_then(|(old, new)| MessageLists::from_bodies(old, new, &scope.rules));
    let others = lists.as_ref().and_then(|lists| lists.rules_without(&scope.rules));
    let rules = others.as_ref().unwrap_or(&scope.rules);
    let deltas = loomrec_identity::request_deltas(old, new, rules, MOST);
    out.found.extend(
        deltas.into_iter().map(|delta| value::difference_from_delta(CallHalf::Request, "", delta)),
    );
    out.leave_out(shown);
    if let Some(lists) = lists.filter(|_| others.is_some()) {
        lists.add_differences(shown, out);
    }
}

/// Compares the hashes of two requests. They show a difference even if a request is not recorded.
fn compare_hashes(a: &ComparedSide<'_>, b: &ComparedSide<'_>, found: &mut Vec<CallDifference>) {
    let hashes = (&a.entry.request_hash, &b.entry.request_hash);
    if let (Some(old), Some(new)) = hashes {
        add_name_difference(found, "request_hash", Some(old.as_str()), Some(new.as_str()));
    }
}

/// Adds a difference of names.
fn add_name_difference(
    found: &mut Vec<CallDifference>,
    place: &str,
    old: Option<&str>,
    new: Option<&str>,
) {
    if old != new {
        let read = |name: Option<&str>| name.map(Value::from);
        found.push(value::whole_difference(CallHalf::Request, place, read(old), read(new)));
    }
}
