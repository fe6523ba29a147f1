//! Differences between two requests.

use serde_json::Value;

use super::{CallDifference, CallHalf, ComparedSide, DiffScope, MOST, value};

/// Adds the differences between the requests of two calls.
pub(super) fn compare(
    a: &ComparedSide<'_>,
    b: &ComparedSide<'_>,
    scope: &DiffScope,
    found: &mut Vec<CallDifference>,
) {
    name(found, "step_id", a.name.step_id(), b.name.step_id());
    name(found, "session", a.entry.session.as_deref(), b.entry.session.as_deref());
    let upstreams = (a.entry.upstream.as_deref(), b.entry.upstream.as_deref());
    // An entry with a summary only names no upstream. This is not a difference.
    if let (Some(_), Some(_)) = upstreams {
        name(found, "upstream", upstreams.0, upstreams.1);
    }
    match (&a.entry.request, &b.entry.request) {
        (Some(old), Some(new)) if old == new => {}
        (Some(old), Some(new)) => {
            let (Some(asked), Some(asks)) = (&a.call, &b.call) else { return };
            let (old, new) = (old.parts(asked), new.parts(asks));
            let deltas = loomrec_identity::request_deltas(&old, &new, &scope.rules, MOST);
            found
                .extend(deltas.into_iter().map(|delta| value::named(CallHalf::Request, "", delta)));
        }
        (old, new) => {
            let told = |told: bool| told.then(|| Value::from("recorded"));
            let (old, new) = (told(old.is_some()), told(new.is_some()));
            if old != new {
                let told = value::whole(CallHalf::Request, "request", old, new);
                found.push(CallDifference { counts: false, ..told });
            }
            hashes(a, b, found);
        }
    }
}

/// Compares the hashes of two requests. They show a difference even if a request is not recorded.
fn hashes(a: &ComparedSide<'_>, b: &ComparedSide<'_>, found: &mut Vec<CallDifference>) {
    let hashes = (&a.entry.request_hash, &b.entry.request_hash);
    if let (Some(old), Some(new)) = hashes {
        name(found, "request_hash", Some(old.as_str()), Some(new.as_str()));
    }
}

/// Adds a difference of names.
fn name(found: &mut Vec<CallDifference>, place: &str, old: Option<&str>, new: Option<&str>) {
    if old != new {
        let read = |name: Option<&str>| name.map(Value::from);
        found.push(value::whole(CallHalf::Request, place, read(old), read(new)));
    }
}
